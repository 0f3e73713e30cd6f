"""Programs that read a table into memory, and from there into a row-major matrix of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import numpy as np


class Reader(NamedTuple):
    """A package, and how it reads a file of numbers."""

    package: str
    read: Callable[[str], np.ndarray]

    def version(self) -> str:
        return version(self.package)


def _polars(path: str) -> np.ndarray:
    import polars as pl

    table = pl.read_parquet(path) if path.endswith(".parquet") else pl.read_csv(path)
    return table.to_numpy(order="c")


def _pyarrow(path: str) -> np.ndarray:
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path) if path.endswith(".parquet") else pyarrow.csv.read_csv(path)
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


def _duckdb(path: str) -> np.ndarray:
    import duckdb

    columns = duckdb.sql(f"SELECT * FROM '{path}'").fetchnumpy()
    return np.stack([np.asarray(column) for column in columns.values()], axis=1)


READERS = {"polars": Reader("polars", _polars), "pyarrow": Reader("pyarrow", _pyarrow), "duckdb": Reader("duckdb", _duckdb)}
