"""Which rows have a target: classes have a marker for rows without one, values have NaN only."""

from __future__ import annotations

import decimal
import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._containers import as_label_array
from ._labels import UNLABELED_TEXTS, are_dates, is_missing, unlabeled_mask

_NUMBERS = (numbers.Real, decimal.Decimal, np.bool_)


def without_target(
    y: Any, unlabeled: Any, *, is_regression: bool, classes: NDArray[Any] | None = None
) -> NDArray[np.bool_]:
    """Rows without a target. Unless the caller gives a marker, -1 is the marker among classes (but see `unlabeled_mask`) and a value among
    values.
    """
    if is_regression and unlabeled is None:
        return unlabeled_mask(y, math.nan)
    return unlabeled_mask(y, unlabeled, classes)


def target_values(y: Any, unlabeled: Any = None) -> NDArray[np.float64]:
    """The values of a regression, NaN where unknown."""
    array = as_label_array(y)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if are_dates(array):
        raise ValueError(
            "y holds dates or durations; expected numbers: give durations in a unit of yours, as y / numpy.timedelta64(1, 'D'), and "
            "dates as durations since the first of them; NaT becomes NaN"
        )
    values: NDArray[np.float64]
    if array.dtype.kind in "UO":
        values = np.array([_value(cell, at) for at, cell in enumerate(array.flat)], dtype=np.float64).reshape(array.shape)
    else:
        values = array.astype(np.float64)
    if unlabeled is not None:
        values[unlabeled_mask(array, unlabeled) | unlabeled_mask(values, _number(unlabeled))] = math.nan
    return values


def _number(marker: Any) -> Any:
    """A marker as a number, if it is the text of one."""
    try:
        return float(marker)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _value(cell: Any, at: int) -> float:
    if is_missing(cell):
        return math.nan
    try:
        if isinstance(cell, (str, *_NUMBERS)):
            return float(cell)
    except (ValueError, OverflowError):
        if isinstance(cell, str) and (not cell.strip() or cell.strip().lower() in UNLABELED_TEXTS):
            return math.nan
    raise ValueError(f"y holds {cell!r} in row {at}; expected numbers, NaN where unknown")


def marker_warnings(values: NDArray[np.float64], unlabeled: Any) -> list[dict[str, str]]:
    """A warning if -1 looks like a mark of unknown values: no value is NaN, no marker was given, and -1 is far more frequent than any
    other value, or is the only one below 0 among values that are not all 1.
    """
    is_mark = values == -1
    n_marks, others = int(is_mark.sum()), values[~is_mark]
    if unlabeled is not None or n_marks < 2 or np.isnan(values).any():
        return []
    most = int(np.unique(others, return_counts=True)[1].max(initial=0))
    is_alone = others.size and (others >= 0).all() and (others != 1).any()
    if n_marks < 2 * most and not is_alone:
        return []
    text = (
        f"{n_marks} of {values.size} values are -1, and none is NaN: -1 is a value in a regression; if it marks unknown values, give NaN "
        "there, or unlabeled=-1; if it is a value, unlabeled=numpy.nan says so"
    )
    return [{"kind": "not-as-given", "text": text}]


def are_continuous(y: Any) -> bool:
    """Whether targets are numbers with fractions, which classes cannot be."""
    y = as_label_array(y)
    if y.dtype.kind == "O":
        is_number = [isinstance(value, _NUMBERS) and not isinstance(value, (bool, np.bool_)) for value in y.flat]
        y = y.reshape(-1)[np.asarray(is_number, dtype=bool)].astype(np.float64)
    if y.dtype.kind != "f":
        return False
    finite = y[np.isfinite(y)]
    return bool((finite != np.floor(finite)).any())


def may_be_values(y: Any) -> bool:
    """Whether whole numbers of which some are -1, which marks rows without a label, look like values: there are numbers below -1."""
    y = as_label_array(y)
    if y.dtype.kind == "O":
        known = ~unlabeled_mask(y, math.nan)
        if not known.all() or not all(isinstance(value, _NUMBERS) for value in y):
            return False
        y = y.astype(np.float64)
    if y.dtype.kind not in "if" or not (y == -1).any():
        return False
    return bool((y < -1).any() and not (y.dtype.kind == "f" and np.isnan(y).any()))
