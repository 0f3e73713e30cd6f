"""Common parts of the regressors: values in, values of new rows out."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from . import _lapwing
from ._base import FittedRows, GraphEstimator, Spreads
from ._control import Self
from ._inputs import label_weights, refuse_other_length, vector
from ._targets import marker_warnings, target_values


class SpreadingRegressor(Spreads, RegressorMixin, GraphEstimator):  # type: ignore[misc]
    """Base of the regressors that find values for the rows of the fit and new rows."""

    transduction_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        Value of every row of the fit."""]
    scores_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        The same, NaN in rows that no value reaches."""]
    uncertainty_: Annotated[NDArray[np.float64] | None, """ndarray of shape (n_samples,) or None
        Half-width of an interval around each value of `transduction_`, in the unit of y: about 90 % of the true values of the rows
        without one lie within ``transduction_ ± uncertainty_``. It comes from the errors of given values that were held out and is wider
        where these are larger nearby in the graph. NaN in rows that no value reaches; 0 only if at least 90 % of the held-out values were
        exact. None if fewer than 10 values were held out. ``report_["parts"]["uncertainty"]`` has the ``level``, the number of errors
        (``n_held_out``) and their ``source``, ``"leave-one-out"`` or ``"folds"``."""]

    def _fit(self, X: Any, y: Any, sample_weight: Any, graph: Any) -> Self:
        problem = self._begin(X, y, graph)
        weights = label_weights(sample_weight, problem.n_samples)
        values = self._known_values(y, problem.n_samples, weights)
        fitted = _lapwing.fit_regressor(
            problem.method, problem.parameters, problem.rows, values, weights, self._keeps_graph, problem.control
        )
        self._mean = fitted["mean"]
        self.scores_ = fitted["scores"].reshape(-1)
        self.transduction_ = self._filled(self.scores_)
        self.uncertainty_ = fitted["uncertainty"]
        self._keep(problem, fitted)
        self.report_["warnings"] += marker_warnings(values, self.unlabeled)
        self._fitted_rows = FittedRows(
            problem, ~np.isnan(values), graph=fitted["graph"], values=values, weights=weights
        )
        self._warn()
        return self

    def _predicted(self, X: Any, graph: Any = None) -> NDArray[np.float64]:
        return self._filled(self._new_scores(X, graph).reshape(-1))

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
        refuse_other_length(values, n_samples)
        return np.ascontiguousarray(values)
