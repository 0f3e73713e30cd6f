"""What readers make of files whose table is known: right, changed with a warning, refused, or misread in silence."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import warnings
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
    """Names and rows that a reader found, and what it warned of."""

    names: list[str]
    rows: Cells
    warned: str = ""


def task(args: argparse.Namespace) -> tuple[list[Record], str]:
    readers = {"lapwing": lambda path: lapwing(args.program, path), **READERS}
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for file in polluted.files():
            path.write_bytes(file.text)
            for name, read in readers.items():
                outcome, why = judged(file, lambda read=read: read(path))
                records.append({"peer": name, "way": file.way, "about": file.about, "outcome": outcome, "why": why})
    return records, f"{table(records, whole=True)}\n{table(records, whole=False)}"


def judged(file: File, read: Callable[[], Reading]) -> tuple[str, str]:
    """An outcome, and what is wrong. If the file does not tell its table, whoever says so is right."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read()
    except Exception as error:  # Every reader has errors of its own.
        return "right" if file.rows is None else "refused", str(error)[:300]
    said = found.warned or "; ".join(str(one.message) for one in caught)
    wrong = difference(file.rows, file.names, found) if file.rows is not None else "" if said else "not told"
    return ("warned" if said else "misread") if wrong else "right", f"{wrong} [{said[:200]}]"


def difference(rows: Cells, names: list[str] | None, found: Reading) -> str:
    """The first difference between the table and what was found, in words; empty if there is none."""
    width = len(rows[0])
    if names and [norm(name) for name in found.names[:width]] != [norm(name) for name in names]:
        return f"names {found.names}"
    # A column of nothing behind the last is none.
    is_bare = not any(is_something(cell) for row in found.rows for cell in row[width:])
    if len(found.rows) != len(rows) or len(found.names) != width and not is_bare:
        return f"{len(found.rows)} rows of {len(found.names)}"
    places = ((at, place) for at in range(len(rows)) for place in range(width))
    wrong = next(((at, place) for at, place in places if not same(found.rows[at][place], rows[at][place])), None)
    return f"row {wrong[0]}: {found.rows[wrong[0]][wrong[1]]!r} for {rows[wrong[0]][wrong[1]]!r}" if wrong else ""


def same(cell: Any, value: Any) -> bool:
    """Whether a cell means what it should: texts but for blanks around them, numbers also as plain texts, dates and times in any type."""
    if value is None or not is_something(cell):
        return value is None and not is_something(cell)
    if isinstance(value, str):
        text = cell.isoformat().removeprefix("1970-01-01T") if hasattr(cell, "isoformat") else norm(cell)
        return text == norm(value) or hasattr(cell, "isoformat") and text in (f"{value}:00", f"{value}T00:00:00")
    try:
        return math.isclose(float(cell), value, rel_tol=1e-9)
    except (TypeError, ValueError):
        return False


def is_something(cell: Any) -> bool:
    return cell is not None and cell == cell and norm(cell) != ""


def norm(cell: Any) -> str:
    return str(cell).replace("\r\n", "\n").strip()


def lapwing(program: Path, path: Path) -> Reading:
    """The columns that `label --keep all` writes beside labels; the labels are in a file of their own, so that they tell no name."""
    import polars as pl

    labels, out = path.with_name("labels.txt"), path.with_name("out.parquet")
    labels.write_text("row,label\n0,a\n1,b\n")
    words = [program, "label", path, "--labels", labels, "--method", "majority", "--keep", "all", "-o", out, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    table, report = pl.read_parquet(out), json.loads(done.stdout)
    said = [one["text"] for one in report["warnings"] if one["kind"] in ("unusual-cells", "doubtful-columns")]
    sentinels = {one["name"]: one.get("sentinel") for one in report["parts"]["prepare"]["columns"]}
    columns = [[None if cell == sentinels.get(name) else cell for cell in table[name]] for name in table.columns[:-3]]
    return Reading(table.columns[:-3], [list(row) for row in zip(*columns, strict=True)], "; ".join(said))


def _pandas(path: Path) -> Reading:
    import pandas as pd

    return _frame(pd.read_csv(path, sep=None, engine="python"))


def _polars(path: Path) -> Reading:
    import polars as pl

    table = pl.read_csv(path)
    return Reading(table.columns, [list(row) for row in table.rows()])


def _duckdb(path: Path) -> Reading:
    import duckdb

    found = duckdb.execute("SELECT * FROM read_csv_auto(?)", [str(path)])
    return Reading([column[0] for column in found.description], [list(row) for row in found.fetchall()])


def _clevercsv(path: Path) -> Reading:
    import clevercsv

    return _frame(clevercsv.read_dataframe(str(path)))


def _frame(frame: Any) -> Reading:
    return Reading([str(name) for name in frame.columns], frame.astype(object).to_numpy().tolist())


READERS = {"pandas": _pandas, "polars": _polars, "duckdb": _duckdb, "clevercsv": _clevercsv}


def table(records: list[Record], *, whole: bool) -> str:
    """Shares of the outcomes of each reader; or, for each way, the files and how many of them a reader has right, and misreads."""
    peers, found = list(dict.fromkeys(one["peer"] for one in records)), {}
    for one in records:
        found.setdefault(("all" if whole else one["way"], one["peer"]), []).append(one["outcome"])
    if whole:
        shares = {peer: [own.count(outcome) / len(own) for outcome in OUTCOMES] for (_, peer), own in found.items()}
        named = {peer: f"{peer} {version(peer)}" for peer in READERS}
        rows = [[named.get(peer, peer), *[f"{share:.1%}" for share in of]] for peer, of in shares.items()]
        return common.markdown(f"{len(records) // len(peers)} files of known tables", ["reader", *OUTCOMES], rows)
    rows = [[way, str(len(found[way, peers[0]])), *[f"{found[way, peer].count('right')}, {found[way, peer].count('misread')}" for peer in peers]]
            for way in dict.fromkeys(way for way, _ in found)]
    return common.markdown("Files of each way: right, and misread in silence", ["way", "files", *peers], rows)
