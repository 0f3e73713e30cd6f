"""Seconds over the number of words, of the model on all pairs and of the one on a support (figure 1)."""

from __future__ import annotations

import math
from typing import Any

import common
import graphs
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(["word2vec"])
ROWS = (500, 1000, 2000, 4000, 8000)
NEIGHBORS = 10
SUPPORTS: dict[str, float | None] = {"all pairs": None, "r = 3": 3.0}
TOL = 1e-6
PATIENCE = 20.0
LINES = {"all pairs": "--", "r = 3": "-"}


def settings(small: bool) -> list[Setting]:
    """A process for each number of words, support and model."""
    return [
        {"rows": rows, "support": support, "model": model, "repeats": 1 if small else 3}
        for rows in ((200, 400) if small else ROWS)
        for support in SUPPORTS
        for model in graphs.LEARNED
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Fits on the most frequent words."""
    from lapwing.graph import GraphLearner

    rows, _ = sets.words("word2vec", setting["rows"])
    records = []
    for _ in range(setting["repeats"]):
        common.wait_for_quiet(PATIENCE)
        learner = GraphLearner(NEIGHBORS, model=setting["model"], support_factor=SUPPORTS[setting["support"]], tol=TOL)
        with common.Stopwatch() as watch:
            report = learner.fit(rows).report_
        records.append({**{key: report[key] for key in ("n_allowed", "n_iter")}, **watch.record()})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Seconds, and the exponent of the growth over the last doubling and over all."""
    sizes = sorted({one["rows"] for one in records})
    head = ["model", "support", *[f"{size:,} words, s" for size in sizes], "exponent, last doubling", "exponent, all"]
    rows = []
    for (model, support), group in results.grouped(records, lambda one: (one["model"], one["support"])).items():
        taken = [common.median(found, "wall_seconds") for found in results.by(group, "rows").values()]
        cells = [model, support, *map(common.seconds, taken)]
        rows.append([*cells, *[f"{_exponent(sizes, taken, first):.2f}" for first in (-2, 0)]])
    return common.markdown("word2vec: seconds of a fit by words", head, rows)


def _exponent(sizes: list[int], taken: list[float], first: int) -> float:
    return math.log(taken[-1] / taken[first]) / math.log(sizes[-1] / sizes[first])


def plot(records: list[common.Record]) -> Any:
    """Seconds over words; dashed with all pairs."""
    figure = results.figure(6, 4)
    panel = figure.subplots()
    for (model, support), group in results.grouped(records, lambda one: (one["model"], one["support"])).items():
        points = [(rows, common.median(found, "wall_seconds")) for rows, found in results.by(group, "rows").items()]
        style = {**graphs.CURVES.style(model), "linestyle": LINES[support], "label": f"{model}, {support}"}
        panel.plot(*zip(*points, strict=True), **style)
    panel.set(xscale="log", yscale="log", xlabel="words", ylabel="seconds")
    panel.legend()
    return figure
