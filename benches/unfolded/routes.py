"""All routes to the optimum: measured and estimated seconds, and the route that lapwing chooses."""

from __future__ import annotations

import argparse

import common
import curve
import measured
from common import Record
from problem import Shape

SOLVERS = ("direct", "rough-pcg", "herta", "matrix-free")
NODES = 40_000
CASES: tuple[tuple[str, float], ...] = (
    (Shape(NODES, 30 * NODES, 64, 5).name, 1.0),
    (Shape(NODES, 30 * NODES, 64, 5).name, 20.0),
    (Shape(NODES, 50 * NODES, 256, 2).name, 20.0),
    (Shape(NODES, 50 * NODES, 1000, 2).name, 1.0),
    (Shape(NODES, 10 * NODES, 128, 40).name, 1.0),
    ("cora", 1.0),
    ("cora", 20.0),
    ("dblp", 1.0),
    ("dblp", 20.0),
    ("coauthor_cs", 1.0),
    ("coauthor_cs", 20.0),
)
"""Problems and λ; the first three shapes were used to design the automatic choice."""
SMALL_CASES = ((Shape(4000, 120_000, 64, 5).name, 1.0), (Shape(4000, 200_000, 256, 2).name, 20.0), ("cora", 1.0))
GOAL = 1.3
"""Bound on the seconds of the chosen route over those of the best."""
WRONG = 1e-5
"""(ℓ − ℓ*)/ℓ* above which a route has missed the tolerance."""


def routes(args: argparse.Namespace) -> tuple[list[Record], str]:
    """A table for each loss."""
    results: list[Record] = []
    texts = []
    for loss in args.losses:
        lines = []
        for name, graph_reg in SMALL_CASES if args.small else CASES:
            given = ["--problem", name, "--loss", loss, "--graph-reg", str(graph_reg)]
            group = {}
            for solver in ("auto", *SOLVERS):
                group[solver] = measured.worker("train", args, "--program", f"lapwing, {solver}", *given)
                results.append(
                    {"problem": name, "loss": loss, "graph_reg": graph_reg, "program": solver, **group[solver]}
                )
            lines.append(line(name, graph_reg, group))
        head = ["problem", "λ", *[f"{solver} s (expected)" for solver in SOLVERS], "chosen", "auto s"]
        head += [f"chosen / best (goal {GOAL})", "edge passes", "peak MiB"]
        texts.append(common.markdown(f"Routes to 1e-6 of the optimum, {loss}", head, lines))
    return results, "\n".join(texts)


def line(name: str, graph_reg: float, group: dict[str, Record]) -> list[str]:
    """Median seconds of every route, with the expected ones."""
    auto = group["auto"]
    if not auto["runs"]:
        return [name, f"{graph_reg:g}", *[""] * len(SOLVERS), auto["outcome"]]
    said = auto["runs"][-1]["said"]
    expected = {one["solver"]: one["seconds"] for one in said["routes"] or []}
    least = min(run["value"] for record in group.values() for run in record["runs"])
    cells = [auto["about"] if "-" in name else f"{name}: {auto['about']}", f"{graph_reg:g}"]
    cells += [cell(group[solver], expected.get(solver), least) for solver in SOLVERS]
    rights = [solver for solver in SOLVERS if right(group[solver], least)]
    taken = {solver: common.median(group[solver]["runs"], "wall_seconds") for solver in rights}
    seconds = common.median(auto["runs"], "wall_seconds")
    chosen = min(seconds, taken.get(said["solver"], seconds))  # two measurements of one route
    cells += [said["solver"], common.seconds(seconds) + common.disturbed(auto["runs"])]
    cells += [f"{chosen / min([*taken.values(), chosen]):.2f}", f"{said['edge_passes']:,}"]
    return [*cells, common.mib(auto["peak_bytes"])]


def cell(record: Record, expected: float | None, least: float) -> str:
    """Seconds, with a mark if the weights are not optimal."""
    if not record["runs"]:
        return record["outcome"]
    taken = common.seconds(common.median(record["runs"], "wall_seconds")) + common.disturbed(record["runs"])
    taken += f" ({common.seconds(expected)})" if expected is not None else ""
    error = curve.error(record["runs"][-1]["value"], least)
    return taken if right(record, least) else f"{taken}, off by {error:.0e}"


def right(record: Record, least: float) -> bool:
    """Whether the weights are close to the best of all routes."""
    return bool(record["runs"]) and curve.error(record["runs"][-1]["value"], least) <= WRONG
