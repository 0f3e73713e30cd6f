"""Columns of data frames that cannot be features: all of them, by name, in one error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._labels import is_missing
from ._warnings import plain

#: Columns described one by one in a message; the names of all are in the line to paste.
MOST_DESCRIBED = 12

#: What is wrong, and what else could be done about it.
FAULTS = {
    "text": (
        "with cells that are not numbers",
        "use lapwing.prepare.TableEncoder in a pipeline, or lapwing.label_frame, or ",
    ),
    "missing": ("with missing or infinite values", "impute these, or "),
    "large": ("with values beyond single precision", "rescale these, or "),
}


def check_columns(X: Any) -> None:
    """Raise a ValueError that names every column of a data frame with other values than finite numbers.

    Arrays and sparse matrices have no names: they pass.
    """
    columns = _columns(X)
    if columns is None:
        return
    found: dict[str, list[tuple[Any, str]]] = {fault: [] for fault in FAULTS}
    for name, column in columns:
        for fault, description in _faults(column):
            found[fault].append((name, description))
    for fault, bad in found.items():
        if bad:
            raise ValueError(plain(_text(X, fault, bad)))


def _columns(X: Any) -> list[tuple[Any, Any]] | None:
    """Names and columns of a frame of pandas or polars."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [(name, X.iloc[:, at]) for at, name in enumerate(X.columns)]
    if hasattr(X, "get_columns") and hasattr(X, "columns"):
        return list(zip(X.columns, X.get_columns(), strict=True))
    return None


def _faults(column: Any) -> list[tuple[str, str]]:
    """The faults of a column, each with a description of its cells."""
    kind = getattr(column.dtype, "kind", None)
    if kind in ("M", "m", "c") or (kind is None and column.dtype.is_temporal()):
        return [("text", str(column.dtype))]
    if kind in ("b", "i", "u") and isinstance(column.dtype, np.dtype):
        return []
    values, is_text = _numbers(column)
    if is_text.any():
        first = int(np.argmax(is_text))
        cell = column.iloc[first] if hasattr(column, "iloc") else column[first]
        return [("text", _cells(is_text, repr(cell)))]
    bad = {
        "missing": ~np.isfinite(values),
        "large": np.isfinite(values) & (np.abs(values) > np.finfo(np.float32).max),
    }
    return [(fault, _cells(mask, f"{values[np.argmax(mask)]:.6g}")) for fault, mask in bad.items() if mask.any()]


def _numbers(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values, NaN if missing, and a mask of those that are not numbers."""
    values: NDArray[np.float64] = np.full(len(column), np.nan)
    is_text = np.zeros(len(column), bool)
    try:
        if hasattr(column, "iloc"):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            return values, is_text
        if column.dtype.is_numeric() or str(column.dtype) == "Boolean":
            values = np.asarray(column.to_numpy(), dtype=np.float64)
            return values, is_text
    except (TypeError, ValueError):
        pass
    for row, cell in enumerate(column):
        if is_missing(cell):
            continue
        try:
            values[row] = float(cell)
        except (TypeError, ValueError):
            is_text[row] = True
    return values, is_text


def _cells(mask: NDArray[np.bool_], value: str) -> str:
    value = " ".join(value.split())
    if len(value) > 40:
        value = value[:40] + "…"
    return f"{int(mask.sum())} of {mask.size} rows, first {value} in row {int(np.argmax(mask))}"


def _text(X: Any, fault: str, bad: list[tuple[Any, str]]) -> str:
    described = ", ".join(f"{name!r} ({description})" for name, description in bad[:MOST_DESCRIBED])
    if len(bad) > MOST_DESCRIBED:
        described += f" and {len(bad) - MOST_DESCRIBED} more"
    names = "[" + ", ".join(json.dumps(name) if isinstance(name, str) else repr(name) for name, _ in bad) + "]"
    drop = f"X.drop(columns={names})" if hasattr(X, "iloc") else f"X.drop({names})"
    what, instead = FAULTS[fault]
    noun, them = ("column", "it") if len(bad) == 1 else ("columns", "them")
    return f"X: {len(bad)} {noun} {what}: {described}; {instead}leave {them} out: {drop}"
