"""Given labels of any type: which rows have one, and which class it is."""

from __future__ import annotations

import datetime
import decimal
import numbers
import unicodedata
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._containers import as_label_array, whole_below

#: Texts that may mark rows without a label, in lower case, and are used as classes with a warning.
DOUBTFUL_TEXTS = frozenset(
    {"?", "-", "--", ".", "n/a", "n.a.", "#n/a", "<na>", "unknown", "unlabeled", "unlabelled", "missing", "tbd", "tba", "todo", "to do"}
    | {"pending", "unassigned"}
)
#: Texts that mark rows without a label, in any case, where no other marker is given and these rows have no other mark: those of the program.
UNLABELED_TEXTS = frozenset({"-1", "-1.0", "nan", "nat", "null", "none", "na"})

_NONE, _OPEN = 1, 2


@dataclass(frozen=True)
class ClassLabels:
    """Classes and the label of each row."""

    classes: NDArray[Any]
    """Distinct labels, ascending (c)."""
    codes: NDArray[np.int32]
    """Class of each row, -1 where it has none (n)."""
    marker: Any
    """Default marker for no label among labels of this type."""


def unlabeled_mask(y: Any, unlabeled: Any = None, classes: NDArray[Any] | None = None) -> NDArray[np.bool_]:
    """Rows without a label: None, NaN, NaT, NA, masked cells and empty texts always; otherwise values equal to `unlabeled`, by default
    the number -1 and the texts `UNLABELED_TEXTS`. Spaces around texts do not count.

    As in the program, these are classes if no `unlabeled` is given and other rows have no label in another way. Where the `classes` of a fit
    are given, they are classes if they are among these.
    """
    y = as_label_array(y)
    marks = label_marks(y, unlabeled)
    none: NDArray[np.bool_] = marks == _NONE
    any_mark: NDArray[np.bool_] = marks != 0
    if classes is None:
        return none if none.any() else any_mark
    known = set(_open_names(classes))
    if known:
        is_class = np.fromiter((_open_name(label) in known for label in y.flat), np.bool_, count=y.size)
        any_mark &= none | ~is_class.reshape(y.shape)
    return any_mark


def label_marks(y: NDArray[Any], unlabeled: Any) -> NDArray[np.int8]:
    """0 where there is a label, 1 where there is surely none, and 2 where there may be none because it is -1 or such a text."""
    kind, open_marker = y.dtype.kind, unlabeled is None
    if kind in "US":
        # There are few distinct texts in many rows.
        texts, inverse = np.unique(y, return_inverse=True)
        found = np.fromiter((_mark(text, unlabeled) for text in texts), np.int8, count=texts.size)
        of_rows: NDArray[np.int8] = found[inverse.reshape(y.shape)]
        return of_rows
    if kind == "O":
        return np.fromiter((_mark(label, unlabeled) for label in y.flat), np.int8, count=y.size).reshape(y.shape)
    marks: NDArray[np.int8] = np.zeros(y.shape, np.int8)
    marker = -1 if open_marker else unlabeled
    # A boolean never equals the number 1, and a number never equals its text.
    is_alike = isinstance(marker, (numbers.Number, np.bool_)) and (kind == "b") == isinstance(marker, (bool, np.bool_))
    if is_alike and kind in "biuf":
        marks[y == marker] = _OPEN if open_marker else _NONE
    if kind in "fmM":
        marks[np.isnat(y) if kind in "mM" else np.isnan(y)] = _NONE
    return marks


def _mark(label: Any, unlabeled: Any) -> int:
    """Whether a cell is a mark of no label, or one of those that may be classes."""
    if is_missing(label):
        return _NONE
    if isinstance(label, str):
        text = label.strip()
        if not text:
            return _NONE
        if unlabeled is None:
            return _OPEN if text.lower() in UNLABELED_TEXTS else 0
        marker = unlabeled.decode("utf-8", "replace") if isinstance(unlabeled, bytes) else unlabeled
        return _NONE if isinstance(marker, str) and text == marker.strip() else 0
    marker = -1 if unlabeled is None else unlabeled
    is_other = isinstance(label, (bool, np.bool_)) != isinstance(marker, (bool, np.bool_))
    if is_other or isinstance(marker, (str, bytes)) or is_missing(marker) or not label == marker:
        return 0
    return _OPEN if unlabeled is None else _NONE


