"""Edges of any container, in the form that the compiled part takes."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._containers import as_label_array
from ._inputs import refuse_masked
from ._tables import as_table, is_table
from ._warnings import warn

#: Types of ends taken as they are; other integers become int64.
END_TYPES = (np.uint32, np.int32, np.int64)
#: Names of the two columns of ends in a table, in lower case, and of the column of weights.
END_NAMES = (("source", "target"), ("from", "to"), ("src", "dst"), ("u", "v"))
WEIGHT_NAMES = ("weight", "weights", "w")
#: Edges that are passed on at a time, where they come one by one.
PORTION = 1 << 16


def portions(X: Any) -> Iterator[tuple[Any, Any]]:
    """Edges and weights of each portion of a stream: an array, a table, ``(edges, weights)``, or an iterable of those or of edges."""
    if _is_pair(X):
        yield X
        return
    if isinstance(X, np.ndarray) or is_table(X):
        yield X, None
        return
    stream = iter(X)
    for portion in stream:
        if _is_edge(portion):
            following = [portion, *islice(stream, PORTION - 1)]
            yield _array_of(following), None
        else:
            yield portion if _is_pair(portion) else (portion, None)


def edge_arrays(edges: Any, weights: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Ends (m, 2) and weights (m) of edges: borrowed if type and order fit. A third column, or one of that name, holds the weights."""
    refuse_masked(edges, "edges")
    refuse_masked(weights, "weights")
    ends, given = _columns_of(edges) if is_table(edges) else (np.asarray(edges), None)
    if ends.size == 0:
        ends = np.empty((0, 2), dtype=np.int64)
    if ends.ndim == 2 and ends.shape[1] == 3:
        ends, given = ends[:, :2], ends[:, 2]
        # Beside weights with fractions, numbers of nodes are such numbers too.
        ends = ends.astype(np.int64) if ends.dtype.kind == "f" and (ends == np.floor(ends)).all() else ends
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"edges has shape {ends.shape}; expected (n_edges, 2), or (n_edges, 3) with weights in the third column")
    if given is not None and weights is not None:
        raise ValueError("edges has a column of weights, and weights are given; expected them in one place")
    if ends.dtype.kind not in "iu":
        raise TypeError(f"edges must be integers, not {ends.dtype}")
    ends = _checked(ends)
    ends = np.ascontiguousarray(ends if ends.dtype in END_TYPES else ends.astype(np.int64))
    if given is None and weights is None:
        return ends, None
    given = np.asarray(weights if given is None else given)
    if given.shape != (len(ends),):
        raise ValueError(f"weights has shape {given.shape}; expected ({len(ends)},), one for each edge")
    return ends, np.ascontiguousarray(given, dtype=None if given.dtype in (np.float32, np.float64) else np.float64)


def _checked(ends: NDArray[Any]) -> NDArray[Any]:
    if ends.dtype == np.uint64 and ends.size and ends.max() >= 2**63:
        raise ValueError(f"edges holds {ends.max()}; nodes are numbers below n_samples")
    return ends


def _is_edge(item: Any) -> bool:
    """Whether this is one edge: two ends, or these and a weight."""
    if isinstance(item, np.ndarray):
        return item.ndim == 1 and item.size in (2, 3)
    is_short = isinstance(item, (tuple, list)) and len(item) in (2, 3)
    return is_short and all(isinstance(part, numbers.Number) for part in item)


def _is_pair(item: Any) -> bool:
    """Whether this is ``(edges, weights)``."""
    return isinstance(item, tuple) and len(item) == 2 and not _is_edge(item) and not all(map(_is_edge, item))


def _array_of(edges: list[Any]) -> NDArray[Any]:
    lengths = {len(edge) for edge in edges}
    if len(lengths) > 1:
        raise ValueError("some edges have a weight and some have none; expected (u, v) for all of them, or (u, v, weight)")
    return np.asarray(edges)


def _columns_of(table: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Ends and weights in the columns of a table: found by their names, else the first two columns and the third."""
    as_table(table, "edges")
    if not hasattr(table, "columns"):
        import pyarrow  # what else has Arrow's interface

        table = pyarrow.table(table)
    is_arrow = hasattr(table, "column_names") and not hasattr(table, "iloc")
    names = [str(name).strip().lower() for name in (table.column_names if is_arrow else table.columns)]
    if len(set(names)) < len(names):
        raise ValueError(f"edges has two columns named {next(name for name in names if names.count(name) > 1)!r}; rename one")
    ends = next(([names.index(u), names.index(v)] for u, v in END_NAMES if u in names and v in names), None)
    weight = next((names.index(name) for name in WEIGHT_NAMES if name in names), None)
    others = [at for at in range(len(names)) if at not in (*(ends or ()), weight)]
    if ends is not None and weight is None:
        numeric = [at for at in others if as_label_array(_column(table, at)).dtype.kind in "iuf"]
        if len(numeric) > 1:
            listed = ", ".join(repr(names[at]) for at in numeric)
            raise ValueError(f"edges has the columns {listed} besides the ends; call the one of weights 'weight', or leave them out")
        weight = numeric[0] if numeric else None
        others = [at for at in others if at != weight]
    if ends is not None and others:
        listed = ", ".join(repr(names[at]) for at in others)
        warn(f"the columns {listed} of edges are left out")
    if ends is None:
        ends, others = others[:2], others[2:]
        weight, others = (others[0], others[1:]) if weight is None and others else (weight, others)
        if len(ends) < 2 or others:
            raise ValueError(
                f"edges has the columns {', '.join(names)}; expected two, or three with weights, or columns named source, target and "
                "weight"
            )
    columns = [as_label_array(_column(table, at)) for at in (*ends, *([] if weight is None else [weight]))]
    if not len(columns[0]):
        return np.empty((0, 2), dtype=np.int64), None
    for at, column in zip(ends, columns, strict=False):
        if column.dtype.kind not in "iu":
            raise TypeError(f"column {names[at]!r} of edges must hold integers, the numbers of nodes, not {column.dtype}")
    if columns[0].dtype != columns[1].dtype:
        # The common type of signed and unsigned numbers is a floating-point one.
        columns[:2] = [_checked(column).astype(np.int64) for column in columns[:2]]
    return np.column_stack(columns[:2]), None if weight is None else columns[2]


def _column(table: Any, at: int) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[:, at]
    return table.get_columns()[at] if hasattr(table, "get_columns") else table.column(at)
