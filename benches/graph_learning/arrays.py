"""From edges and distances to weights: lapwing beside NumPy, and beside the optima of golden files."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import common
import measured
import peer
import problem
from common import Record

PROGRAMS = ("lapwing", "lapwing, 1 thread", "numpy")
METHODS = {"newton": "Newton's method to the same gap", "primal-dual": "The first-order method"}
GOALS = {"newton": 5, "primal-dual": 10}
"""Lower bounds on NumPy's time over lapwing's."""


def beside_numpy(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Every program and method on the digits, and how far the weights are from the optimum."""
    given = problem.digits(args.digits)  # written once, before the measurements
    exact = peer.newton(given.edges, given.distances, given.n_samples, tol=1e-14, inner=1e-8).weights
    results: list[Record] = []
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for method, what in METHODS.items():
            group = [compared(args, name, method, exact, Path(folder)) for name in PROGRAMS]
            title = f"{what}: {args.digits:,} digits, {len(exact):,} allowed edges"
            texts.append(table(title, method, group))
            results += group
    return results, "\n".join(texts)


def compared(args: argparse.Namespace, name: str, method: str, exact: np.ndarray, folder: Path) -> Record:
    """Seconds of a program, and the distance of its weights from the optimum."""
    path = folder / f"{method}-{PROGRAMS.index(name)}.npy"
    more = ["--program", name, "--method", method, "--rows", str(args.digits), "--weights", str(path)]
    record = {"program": name, "method": method, **measured.worker("peer", args, *more)}
    if path.exists():
        record["error"] = float(np.linalg.norm(np.load(path) - exact) / np.linalg.norm(exact))
    return record


def milliseconds(record: Record) -> float:
    """Median time of a solution by Newton's method, or of one iteration of the first-order method."""
    runs = record["runs"]
    return 1e3 * common.median(runs, "wall_seconds") / (1 if record["method"] == "newton" else runs[-1]["n_iter"])


def table(title: str, method: str, group: list[Record]) -> str:
    of_peer = next((milliseconds(one) for one in group if one["program"] == "numpy" and one["runs"]), None)
    head = ["program", "ms" if method == "newton" else "ms an iteration", "CPU s in all", "iterations", "products"]
    head += ["gap", "gap by the weights alone", "relative distance to the optimum", "edges", "peak MiB"]
    head += [f"NumPy / program (goal {GOALS[method]})"]
    return common.markdown(title, head, [line(record, of_peer) for record in group])


def line(record: Record, of_peer: float | None) -> list[str]:
    """Medians of the seconds over the runs; other values are those of the last run."""
    name, runs = record["program"], record["runs"]
    if record["outcome"] != "finished":
        return [name, record["outcome"]]
    taken, last = milliseconds(record), runs[-1]
    name = f"{record['version']}{', 1 thread' if ',' in name else ''}"
    cells = [name, f"{taken:.3g}{common.disturbed(runs)}", common.seconds(common.median(runs, "cpu_seconds"))]
    cells += [str(last["n_iter"]), str(last["n_products"] or "–")]
    cells += [gap(last["gap"]), gap(record["gap_of_rows"])]
    cells += [f"{record['error']:.1e}", f"{record['n_edges']:,}", common.mib(record["peak_bytes"])]
    return [*cells, f"{of_peer / taken:.1f}" if of_peer else ""]


def gap(value: float | None) -> str:
    """A gap; a dash if there are no weights or the program does not report it."""
    return "–" if value is None or not np.isfinite(value) else f"{value:.1e}"


def exactness(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Relative distances to the known optimum, ‖w − w*‖/‖w*‖."""
    record = measured.worker("exactness", args)
    solvers = [name for name, found in (record["runs"] or [{}])[0].items() if isinstance(found, dict)]
    head = ["problem", "model", "authors' program", "its iterations"]
    head += [cell for solver in solvers for cell in (f"lapwing, {solver}", "its gap", "its iterations")]
    lines = []
    for one in record["runs"]:
        found = [one[solver] for solver in solvers]
        cells = [one["problem"], one["model"], f"{one['of_code']:.1e}", one["iterations"]]
        for own in found:
            cells += [f"{own['error']:.1e}", gap(own["gap"]), str(own["n_iter"])]
        lines.append(cells)
    if record["outcome"] != "finished":
        lines.append([record["outcome"]])
    title = "Relative distance to the known optimum, at defaults where nothing else is said"
    return [record], common.markdown(title, head, lines)
