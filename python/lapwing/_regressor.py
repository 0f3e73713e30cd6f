"""What the regressors share: values in, values of new rows out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from ._base import GraphEstimator
from ._labels import unlabeled_mask


class SpreadingRegressor(RegressorMixin, GraphEstimator):  # type: ignore[misc]
    """Base of the regressors that find values for the rows of the fit, and new rows after them."""

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> NDArray[np.float64]:
        """Find a value for every row of X; the same as ``fit(X, y).transduction_``."""
        return self.fit(X, y, sample_weight, **options).transduction_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of ``predict(X)`` over the rows of y that have a value."""
        predicted = self.predict(X)
        values = self._values(y, predicted.shape[0])
        known = ~np.isnan(values)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(values[known], predicted[known], sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A smooth function does not follow the noise of fully labelled data.
        tags.regressor_tags.poor_score = True
        return tags

    def _known_values(
        self, y: Any, n_samples: int, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Values (n), NaN where unknown; one at least counts."""
        values = self._values(y, n_samples)
        known = ~np.isnan(values)
        if weights is not None and known.any() and not weights[known].any():
            raise ValueError("no row has a value: sample_weight is zero in every row with one")
        return values

    def _values(self, y: Any, n_samples: int) -> NDArray[np.float64]:
        array = np.asarray(y)
        if array.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        values = column_or_1d(np.array(array, dtype=np.float64), warn=True)
        self._require_length(values, n_samples)
        if self.unlabeled is not None:
            values[unlabeled_mask(values, self.unlabeled)] = np.nan
        return np.ascontiguousarray(values)
