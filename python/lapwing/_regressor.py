"""Common parts of the regressors: values in, values of new rows out."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._attributes import Values
from ._base import GraphEstimator
from ._inputs import vector
from ._pages import FittedRows, KeepsRows
from ._targets import marker_warnings, target_values

_Regressor = TypeVar("_Regressor", bound="SpreadingRegressor")


class SpreadingRegressor(KeepsRows, RegressorMixin, Values, GraphEstimator):  # type: ignore[misc]
    """Base of the regressors that find values for the rows of the fit and new rows."""

    def fit(self: _Regressor, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> _Regressor:
        """Find a value for every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features; or what `affinity` says. C-contiguous float32, float64 and uint8 arrays are used in place, all else is
            converted once.
        y : array-like of shape (n_samples,)
            Values, NaN or otherwise missing where unknown, in any container; -1 is a value.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given value, at least 0, default 1; 0 counts as unknown.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            The graph of the rows: symmetric weights, a :class:`lapwing.graph.Graph`, or ``(indices, distances)`` of a neighbor
            search; None builds the graph from X. Methods that need features beside a graph take both. For the others the
            graph stands for X, which may be None, and new rows are given by their affinities to those of the fit.

        Returns
        -------
        self
            The regressor, fitted.
        """
        return self._fit(X, y, sample_weight, graph)

    def _fit(self: _Regressor, X: Any, y: Any, sample_weight: Any, graph: Any) -> _Regressor:
        problem = self._begin(X, y, graph)
        weights = self._label_weights(sample_weight, problem.n_samples)
        values = self._known_values(y, problem.n_samples, weights)
        extras = {"hands_extension": not self._keeps_rows, "keeps_graph": self._keeps_graph}
        fitted = _lapwing.fit_regressor(
            problem.method, problem.parameters, problem.rows, values, weights, extras, problem.control
        )
        self._mean = fitted["mean"]
        self.scores_ = fitted["values"]
        self.transduction_ = self._filled(self.scores_)
        self.uncertainty_ = fitted["uncertainty"]
        self._keep(problem, fitted, self.scores_.reshape(-1, 1))
        self.report_["warnings"] += marker_warnings(values, self.unlabeled)
        self._fitted_rows = FittedRows(problem, ~np.isnan(values), graph=fitted["graph"])
        self._keep_values(fitted["graph"], values, weights)
        self._warn()
        return self

    _keeps_graph: ClassVar[bool] = False
    """Whether the graph is kept for later calls on the rows of the fit."""

    def _keep_values(self, graph: Any, values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> None:
        """Keep what later calls on the rows of the fit need."""

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> NDArray[np.float64]:
        """Find a value for every row of X; the same as ``fit(X, y).transduction_``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for :meth:`fit`.
        y : array-like of shape (n_samples,)
            As for :meth:`fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            As for :meth:`fit`.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            A value for every row.
        """
        return self.fit(X, y, sample_weight, graph=graph).transduction_

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Values of new rows: the weighted mean over their nearest fitted rows, or as the class says.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; if the fit was given a graph instead of features, their affinities to the fitted rows
            (m, n_samples).

        Returns
        -------
        ndarray of shape (m,)
            A value for every row.
        """
        return self._predicted(X)

    def _predicted(self, X: Any, graph: Any = None) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._filled(self._new_scores(X, graph)[0].reshape(-1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of ``predict(X)`` over the rows of y that have a value.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            Rows, as for :meth:`predict`.
        y : array-like of shape (m,)
            Values, NaN where unknown.
        sample_weight : array-like of shape (m,), default=None
            Weights of the rows; None for 1.

        Returns
        -------
        float
            R², at most 1.
        """
        return self._score_of(self.predict(X), y, sample_weight)

    def _score_of(self, predicted: NDArray[np.float64], y: Any, sample_weight: Any) -> float:
        values = self._values(y, predicted.shape[0])
        known = ~np.isnan(values)
        weights = None if sample_weight is None else vector(sample_weight, "sample_weight")[known]
        return float(r2_score(values[known], predicted[known], sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A smooth function does not follow the noise of fully labeled data.
        tags.regressor_tags.poor_score = True
        return tags

    def _filled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values; rows that no known value reaches get the mean of the fit's values."""
        return values if self.abstain else np.where(np.isnan(values), self._mean, values)

    def _known_values(
        self, y: Any, n_samples: int, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Values (n), NaN if unknown; at least one is known and has weight."""
        values = self._values(y, n_samples)
        known = ~np.isnan(values)
        if weights is not None and known.any() and not weights[known].any():
            raise ValueError("no row has a value: sample_weight is zero in every row with one")
        return values

    def _values(self, y: Any, n_samples: int) -> NDArray[np.float64]:
        values = column_or_1d(target_values(y, self.unlabeled), warn=True)
        self._require_length(values, n_samples)
        return np.ascontiguousarray(values)
