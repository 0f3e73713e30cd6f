"""Laplacian SVMs: lapwing beside a NumPy program on digits 3 and 8 of MNIST, and a million rows by a low-rank kernel.

On the digits (80 labeled, 11,822 unlabeled rows), Gram matrix and graph are made beforehand. `cg` stops conjugate
gradients when labels are stable; `newton` goes to the optimum, lapwing by systems of labeled rows, NumPy by systems of
all rows; `classes` does so for ten classes of USPS digits, for which lapwing factors once. `rows` is lapwing alone, features to
labels. Each program runs in a process of its own and takes all processors.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import classes
import common
import digits
import harness
import mixture
import numpy as np
import programs
from common import Record

HERE = Path(__file__).resolve().parent
TASKS = {"cg": "Conjugate gradients, stopped by stability", "newton": "Newton's method", "classes": "classes", "rows": "rows"}
GOAL = 8
"""GiB that many rows may take."""


def main() -> None:
    alone = {"rows": many_rows, "classes": many_classes}
    harness.run_tasks("lapsvm", parse(), {task: alone.get(task, partial(compared, task)) for task in TASKS})


def parse() -> argparse.Namespace:
    parser = harness.parser("lapsvm", __doc__, quiet=True)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--programs", nargs="+", choices=programs.PROGRAMS, default=list(programs.PROGRAMS))
    parser.add_argument("--unlabeled", type=int, help="digits without a label (default all 11,822)")
    parser.add_argument("--rows", type=int, help="rows of the mixture (default 1,000,000)")
    parser.add_argument("--repeats", type=int, help="runs of each measurement (default 3)")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one program and task (default 1800)")
    parser.add_argument("--small", action="store_true", help="2,000 digits, 100,000 rows, one run of each")
    sizes = {"unlabeled": (2000, 11_822), "rows": (100_000, mixture.ROWS)}
    return harness.by_size(parser.parse_args(), repeats=(1, 3), **sizes)


def worker(task: str, args: argparse.Namespace, *more: str) -> Record:
    """A measurement in a process of its own."""
    return harness.worker(HERE / "worker.py", [*harness.task_words(task, args), *more], args.limit, runs=[])


# --- digits ----------------------------------------------------------------------------------------------------------


def compared(task: str, args: argparse.Namespace) -> tuple[list[Record], str]:
    """Every program on the digits, and how far its scores are from NumPy's."""
    results: list[Record] = []
    scores: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.programs:
            path = Path(folder) / f"{len(results)}.npy"
            more = ["--program", name, "--rows", str(args.unlabeled), "--scores", str(path)]
            results.append({"program": name, **worker(task, args, *more)})
            if path.exists():
                scores[name] = np.load(path)
    for record in results:
        if "numpy" in scores and record["program"] in scores:
            record |= agreement(scores[record["program"]], scores["numpy"])
    peer = next((one for one in results if one["program"] == "numpy" and one["runs"]), None)
    head = ["program", "fit s", "solve s", "CPU s", "iterations", "objective", "error on U, V, T"]
    head += ["largest difference", "other labels", "peak MiB", "NumPy / fit", "NumPy / solve"]
    title = f"{TASKS[task]}: {digits.LABELED} + {args.unlabeled:,} digits"
    return results, common.markdown(title, head, [line(one, peer) for one in results])


def agreement(scores: np.ndarray, of_peer: np.ndarray) -> Record:
    """Largest difference of two scores, and the share of the unlabeled rows with another sign."""
    differs = (scores > 0) != (of_peer > 0)
    largest = float(np.abs(scores - of_peer).max())
    return {"largest_difference": largest, "other_labels": float(differs[digits.LABELED :].mean())}


