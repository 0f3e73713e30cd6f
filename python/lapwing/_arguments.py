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


def sparsify_options(
    *,
    sampler: Any = "streaming",
    distortion: Any = None,
    edge_budget: Any = None,
    memory: Any = None,
    capacity: Any = None,
    n_projections: Any = 32,
    ridge: Any = None,
) -> dict[str, Any]:
    """Parameters of a sparsifier in the form the compiled part takes them."""
    budgets = {"distortion": distortion, "edge_budget": edge_budget, "memory": memory}
    given = [name for name, value in budgets.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; expected at most one of {', '.join(budgets)}")
    return {
        "sampler": text("sampler", sampler),
        "distortion": None if distortion is None else number("distortion", distortion),
        "edge_budget": None if edge_budget is None else integer("edge_budget", edge_budget),
        "memory": None if memory is None else integer("memory", memory),
        "capacity": None if capacity is None else integer("capacity", capacity),
        "n_projections": integer("n_projections", n_projections),
        "ridge": None if ridge is None else number("ridge", ridge),
    }


def _kind(value: Any) -> str:
    return type(value).__name__
