"""Nearest neighbors, affinity graphs, learned graphs, and sparsifiers."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _lapwing
from ._control import Callback, Seed, run_control
from ._graph import Graph
from ._kinds import array_of_features
from ._learn import GraphLearner, learn_weights
from ._neighbors import NeighborIndex
from ._parameters import documented_by
from ._signatures import KNEIGHBORS_PARAMETERS, KNN_GRAPH_PARAMETERS
from ._sparsify import StreamingSparsifier, effective_resistances, sparsify

__all__ = [
    "Graph",
    "GraphLearner",
    "NeighborIndex",
    "StreamingSparsifier",
    "effective_resistances",
    "kneighbors",
    "knn_graph",
    "learn_weights",
    "sparsify",
]


class _Neighbors(NamedTuple):
    distances: NDArray[np.float32]
    indices: NDArray[np.int32]


class Neighbors(_Neighbors):
    """The pair that `kneighbors` returns."""

    report: dict[str, Any]
    """Method, recall (measured on a sample of rows), its standard error."""


@documented_by(KNEIGHBORS_PARAMETERS)
def kneighbors(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto",
    method: Literal["auto", "exact", "partitions"] = "auto",
    recall_target: float = 0.95,
    zero_rows: Literal["error", "allow"] = "error",
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
    return_report: bool = False,
) -> Any:
    """Nearest neighbors of every row among the other rows.

    Parameters
    ----------

    Returns
    -------
    distances : ndarray of shape (n_samples, n_neighbors), float32
        Plain (not squared) distances, ascending.
    indices : ndarray of shape (n_samples, n_neighbors), int32
        The neighbors, never the row itself, sorted by (distance, index).
    report : dict
        Method, recall (measured on a sample of rows), its standard error; only with ``return_report=True``. A pair has it as its
        attribute `report`.

    Notes
    -----
    Exact: O(n²·d) time, O(n·k) memory.

    Examples
    --------
    >>> from lapwing.graph import kneighbors
    >>> distances, indices = kneighbors([[0.0], [1.0], [3.0]], n_neighbors=1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    parameters = {
        "n_neighbors": n_neighbors, "metric": metric, "method": method, "recall_target": recall_target,
        "zero_rows": zero_rows,
    }  # fmt: skip
    control = run_control(n_jobs, random_state, verbose, callback)
    features = array_of_features(X, "kneighbors takes no graph")
    distances, indices, report = _lapwing.kneighbors(features, parameters, control)
    found = Neighbors(distances, indices.view(np.int32))
    found.report = json.loads(report)
    return (*found, found.report) if return_report else found


@documented_by(KNN_GRAPH_PARAMETERS)
def knn_graph(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto",
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning",
    symmetrize: Literal["union", "mean", "mutual"] = "mean",
    bandwidth: float | Literal["auto"] = "auto",
    knn_method: Literal["auto", "exact", "partitions"] = "auto",
    recall_target: float = 0.95,
    zero_rows: Literal["error", "allow"] = "error",
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> Graph:
    """Affinity graph of the nearest neighbors.

    Parameters
    ----------

    Returns
    -------
    Graph
        The graph; its `report` says how it was made.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graph import knn_graph
    >>> graph = knn_graph(load_iris().data, n_neighbors=10)
    >>> graph.n_samples, graph.report["recall"], graph.to_scipy().shape
    (150, 1.0, (150, 150))
    """
    parameters = {
        "n_neighbors": n_neighbors, "metric": metric, "weights": weights, "symmetrize": symmetrize, "bandwidth": bandwidth,
        "knn_method": knn_method, "recall_target": recall_target, "zero_rows": zero_rows,
    }  # fmt: skip
    control = run_control(n_jobs, random_state, verbose, callback)
    features = array_of_features(X, "knn_graph makes one of features")
    parts, _, report = _lapwing.knn_graph(features, parameters, control)
    return Graph._from_parts(parts, json.loads(report) or {})
