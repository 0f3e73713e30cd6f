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
    print(f"Machine: {common.describe(report['machine'])}; {args.threads} threads; {report['date']}. {common.DISTURBED}")


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
    parser.add_argument("--patience", type=float, default=20,
                        help="seconds to wait, before each measurement, for other programs to rest (default 20)")
    parser.add_argument("--under", default="", metavar="COMMAND", help="run each measurement by COMMAND, say taskset")
    return parser.parse_args()


def climb(name: str, task: str, args: argparse.Namespace) -> dict[str, Any]:
    """Every measurement of one peer on one task; `outcome` says why there are no more."""
    print(f"{task}: {name} …", file=sys.stderr, flush=True)
    ladder = peers.PEERS[name].ladder(task, tasks.TASKS[task].targets)
    arguments = ["--peer", name, "--task", task, "--ladder", json.dumps(ladder), "--threads", str(args.threads)]
    arguments += ["--repeats", str(1 if args.quick else args.repeats), "--limit", str(args.limit)]
    arguments += ["--patience", str(args.patience)]
    # Loading rows, compiling and counting recall take their time beside the measurements.
    record = common.run_worker(HERE / "worker.py", arguments, args.limit + 120, args.threads, args.under)
    return {"peer": name, "task": task, "warm_up_seconds": 0.0, "runs": [], **record}


def table(task: tasks.Task, target: float, results: list[dict[str, Any]]) -> str:
    """What each peer needs for a recall, or the best it reached."""
    speed = ["wall s", "CPU s"] if task.queries is None else ["queries/s", "build s"]
    rows = [line(task, target, result) for result in results]
    head = ["peer", "setting", "recall@15", *speed, "peak MiB", "runs"]
    return common.markdown(f"{task.title}, recall ≥ {target}", head, rows)


def line(task: tasks.Task, target: float, result: dict[str, Any]) -> list[str]:
    name = f"{result['peer']} {result.get('version', '')}".strip()
    run = task.cheapest(result["runs"], target)
    if run is None:
        best = max((run["recall"] for run in result["runs"]), default=None)
        reached = f"; reached {best:.4f}" if best is not None else ""
        return [name, result["outcome"].replace("finished", "target not reached") + reached]
    same = [one for one in result["runs"] if (one["build"], one["setting"]) == (run["build"], run["setting"])]
    if task.queries is not None:
        figures = [f"{common.median(same, 'per_second'):,.0f}", common.seconds(common.median(same, "build_seconds"))]
    else:
        figures = [common.seconds(common.median(same, key)) for key in ("wall_seconds", "cpu_seconds")]
    compiled = f" (+ {result['warm_up_seconds']:.0f} s compiling)" if result["warm_up_seconds"] > 1 else ""
    figures[0] += common.disturbed(same) + compiled
    setting = show({**run["build"], **run["setting"]})
    recall, peak = f"{common.median(same, 'recall'):.4f}", common.mib(same[0]["peak_bytes"])
    return [name, setting, recall, *figures, peak, str(len(same))]


def show(setting: dict[str, Any]) -> str:
    """A setting in words."""
    return " ".join(f"{key}={value}" for key, value in setting.items())


if __name__ == "__main__":
    main()
