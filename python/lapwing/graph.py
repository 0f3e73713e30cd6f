"""Nearest neighbours, affinity graphs, learned graphs, and sparsifiers."""

from __future__ import annotations

import json
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _lapwing
from ._arguments import graph_options
from ._control import Callback, run_control
from ._graph import Graph
from ._inputs import check_features, features_argument
from ._kinds import features_of
from ._learn import GraphLearner, learn_weights
from ._neighbors import NeighborIndex
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


@overload
def kneighbors(
    X: Any,
    n_neighbors: int = ...,
    *,
    metric: str = ...,
    method: str = ...,
    recall_target: float = ...,
    zero_rows: str = ...,
    random_state: Any = ...,
    n_jobs: int | None = ...,
    verbose: int | bool = ...,
    callback: Callback | None = ...,
    return_report: Literal[False] = ...,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]: ...
@overload
def kneighbors(
    X: Any,
    n_neighbors: int = ...,
    *,
    metric: str = ...,
    method: str = ...,
    recall_target: float = ...,
    zero_rows: str = ...,
    random_state: Any = ...,
    n_jobs: int | None = ...,
    verbose: int | bool = ...,
    callback: Callback | None = ...,
    return_report: Literal[True],
) -> tuple[NDArray[np.float32], NDArray[np.int32], dict[str, Any]]: ...
def kneighbors(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    recall_target: float = 0.95,
    zero_rows: str = "error",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
    return_report: bool = False,
) -> Any:
    """Nearest neighbours of every row among the other rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features. C-contiguous float32, float64 and uint8 arrays are used in place, all else is converted once.
    n_neighbors : int, default=15
        Neighbours of each row, in [1, n_samples).
    metric : {"euclidean", "cosine", "inner-product"}, default="euclidean"
        ‖x − y‖, 1 − xᵀy / (‖x‖‖y‖), or −xᵀy: the rows of the largest products, which may be negative.
    method : {"auto", "exact", "partitions"}, default="auto"
        All distances, or overlapping random partitions until the measured recall reaches its target; "auto" takes
        whichever is faster for the size.
    recall_target : float in (0, 1], default=0.95
        Share of true neighbours "partitions" must find.
    zero_rows : {"error", "allow"}, default="error"
        Rows of zeros under the cosine metric: an error that names the first, or at distance 1 from every row.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the partitions; None draws one from NumPy's global generator. Exact searches do not depend on it.
    n_jobs : int or None, default=None
        Threads; None and -1 take every processor. Results are the same for any number.
    verbose : int or bool, default=0
        Whether to write the time of each phase to standard error.
    callback : callable or None, default=None
        Called with a dict of `phase`, `done`, `total`, `note` as the work goes on; if it raises, the work stops.
    return_report : bool, default=False
        Whether to return the report as well.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_neighbors), float32
        Plain (not squared) distances, ascending.
    indices : ndarray of shape (n_samples, n_neighbors), int32
        The neighbours, never the row itself, sorted by (distance, index).
    report : dict
        Builder, recall (measured on a sample of rows), its standard error; only with ``return_report=True``.

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
    options = graph_options(
        n_neighbors=n_neighbors, metric=metric, method=method, recall_target=recall_target, zero_rows=zero_rows
    )
    control = run_control(n_jobs, random_state, verbose, callback)
    features = features_argument(features_of(X, lambda: check_features(X, 2), "kneighbors takes no graph"))
    distances, indices, report = _lapwing.kneighbors(features, options, control)
    found = (distances, indices.view(np.int32))
    return (*found, json.loads(report)) if return_report else found


def knn_graph(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    weights: str = "self-tuning",
    symmetrize: str = "mean",
    bandwidth: float | Literal["auto"] = "auto",
    method: str = "auto",
    recall_target: float = 0.95,
    zero_rows: str = "error",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> Graph:
    """Affinity graph of the nearest neighbours.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, as in :func:`kneighbors`.
    n_neighbors : int, default=15
        Neighbours of each row, in [1, n_samples).
    metric : {"euclidean", "cosine", "inner-product"}, default="euclidean"
        Distance, as in :func:`kneighbors`. Inner products go with binary weights only, being no distances.
    weights : {"self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"}, default="self-tuning"
        exp(−d²/(h²σᵢσⱼ)) with σᵢ the distance to the last neighbour, exp(−d²/(2σ²)), max(0, 1 − d), 1, or learned with the
        edges, about `n_neighbors` a row, as :class:`GraphLearner` does with its defaults.
    symmetrize : {"union", "mean", "mutual"}, default="mean"
        Edge if either row names the other (larger weight), (W + Wᵀ)/2, or only if both do (smaller weight).
    bandwidth : float > 0 or "auto", default="auto"
        σ of the Gaussian weights, in the unit of distances, "auto" being the median distance to the last neighbour; or
        h of the self-tuning ones, "auto" being 0.5. The others have none.
    method, recall_target, zero_rows, random_state, n_jobs, verbose, callback
        As in :func:`kneighbors`.

    Returns
    -------
    Graph

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graph import knn_graph
    >>> graph = knn_graph(load_iris().data, n_neighbors=10)
    >>> graph.n_samples, graph.report["recall"], graph.to_scipy().shape
    (150, 1.0, (150, 150))
    """
    options = graph_options(
        n_neighbors=n_neighbors,
        metric=metric,
        weights=weights,
        symmetrize=symmetrize,
        bandwidth=bandwidth,
        method=method,
        recall_target=recall_target,
        zero_rows=zero_rows,
    )
    control = run_control(n_jobs, random_state, verbose, callback)
    features = features_argument(features_of(X, lambda: check_features(X, 2), "knn_graph makes one of features"))
    parts, _, report = _lapwing.knn_graph(features, options, control)
    return Graph._from_parts(parts, json.loads(report) or {})
