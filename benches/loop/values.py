"""Regression: coverage and width of intervals at level .9, and how well wrong values are found.

A column of each set is the value, the others are features. 100 or 300 values of 5000 rows, drawn like the rows, give intervals for
the others: the jackknife+ of lapwing beside split intervals of the same regressor (half of the values to fit, half to measure
the errors). Of 1000 known values 5 % are those of other rows: average precision of lapwing's audit beside scores of cleanlab, from
the mean of the 15 nearest other known rows.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import common
import goals
import keep
import material
import numpy as np
from common import Record
from material import Draw

TITLE, THREADS, VERSION = "Regression: intervals at level .9, and wrong values", 1, 1
TARGETS = {"covertype": (0, "elevation"), "usps": (136, "the pixel in the middle"), "isolet": (300, "a coefficient of the sound")}
"""Column of the value, and what it is."""
LEVEL, VALUES, KNOWN, WRONG, NEIGHBORS = 0.9, [100, 300], 1000, 0.05, 15
INTERVALS = ["lapwing-jackknife", "lapwing-split"]
JUDGES = ["lapwing-audit", "cleanlab-outre", "cleanlab-residual"]
COVERAGE = (0.88, 0.94)


def units(args: argparse.Namespace) -> list[Record]:
    sets = [name for name in args.sets or TARGETS if name in TARGETS]
    return [{"set": name, "draw": number} for name in sets for number in range(args.draws or 10)]


def methods(unit: Record) -> list[str]:
    return INTERVALS + JUDGES


def measure(unit: Record, method: str) -> Record:
    draw, values = _with_values(unit)
    order = draw.rng(9).permutation(len(values))
    if method in JUDGES:
        return {"average_precision": _doubts(draw, values, order[:KNOWN], method)}
    ends = {str(count): _ends(draw, values, order[:count], method) for count in VALUES}
    return {
        "coverage": {count: _coverage(values, order[int(count) :], *both) for count, both in ends.items()},
        "width": {count: _width(values, order[int(count) :], *both) for count, both in ends.items()},
    }


def _with_values(unit: Record) -> tuple[Draw, np.ndarray]:
    """The rows without the column, and the column."""
    whole, column = material.draw(unit["set"], unit["draw"]), TARGETS[unit["set"]][0]
    values = whole.features[:, column].astype(np.float64)
    return Draw(whole.name, whole.number, np.delete(whole.features, column, axis=1), whole.classes), values


def _fitted(draw: Draw, values: np.ndarray, rows: np.ndarray) -> Any:
    from lapwing import HarmonicRegressor

    shown = np.full(len(values), np.nan)
    shown[rows] = values[rows]
    return HarmonicRegressor(random_state=0).fit(None, shown, graph=draw.graph)


def _ends(draw: Draw, values: np.ndarray, rows: np.ndarray, method: str) -> tuple[np.ndarray, np.ndarray]:
    if method == "lapwing-jackknife":
        return tuple(keep.method_of(_fitted(draw, values, rows), "predict_interval")(LEVEL).T)
    half = len(rows) // 2
    found = _fitted(draw, values, rows[:half]).transduction_
    errors = np.sort(np.abs(found - values)[rows[half:]])
    limit = errors[min(math.ceil((len(errors) + 1) * LEVEL) - 1, len(errors) - 1)]
    return found - limit, found + limit


def _coverage(values: np.ndarray, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    return float(((lower <= values) & (values <= upper))[rows].mean())


def _width(values: np.ndarray, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """In standard deviations of the value."""
    return float((upper - lower)[rows].mean() / values.std())


def _doubts(draw: Draw, values: np.ndarray, rows: np.ndarray, method: str) -> float:
    from sklearn.metrics import average_precision_score

    random = draw.rng(10)
    is_wrong = random.random(len(rows)) < WRONG
    given = np.where(is_wrong, values[random.permutation(rows)], values[rows])
    if method == "lapwing-audit":
        shown = np.full(len(values), np.nan)
        shown[rows] = given
        quality = keep.method_of(_fitted(draw, shown, rows), "audit")().quality[rows]
        # A value that no other reaches is not doubted.
        quality = np.nan_to_num(quality, nan=1.0)
    else:
        quality = _peer(draw.features[rows], given, method.removeprefix("cleanlab-"))
    return float(average_precision_score(is_wrong, -quality))


def _peer(features: np.ndarray, given: np.ndarray, score: str) -> np.ndarray:
    from cleanlab.regression.rank import get_label_quality_scores
    from sklearn.model_selection import LeaveOneOut, cross_val_predict
    from sklearn.neighbors import KNeighborsRegressor

    predicted = cross_val_predict(KNeighborsRegressor(NEIGHBORS, algorithm="brute"), features, given, cv=LeaveOneOut())
    return get_label_quality_scores(given, predicted, method=score)


def table(results: goals.Results) -> str:
    sets = goals.present(results, "set")

    def of(figure: str, method: str, name: str) -> str:
        return " ".join(goals.share(goals.mean(results, f"{figure}.{count}", method, set=name), 2) for count in VALUES)

    first = [[method, *[f"{of('coverage', method, name)} / {of('width', method, name)}" for name in sets]] for method in INTERVALS]
    found = {(method, name): goals.mean(results, "average_precision", method, set=name) for method in JUDGES for name in sets}
    second = [[method, *[goals.share(found[method, name]) for name in sets]] for method in JUDGES]
    named = [f"{name}: {TARGETS[name][1]}" for name in sets]
    text = common.table([f"coverage / mean width at {', '.join(map(str, VALUES))} values", *named], first) + "\n"
    text += common.table(["wrong values, average precision", *sets], second) + "\n"
    for name in sets:
        for count in VALUES:
            coverage = goals.mean(results, f"coverage.{count}", INTERVALS[0], set=name)
            text += goals.least(f"{name}, {count} values, coverage", coverage, COVERAGE[0])
            text += goals.most(f"{name}, {count} values, coverage", coverage, COVERAGE[1])
        best = max(found[method, name] for method in JUDGES[1:])
        text += goals.least(f"{name}, wrong values against the better peer", found[JUDGES[0], name], best)
    return text
