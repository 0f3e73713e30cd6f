"""k-nearest-neighbour graphs: lapwing and its peers on the same rows and machine, each held to the same recall.

Every peer climbs a ladder of settings from cheap to dear (`peers.py`), two threads each. For each recall wanted, the
cheapest setting that reached it is repeated and its median shown. Seconds are those of building and asking together,
from rows in memory to the neighbours of all rows. Recall@15 is measured on 2,000 rows against exact neighbours.
Peak memory is that of the whole process: interpreter, libraries, rows and all.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

import common
import peers
import tasks

HERE = Path(__file__).resolve().parent


def main() -> None:
    args = parse()
    chosen = args.peers or (peers.QUICK if args.quick else list(peers.PEERS))
    report: dict[str, Any] = {
        "schema": 1,
        "bench": "knn",
        "date": datetime.date.today().isoformat(),
        "machine": common.machine(),
        "neighbors": tasks.NEIGHBORS,
        "threads": args.threads,
        "results": [],
    }
    for name in args.tasks:
        task = tasks.TASKS[name]
        task.threshold(name)  # made once, outside of every measurement
        for peer in [one for one in chosen if name in peers.PEERS[one].tasks]:
            report["results"].append(climb(peer, name, args))
            if args.json:
                args.json.write_text(json.dumps(report, indent=1) + "\n")
        results = [one for one in report["results"] if one["task"] == name]
        for target in task.targets:
            print(table(task, target, results), flush=True)
    print("".join(f"- {name}: {peers.PEERS[name].about}\n" for name in chosen))
    print(f"Machine: {common.describe(report['machine'])}; {args.threads} threads; {report['date']}.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench knn", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    parser.add_argument("--quick", action="store_true", help="few peers, one run of each setting")
    parser.add_argument("--peers", nargs="+", choices=peers.PEERS, metavar="PEER", help=", ".join(peers.PEERS))
    parser.add_argument("--tasks", nargs="+", choices=tasks.TASKS, default=tasks.DEFAULT, metavar="TASK",
                        help=f"{', '.join(tasks.TASKS)} (default: all but huge)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every peer (default 2)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each setting shown, their median (default 3)")
    parser.add_argument("--limit", type=float, default=900,
                        help="seconds for one peer on one task, repeats included (default 900)")
    parser.add_argument("--under", default="", metavar="COMMAND", help="run each measurement by COMMAND, say taskset")
    return parser.parse_args()


def climb(name: str, task: str, args: argparse.Namespace) -> dict[str, Any]:
    """Every measurement of one peer on one task; `outcome` says why there are no more."""
    targets = tasks.TASKS[task].targets
    result: dict[str, Any] = {"peer": name, "task": task, "outcome": "finished", "warm_up_seconds": 0.0, "runs": []}
    measure(result, peers.PEERS[name].ladder(task, targets), args)
    reached = [run for target in targets if (run := cheapest(result["runs"], target))]
    shown = {json.dumps([run["build"], run["setting"]]): run for run in reached}.values()
    for _ in range(0 if args.quick else args.repeats - 1):
        for run in shown:
            if result["outcome"] == "finished" and spent(result) + run["wall_seconds"] <= args.limit:
                measure(result, [(run["build"], [run["setting"]])], args)
    return result


def measure(result: dict[str, Any], rungs: peers.Ladder, args: argparse.Namespace) -> None:
    """Climb in a process of its own and add what was measured to the result."""
    name, task = result["peer"], result["task"]
    settings = "; ".join(f"{show(build)} {', '.join(map(show, asks))}" for build, asks in rungs)
    print(f"{task}: {name}: {settings} …", file=sys.stderr, flush=True)
    arguments = ["--peer", name, "--task", task, "--rungs", json.dumps(rungs), "--threads", str(args.threads)]
    arguments += ["--until", str(max(tasks.TASKS[task].targets))]
    one = common.run_worker(HERE / "worker.py", arguments, args.limit + 60, args.threads, args.under)
    result["version"] = one.get("version", result.get("version", ""))
    result["warm_up_seconds"] = max(result["warm_up_seconds"], one.get("warm_up_seconds", 0.0))
    result["runs"] += one.get("runs", [])
    result["outcome"] = one["outcome"]


def spent(result: dict[str, Any]) -> float:
    """Seconds of all measurements so far."""
    builds = {(json.dumps(run["build"]), run["build_seconds"]) for run in result["runs"]}
    return sum(seconds for _, seconds in builds) + sum(run["ask_seconds"] for run in result["runs"])


def cheapest(runs: list[dict[str, Any]], target: float) -> dict[str, Any] | None:
    """The fastest measurement that reached a recall."""
    reached = [run for run in runs if run["recall"] >= target]
    return min(reached, key=lambda run: 1 / run["per_second"] if "per_second" in run else run["wall_seconds"], default=None)


def repeated(runs: list[dict[str, Any]], like: dict[str, Any]) -> list[dict[str, Any]]:
    """All measurements of one setting."""
    return [run for run in runs if (run["build"], run["setting"]) == (like["build"], like["setting"])]


def table(task: tasks.Task, target: float, results: list[dict[str, Any]]) -> str:
    """What each peer needs for a recall, or the best it reached."""
    asked = task.queries is not None
    speed = ["queries/s", "build s"] if asked else ["wall s", "CPU s"]
    rows = [line(result, target, asked) for result in results]
    head = ["peer", "setting", "recall@15", *speed, "peak MiB", "runs"]
    return common.markdown(f"{task.title}, recall ≥ {target}", head, rows)


def line(result: dict[str, Any], target: float, asked: bool) -> list[str]:
    name = f"{result['peer']} {result.get('version', '')}".strip()
    run = cheapest(result["runs"], target)
    if run is None:
        best = max((run["recall"] for run in result["runs"]), default=None)
        reached = f"; reached {best:.4f}" if best is not None else ""
        return [name, result["outcome"].replace("finished", "target not reached") + reached]
    same = repeated(result["runs"], run)
    if asked:
        figures = [f"{common.median(same, 'per_second'):,.0f}", common.seconds(common.median(same, "build_seconds"))]
    else:
        figures = [common.seconds(common.median(same, key)) for key in ("wall_seconds", "cpu_seconds")]
    compiled = f" (+ {result['warm_up_seconds']:.0f} s compiling)" if result["warm_up_seconds"] > 1 else ""
    setting = show({**run["build"], **run["setting"]})
    # A process that climbed past cheaper settings may hold more than one that ran this setting alone.
    peak = common.mib(min(one["peak_bytes"] for one in same))
    return [name, setting, f"{common.median(same, 'recall'):.4f}", figures[0] + compiled, figures[1], peak, str(len(same))]


def show(setting: dict[str, Any]) -> str:
    """A setting in words."""
    return " ".join(f"{key}={value}" for key, value in setting.items())


if __name__ == "__main__":
    main()
