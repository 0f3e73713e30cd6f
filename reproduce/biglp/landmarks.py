"""Accuracy against the number of landmarks."""

from __future__ import annotations

from typing import Any

import common
import labels
import methods
import report
import sets

Setting = dict[str, Any]
DATA = labels.DATA
N_LANDMARKS = (20, 50, 100, 200, 500, 1000)
SMALL_LANDMARKS = (20, 50, 100, 200)
GLNP_LANDMARKS = 500
"""The most landmarks of GLNP, whose time grows with their square."""
OPTIONS: dict[str, dict[str, Any]] = {"glnp": {"glnp_max_iter": 100}}
"""GLNP ends after 100 iterations here: with 500 columns each takes seconds."""
PER_CLASS = 10
FULL = {"rows": labels.ROWS, "draws": 10}
SMALL = {"rows": 2000, "draws": 2}


def settings(small: bool) -> list[Setting]:
    """A process for each data set and method."""
    size, sizes = (SMALL, SMALL_LANDMARKS) if small else (FULL, N_LANDMARKS)
    most = {"glnp": GLNP_LANDMARKS}
    return [
        {"data": name, "method": method, "sizes": [k for k in sizes if k <= most.get(method, k)], **size}
        for name in labels.NAMES
        for method in labels.SETTINGS
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy for each number of landmarks; methods without landmarks have the same for all."""
    rows, classes = sets.load(setting["data"], setting["rows"])
    draws = [sets.shown(classes, PER_CLASS, draw) for draw in range(setting["draws"])]
    options, records = OPTIONS.get(setting["method"], {}), []
    for k in setting["sizes"]:
        for method, draw, found, seconds in methods.guesses(setting["method"], rows, draws, k, "off", **options):
            case = {"method": method, "n_landmarks": k, "seconds": seconds}
            records.append({**case, **methods.rightness(classes, draws[draw], found)})
    return [{**sets.describe(rows, classes), **one} for one in report.over_draws(records, "n_landmarks")]


table, plot = report.over("n_landmarks", {k: f"k = {k:,}" for k in N_LANDMARKS}, "landmarks k")
