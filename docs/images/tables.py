"""Reads the tables of the pages, so that charts and tables cannot differ."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]

Row = dict[str, str]


def tables(page: str, heading: str) -> list[list[Row]]:
    """The tables below a heading of a page, up to the next heading; each row by the names of the columns."""
    lines = iter(DOCS.joinpath(page).read_text(encoding="utf-8").splitlines())
    if not any(re.fullmatch(rf"#+ {re.escape(heading)}", line) for line in lines):
        raise LookupError(f"{page} has no heading {heading}")
    found: list[list[list[str]]] = [[]]
    for line in lines:
        if line.startswith("#"):
            break
        if line.startswith("|"):
            found[-1].append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [[dict(zip(head, row, strict=True)) for row in rows] for head, _, *rows in filter(None, found)]


def number(cell: str) -> float:
    """The first number of a cell."""
    found = re.search(r"[-+−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?", cell)
    if found is None:
        raise ValueError(f"no number in {cell!r}")
    return float(found[0].replace(",", "").replace("−", "-"))


def numbers(rows: list[Row], column: str) -> list[float]:
    """The first number of each cell of a column."""
    return [number(row[column]) for row in rows]
