"""Given labels of any type: which rows have one, and which class it is."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Texts that may mark rows without a label, in lower case, and are used as classes with a warning.
DOUBTFUL_TEXTS = frozenset({"?", "-", "--", ".", "n/a", "#n/a", "<na>", "unknown", "unlabeled", "unlabelled", "missing"})
#: Texts that mark rows without a label, in any case, where no other marker is given: those of the program.
UNLABELED_TEXTS = frozenset({"-1", "-1.0", "nan", "null", "none", "na"})


@dataclass(frozen=True)
class ClassLabels:
    """Classes and the label of each row."""

    classes: NDArray[Any]
    """Distinct labels, ascending (c)."""
    codes: NDArray[np.int32]
    """Class of each row, -1 where it has none (n)."""
    marker: Any
    """Default marker for no label among labels of this type."""


def as_label_array(y: Any) -> NDArray[Any]:
    """Labels as an array of numbers, text, or objects."""
    array = np.asarray(y)
    if array.dtype.kind == "f" and _is_whole(y):
        # NumPy would turn whole numbers beside missing ones into floats, which do not hold large ones.
        return np.array([None if is_missing(label) else label for label in y.to_list()], dtype=object)
    if array.dtype.kind == "T":
        return array.astype(object)
    if array.dtype.kind in "US" and isinstance(y, (list, tuple)):
        # NumPy would turn a NaN among texts into the text "nan".
        objects = np.array(y, dtype=object)
        return array if all(isinstance(label, (str, bytes)) for label in objects.flat) else objects
    return array


def _is_whole(y: Any) -> bool:
    """Whether a column of pandas or polars has a type of integers."""
    return hasattr(y, "to_list") and str(getattr(y, "dtype", "")).lower().startswith(("int", "uint"))


def unlabeled_mask(y: Any, unlabeled: Any = None) -> NDArray[np.bool_]:
    """Rows without a label: None, NaN, pandas' NA and empty texts always; otherwise values equal to `unlabeled`, by default the
    number -1 and the texts `UNLABELED_TEXTS` in any case. Spaces around texts do not count.
    """
    y = as_label_array(y)
    if y.dtype.kind in "US":
        # There are few distinct texts in many rows.
        texts, inverse = np.unique(y, return_inverse=True)
        marks = np.fromiter((_is_marker(text, unlabeled) for text in texts), bool, count=texts.size)
        of_rows: NDArray[np.bool_] = marks[inverse.reshape(y.shape)]
        return of_rows
    if y.dtype.kind == "O":
        return np.fromiter((is_missing(label) or _is_marker(label, unlabeled) for label in y), bool, count=y.size)
    marker = -1 if unlabeled is None else unlabeled
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(y.shape, bool)
    # A boolean never equals the number 1, and a number never equals its text.
    if isinstance(marker, str) or (y.dtype.kind == "b") != isinstance(marker, (bool, np.bool_)):
        return missing
    marked: NDArray[np.bool_] = missing | (y == marker)
    return marked


def class_labels(y: Any, unlabeled: Any = None, sample_weight: NDArray[np.float64] | None = None) -> ClassLabels:
    """Find the classes. Rows of weight 0 count as unlabeled."""
    y = as_label_array(y)
    labeled = ~unlabeled_mask(y, unlabeled)
    if sample_weight is not None:
        if labeled.any() and not sample_weight[labeled].any():
            raise ValueError("no row has a label: sample_weight is zero in every labeled row")
        labeled &= sample_weight != 0
    given = _discrete(y[labeled])
    classes, inverse = np.unique(given, return_inverse=True)
    codes = np.full(y.shape[0], -1, np.int32)
    codes[labeled] = inverse.reshape(-1)
    return ClassLabels(classes, codes, _default_marker(classes) if unlabeled is None else unlabeled)


def doubtful_marker(classes: NDArray[Any], unlabeled: Any) -> list[dict[str, str]]:
    """A warning if a class may be a marker of rows without a label, and no marker was given."""
    if unlabeled is not None or classes.dtype.kind not in "UO":
        return []
    found = [name for name in classes if isinstance(name, str) and name.strip().lower() in DOUBTFUL_TEXTS]
    text = "{0!r} is used as a class; if it marks rows without a label, pass unlabeled={0!r}"
    return [{"kind": "not-as-given", "text": text.format(str(name))} for name in found[:1]]


def class_names(classes: NDArray[Any]) -> list[int] | list[str]:
    """Names of the classes for messages of the compiled part."""
    if classes.dtype.kind in "iuf" and (abs(classes) < 2**53).all():
        return [int(name) for name in classes]
    return [str(name) for name in classes.tolist()]


def with_marker(labels: NDArray[Any], rows: NDArray[np.bool_], marker: Any) -> NDArray[Any]:
    """`labels` with `marker` in `rows`; the type widens where it must."""
    if not rows.any():
        return labels
    kind = labels.dtype.kind
    is_integer = isinstance(marker, numbers.Integral) and not isinstance(marker, bool)
    if kind in "iu" and is_integer:
        out = labels.astype(np.int64)
    elif kind == "f" and isinstance(marker, numbers.Real):
        out = labels.copy()
    else:
        out = labels.astype(object)
    out[rows] = marker
    return out


def _default_marker(classes: NDArray[Any]) -> Any:
    return {"i": -1, "u": -1, "f": np.nan}.get(classes.dtype.kind)


def _discrete(given: NDArray[Any]) -> NDArray[Any]:
    """The labels, checked to be classes rather than measurements or a mixture."""
    if given.dtype.kind == "O":
        given = _plain(given)
    if given.dtype.kind == "c":
        raise ValueError("Unknown label type: complex numbers")
    if given.dtype.kind in "mM":
        raise ValueError("Unknown label type: dates; classes must be integers or strings (astype(str) makes texts of dates)")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        raise ValueError(
            "Unknown label type: continuous; classes must be integers or strings (HarmonicRegressor takes numbers)"
        )
    return given


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all text stay as they are; all booleans or all numbers become an array of that type."""
    if all(isinstance(label, str) for label in given):
        return given
    if all(isinstance(label, (bool, np.bool_)) for label in given):
        return given.astype(bool)
    if all(isinstance(label, numbers.Integral) for label in given):
        return given.astype(np.int64)
    if all(isinstance(label, numbers.Real) for label in given):
        return given.astype(np.float64)
    kinds = ", ".join(sorted({type(label).__name__ for label in given}))
    raise ValueError(f"Unknown label type: a mixture of {kinds}; classes must be all numbers or all strings")


def is_missing(label: Any) -> bool:
    """Whether a cell is None, NaN, NA or NaT."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, (float, np.floating)) and bool(label != label)


def _is_marker(label: Any, unlabeled: Any) -> bool:
    """Whether a label is a marker for no label."""
    if isinstance(label, (str, bytes)):
        text = label.decode("utf-8", "replace") if isinstance(label, bytes) else label
        text = text.strip()
        if unlabeled is None:
            return not text or text.lower() in UNLABELED_TEXTS
        return not text or (isinstance(unlabeled, str) and text == unlabeled.strip())
    marker = -1 if unlabeled is None else unlabeled
    if isinstance(marker, str) or isinstance(label, (bool, np.bool_)) != isinstance(marker, (bool, np.bool_)):
        return False
    return bool(label == marker)
