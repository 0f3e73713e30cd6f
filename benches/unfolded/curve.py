"""Loss against seconds: when a program first came within a level of the optimum."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

Points = list[tuple[float, float]]
"""Seconds since the start, and ℓ."""
LEVELS = (1e-2, 1e-3, 1e-4, 1e-6)
"""(ℓ − ℓ*)/ℓ*."""


class Curve:
    """The curve of a training as it runs, which also stops it."""

    def __init__(self, optimum: float | None, tol: float, limit: float) -> None:
        """Stop at (1 + tol) times the optimum, if that is known, and after `limit` seconds."""
        self.points: Points = []
        self._goal = -math.inf if optimum is None else optimum * (1 + tol)
        self._start, self._limit = time.perf_counter(), limit

    def add(self, value: float) -> bool:
        """Record a loss; return whether to stop, as a loss of NaN does too."""
        seconds = time.perf_counter() - self._start
        self.points.append((seconds, value))
        return not value > self._goal or seconds > self._limit

    def at_goal(self, value: float) -> bool:
        """Whether a loss is low enough."""
        return value <= self._goal


def ending_at(value: float, points: Points) -> Points:
    """A curve shifted to end at the true loss of the weights, because inexact solves shift the losses of a program."""
    shift = value - points[-1][1]
    return [(seconds, claimed + shift) for seconds, claimed in points]


def error(value: float, optimum: float) -> float:
    """(ℓ − ℓ*)/ℓ*."""
    return (value - optimum) / optimum


def first(points: Sequence[tuple[float, float]], optimum: float, level: float) -> float | None:
    """Seconds until a level was first reached."""
    return next((seconds for seconds, value in points if error(value, optimum) <= level), None)


def thinned(points: Points, optimum: float) -> Points:
    """The points at which a level 10^(−j/10) was first reached, and the last."""
    kept: Points = []
    least = math.inf
    for seconds, value in points:
        tenths = math.floor(10 * math.log10(max(error(value, optimum), 1e-12))) if math.isfinite(value) else math.inf
        if tenths < least:
            kept.append((seconds, value))
            least = tenths
    return [*kept, points[-1]] if points and kept[-1:] != points[-1:] else kept
