"""Nearest neighbors, affinity graphs, learned graphs, and sparsifiers."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._arguments import integer
from ._control import Callback, Seed, run_control
from ._graph import Graph
from ._inputs import features_argument
from ._kinds import READ_FIRST, array_of_features, checked_features
from ._learn import GraphLearner, learn_weights
from ._parameters import NamedParameters, documented, documented_by
from ._signatures import KNEIGHBORS_PARAMETERS, KNN_GRAPH_PARAMETERS, NeighborIndexParameters
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


@documented
class NeighborIndex(NeighborIndexParameters, NamedParameters, BaseEstimator):  # type: ignore[misc]
    """Index of rows, for repeated searches of the nearest ones to new rows.

    The interface is that of :class:`sklearn.neighbors.NearestNeighbors`. `fit` divides many dense rows into cells of near
    rows and measures how many cells a search has to visit for the recall target; within these it is exact. With few rows,
    or sparse ones, all are compared. For the neighbors of the fitted rows themselves :func:`kneighbors` is faster and
    needs no index.

    Notes
    -----
    For n rows of d columns, fitting into cells compares 500 rows with all others and every row with some thousand
    leaders of cells; the index holds 4·n·d bytes beside X. A query compares with the means of some 3·√n cells and the
    √n/3 or so rows in each of `n_probes` of them. Exact queries compare with all n rows and prepare these again in
    each call, so that one call for many rows is faster.

    The index keeps a reference to X, not a copy, if its type and order allow; do not change it in place. Pickle keeps
    X and the cells, and the answers stay the same.

    Examples
    --------
    >>> from lapwing.graph import NeighborIndex
    >>> index = NeighborIndex(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, indices = index.kneighbors([[0.9], [5.0]])
    >>> indices.tolist(), distances[1].tolist()
    ([[1, 0], [2, 1]], [2.0, 4.0])
    >>> index.kneighbors([[2.1]], n_neighbors=1, return_distance=False).tolist()
    [[2]]
    """

    recall_: Annotated[float, """float
        Share of true neighbors found: 1 if exact, else measured on 500 of the fitted rows."""]
    report_: Annotated[dict[str, Any], """dict
        `method` ("exact" or "partitions"), `recall`, its standard error `recall_error`, and the numbers of cells
        `n_cells` and of those a new row visits `n_probes`, both 0 if exact."""]
    n_samples_fit_: Annotated[int, """int
        Rows of the fitted X."""]
    n_features_in_: Annotated[int, """int
        Columns of X."""]
    feature_names_in_: Annotated[NDArray[np.object_], """ndarray of shape (`n_features_in_`,)
        Names of the columns; only if X had string names for all."""]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> NeighborIndex:
        """Build the index of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            At least two rows. C-contiguous float32, float64 and uint8 arrays, memory-mapped ones too, are used in
            place, all else is converted once.
        y : ignored
            Present because scikit-learn passes it.

        Returns
        -------
        NeighborIndex
            This object.
        """
        options = self._parameters()
        control = run_control(self.n_jobs, self.random_state, self.verbose, self.callback)
        features = self._features(X, min_samples=2)
        index = _lapwing.NeighborIndex()
        cells = index.build(features_argument(features), options, control)
        n_cells, n_probes, recall, error = cells or (0, 0, 1.0, 0.0)
        method = "partitions" if n_cells else "exact"
        self._fit_X, self._index, self._seed = features, index, control["seed"]
        # Later searches for other numbers of neighbors use the search method measured here.
        self._fit_options = {**options, "method": method}
        self.n_samples_fit_ = int(features.shape[0])
        self.recall_ = recall
        self.report_ = {
            "method": method,
            "recall": recall,
            "recall_error": error,
            "n_cells": n_cells,
            "n_probes": n_probes,
        }
        return self

    @overload
    def kneighbors(
        self, X: Any = ..., n_neighbors: int | None = ..., return_distance: Literal[True] = ...
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]: ...
    @overload
    def kneighbors(
        self, X: Any = ..., n_neighbors: int | None = ..., *, return_distance: Literal[False]
    ) -> NDArray[np.int32]: ...
    @overload
    def kneighbors(self, X: Any, n_neighbors: int | None, return_distance: Literal[False]) -> NDArray[np.int32]: ...
    @overload
    def kneighbors(
        self, X: Any = ..., n_neighbors: int | None = ..., return_distance: bool = ...
    ) -> NDArray[np.int32] | tuple[NDArray[np.float32], NDArray[np.int32]]: ...
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> NDArray[np.int32] | tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Nearest fitted rows of every row of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features) or None, default=None
            New rows; sparse if the fitted ones are, else dense. A fitted row among them counts as its own neighbor.
            None gives the neighbors of all fitted rows, without the row itself, as :func:`kneighbors` with the settings
            of the index.
        n_neighbors : int or None, default=None
            Neighbors of each row, in [1, `n_samples_fit_`], for None as X [1, `n_samples_fit_`); None is that of the fit.
            For more neighbors than in the fit, recall is lower than `recall_`.
        return_distance : bool, default=True
            Whether to return the distances as well.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float32
            Plain (not squared) distances, ascending; only with ``return_distance=True``.
        indices : ndarray of shape (n_queries, n_neighbors), int32
            Rows of the fitted X, sorted by (distance, index).
        """
        check_is_fitted(self)
        options = self._fit_options
        if n_neighbors is not None:
            options = {**options, "n_neighbors": integer("n_neighbors", n_neighbors)}
        control = run_control(self.n_jobs, self._seed, self.verbose, self.callback)
        fitted = features_argument(self._fit_X)
        if X is None:
            distances, indices, _ = _lapwing.kneighbors(fitted, options, control)
        else:
            new = self._features(X, reset=False)
            distances, indices = self._index.query(fitted, features_argument(new), options, control)
        found = indices.view(np.int32)
        return (distances, found) if return_distance else found

    def _features(self, X: Any, min_samples: int = 1, reset: bool = True) -> Any:
        return checked_features(self, X, "NeighborIndex takes no graph", READ_FIRST, min_samples, reset)


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
    parts, report = _lapwing.knn_graph(features, parameters, control)
    return Graph._from_parts(parts, json.loads(report) or {})
