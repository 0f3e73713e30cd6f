"""Which rows have a target: classes have a marker for rows without one, values have NaN only."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._labels import as_label_array, unlabeled_mask


def without_target(y: Any, unlabeled: Any, *, is_regression: bool) -> NDArray[np.bool_]:
    """Rows without a target. Unless the caller gives a marker, -1 is the marker among classes and a value among values."""
    if is_regression and unlabeled is None:
        return unlabeled_mask(y, math.nan)
    return unlabeled_mask(y, unlabeled)


def are_continuous(y: Any) -> bool:
    """Whether targets are numbers with fractions, which classes cannot be."""
    y = as_label_array(y)
    if y.dtype.kind == "O":
        is_number = [isinstance(value, numbers.Real) and not isinstance(value, bool) for value in y.flat]
        y = y.reshape(-1)[np.asarray(is_number, dtype=bool)].astype(np.float64)
    if y.dtype.kind != "f":
        return False
    finite = y[np.isfinite(y)]
    return bool((finite != np.floor(finite)).any())


def may_be_values(y: Any) -> bool:
    """Whether whole numbers look like values that may include -1: there are NaN, or numbers below -1."""
    y = as_label_array(y)
    if y.dtype.kind == "O":
        known = ~unlabeled_mask(y, math.nan)
        if not all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in y[known]):
            return False
        y = np.where(known, y, np.nan).astype(np.float64)
    if y.dtype.kind not in "if" or not (y == -1).any():
        return False
    return bool((y < -1).any() or (y.dtype.kind == "f" and np.isnan(y).any()))
