"""Graphs learned from smooth signals: a million rows, how time grows, and lapwing beside NumPy and the authors' program.

`million` and `growth` go from features to a graph (log-degree model, 10 neighbors, 3 allowed for each). `peer` solves
one problem given as arrays, neighbors found beforehand: Newton's method to the same gap, and one iteration of the
first-order method. `exactness` compares with the optima of the golden files, where the authors' program at its defaults
is known too. Each measurement is a process of its own, with all processors unless stated otherwise.
"""

from __future__ import annotations

import argparse

import arrays
import features
import harness
import mixture
import problem

TASKS = {
    "million": features.million,
    "growth": features.growth,
    "peer": arrays.beside_numpy,
    "exactness": arrays.exactness,
}


def main() -> None:
    harness.run_tasks("graph-learning", parse(), TASKS)


def parse() -> argparse.Namespace:
    parser = harness.parser("graph-learning", __doc__, quiet=True)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--rows", type=int, help="rows of the mixture (default 1,000,000)")
    parser.add_argument("--digits", type=int, help="rows of MNIST (default 60,000)")
    parser.add_argument("--repeats", type=int, help="runs of each measurement (default 5)")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one program and task (default 1800)")
    parser.add_argument("--small", action="store_true", help="100,000 rows, 6,000 digits, one run of each")
    sizes = {"rows": (100_000, mixture.ROWS), "digits": (6000, problem.ROWS)}
    return harness.by_size(parser.parse_args(), repeats=(1, 5), **sizes)


if __name__ == "__main__":
    main()
