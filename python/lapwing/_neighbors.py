"""Neighbors of new rows among fitted ones."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._arguments import integer
from ._control import run_control
from ._inputs import features_argument
from ._kinds import READ_FIRST, checked_features
from ._parameters import NamedParameters, documented
from ._signatures import NeighborIndexParameters


@documented
class NeighborIndex(NeighborIndexParameters, NamedParameters, BaseEstimator):  # type: ignore[misc]
    """Index of rows, for repeated searches of the nearest ones to new rows.

    The interface is that of :class:`sklearn.neighbors.NearestNeighbors`. `fit` divides many dense rows into cells of near
    rows and measures how many cells a search has to visit for the recall target; within these it is exact. With few rows,
    or sparse ones, all are compared. For the neighbors of the fitted rows themselves :func:`kneighbors` is faster and
    needs no index.

    Parameters
    ----------

    Attributes
    ----------
    recall_ : float
        Share of true neighbors found: 1 if exact, else measured on 500 of the fitted rows.
    report_ : dict
        `method` ("exact" or "partitions"), `recall`, its standard error `recall_error`, and the numbers of cells
        `n_cells` and of those a new row visits `n_probes`, both 0 if exact.
    n_samples_fit_ : int
        Rows of the fitted X.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns; only if X had string names for all.

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

    recall_: float
    report_: dict[str, Any]
    n_samples_fit_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

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
