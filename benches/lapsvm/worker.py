"""One program on one task, several times, in a process of its own.

The result file is rewritten after every run: what a time limit cuts short keeps what was measured.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import classes
import common
import digits
import mixture
import programs

PER_CLASS = 10
"""Labels of each class of the mixture."""


def main() -> None:
    args = parse()
    record: dict[str, Any] = {"load": os.getloadavg()[0], "runs": []}
    if args.task == "rows":
        many_rows(args, record)
    elif args.task == "classes":
        many_classes(args, record)
    else:
        digits_fitted(args, record)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True, choices=["cg", "newton", "classes", "rows"])
    parser.add_argument("--program", default="lapwing", choices=programs.PROGRAMS)
    parser.add_argument("--rows", type=int, help="rows without a label, or of the mixture")
    parser.add_argument("--repeats", required=True, type=int)
    parser.add_argument("--patience", required=True, type=float, help="seconds to wait for other programs")
    parser.add_argument("--scores", type=Path, help="where the scores of the last run go")
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def digits_fitted(args: argparse.Namespace, record: dict[str, Any]) -> None:
    """Fits with Gram matrix and graph at hand, and what each came to."""
    data = digits.load(args.rows)
    run = programs.PROGRAMS[args.program](args.task, data)
    record |= {"version": programs.version(args.program), "baseline_bytes": common.peak_bytes()}
    for _ in range(args.repeats):
        common.wait_for_quiet(args.patience)
        with common.Stopwatch() as watch:
            found = run()
        peak = common.peak_bytes()
        judged, scores = programs.judged(found, data)
        solve = watch.wall if found.solve_seconds is None else found.solve_seconds
        record["runs"].append({**seconds(watch), "solve_seconds": solve, "n_iter": found.n_iter, **judged})
        record["peak_bytes"] = peak if len(record["runs"]) == 1 else record["peak_bytes"]
        common.save(args.out, record)
    np.save(args.scores, scores)


def many_classes(args: argparse.Namespace, record: dict[str, Any]) -> None:
    """Ten problems that share a Gram matrix and a graph."""
    make = classes.numpy if args.program == "numpy" else classes.lapwing
    run = make(*classes.load())
    record |= {"version": programs.version(args.program), "baseline_bytes": common.peak_bytes()}
    for _ in range(args.repeats):
        common.wait_for_quiet(args.patience)
        with common.Stopwatch() as watch:
            objectives = run()
        record["runs"].append({**seconds(watch), "objectives": objectives})
        record["peak_bytes"] = common.peak_bytes()
        common.save(args.out, record)


def many_rows(args: argparse.Namespace, record: dict[str, Any]) -> None:
    """Features to labels by a kernel of low rank."""
    from lapwing import LaplacianSVC

    rows, classes = mixture.load(args.rows)
    shown = np.full(len(classes), -1)
    for one in range(mixture.CLUSTERS):
        shown[np.flatnonzero(classes == one)[:PER_CLASS]] = one
    record |= {"version": programs.version("lapwing"), "baseline_bytes": common.peak_bytes()}
    for _ in range(args.repeats):
        common.wait_for_quiet(args.patience)
        machine = LaplacianSVC(kernel="low-rank", random_state=0)
        with common.Stopwatch() as watch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(rows, shown)
        phases = {phase["name"]: phase["seconds"] for phase in machine.report_["phases"]}
        hidden = shown < 0
        accuracy = float(np.mean(machine.transduction_[hidden] == classes[hidden]))
        record["runs"].append({**seconds(watch), "phases": phases, "accuracy": accuracy})
        record |= {"peak_bytes": common.peak_bytes(), "chosen": machine.report_["chosen"]}
        common.save(args.out, record)


def seconds(watch: common.Stopwatch) -> common.Record:
    return {"wall_seconds": watch.wall, "cpu_seconds": watch.cpu, "foreign_seconds": watch.foreign}


if __name__ == "__main__":
    main()