def line(record: Record, peer: Record | None) -> list[str]:
    """Medians of the seconds over the runs; other figures are those of the last run."""
    name, runs = str(record.get("version", record["program"])), record["runs"]
    name += f" ({record['program'].partition(', ')[2]})" if ", " in record["program"] else ""
    if not runs:
        return [name, record["outcome"]]
    wall, solve, cpu = (common.median(runs, f"{what}_seconds") for what in ("wall", "solve", "cpu"))
    last = runs[-1]
    cells = [name, common.seconds(wall) + common.disturbed(runs), common.seconds(solve), common.seconds(cpu)]
    cells += [str(last["n_iter"]), f"{last['objective']:.9g}"]
    cells += [", ".join(f"{100 * error:.2f} %" for error in last["errors"].values())]
    if "largest_difference" in record:
        cells += [f"{record['largest_difference']:.1e}", f"{100 * record['other_labels']:.2f} %"]
    else:
        cells += ["–", "–"]
    cells += [common.mib(record["peak_bytes"])]
    if peer:
        of_peer = common.median(peer["runs"], "wall_seconds")
        cells += [f"{of_peer / wall:.1f}", f"{of_peer / solve:.1f}"]
    return cells


# --- many classes ----------------------------------------------------------------------------------------------------


def many_classes(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Seconds of ten problems at once and one by one, and how far their objectives are apart."""
    names = [name for name in ("lapwing", "numpy") if name in args.programs]
    results = [{"program": name, **worker("classes", args, "--program", name)} for name in names]
    peer = next((one for one in results if one["program"] == "numpy" and one["runs"]), None)
    title = f"Newton's method for ten classes: {10 * classes.PER_CLASS} + {classes.ROWS - 10 * classes.PER_CLASS:,} digits"
    head = ["program", "fit s", "CPU s", "largest relative difference of an objective", "NumPy / fit"]
    return results, common.markdown(title, head, [classes_line(one, peer) for one in results])


def classes_line(record: Record, peer: Record | None) -> list[str]:
    name, runs = str(record.get("version", record["program"])), record["runs"]
    if not runs:
        return [name, record["outcome"]]
    wall, cpu = (common.median(runs, f"{what}_seconds") for what in ("wall", "cpu"))
    cells = [name, common.seconds(wall) + common.disturbed(runs), common.seconds(cpu)]
    if peer is None:
        return [*cells, "–", "–"]
    own, of_peer = (np.array(one["runs"][-1]["objectives"]) for one in (record, peer))
    apart = float(np.abs(own / of_peer - 1).max())
    return [*cells, f"{apart:.1e}", f"{common.median(peer['runs'], 'wall_seconds') / wall:.1f}"]


# --- many rows -------------------------------------------------------------------------------------------------------


def many_rows(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Seconds by phase, memory and accuracy of a fit by landmarks."""
    mixture.load(args.rows)  # written once, before the measurements
    record = worker("rows", args, "--rows", str(args.rows))
    head = ["program", "fit s", "CPU s", "by phase", "accuracy", "peak MiB", f"of {GOAL} GiB", "before the fit MiB"]
    title = f"Curved mixture, {args.rows:,} × {mixture.COLUMNS}, 10 labels of each of {mixture.CLUSTERS} classes"
    return [record], common.markdown(title, head, [rows_line(record)])


def rows_line(record: Record) -> list[str]:
    name, runs = record.get("version", "lapwing"), record["runs"]
    if not runs:
        return [name, record["outcome"]]
    wall = common.seconds(common.median(runs, "wall_seconds")) + common.disturbed(runs)
    phases = ", ".join(f"{phase} {common.seconds(seconds)}" for phase, seconds in runs[-1]["phases"].items())
    peak = record["peak_bytes"]
    cells = [name, wall, common.seconds(common.median(runs, "cpu_seconds")), phases, f"{runs[-1]['accuracy']:.3f}"]
    return [*cells, common.mib(peak), f"{peak / (GOAL * 2**30):.0%}", common.mib(record["baseline_bytes"])]


if __name__ == "__main__":
    main()
