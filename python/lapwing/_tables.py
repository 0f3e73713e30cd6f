"""Tables in the form that the compiled part takes: objects with Arrow's interface, or columns with their names."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from . import _lapwing
from ._arguments import choice
from ._kinds import refuse_other_kinds
from ._labels import is_missing
from ._warnings import warn_of

ReadAs = Literal["number", "text", "day-first", "month-first"]
#: What columns can be read as.
READ_AS = get_args(ReadAs)

Column = NDArray[Any] | list[str | None]
"""Numbers, truth values, microseconds since 1970, or texts."""


@dataclass(frozen=True)
class Table:
    """A table and the names of its columns."""

    source: Any
    """An object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or a list of named columns."""
    names: list[str] | None
    """Names of all columns, if not those that the source states."""
    has_names: bool
    """Whether all columns have a text for a name."""

    def titles(self, name: str) -> dict[str, Any]:
        """How the table and its columns are called in messages."""
        return {"name": name, "names": self.names}


@dataclass(frozen=True)
class _Stream:
    """An exported stream; it can be read once."""

    capsule: Any

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.capsule


def is_table(X: Any) -> bool:
    """Whether X is a data frame, or another table with Arrow's interface."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__") or _is_pandas(X) or _is_lazy(X)


def refuse_columns(X: Any, what: str) -> None:
    """Raise an error for a column alone, and for a table without rows yet; `what` is its name in messages."""
    if _is_lazy(X):
        raise TypeError(f"{what} is a LazyFrame, which has no rows yet; {what}.collect() reads them")
    if getattr(X, "ndim", 2) == 1 or type(X).__name__ in ("Series", "ChunkedArray", "Array"):
        advice = f"{what}.to_frame() makes one" if hasattr(X, "to_frame") else "give the table that it is a column of"
        raise TypeError(f"{what} is a {type(X).__name__}, one column; expected a table: {advice}")


def as_table(X: Any, what: str = "X") -> Table:
    """A table of any kind; `what` is its name in messages."""
    refuse_columns(X, what)
    if _is_pandas(X):
        return _of_pandas(X)
    if type(X).__module__.startswith("polars"):
        return Table(_of_polars(X), None, True)
    return Table(X, None, True)


def array_table(X: NDArray[Any], names: list[str]) -> Table:
    """The columns of an array (n, d) as a table."""
    return Table([(name, of_array(X[:, at], name)) for at, name in enumerate(names)], None, False)


def fit_options(columns: list[str] | None, read_as: Mapping[str, ReadAs] | None, standardize: str) -> dict[str, Any]:
    """How the columns of a table become features, as the compiled part takes it."""
    if not isinstance(read_as, Mapping | None):
        raise TypeError(f"read_as must be a dict of column names and kinds, not {type(read_as).__name__}")
    kinds = {str(name): choice(f"read_as[{name!r}]", kind, READ_AS) for name, kind in (read_as or {}).items()}
    return {"columns": columns, "read_as": kinds, "standardize": choice("standardize", standardize, ("auto", "on", "off"))}


def apply_recipe(recipe: str, table: Table, control: dict[str, Any], columns: list[str] | None = None, what: str = "X") -> Any:
    """Features of new rows, in the form that the compiled part returns."""
    features, found = _lapwing.apply_recipe(table.source, table.titles(what), recipe, columns, control)
    warn_of(json.loads(found))
    return features


def rows_by_recipe(recipe: str, X: Any, control: dict[str, Any]) -> Any:
    """Features of the rows of a table, for a model whose file has a recipe; None for an array of the numbers that it takes as they are."""
    if is_table(X):
        return apply_recipe(recipe, as_table(X), control)
    refuse_other_kinds(X, "X", "give a data frame")
    _, used, is_plain = _lapwing.recipe_names(recipe)
    if is_plain:
        return None
    listed = ", ".join(repr(name) for name in used)
    raise TypeError(
        f"X is a {type(X).__name__}, but the model was fitted on a table with texts, dates, gaps or scaled numbers; expected a data "
        f"frame, or another table with Arrow's interface, with the columns {listed}"
    )