def is_missing(label: Any) -> bool:
    """Whether a cell is None, NaN, NA, NaT or masked."""
    if label is None or label is np.ma.masked or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(label))
    return isinstance(label, (float, np.floating, decimal.Decimal)) and bool(label != label)


def _open_name(label: Any) -> Any:
    """What is the same for equal labels: a text without spaces around it, or a number."""
    return label.strip() if isinstance(label, str) else label


def _open_names(classes: NDArray[Any]) -> list[Any]:
    """The classes that could be marks of no label."""
    if classes.dtype.kind in "iuf":
        return [-1] if bool((classes == -1).any()) else []
    return [_open_name(name) for name in classes if _mark(name, None) == _OPEN] if classes.dtype.kind in "UO" else []


def class_labels(
    y: Any,
    unlabeled: Any = None,
    sample_weight: NDArray[np.float64] | None = None,
    known: NDArray[Any] | None = None,
) -> ClassLabels:
    """Find the classes. Rows of weight 0 count as unlabeled; -1 is a class if it is one of the `known` ones of a fit."""
    y = as_label_array(y)
    labeled = ~unlabeled_mask(y, unlabeled, known)
    if sample_weight is not None:
        if labeled.any() and not sample_weight[labeled].any():
            raise ValueError("no row has a label: sample_weight is zero in every labeled row")
        labeled &= sample_weight != 0
    given = _discrete(y[labeled])
    classes, inverse = np.unique(given, return_inverse=True)
    codes = np.full(y.shape[0], -1, np.int32)
    codes[labeled] = inverse.reshape(-1)
    return ClassLabels(classes, codes, default_marker(classes) if unlabeled is None else unlabeled)


def default_marker(classes: NDArray[Any]) -> Any:
    """What marks no label beside these classes, if the caller has not said it."""
    if classes.dtype.kind in "iu" and not _open_names(classes):
        return -1
    return np.nan if classes.dtype.kind == "f" else None


def label_warnings(classes: NDArray[Any], unlabeled: Any) -> list[dict[str, str]]:
    """Warnings if a class may be a marker of rows without a label, or if classes may be the same or may have become the same."""
    found = [("not-as-given", _doubtful_marker(classes) if unlabeled is None else None)]
    found += [("unusual-cells", _twins(classes)), ("unusual-cells", _rounded(classes))]
    return [{"kind": kind, "text": text} for kind, text in found if text is not None]


def _doubtful_marker(classes: NDArray[Any]) -> str | None:
    if names := _open_names(classes):
        name = str(names[0]) if isinstance(names[0], str) else names[0]
        text = "{} is used as a class, because rows without a label have another mark; if it marks such rows too, pass unlabeled={!r}"
        return text.format(name if name == -1 or name == "-1" else repr(name), name)
    texts = [name for name in classes if isinstance(name, str) and name.strip().lower() in DOUBTFUL_TEXTS]
    if not texts:
        return None
    return "{0!r} is used as a class; if it marks rows without a label, pass unlabeled={0!r}".format(str(texts[0]))


def _twins(classes: NDArray[Any]) -> str | None:
    """What to say of classes whose names look the same."""
    seen: dict[str, str] = {}
    pairs = []
    for name in map(str, classes) if classes.dtype.kind in "UO" else ():
        look = " ".join(unicodedata.normalize("NFC", name).split())
        if look in seen:
            pairs.append((seen[look], name))
        seen.setdefault(look, name)
    if not pairs:
        return None
    more = f" (and {len(pairs) - 1} more)" if len(pairs) > 1 else ""
    return (
        f"classes {pairs[0][0]!a} and {pairs[0][1]!a}{more} look the same, but differ in white space or in how letters are composed, and "
        "are used as two; if they are one, write it in one way, as by str.strip()"
    )


