"""Seconds over the number of rows, and over the size of the support."""

from __future__ import annotations

from typing import Any

import numpy as np

import common
import graphs
import mixture
import results

Setting = dict[str, Any]
DATA: tuple[str, ...] = ()
NEIGHBORS = 10
ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0)
FACTOR, AT = 3.0, 100_000
"""The support while the number of rows varies, and the number of rows while the support varies."""
TOL = 1e-6
PATIENCE = 20.0
"""Seconds to wait for other programs to end, before each fit."""


def settings(small: bool) -> list[Setting]:
    """A process for each size and model."""
    sizes, at, repeats = ((3000, 10_000), 10_000, 1) if small else (ROWS, AT, 3)
    cases = [("rows", rows, FACTOR) for rows in sizes] + [("support", at, factor) for factor in FACTORS]
    return [
        {"part": part, "model": model, "rows": rows, "factor": factor, "of": max(sizes), "repeats": repeats}
        for part, rows, factor in cases
        for model in graphs.LEARNED
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Fits of the first rows of the mixture."""
    from lapwing.graph import GraphLearner

    rows = mixture.load(setting["of"])[0][: setting["rows"]]
    options: dict[str, Any] = {"model": setting["model"], "support_factor": setting["factor"], "tol": TOL}
    records = []
    for _ in range(setting["repeats"]):
        common.wait_for_quiet(PATIENCE)
        with common.Stopwatch() as watch:
            report = GraphLearner(NEIGHBORS, **options, random_state=0).fit(rows).report_
        neighbors = next(phase["seconds"] for phase in report["phases"] if phase["name"] == "neighbors")
        found = {key: report[key] for key in ("n_allowed", "n_edges", "mean_neighbors", "n_iter", "n_products", "gap")}
        costs = {"wall_seconds": watch.wall, "cpu_seconds": watch.cpu, "foreign_seconds": watch.foreign}
        records.append({**found, **costs, "neighbors_seconds": neighbors, "rest_seconds": watch.wall - neighbors})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------

PARTS = {"wall_seconds": "fit", "neighbors_seconds": "neighbors", "rest_seconds": "all else"}


def table(records: list[common.Record]) -> str:
    """Seconds by rows, and by support."""
    parts = results.grouped(records, lambda one: one["part"])
    shown = {"rows": f"Rows of the mixture, r = {FACTOR:g}", "support": "Support"}
    groups = [common.markdown(shown[part], *_lines(part, group)) for part, group in parts.items()]
    noted = f"\n{common.DISTURBED}\n" if any("†" in group for group in groups) else ""
    return "\n".join(groups) + noted


def _lines(part: str, group: list[common.Record]) -> tuple[list[str], list[list[str]]]:
    head = ["model", "rows", "r", *[f"{name} s" for name in PARTS.values()], "allowed edges"]
    head += ["µs an allowed edge", "iterations"]
    rows = []
    for model, of_model in results.grouped(group, lambda one: one["model"]).items():
        sizes = results.grouped(of_model, lambda one: (one["rows"], one["factor"]))
        for (n, factor), found in sizes.items():
            taken = [common.median(found, entry) for entry in PARTS]
            cells = [model, f"{n:,}", f"{factor:g}", *map(common.seconds, taken), f"{found[0]['n_allowed']:,}"]
            cells[3] += common.disturbed(found)
            rows.append([*cells, f"{1e6 * taken[-1] / found[0]['n_allowed']:.2f}", str(found[0]["n_iter"])])
        if part == "rows" and len(sizes) > 1:
            rows.append([model, "exponent", "", *[f"{_exponent(list(sizes.values()), entry):.2f}" for entry in PARTS]])
    return head, rows


def _exponent(groups: list[list[common.Record]], entry: str) -> float:
    """The slope of the straight line through the logarithms, by least squares."""
    sizes, taken = [group[0]["rows"] for group in groups], [common.median(group, entry) for group in groups]
    return float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])


def plot(records: list[common.Record]) -> Any:
    """Seconds over rows and over allowed edges; dashed lines are the neighbor search."""
    figure = results.figure(10, 4)
    panels = dict(zip(("rows", "support"), figure.subplots(1, 2), strict=True))
    for (part, model), group in results.grouped(records, lambda one: (one["part"], one["model"])).items():
        entry = "rows" if part == "rows" else "n_allowed"
        points = results.by(group, entry)
        for seconds, dash in {"rest_seconds": "-", "neighbors_seconds": "--"}.items():
            taken = [common.median(found, seconds) for found in points.values()]
            style = {**graphs.CURVES.style(model), "linestyle": dash, "label": f"{model}, {PARTS[seconds]}"}
            panels[part].plot(list(points), taken, **style)
        panels[part].set(xscale="log", yscale="log", xlabel={"rows": "rows", "n_allowed": "allowed edges"}[entry])
    panels["rows"].set_ylabel("seconds")
    panels["rows"].legend()
    return figure