def of_array(values: NDArray[Any], name: str) -> Column:
    """A column from an array of numbers, truth values, dates, texts, or objects."""
    kind = values.dtype.kind
    if kind == "b":
        return np.ascontiguousarray(values)
    if kind in "iuf":
        single = values.dtype in (np.float16, np.float32)
        return np.ascontiguousarray(values, np.float32 if single else np.float64)
    if kind == "M":
        return np.ascontiguousarray(values.astype("datetime64[us]").astype(np.int64))
    return _of_cells(values.tolist() if kind in "US" else list(values), name)


def _of_cells(cells: list[Any], name: str) -> Column:
    """A column from cells of any type: numbers if all are, else texts."""
    filled = [not is_missing(cell) for cell in cells]
    given = [cell for cell, is_filled in zip(cells, filled, strict=True) if is_filled]
    if given and all(isinstance(cell, (bool, np.bool_)) for cell in given) and all(filled):
        return np.array(cells, dtype=bool)
    if all(isinstance(cell, numbers.Number) and not isinstance(cell, (bool, np.bool_)) for cell in given):
        return np.array([float(cell) if ok else np.nan for cell, ok in zip(cells, filled, strict=True)], dtype=np.float64)
    return [_text(cell, name) if ok else None for cell, ok in zip(cells, filled, strict=True)]


def _text(cell: Any, name: str) -> str:
    if isinstance(cell, (str, numbers.Number, np.bool_)):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if hasattr(cell, "isoformat"):
        return str(cell.isoformat())
    if isinstance(cell, np.datetime64):
        return str(cell)
    raise TypeError(f"column {name!r} holds a {type(cell).__name__}; expected numbers, texts, dates or truth values")


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "reset_index")


def _of_polars(X: Any) -> Any:
    """A frame of polars without the types that Arrow's interface does not hand over: columns of nothing, and integers of 128 bits."""
    import polars as pl

    wide = {getattr(pl, name, None) for name in ("Int128", "UInt128")}
    texts = [name for name, dtype in X.schema.items() if dtype == pl.Null]
    floats = [name for name, dtype in X.schema.items() if dtype in wide]
    return X.with_columns(pl.col(texts).cast(pl.String), pl.col(floats).cast(pl.Float64)) if texts or floats else X


def _is_lazy(X: Any) -> bool:
    return type(X).__name__ == "LazyFrame"


def _of_pandas(X: Any) -> Table:
    """A data frame of pandas without its index. Without pyarrow, its columns are copied."""
    names = [str(name) for name in X.columns]
    has_names = all(isinstance(name, str) for name in X.columns)
    plain = X.reset_index(drop=True)
    # Arrow refuses names that come twice.
    plain.columns = [str(at) for at in range(len(names))]
    try:
        return Table(_Stream(_exported(plain, names)), names, has_names)
    except (ImportError, AttributeError):
        columns = [(name, _of_pandas_column(plain.iloc[:, at], name)) for at, name in enumerate(names)]
        return Table(columns, None, has_names)


def _exported(frame: Any, names: list[str]) -> Any:
    """The stream of a frame. Columns that Arrow refuses, such as those of texts and numbers, become texts."""
    try:
        return frame.__arrow_c_stream__()
    except (ImportError, AttributeError):
        raise
    except Exception:
        return _with_texts(frame, names).__arrow_c_stream__()


def _with_texts(frame: Any, names: list[str]) -> Any:
    import pyarrow

    for at, name in enumerate(names):
        column = frame.iloc[:, at]
        try:
            pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            cells = _of_cells(list(column), name)
            frame[frame.columns[at]] = cells
    return frame


def _of_pandas_column(column: Any, name: str) -> Column:
    kind = getattr(column.dtype, "kind", "O")
    if kind == "M":
        naive = column.dt.tz_convert(None) if getattr(column.dtype, "tz", None) is not None else column
        return of_array(naive.to_numpy(), name)
    if kind in "iuf" and not isinstance(column.dtype, np.dtype):
        return of_array(column.to_numpy(dtype=np.float64, na_value=np.nan), name)
    return of_array(np.asarray(column), name)