def _rounded(classes: NDArray[Any]) -> str | None:
    if classes.dtype.kind != "f" or not classes.size or abs(classes).max() < whole_below(classes.dtype):
        return None
    return (
        f"labels are floating-point numbers of at least {whole_below(classes.dtype):.0f}, which may have become equal before they came "
        "here; give integers (dtype 'Int64' where some are missing) or texts"
    )


def class_names(classes: NDArray[Any]) -> list[int] | list[str]:
    """Names of the classes for messages of the compiled part."""
    names = classes.tolist()
    if classes.dtype.kind in "iuf" and all(-(2**63) <= name < 2**63 for name in names):
        return [int(name) for name in names]
    return [str(name) for name in names]


def with_marker(labels: NDArray[Any], rows: NDArray[np.bool_], marker: Any) -> NDArray[Any]:
    """`labels` with `marker` in `rows`; the type widens where it must."""
    if not rows.any():
        return labels
    kind = labels.dtype.kind
    if kind in "iu" and isinstance(marker, numbers.Integral) and not isinstance(marker, bool):
        fits = all(-(2**63) <= int(label) < 2**63 for label in (marker, *labels.max(initial=0, keepdims=True)))
        out = labels.astype(np.int64 if fits else object)
    elif kind == "f" and isinstance(marker, numbers.Real):
        out = labels.copy()
    else:
        out = labels.astype(object)
    out[rows] = marker
    return out


def are_dates(labels: NDArray[Any]) -> bool:
    """Whether there are dates or durations among labels or values."""
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return labels.dtype.kind in "mM" or (
        labels.dtype.kind == "O" and any(isinstance(label, dates) and not is_missing(label) for label in labels.flat)
    )


def _discrete(given: NDArray[Any]) -> NDArray[Any]:
    """The labels, checked to be classes rather than measurements or a mixture."""
    if are_dates(given):
        raise ValueError("Unknown label type: dates; classes must be integers or strings (astype(str) makes texts of dates)")
    if given.dtype.kind == "O":
        given = _plain(given)
    if given.dtype.kind == "c":
        raise ValueError("Unknown label type: complex numbers")
    if given.dtype.kind == "V":
        raise ValueError("Unknown label type: records; classes must be integers or strings: give one field, as y['name']")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        raise ValueError(
            "Unknown label type: continuous; classes must be integers or strings (HarmonicRegressor takes numbers)"
        )
    return given


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all text, or all identifiers, stay as they are; all booleans or all numbers become an array of that type."""
    kinds = set(map(type, given))
    if all(issubclass(kind, str) for kind in kinds) or kinds == {uuid.UUID}:
        return given
    is_truth = [issubclass(kind, (bool, np.bool_)) for kind in kinds]
    if all(is_truth):
        return given.astype(bool)
    if not any(is_truth) and all(issubclass(kind, (numbers.Real, decimal.Decimal)) for kind in kinds):
        return _numbers(given)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    if len(kinds) == 1:
        raise ValueError(
            f"Unknown label type: {names}; classes must be integers or strings: [str(label) for label in y] makes strings"
        )
    raise ValueError(f"Unknown label type: a mixture of {names}; classes must be all numbers or all strings")


def _numbers(given: NDArray[Any]) -> NDArray[Any]:
    """Numbers as an array of integers, or of floating-point numbers if some are and none loses a digit."""
    is_integer = [isinstance(label, numbers.Integral) for label in given]
    is_float = [isinstance(label, (float, np.floating)) for label in given]
    if all(is_integer) and any(abs(int(label)) >= 2**64 for label in given):
        return np.array([int(label) for label in given], dtype=object)
    floats: NDArray[np.float64] = given.astype(np.float64)
    is_whole = bool((np.isfinite(floats) & (floats == np.floor(floats))).all())
    is_small = bool((abs(floats) < whole_below(floats.dtype)).all())
    if all(is_float) or not (is_whole or all(is_integer)) or (any(is_float) and is_small):
        return floats
    whole = [int(label) for label in given]
    for kind, low, high in ((np.int64, -(2**63), 2**63), (np.uint64, 0, 2**64)):
        if all(low <= label < high for label in whole):
            return np.array(whole, dtype=kind)
    return np.array(whole, dtype=object)
