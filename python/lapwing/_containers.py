"""Labels and values of any container as an array, in which a missing one is None, or NaN or NaT among its kind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def as_label_array(y: Any) -> NDArray[Any]:
    """Labels or values (n), or shares of classes (n, c), as an array of numbers, truth values, texts, dates or objects.

    No number loses a digit, no truth value becomes a number, bytes become texts, and what lies under a mask does not count.
    """
    if isinstance(y, (str, bytes)) or (isinstance(y, (dict, set, frozenset)) and not sp.issparse(y)):
        raise TypeError(f"y is a {type(y).__name__}; expected labels in the order of the rows, such as a list or an array")
    if sp.issparse(y):
        return _texts(np.asarray(y.toarray()))
    packages = [base.__module__.partition(".")[0] for base in type(y).__mro__]
    read = next((_OF_PACKAGES[package] for package in packages if package in _OF_PACKAGES), _of_others)
    return _texts(read(y))


def _of_others(y: Any) -> NDArray[Any]:
    if isinstance(y, np.ma.MaskedArray):
        return _without(np.array(np.ma.getdata(y)), np.ma.getmaskarray(y))
    if isinstance(y, (list, tuple)):
        return _of_list(y)
    array = np.asarray(y)
    is_series = array.ndim == 0 and array.dtype.kind == "O" and isinstance(y, Collection)
    return _of_list(list(y)) if is_series else array


def _without(array: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """A copy of the array in which some cells are missing."""
    if not missing.any():
        return array
    nothing = {"f": np.nan, "M": "NaT", "m": "NaT"}.get(array.dtype.kind)
    out = array.astype(object) if nothing is None else array.copy()
    out[missing] = nothing
    return out


def _of_list(y: Any) -> NDArray[Any]:
    kinds = {type(cell) for cell in y}
    if any(hasattr(kind, "as_py") for kind in kinds):
        y = [cell.as_py() if hasattr(cell, "as_py") else cell for cell in y]
        kinds = {type(cell) for cell in y}
    if np.ma.core.MaskedConstant in kinds:
        y = [None if cell is np.ma.masked else cell for cell in y]
    array = np.asarray(y)
    if array.ndim != 1:
        return array
    if _is_lossless(array, kinds):
        return array
    return np.fromiter(y, dtype=object, count=len(y))


def _is_lossless(array: NDArray[Any], kinds: set[type]) -> bool:
    """Whether an array holds what a list of these types did: NumPy makes a text of a NaN among texts, and a number of a truth value or of
    a large integer among numbers.
    """
    kind = array.dtype.kind
    if kind in "US":
        return all(issubclass(cell, str if kind == "U" else bytes) for cell in kinds)
    if kind in "iuf" and not kinds.isdisjoint((bool, np.bool_)):
        return False
    # Large whole numbers beside each other are the same in a floating-point type.
    return kind != "f" or not bool((np.isfinite(array) & (np.abs(array) >= whole_below(array.dtype))).any())


def whole_below(dtype: np.dtype[Any]) -> float:
    """The number below which a floating-point type tells whole numbers apart."""
    return float(2 ** (np.finfo(dtype).nmant + 1))


def _of_pandas(y: Any) -> NDArray[Any]:
    if y.ndim == 2:
        return _of_columns([y.iloc[:, at] for at in range(y.shape[1])], y)
    dtype = y.dtype
    if hasattr(dtype, "categories"):
        codes = np.asarray(y.cat.codes if hasattr(y, "cat") else y.codes)
        return _chosen(_of_pandas(dtype.categories), codes)
    if isinstance(dtype, np.dtype):
        return np.asarray(y)
    missing = np.asarray(y.isna(), dtype=bool)
    if not missing.any():
        return np.asarray(y)
    return _without(np.asarray(y.astype(object), dtype=object), missing)


def _chosen(categories: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """The category of each code; none for negative codes."""
    missing = codes < 0
    if missing.all():
        return np.full(codes.shape, None, dtype=object)
    return _without(categories[np.maximum(codes, 0)], missing)


def _of_polars(y: Any) -> NDArray[Any]:
    if type(y).__name__ == "LazyFrame":
        raise TypeError("y is a LazyFrame, which has no rows yet; y.collect() reads them")
    if hasattr(y, "get_columns"):
        return _of_columns(y.get_columns(), y)
    if y.null_count() == 0 and (y.dtype.is_float() or y.dtype.is_integer()) and "128" not in str(y.dtype):
        return np.asarray(y.to_numpy())
    return np.asarray(y) if y.dtype.is_temporal() else _of_list(y.to_list())


def _of_arrow(y: Any) -> NDArray[Any]:
    if hasattr(y, "columns"):
        return _of_columns(y.columns, y)
    kind = str(y.type)
    is_number = kind.startswith(("int", "uint", "halffloat", "float", "double"))
    if kind.startswith(("timestamp", "date", "time", "duration")) or (is_number and not y.null_count):
        return np.asarray(y)
    return _of_list(y.to_pylist())


def _of_columns(columns: list[Any], table: Any) -> NDArray[Any]:
    """The only column of a table, or all of them side by side."""
    if len(columns) == 1:
        return as_label_array(columns[0])
    return np.column_stack([as_label_array(column) for column in columns]) if columns else np.asarray(table)


_OF_PACKAGES = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}


def _texts(array: NDArray[Any]) -> NDArray[Any]:
    """The array with bytes as texts."""
    if array.dtype.kind == "T":
        return array.astype(object)
    if array.dtype.kind == "S":
        return _decoded(array.astype(object)).astype(str)
    is_bytes = array.dtype.kind == "O" and any(issubclass(kind, bytes) for kind in set(map(type, array.flat)))
    return _decoded(array) if is_bytes else array


def _decoded(array: NDArray[Any]) -> NDArray[Any]:
    out = array.copy()
    for at, cell in enumerate(array.flat):
        if isinstance(cell, bytes):
            try:
                out.flat[at] = cell.decode("utf-8")
            except UnicodeDecodeError:
                raise ValueError(f"label {at} is {cell!r}, which is no text in UTF-8; decode the labels before") from None
    return out
