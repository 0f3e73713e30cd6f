"""What readers make of files whose table is known: right, changed with a warning, refused, or misread in silence."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import common
import polluted
from common import Record
from polluted import Cells, File

OUTCOMES = ["right", "warned", "refused", "misread"]


class Reading(NamedTuple):
    """What a reader found: names, rows, and whether it warned of something."""

    names: list[str]
    rows: Cells
    warned: str


def task(args: argparse.Namespace) -> tuple[list[Record], str]:
    readers = {"lapwing": lambda path: lapwing(args.program, path), **READERS}
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        for file in polluted.files():
            path = Path(folder) / f"table.{file.ending}"
            path.write_bytes(file.text)
            for name, read in readers.items():
                outcome, why = judged(file, lambda: read(path))
                records.append({"peer": name, "way": file.way, "about": file.about, "outcome": outcome, "why": why})
    return records, f"{totals(records)}\n{ways(records)}"


def judged(file: File, read: Callable[[], Reading]) -> tuple[str, str]:
    """An outcome, and what is wrong. If the file does not tell its table, whoever says so is right."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read()
    except Exception as error:  # Every reader has errors of its own.
        return "right" if file.rows is None else "refused", str(error)[:300]
    said = found.warned or "; ".join(str(one.message) for one in caught)
    wrong = difference(file, found)
    if file.rows is None:
        return ("right" if said else "misread"), said
    return ("right", "") if not wrong else ("warned" if said else "misread", f"{wrong} [{said[:200]}]")


def difference(file: File, found: Reading) -> str:
    """The first difference between the table and what was found, in words; empty if there is none."""
    if file.rows is None:
        return ""
    if file.names and [norm(name) for name in found.names[: len(file.names)]] != [norm(name) for name in file.names]:
        return f"names {found.names}"
    if len(found.rows) != len(file.rows):
        return f"{len(found.rows)} rows"
    width = len(file.rows[0])
    is_bare = all(cell is None or cell != cell for row in found.rows for cell in row[width:])
    for at, (got, true) in enumerate(zip(found.rows, file.rows, strict=True)):
        got = got[:width] if is_bare else got  # Columns of nothing behind the last.
        if len(got) != len(true):
            return f"{len(got)} cells in row {at}"
        for place, (cell, value) in enumerate(zip(got, true, strict=True)):
            if not same(cell, value):
                return f"row {at}, column {place}: {cell!r} for {value!r}"
    return ""


def same(cell: Any, value: Any) -> bool:
    """Whether a cell means what it should: texts but for blanks around them, numbers also as plain texts, dates and times in any type."""
    is_nothing = cell is None or cell != cell or norm(cell) == ""
    if value is None or is_nothing:
        return value is None and is_nothing
    if not isinstance(value, str):
        try:
            return math.isclose(float(cell), value, rel_tol=1e-9)
        except (TypeError, ValueError):
            return False
    text = cell.isoformat().removeprefix("1970-01-01T") if hasattr(cell, "isoformat") else norm(cell)
    rest = text.removeprefix(norm(value)) if text.startswith(norm(value)) else None
    return rest == "" or rest in (":00", "T00:00:00", " 00:00:00") and ":" not in value[6:]


def norm(cell: Any) -> str:
    return str(cell).replace("\r\n", "\n").strip()


# --- readers ---------------------------------------------------------------------------------------------------------


def lapwing(program: Path, path: Path) -> Reading:
    """The columns that `label --keep all` writes beside labels; the labels are in a file of their own, so that they tell no name."""
    labels, out = path.with_name("labels.txt"), path.with_name("out.parquet")
    labels.write_text("row,label\n0,a\n1,b\n")
    words = ["label", path, "--labels", labels, "--method", "majority", "--keep", "all", "-o", out, "--json"]
    done = subprocess.run([str(word) for word in [program, *words]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    import polars as pl

    table = pl.read_parquet(out)
    report = json.loads(done.stdout)
    said = [one["text"] for one in report["warnings"] if one["kind"] == "unusual-cells"]
    none = {one["name"]: one.get("sentinel") for one in report["parts"]["prepare"]["columns"]}
    none = [none.get(name) for name in table.columns[:-3]]
    rows = [[None if cell == mark else cell for cell, mark in zip(row[:-3], none, strict=True)] for row in table.rows()]
    return Reading(table.columns[:-3], rows, "; ".join(said))


def _pandas(path: Path) -> Reading:
    import pandas as pd

    return _frame(pd.read_csv(path, sep=None, engine="python"))


def _polars(path: Path) -> Reading:
    import polars as pl

    table = pl.read_csv(path)
    return Reading(table.columns, [list(row) for row in table.rows()], "")


def _duckdb(path: Path) -> Reading:
    import duckdb

    found = duckdb.execute("SELECT * FROM read_csv_auto(?)", [str(path)])
    return Reading([column[0] for column in found.description], [list(row) for row in found.fetchall()], "")


def _clevercsv(path: Path) -> Reading:
    import clevercsv

    return _frame(clevercsv.read_dataframe(str(path)))


def _frame(frame: Any) -> Reading:
    return Reading([str(name) for name in frame.columns], frame.astype(object).values.tolist(), "")


READERS = {"pandas": _pandas, "polars": _polars, "duckdb": _duckdb, "clevercsv": _clevercsv}


# --- tables ----------------------------------------------------------------------------------------------------------


def totals(records: list[Record]) -> str:
    rows = []
    for name in dict.fromkeys(one["peer"] for one in records):
        own = [one for one in records if one["peer"] == name]
        counts = Counter(one["outcome"] for one in own)
        shown = name if name == "lapwing" else f"{name} {version(name)}"
        rows.append([shown, *[f"{counts[outcome]} ({counts[outcome] / len(own):.1%})" for outcome in OUTCOMES]])
    return common.markdown(f"{len(polluted.files())} files of known tables", ["reader", *OUTCOMES], rows)


def ways(records: list[Record]) -> str:
    """Files of each way, and how many each reader has right, and misreads."""
    peers, rows = list(dict.fromkeys(one["peer"] for one in records)), []
    for way in dict.fromkeys(one["way"] for one in records):
        own = [[one["outcome"] for one in records if (one["way"], one["peer"]) == (way, peer)] for peer in peers]
        rows.append([way, str(len(own[0])), *[f"{found.count('right')}, {found.count('misread')}" for found in own]])
    return common.markdown("Right, and misread in silence", ["way", "files", *peers], rows)
