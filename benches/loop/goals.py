"""Means over draws, and the lines that say whether a goal is met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from common import Record

Results = Sequence[Record]


def mean(results: Results, figure: str, method: str, **where: object) -> float:
    """The mean of a figure over the results of a method with these entries; NaN if there are none.

    A dot in the figure leads into an inner dictionary.
    """
    where = {"method": method, **where}
    taken = [value(one, figure) for one in results if all(one.get(key) == word for key, word in where.items())]
    taken = [one for one in taken if one is not None and math.isfinite(one)]
    return statistics.mean(taken) if taken else math.nan


def value(result: Record, figure: str) -> float | None:
    """A figure of one result; None if it is not there."""
    for word in figure.split("."):
        result = result.get(word) if isinstance(result, dict) else None
    return result


def average(values: Sequence[float]) -> float:
    """The mean of numbers that are all known, else NaN."""
    return statistics.mean(values) if values else math.nan


def present(results: Results, key: str) -> list:
    """The values of an entry, each once, in the order of the results."""
    return list(dict.fromkeys(one[key] for one in results))


def share(number: float, digits: int = 3) -> str:
    """A number in a table; a dash if it is not known."""
    return "–" if not math.isfinite(number) else f"{number:.{digits}f}"


def least(what: str, found: float, wanted: float, digits: int = 3) -> str:
    """A goal from below."""
    return _line(what, found, f"≥ {wanted:.{digits}f}", found >= wanted, wanted, digits)


def most(what: str, found: float, wanted: float, digits: int = 3) -> str:
    """A goal from above."""
    return _line(what, found, f"≤ {wanted:.{digits}f}", found <= wanted, wanted, digits)


def _line(what: str, found: float, wanted: str, met: bool, limit: float, digits: int) -> str:
    if not (math.isfinite(found) and math.isfinite(limit)):
        return f"- {what}: not measured\n"
    return f"- {what}: {found:.{digits}f}, wanted {wanted}: **{'met' if met else 'MISSED'}**\n"
