"""Common parts of `active` and `audit`: rows and labels in the form that the compiled part takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from . import _lapwing
from ._arguments import choice, integer
from ._base import graph_parts
from ._containers import as_label_array
from ._graph import Graph
from ._inputs import label_weights, refuse_other_length
from ._kinds import array_of_features
from ._labels import ClassLabels, class_labels, class_names
from ._warnings import scaling_warnings


class _NextRows(NamedTuple):
    rows: NDArray[np.int64]
    reasons: NDArray[np.str_]


class NextRows(_NextRows):
    """Rows to label next, and why each one."""

    report: dict[str, Any]
    """How they were found."""


class Rows(NamedTuple):
    """The rows of a call: their graph, and their features if these were given."""

    graph: Any
    """One that the compiled part keeps."""
    features: Any
    warnings: Sequence[dict[str, str]] = ()
    """What is to be said about them."""


def held_graph(graph: Any, what: str) -> Any:
    """A given graph, kept by the compiled part: a Graph, a sparse matrix, or one that is kept already."""
    if isinstance(graph, _lapwing.HeldGraph):
        return graph
    return _lapwing.HeldGraph(graph_parts(graph, what))


def rows_of(X: Any, graph: Any, affinity: str, parameters: dict[str, Any], control: dict[str, Any]) -> Rows:
    """The rows: `X` is features, or a graph if it is a Graph or `affinity` says so; `graph` stands beside features."""
    is_graph = choice("affinity", affinity, ("knn", "precomputed")) == "precomputed" or isinstance(X, Graph)
    if is_graph and graph is not None:
        raise ValueError("both X and graph hold a graph; give one of them, and None for X in the other's place")
    if is_graph:
        return Rows(held_graph(X, "X"), None)
    if X is None and graph is not None:
        return Rows(held_graph(graph, "graph"), None)
    features = array_of_features(X, "give affinity='precomputed' to take a graph as X")
    if graph is None:
        held = _lapwing.HeldGraph.build(features, parameters, control)
        return Rows(held, features, scaling_warnings(features, {**control, "callback": None}))
    held = held_graph(graph, "graph")
    n = features[0][0] if isinstance(features, tuple) else features.shape[0]
    if held.n_samples != n:
        raise ValueError(f"graph has {held.n_samples} nodes, but X has {n} rows; expected a node for each row")
    return Rows(held, features)


@dataclass(frozen=True)
class GivenLabels(ClassLabels):
    """Labels as they were given."""

    argument: Any
    """For the compiled part: codes and names of the classes, or shares of these."""
    weights: NDArray[np.float64] | None

    @property
    def is_empty(self) -> bool:
        """Whether no row has a label."""
        return not (self.codes >= 0).any()


def given_labels(y: Any, n_samples: int, unlabeled: Any, sample_weight: Any = None) -> GivenLabels:
    """The labels of `n_samples` rows, or shares of classes; `y` may be None for no labels."""
    weights = label_weights(sample_weight, n_samples)
    array = np.full(n_samples, None, dtype=object) if y is None else as_label_array(y)
    if array.ndim == 2 and array.shape[1] > 1:
        shares = np.array(array, dtype=np.float64, order="C")
        refuse_other_length(shares, n_samples)
        shares[np.isnan(shares).all(axis=1)] = 0.0
        codes = np.where(shares.any(axis=1), shares.argmax(axis=1), -1).astype(np.int32)
        marker = -1 if unlabeled is None else unlabeled
        return GivenLabels(np.arange(shares.shape[1]), codes, marker, shares, weights)
    if array.ndim == 0:
        raise ValueError(f"y is {y!r}; expected a label for each row")
    array = column_or_1d(array, warn=True)
    refuse_other_length(array, n_samples)
    found = class_labels(array, unlabeled, weights)
    argument = (found.codes, class_names(found.classes))
    return GivenLabels(found.classes, found.codes, found.marker, argument, weights)


def row_numbers(rows: Any, n_samples: int, what: str) -> NDArray[np.uint32]:
    """Rows given as a mask or as numbers."""
    array: NDArray[Any] = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (n_samples,):
            raise ValueError(f"{what} is a mask of shape {array.shape}; expected one value per row, ({n_samples},)")
        return np.flatnonzero(array).astype(np.uint32)
    array = column_or_1d(array)
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} must be a mask or row numbers, not {array.dtype}")
    outside = (array < 0) | (array >= n_samples)
    if outside.any():
        raise ValueError(f"{what} names row {array[outside][0]}; expected rows from 0 to {n_samples - 1}")
    found, counts = np.unique(array, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{what} names row {found[counts > 1][0]} twice")
    return array.astype(np.uint32)


def _costs(cost: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(cost, dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"cost must hold a number above 0 for each row: {error}") from None
    return np.ascontiguousarray(column_or_1d(numbers))


def next_rows(
    suggester: Any,
    labels: GivenLabels,
    n: Any,
    candidates: Any,
    exclude: Any,
    cost: Any,
    options: dict[str, Any],
    control: dict[str, Any],
    warm_start: bool,
    return_report: bool,
) -> Any:
    """The next batch of a suggester, as `suggest` returns it."""
    count, n_samples = integer("n", n), len(labels.codes)
    if count < 1:
        raise ValueError(f"n is {n}; expected at least 1")
    wanted = {
        "n": count,
        "candidates": None if candidates is None else row_numbers(candidates, n_samples, "candidates"),
        "exclude": row_numbers([] if exclude is None else exclude, n_samples, "exclude"),
        "cost": None if cost is None else _costs(cost),
    }
    argument = None if labels.is_empty else labels.argument
    found = suggester.next(argument, labels.weights, wanted, options, warm_start, control)
    batch = NextRows(found["rows"], np.array(found["reasons"]))
    guesses = [None if code < 0 else labels.classes[code] for code in found["guesses"]]
    told = {"scores": found["scores"], "guesses": np.array(guesses, dtype=object), "confidence": found["confidence"]}
    batch.report = json.loads(found["report"]) | told
    return (*batch, batch.report) if return_report else batch
