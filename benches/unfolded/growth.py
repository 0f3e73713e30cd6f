"""Seconds of an iteration on larger and larger graphs."""

from __future__ import annotations

import argparse

import common
import harness
import measured
import problem
from common import Record

EDGES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
SMALL_EDGES = (30_000, 100_000, 300_000)
DEGREE, FEATURES, CLASSES = 14, 32, 8
GOAL = 1.1
"""Exponent of the number of edges, at most."""
PARTS = {"iteration_seconds": "an iteration, s", "before_seconds": "before the first, s", "wall_seconds": "fit s"}


def growth(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Gradient descent on graphs of equal mean degree."""
    shapes = [problem.Shape(2 * edges // DEGREE, edges, FEATURES, CLASSES) for edges in _sizes(args.small)]
    results = []
    for shape in shapes:
        found = measured.worker("iterations", args, "--program", "lapwing, gd", "--problem", shape.name)
        results.append({"n_edges": shape.n_edges, "n_nodes": shape.n_nodes, **found})
    lines = [line(record) for record in results]
    done = [record for record in results if record["runs"]]
    if len(done) > 1:
        exponents = [f"{harness.exponent(done, 'n_edges', part):.2f}" for part in PARTS]
        lines.append([f"exponent (goal {GOAL})", "", *exponents])
    head = ["edges", "nodes", *PARTS.values(), "edge passes an iteration", "ns an edge and pass", "peak MiB"]
    title = f"Growth: mean degree {DEGREE}, {FEATURES} features, {CLASSES} classes, gradient descent"
    return results, common.markdown(title, head, lines)


def _sizes(small: bool) -> tuple[int, ...]:
    return SMALL_EDGES if small else EDGES


def line(record: Record) -> list[str]:
    """Medians over the runs."""
    runs = record["runs"]
    if not runs:
        return [f"{record['n_edges']:,}", record["outcome"]]
    medians = [common.median(runs, part) for part in PARTS]
    cells = [f"{record['n_edges']:,}", f"{record['n_nodes']:,}", *[f"{value:.3g}" for value in medians]]
    cells[2] += common.disturbed(runs)
    passes = runs[-1]["passes"]
    each = 1e9 * medians[0] / max(passes, 1) / record["n_edges"]
    return [*cells, f"{passes:.0f}", f"{each:.2f}", common.mib(record["peak_bytes"])]
