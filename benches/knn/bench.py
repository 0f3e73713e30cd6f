"""k-nearest-neighbor graphs: lapwing and its peers on the same rows and machine, each held to the same recall.

Every peer tries its settings from cheap to expensive (`peers.py`), with two threads. For each target of recall, the
cheapest setting that reaches it is repeated, and the table shows the median. Seconds count building and searching, from rows
in memory to the neighbors of all rows. Recall@15 is measured on 2,000 rows against exact neighbors. Peak memory is that of
the whole process, with interpreter, libraries and rows.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import common
import harness
import peers
import tasks
from common import Record

HERE = Path(__file__).resolve().parent


def main() -> None:
    args = parse()
    chosen = args.peers or (peers.QUICK if args.quick else list(peers.PEERS))
    report = harness.Report("knn", args, neighbors=tasks.NEIGHBORS, threads=args.threads)
    for name in args.tasks:
        task = tasks.TASKS[name]
        task.threshold(name)  # makes the file before the measurements
        for peer in [one for one in chosen if name in peers.PEERS[one].tasks]:
            report.add(measured(peer, name, args))
        for target in task.targets:
            print(table(task, target, report.of_task(name)), flush=True)
    print("".join(f"- {name}: {peers.PEERS[name].about}\n" for name in chosen))
    print(f"{report.machine(f'{args.threads} threads')} {common.DISTURBED}")


def parse() -> argparse.Namespace:
    parser = harness.peer_parser("knn", __doc__, peers.PEERS, tasks.TASKS, tasks.DEFAULT, quiet=True)
    parser.add_argument("--limit", type=float, default=900,
                        help="seconds for one peer on one task, repeats included (default 900)")
    return parser.parse_args()


def measured(name: str, task: str, args: argparse.Namespace) -> Record:
    """All measurements of one peer on one task; `outcome` holds the reason if there are no more."""
    settings = peers.PEERS[name].settings(task, tasks.TASKS[task].targets)
    words = [*harness.task_words(task, args, 1 if args.quick else args.repeats), "--peer", name]
    words += ["--settings", json.dumps(settings), "--threads", args.threads, "--limit", args.limit]
    known = {"peer": name, "task": task, "warm_up_seconds": 0.0, "runs": []}
    # Loading rows, compiling and computing recall take time beside the measurements.
    return harness.worker(HERE / "worker.py", words, args.limit + 120, args.threads, args.under, **known)


def table(task: tasks.Task, target: float, results: list[Record]) -> str:
    """The cost of a recall for each peer, or the best recall of the peer."""
    speed = ["wall s", "CPU s"] if task.queries is None else ["queries/s", "build s"]
    rows = [line(task, target, result) for result in results]
    head = ["peer", "setting", "recall@15", *speed, "peak MiB", "runs"]
    return common.markdown(f"{task.title}, recall ≥ {target}", head, rows)


def line(task: tasks.Task, target: float, result: Record) -> list[str]:
    name = harness.name_of(result)
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


def show(setting: Record) -> str:
    """A setting in words."""
    return " ".join(f"{key}={value}" for key, value in setting.items())


if __name__ == "__main__":
    main()
