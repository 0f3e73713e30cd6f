"""Priors on graphs whose nodes have features: harmonic propagation from the shares of a classifier, beside others.

The others are the classifier alone, harmonic propagation alone, the graph network, and Correct and Smooth as published. A draw
gives 5 or 20 labels of each class, or labels at random, 20 times as many as classes; all methods get the same ones, and
no others for validation. Shown is the share of hidden nodes that get their class.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import common
import harness
import problem
from common import Record
from methods import METHODS

HERE = Path(__file__).resolve().parent
LIMIT = 600
"""Seconds for the fits of one method to the draws of a cell."""


def main() -> None:
    args = parse()
    report = harness.Report("prior", args)
    for name in args.sets:
        for cell in args.cells:
            words = ["--set", name, "--cell", cell, "--draws", args.draws, "--methods", *args.methods]
            record = harness.worker(HERE / "worker.py", words, LIMIT * len(args.methods), args.threads)
            if record["outcome"] != "finished":
                print(f"{name} {cell}: {record['outcome']}", flush=True)
            report.add(*({"set": name, "cell": cell, **result} for result in record.get("results", [])))
    for key, title, digits in (("accuracy", "Accuracy on hidden nodes", 3), ("cpu_seconds", "CPU seconds", 1)):
        print(table(report.results, args, key, title, digits))
    print(report.machine(f"{args.draws} draws"))


def parse() -> argparse.Namespace:
    parser = harness.parser("prior", __doc__)
    parser.add_argument("--sets", nargs="+", choices=problem.SETS, default=problem.SETS, metavar="SET")
    parser.add_argument("--cells", nargs="+", choices=problem.CELLS, default=problem.CELLS, metavar="CELL")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--draws", type=int, default=5, help="draws of labels (default 5)")
    parser.add_argument("--threads", type=int, default=1, help="threads of every method (default 1)")
    return parser.parse_args()


def table(results: list[Record], args: argparse.Namespace, key: str, title: str, digits: int) -> str:
    """Means over the draws: a row for each cell of a set, a column for each method."""

    def mean(name: str, cell: str, method: str) -> str:
        place = (name, cell, method)
        values = [one[key] for one in results if (one["set"], one["cell"], one["method"]) == place]
        return f"{statistics.fmean(values):.{digits}f}" if values else "–"

    rows = [[name, cell, *(mean(name, cell, method) for method in args.methods)] for name in args.sets for cell in args.cells]
    return common.markdown(title, ["set", "labels", *(METHODS[method][0] for method in args.methods)], rows)


if __name__ == "__main__":
    main()
