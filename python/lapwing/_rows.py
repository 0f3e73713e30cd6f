"""Rows that are read in blocks: files, datasets of pyarrow, and batches of tables."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

#: Classes of pyarrow that read batches.
_READERS = ("Dataset", "Scanner", "RecordBatchReader")


def is_file(X: Any) -> bool:
    """Whether X is the name of a file, of a folder, or a pattern."""
    return isinstance(X, (str, PathLike))


def are_batches(X: Any) -> bool:
    """Whether X gives tables one after another: an iterator or what has no length, or a dataset or reader of pyarrow."""
    names = {base.__name__ for base in type(X).__mro__ if base.__module__.partition(".")[0] == "pyarrow"}
    is_one = any(hasattr(X, name) for name in ("__len__", "__array__", "shape"))
    return isinstance(X, Iterable) and not is_one or not names.isdisjoint(_READERS)


def batches(X: Any) -> Iterator[Any]:
    """The tables."""
    return iter(X.to_batches() if hasattr(X, "to_batches") else X)


def each(function: Callable[[Any], Any], X: Any) -> Any:
    """What a function makes of rows: of batches an iterator, which takes them one by one."""
    return map(function, batches(X)) if are_batches(X) else function(X)


@contextmanager
def as_file(X: Any) -> Iterator[str]:
    """The file of X, which is a temporary one with all rows if X is batches: a fit reads rows more than once."""
    if is_file(X):
        yield os.fspath(X)
        return
    import pyarrow as pa

    tables = (pa.table(batch) if hasattr(batch, "__arrow_c_stream__") else pa.table([batch]) for batch in batches(X))
    first = next(tables, None)
    if first is None:
        raise ValueError("X has no batches; expected tables with rows")
    with tempfile.TemporaryDirectory(prefix="lapwing-") as folder:
        path = str(Path(folder, "rows.arrow"))
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, first.schema) as writer:
            for table in chain([first], tables):
                if table.schema.names != first.schema.names:
                    raise ValueError(f"X has a batch with the columns {table.schema.names}; expected those of the first, {first.schema.names}")
                writer.write_table(table.cast(first.schema))
        yield path
