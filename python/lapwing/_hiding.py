"""Labels or values of which some are hidden: what a fit is given, and what its answers are compared with."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import column_or_1d

from ._containers import as_label_array
from ._inputs import vector
from ._labels import class_labels, with_marker
from ._targets import are_continuous, marker_warnings, target_values
from ._warnings import warn_of


@dataclass(frozen=True)
class Targets:
    """The labels or values of all rows."""

    given: NDArray[Any]
    """As a fit takes them: labels or values (n), or soft labels (n, c)."""
    answers: NDArray[Any]
    """Number of the class of each row, -1 where it has none; or its value, NaN where it has none (n)."""
    classes: NDArray[Any] | None
    """The classes, ascending; None for values."""
    marker: Any
    """What hides a label."""
    labeled: NDArray[np.intp]
    """Rows with a label or value, ascending."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.given.shape[0])

    def hide_all_but(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """The labels for a fit that may see those of `rows` only."""
        hidden = np.zeros(self.n_samples, bool)
        hidden[self.labeled] = True
        hidden[rows] = False
        if self.given.ndim == 2:
            return np.where(hidden[:, None], 0.0, self.given)
        return with_marker(self.given, hidden, self.marker)

    def marked_by_minus_one(self) -> Targets:
        """The same, with -1 in every row without a label, which estimators of ``sklearn.semi_supervised`` ask for."""
        if self.classes is None or self.given.ndim == 2:
            raise ValueError("estimators of sklearn.semi_supervised take one label a row, not values or shares")
        if -1 in self.classes.tolist():
            raise ValueError("-1 is a class of y; estimators of sklearn.semi_supervised take it for a row without a label")
        return replace(self, given=with_marker(self.given, self.answers < 0, -1), marker=-1)

    def truth(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Labels or values of labeled rows; for soft labels the number of the class with the largest share."""
        answers: NDArray[Any] = self.answers[rows]
        return answers if self.classes is None else self.classes[answers]


def is_regression(estimator: Any, y: Any) -> bool:
    """Whether the targets are values: as the estimator says, or by y if it says nothing."""
    if is_regressor(estimator) or is_classifier(estimator):
        return bool(is_regressor(estimator))
    return are_continuous(y)


def targets_of(y: Any, unlabeled: Any, sample_weight: Any, *, are_values: bool) -> Targets:
    """Find the rows with a label or value; at least two, and labels of two classes."""
    weights = None if sample_weight is None else vector(sample_weight, "sample_weight")
    array = as_label_array(y)
    if weights is not None and weights.shape[0] != array.shape[0]:
        raise ValueError(f"sample_weight has {weights.shape[0]} values; expected one per row of y, {array.shape[0]}")
    if are_values:
        targets = _values(column_or_1d(array), unlabeled, weights)
        warn_of(marker_warnings(targets.given, unlabeled), 4)
    elif array.ndim == 2 and array.shape[1] > 1:
        targets = _shares(np.array(array, dtype=np.float64), weights)
    else:
        targets = _labels(column_or_1d(array), unlabeled, weights)
    if len(targets.labeled) < 2:
        what = "value" if are_values else "label"
        raise ValueError(f"y has {len(targets.labeled)} rows with a {what}; cross-validation needs at least 2")
    found = np.unique(targets.answers[targets.labeled])
    if targets.classes is not None and len(found) < 2:
        raise ValueError(f"all labels are of one class, {targets.classes[found[0]]!r}; cross-validation needs two classes")
    return targets


def known_truth(y: Any, unlabeled: Any, *, are_values: bool) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Rows with a label or value, and these."""
    array = column_or_1d(as_label_array(y))
    found = _values(array, unlabeled, None) if are_values else _labels(array, unlabeled, None)
    if not len(found.labeled):
        raise ValueError(f"no row of y has a {'value' if are_values else 'label'} to score")
    return found.labeled, found.truth(found.labeled)


def _values(array: NDArray[Any], unlabeled: Any, weights: NDArray[np.float64] | None) -> Targets:
    values = target_values(array, unlabeled)
    if weights is not None:
        values[weights == 0] = math.nan
    known = ~np.isnan(values)
    return Targets(values, values, None, math.nan, np.flatnonzero(known))


def _shares(shares: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Targets:
    shares[np.isnan(shares).all(axis=1)] = 0.0
    known = shares.any(axis=1)
    if weights is not None:
        known &= weights != 0
    answers = np.where(known, np.argmax(shares, axis=1), -1)
    return Targets(shares, answers, np.arange(shares.shape[1]), -1, np.flatnonzero(known))


def _labels(array: NDArray[Any], unlabeled: Any, weights: NDArray[np.float64] | None) -> Targets:
    found = class_labels(array, unlabeled, weights)
    marker = _marker(array.dtype.kind, unlabeled)
    # Two marks would be one too many: beside another one, -1 is a class.
    given = with_marker(array, found.codes < 0, marker)
    return Targets(given, found.codes.astype(np.intp), found.classes, marker, np.flatnonzero(found.codes >= 0))


def _marker(kind: str, unlabeled: Any) -> Any:
    """What marks a row without a label among labels of this type, so that the type stays if it can."""
    if kind == "f":
        return math.nan
    if kind in "iu" and unlabeled is None:
        return -1
    is_integer = isinstance(unlabeled, numbers.Integral) and not isinstance(unlabeled, (bool, np.bool_))
    return unlabeled if kind in "iu" and is_integer else None
