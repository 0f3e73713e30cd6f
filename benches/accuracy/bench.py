"""Accuracy on hidden labels: lapwing's methods beside classifiers and other programs, with the same given labels.

`cells` takes up to 5,000 rows of each data set with features. It gives 1, 5 or 30 labels of each class, or labels at random,
5 or 20 times as many as classes. `graphs` takes graphs whose nodes have features. `mnist` and `imbalanced` use all rows of features of an autoencoder, and one graph for all
methods. Results are kept under target/bench/accuracy and are not measured again, unless the method, its program or the rows
have changed.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import common
import harness
import tables
from common import Record
from methods import METHODS, missing
from problem import THREADS
from tasks import TASKS, Task

HERE = Path(__file__).resolve().parent
PAGE = common.ROOT / "docs" / "results" / "accuracy.md"
QUICK_SETS = ["usps", "g50c", "kddcup99_10pct", "pcmac", "mnist_vae", "mnist_imbalanced_vae"]


def main() -> None:
    args = parse()
    report, absent = harness.Report("accuracy", args), missing(METHODS)
    for name in args.tasks:
        task = chosen(TASKS[name], args, absent)
        results = measured(name, task, args.unchanged)
        report.add(*results)
        if not results:
            continue
        table = {"cells": tables.subsets, "graphs": tables.on_graphs}.get(name, tables.on_one_graph)
        text = f"{table(results)}\n{report.machine(f'{THREADS} thread')}\n"
        print(f"## {task.title}\n\n{text}", flush=True)
        if args.write:
            common.insert(PAGE, name, text)


def parse() -> argparse.Namespace:
    parser = harness.parser("accuracy", __doc__)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(common.ROOT)}")
    parser.add_argument("--quick", action="store_true", help="few sets, one draw of labels, and no slow peers")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of those of the tasks (default all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--unchanged", nargs="*", default=[], choices=METHODS, metavar="METHOD",
                        help="methods for which kept results of another version will do")
    parser.add_argument("--draws", type=int, help="draws of rows and labels (default 5; mnist 50, imbalanced 20)")
    args = parser.parse_args()
    if args.write and (args.quick or args.sets):
        parser.error("--write is for all sets of a task; leave out --quick and --sets")
    return args


def chosen(task: Task, args: argparse.Namespace, absent: list[str]) -> Task:
    """The part of a task that the options select."""
    sets = args.sets or (QUICK_SETS if args.quick else task.sets)
    slow = ["gl-poisson-mbo"] if args.quick else []
    methods = [name for name in args.methods or task.methods if name not in slow]
    for name in set(absent) & set(methods):
        print(f"{name} is left out: {METHODS[name].package} is not installed, or lacks it", file=sys.stderr)
    return dataclasses.replace(
        task,
        sets=[name for name in task.sets if name in sets],
        draws=args.draws or (1 if args.quick else task.draws),
        methods=[name for name in methods if name not in absent],
    )


def measured(name: str, task: Task, unchanged: list[str]) -> list[Record]:
    """The results of a task, with a process for each draw of rows; peers get the number of draws of the task."""
    ours = [method for method in task.methods if METHODS[method].package == "lapwing"]
    peers = [method for method in task.methods if method not in ours]
    runs = [(peers, range(min(task.draws, task.peer_draws or task.draws))), (ours, range(task.draws))]
    results: list[Record] = []
    for one in task.sets:
        for methods, draws in runs:
            for part in [list(draws)] if task.whole else [[draw] for draw in draws]:
                results += worked(name, task, one, part, methods, unchanged) if methods else []
    return results


def worked(name: str, task: Task, one: str, draws: list[int], methods: list[str], unchanged: list[str]) -> list[Record]:
    """The results of a worker, measured or kept."""
    which = f"draw {draws[0]}" if len(draws) == 1 else f"draws {draws[0]} to {draws[-1]}"
    print(f"{name}: {one}, {which}, {len(methods)} methods …", file=sys.stderr, flush=True)
    arguments = ["--task", name, "--set", one, "--cells", *task.cells, "--methods", *methods]
    arguments += ["--draws", *map(str, draws), "--unchanged", *unchanged]
    limit = task.limit * len(draws) * len(task.cells) * len(methods)
    record = common.run_worker(HERE / "worker.py", arguments, limit, THREADS)
    if record["outcome"] != "finished":
        print(f"  {record['outcome']}; results so far are kept", file=sys.stderr)
    return record.get("results", [])


if __name__ == "__main__":
    main()
