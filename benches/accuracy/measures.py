"""Quality of answers: calibration, and the distance to the best of all methods."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from methods import is_judge

BINS = 15
Results = Sequence[dict[str, Any]]
Place = tuple[str, str]
"""A set and a cell."""
Means = dict[Place, dict[str, float]]
"""The mean of a value over draws, by place and method."""


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error: 15 bins of equal width, |share right − mean confidence| weighted by their rows."""
    known = np.isfinite(confidence)
    confidence, right = confidence[known], right[known]
    if not len(right):
        return float("nan")
    bins = np.clip((confidence * BINS).astype(int), 0, BINS - 1)
    gaps = np.bincount(bins, weights=right - confidence, minlength=BINS)
    return float(np.abs(gaps).sum() / len(right))


def means(results: Iterable[dict[str, Any]], figure: str) -> Means:
    """Means over the draws; results without the value are left out."""
    found: dict[Place, dict[str, list[float]]] = {}
    for one in results:
        if one.get(figure) is not None:
            found.setdefault((one["set"], one["cell"]), {}).setdefault(one["method"], []).append(one[figure])
    return {place: {name: statistics.mean(values) for name, values in row.items()} for place, row in found.items()}


def best(accuracies: dict[str, float]) -> float:
    """The best mean accuracy of a cell among the methods that count for it."""
    return max((value for name, value in accuracies.items() if is_judge(name)), default=float("nan"))


def regrets(accuracies: Means, method: str) -> dict[Place, float]:
    """Mean distance of a method from the best, over its finished cells. Methods that are given class sizes may exceed it."""
    return {place: best(row) - row[method] for place, row in accuracies.items() if method in row}
