"""One program on one task, several times, in a process of its own.

The result file is written after every run, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

import classes
import common
import digits
import harness
import mixture
import programs
from common import Record

PER_CLASS = 10
"""Labels of each class of the mixture."""


def main() -> None:
    args = parse()
    TASKS[args.task](args, harness.started())


def parse() -> argparse.Namespace:
    parser = harness.worker_parser(__doc__, TASKS)
    parser.add_argument("--program", default="lapwing", choices=programs.PROGRAMS)
    parser.add_argument("--rows", type=int, help="rows without a label, or of the mixture")
    parser.add_argument("--scores", type=Path, help="where the scores of the last run go")
    return parser.parse_args()


def digits_fitted(args: argparse.Namespace, record: Record) -> None:
    """Fits with a given Gram matrix and graph."""
    data = digits.load(args.rows)
    fit = programs.PROGRAMS[args.program](args.task, data)
    record |= {"version": programs.version(args.program), "baseline_bytes": common.peak_bytes()}
    for found, run in harness.repeated(args, record, fit):
        judged, scores = programs.judged(found, data)
        solve = run["wall_seconds"] if found.solve_seconds is None else found.solve_seconds
        run |= {"solve_seconds": solve, "n_iter": found.n_iter, **judged}
    np.save(args.scores, scores)


def many_classes(args: argparse.Namespace, record: Record) -> None:
    """Ten problems that share a Gram matrix and a graph."""
    make = classes.numpy if args.program == "numpy" else classes.lapwing
    fit = make(*classes.load())
    record |= {"version": programs.version(args.program), "baseline_bytes": common.peak_bytes()}
    for objectives, run in harness.repeated(args, record, fit):
        run["objectives"] = objectives


def many_rows(args: argparse.Namespace, record: Record) -> None:
    """Features to labels by a kernel of low rank."""
    from lapwing import LaplacianSVC

    rows, classes = mixture.load(args.rows)
    shown = np.full(len(classes), -1)
    for one in range(mixture.CLUSTERS):
        shown[np.flatnonzero(classes == one)[:PER_CLASS]] = one
    record |= {"version": programs.version("lapwing"), "baseline_bytes": common.peak_bytes()}
    warnings.simplefilter("ignore")
    machine = LaplacianSVC(kernel="low-rank", random_state=0)
    for _, run in harness.repeated(args, record, lambda: machine.fit(rows, shown)):
        phases = {phase["name"]: phase["seconds"] for phase in machine.report_["phases"]}
        hidden = shown < 0
        accuracy = float(np.mean(machine.transduction_[hidden] == classes[hidden]))
        run |= {"phases": phases, "accuracy": accuracy}
        record["chosen"] = machine.report_["chosen"]


TASKS = {"cg": digits_fitted, "newton": digits_fitted, "classes": many_classes, "rows": many_rows}

if __name__ == "__main__":
    main()
