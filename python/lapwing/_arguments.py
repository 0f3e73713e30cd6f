"""Checks of single arguments: a wrong type is a TypeError that names the argument."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def integer(name: str, value: Any) -> int:
    """An integer that is not a bool."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, not {_kind(value)}")
    return int(value)


def number(name: str, value: Any) -> float:
    """A real number that is not a bool."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {_kind(value)}")
    return float(value)


def auto_or_number(name: str, value: Any) -> float | None:
    """A real number; None for "auto"."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    if isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; expected a number or 'auto'")
    return number(name, value)


def text(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {_kind(value)}")
    return value


def graph_options(
    *,
    n_neighbors: Any,
    metric: Any,
    weights: Any = "self-tuning",
    symmetrize: Any = "mean",
    bandwidth: Any = "auto",
    method: Any = "auto",
    recall_target: Any = 0.95,
    zero_rows: Any = "error",
) -> dict[str, Any]:
    """Parameters of a graph in the form the compiled part takes them."""
    return {
        "n_neighbors": integer("n_neighbors", n_neighbors),
        "metric": text("metric", metric),
        "weights": text("weights", weights),
        "symmetrize": text("symmetrize", symmetrize),
        "bandwidth": auto_or_number("bandwidth", bandwidth),
        "method": text("method", method),
        "recall_target": number("recall_target", recall_target),
        "zero_rows": text("zero_rows", zero_rows),
    }


def _kind(value: Any) -> str:
    return type(value).__name__
