"""Accuracy against the number of labels of each class."""

from __future__ import annotations

from typing import Any

import common
import methods
import report
import sets

Setting = dict[str, Any]
NAMES = ("mnist", "mnist 7, 9", "mnist 4, 9", "usps", "protein", "donors", "magic", "cover")
DATA = sets.files(NAMES)
SETTINGS = (methods.NEAREST, *methods.FACTORS)
PER_CLASS = (1, 2, 5, 10, 50, 100, 500)
N_LANDMARKS = 100
ROWS = 30_000
"""Rows that are drawn from larger sets."""


def settings(small: bool) -> list[Setting]:
    """A process for each data set and method."""
    size = {"rows": 2000, "draws": 2} if small else {"rows": ROWS, "draws": 10}
    return [{"data": name, "method": method, **size} for name in NAMES for method in SETTINGS]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy for each number of labels."""
    rows, classes = sets.load(setting["data"], setting["rows"])
    cases = [(count, draw) for count in PER_CLASS if sets.allows(classes, count) for draw in range(setting["draws"])]
    draws = [sets.shown(classes, *case) for case in cases]
    # GLNP is slow, and its factor does not depend on the labels.
    select = "off" if setting["method"] == "glnp" else "auto"
    records = []
    for method, at, found, seconds in methods.guesses(setting["method"], rows, draws, N_LANDMARKS, select):
        case = {"method": method, "per_class": cases[at][0], "seconds": seconds}
        records.append({**case, **methods.rightness(classes, draws[at], found)})
    return [{**sets.describe(rows, classes), **one} for one in report.over_draws(records, "per_class")]


table, plot = report.over("per_class", {count: f"{count} per class" for count in PER_CLASS}, "labels of each class")
