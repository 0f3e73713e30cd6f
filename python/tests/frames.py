"""Tables that several tests prepare and label."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "tests" / "tables"
RNG = np.random.default_rng(5)
N = 60
SIDE = np.arange(N) % 2
LABELS = [("small", "large")[side] if at < 12 else None for at, side in enumerate(SIDE)]


def mixed_table():
    """Every kind of column, with gaps."""
    width = pd.Series(SIDE * 30.0 + np.random.default_rng(1).normal(size=N)).mask(np.arange(N) % 7 == 0)
    return pd.DataFrame(
        {
            "width": width,
            "count": pd.array([None if at % 9 == 0 else int(at * 37 % 23) for at in range(N)], dtype="Int64"),
            "größe": np.where(SIDE == 1, "groß", "klein"),
            "city": pd.Categorical.from_codes(np.arange(N) % 3, ["Bern", "Graz", "Lyon"]),
            "member": SIDE == 0,
            "seen": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N) * 37, unit="h"),
            "id": [f"row-{at}" for at in range(N)],
        }
    )


FRAMES = {"pandas": lambda table: table, "polars": pl.from_pandas, "arrow": lambda table: pa.Table.from_pandas(table)}


def program():
    """The program, where a test may run it."""
    for folder in (os.environ.get("CARGO_TARGET_DIR"), ROOT / "target"):
        path = Path(folder or "missing") / "release" / "lapwing"
        if path.exists():
            return path
    pytest.skip("the program is not built")
