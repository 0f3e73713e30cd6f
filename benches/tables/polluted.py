"""Files of text whose table is known: three small tables, written in the ways of real files.

The ways are those that Pollock (Vitagliano et al. 2023) and CSVsniffer (García 2024) describe, made anew here, and some of exports. A
file that does not tell its table has no rows: the right answer is then to refuse it, or to warn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Cells = list[list[Any]]
"""Rows of cells: texts, numbers (int, float), or None where nothing is."""
Way = Iterator[tuple[str, "str | bytes", Cells | None, list[str] | None]]
"""Files of one way: what is special, the text, its rows, its names (None if it has none, or none that are clear)."""

WIDE, PLAIN, TEXTS = "date quantity product price city kind".split(), "x1 x2 x3 x4 class".split(), "name mail time facts remark score".split()
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "caret": "^", "tilde": "~", "colon": ":",
              "two colons": "::", "comma and space": ", ", "semicolon and space": "; ", "control byte": "\x01"}
USUAL = ["comma", "semicolon", "tab"]


class File(NamedTuple):
    way: str
    about: str
    text: bytes
    rows: Cells | None
    names: list[str] | None


def sales(n: int = 40) -> Cells:
    """Dates, numbers, texts with commas and letters with accents."""
    rng, rows = np.random.default_rng(1), []
    for _ in range(n):
        product = f"{rng.choice(['steel', 'brass', 'oak'])} {rng.choice(['bolt', 'nut', 'peg'])}, {rng.integers(2, 40)} mm"
        city, kind = str(rng.choice(["Köln", "Málaga", "Zürich", "São Paulo", "Oslo"])), str(rng.choice(["A", "B"]))
        day = f"2024-{rng.integers(1, 13):02}-{rng.integers(13, 29):02}"
        rows.append([day, int(rng.integers(1, 60)), product, round(float(rng.uniform(1, 900)), 2), city, kind])
    return rows


def numbers(n: int = 40) -> Cells:
    """Numbers with decimals, some missing, and a class."""
    rng = np.random.default_rng(2)
    rows = [[*map(float, rng.normal(50, 20, 4).round(3)), int(rng.integers(1, 4))] for _ in range(n)]
    return [[*row[:2], None, *row[3:]] if at % 8 == 3 else row for at, row in enumerate(rows)]


def people(n: int = 40) -> Cells:
    """Texts: names, addresses, times of day with colons, JSON, and sentences with quotes and line ends."""
    rng, rows = np.random.default_rng(3), []
    said = ["all fine", 'said "later", then left', "asked twice; paid", "first line\nsecond line", "nothing | to add", "it's ok"]
    for at in range(n):
        first, last = rng.choice(["Anna", "Ben", "Chloé", "Dmitri"]), rng.choice(["Miller", "O'Brien", "Núñez", "Li"])
        facts = json.dumps({"age": int(rng.integers(18, 80)), "tags": ["a", "b"][: rng.integers(0, 3)]})
        time, score = f"{rng.integers(10, 19)}:{rng.integers(10, 60)}", round(float(rng.uniform(0, 10)), 1)
        rows.append([f"{last}, {first}", f"{first.lower()}{at}@mail.example", time, facts, str(rng.choice(said)), score])
    return rows


TABLES: dict[str, tuple[list[str], Callable[..., Cells]]] = {"sales": (WIDE, sales), "numbers": (PLAIN, numbers), "people": (TEXTS, people)}


def of(names: list[Any] | None, rows: Cells, delimiter: str = ",", quote: str = '"', *, every: bool = False, escape: str = "",
       end: str = "\n", decimal: str = ".") -> str:
    """A table as text; quotes in quoted cells are doubled, or follow `escape`; without a quote, `escape` stands before delimiters."""
    def cell(value: Any) -> str:
        text = "" if value is None else str(value).replace(".", decimal) if isinstance(value, float) else str(value)
        if quote and (every or any(part and part in text for part in (delimiter, quote, "\n", "\r", escape))):
            return quote + (text.replace(escape, escape * 2) if escape else text).replace(quote, (escape or quote) + quote) + quote
        return text.replace(delimiter, escape + delimiter) if escape and not quote else text

    return "".join(delimiter.join(map(cell, row)) + end for row in ([names] if names else []) + rows)


def _with(rows: Cells, at: int, change: Callable[[int, Any], Any]) -> Cells:
    """Rows with another column."""
    return [[*row[:at], change(place, row[at]), *row[at + 1 :]] for place, row in enumerate(rows)]


def _flat(rows: Cells) -> Cells:
    return [[cell.replace("\n", " ") if isinstance(cell, str) else cell for cell in row] for row in rows]


def dialects() -> Way:
    ways = {"": {}, ", all quoted": {"every": True}, ", plain quotes": {"quote": "'"}, ", plain quotes, all": {"quote": "'", "every": True}}
    for title, (names, table) in TABLES.items():
        for word, delimiter in DELIMITERS.items():
            for how, options in ways.items():
                if not ("plain" in how and (len(delimiter) > 1 and delimiter != "; " or title == "numbers")):
                    yield f"{title}: {word}{how}", of(names, table(), delimiter, **options), table(), names
        for word in ("semicolon", "tab", "pipe"):
            yield f"{title}: {word}, decimal commas", of(names, table(), DELIMITERS[word], decimal=","), table(), names
    for quote in "”`|":
        yield f"quotes {quote}", of(WIDE, sales(), ",", quote), None, None


def escapes() -> Way:
    for word in (*USUAL, "pipe"):
        yield f"before quotes: {word}", of(TEXTS, people(), DELIMITERS[word], escape="\\"), people(), TEXTS
        yield f"before delimiters: {word}", of(TEXTS, _flat(people()), DELIMITERS[word], "", escape="\\"), _flat(people()), TEXTS
    inches = _with(sales(), 2, lambda at, cell: cell.replace(",", "") + ' 5"' * (at % 7 == 0))
    yield "none, quotes that are inches", of(WIDE, inches, quote=""), inches, WIDE


def lines() -> Way:
    for title, (names, table) in TABLES.items():
        for word, end in {"CR LF": "\r\n", "CR": "\r", "LF CR": "\n\r"}.items():
            rows = _flat(table()) if end == "\r" else table()
            yield f"{word}: {title}", of(names, rows, end=end), rows, names
    text = of(WIDE, sales())
    parts = text.split("\n")
    for about, changed in {
        "CR LF and LF": "".join(line + ("\r\n" if at % 2 else "\n") for at, line in enumerate(parts[:-1])), "none at the end": text[:-1],
        "many at the end": text + "\n" * 20, "empty lines first": "\n\n" + text, "every second line empty": text.replace("\n", "\n\n"),
        "lines of blanks between": text.replace("\n", "\n   \n", 9), "blanks at the ends": text.replace("\n", "  \n"),
        "a line of delimiters between": "\n".join([*parts[:12], ",,,,,", *parts[12:]]), "end of file of DOS": text + "\x1a",
        "lines of delimiters behind": text + ",,,,,\n" * 30}.items():
        yield about, changed, sales(), WIDE


def encodings() -> Way:
    words = {"cp1251": ["Москва", "Казань"], "shift-jis": ["東京都", "大阪府"], "gb18030": ["北京市", "上海市"], "iso-8859-2": ["Łódź", "Győr"],
             "iso-8859-7": ["Αθήνα", "Πάτρα"], "euc-kr": ["서울시", "부산시"], "utf-16-le": ["Köln", "Łódź"]}
    for name in ("utf-8-sig", "utf-16", "utf-32", "cp1252", "mac-roman", "cp850"):
        yield name, of(WIDE, sales()).encode(name, "replace"), sales(), WIDE
    for name, cities in words.items():
        rows = _with(sales(), 4, lambda at, _, cities=cities: cities[at % 2])
        yield name, of(WIDE, rows).encode(name), rows, WIDE
    yield "utf-8 but for one byte", of(WIDE, sales()).encode() + b"2024-01-13,3,caf\xe9,4,Oslo,A\n", None, None


def around() -> Way:
    before = {"a title": "Sales of the year\n", "a title with commas": "Sales, all shops, 2024\n", "title and empty line": "Sales of the year\n\n",
              "five lines": "Report\nShop: north\nFrom: 2024-01-01\nTo: 2024-12-31\n\n", "facts in two cells": "Report|Sales\nShop|north\n\n",
              "a title filled up": "Sales of the year|||||\n|||||\n", "a title in the middle": "||Sales|||\n", "comments #": "# sales\n# all shops, 2024\n",
              "comments %": "% sales\n% all shops\n", "comments //": "// sales\n// all shops, 2024\n"}
    behind = {"a note": "\nSource: own counts\n", "a note with commas": "Source: own counts, estimates, rounded\n", "a count": "(40 rows affected)\n",
              "an end mark": "-- end --\n", "a total": "Total|1190||17200.5||\n", "comments #": "# end\n", "a note filled up": "Source: own counts|||||\n"}
    for word in USUAL:
        delimiter = DELIMITERS[word]
        text = of(WIDE, sales(), delimiter)
        for about, added in before.items():
            yield f"before, {about}: {word}", added.replace("|", delimiter) + text, sales(), WIDE
        for about, added in behind.items():
            # Whether a total is a row is not told.
            yield f"behind, {about}: {word}", text + added.replace("|", delimiter), None if about == "a total" else sales(), WIDE
        yield f"sep=: {word}", f"sep={delimiter}\n{text}", sales(), WIDE
    turned = [[row[4], row[1], row[3]] for row in sales()]
    yield "behind, a total under texts", of(["city", "quantity", "price"], [*turned, ["Total", 1190, 17200.5]]), None, None


def headers() -> Way:
    for title, (names, table) in TABLES.items():
        rows, numbered = table(), [[at, *row] for at, row in enumerate(table())]
        yield f"none: {title}", of(None, rows), rows, None
        yield f"two lines: {title}", of(names, [[f"of {name[:1]}" for name in names], *rows]), rows, names
        yield f"again in the middle: {title}", of(names, rows[:15]) + of(names, rows[15:]), rows, names
        yield f"again in a short table: {title}", of(names, rows[:3]) + of(names, rows[3:6]), rows[:6], names
        yield f"a delimiter behind: {title}", of([*names, ""], rows), rows, names
        yield f"two names more: {title}", of([*names, "note", "more"], rows), [[*row, None, None] for row in rows], [*names, "note", "more"]
        yield f"delimiters behind all lines: {title}", of([*names, None], [[*row, None] for row in rows]), rows, names
        yield f"numbers of rows: {title}", of(["", *names], numbered), numbered, None
        yield f"names of rows of R: {title}", of(names, [[f"r{row[0]}", *row[1:]] for row in numbered]), [[f"r{row[0]}", *row[1:]] for row in numbered], None
    yield "units below", of(WIDE, [["", "pieces", "", "EUR", "", ""], *sales()]), sales(), WIDE
    yield "groups above", of(["when", "what", "", "", "where", ""], [WIDE, *sales()]), sales(), WIDE
    yield "types below", of(WIDE, [["date", "int", "string", "float", "string", "string"], *sales()]), sales(), WIDE
    yield "a line of dashes below", of(WIDE, [["---"] * 6, *sales()]), sales(), WIDE
    years = [[f"s{at}", *row[:2], row[3]] for at, row in enumerate(numbers())]
    yield "years", of(["shop", "2021", "2022", "2023"], years), years, ["shop", "2021", "2022", "2023"]
    yield "a name twice", of([*WIDE[:5], "city"], sales()), sales(), None
    for name in ("quantity\n(pieces)", "quantity, pieces"):
        yield f"names like {name!r}", of(["date", name, *WIDE[2:]], sales()), sales(), ["date", name, *WIDE[2:]]


def lengths() -> Way:
    """Cells that lack at the end are missing; a row with too many does not tell which is which."""
    rows, parts = sales(), of(WIDE, sales()).split("\n")[:-1]
    for about, at in {"first": 1, "middle": 20, "last": 40}.items():
        own = parts[at]
        changed = {"two cells less": own.rsplit(",", 2)[0], "an empty cell more": own + ",", "a cell more": own.replace(",", ",7,", 1),
                   "a delimiter less": own.replace(",", "", 1), "other delimiters": own.replace(",", ";"), "an open quote": own.replace(",", ',"', 1)}
        lacks = [[*row[:4], None, None] if place == at - 1 else row for place, row in enumerate(rows)]
        told = {"two cells less": lacks, "an empty cell more": rows}
        for what, line in changed.items():
            yield f"{what}, {about}", "\n".join([*parts[:at], line, *parts[at + 1 :], ""]), told.get(what), WIDE
    for about, gap in {"": "", ", empty line": "\n", ", title": "\nSecond table\n"}.items():
        for second, (names, table) in {"narrower": TABLES["numbers"], "as wide": TABLES["people"]}.items():
            yield f"another table, {second}{about}", of(WIDE, rows) + gap + of(names, table()), None, None


def cells() -> Way:
    swapped, french = str.maketrans(",.", ".,"), str.maketrans(",.", "\u00a0,")
    for about, shown in {
        "commas for thousands": lambda v: f"{v:,.2f}", "points for thousands": lambda v: f"{v:,.2f}".translate(swapped), "dollars": lambda v: f"${v:,.2f}",
        "hard blanks for thousands": lambda v: f"{v:,.2f}".translate(french), "apostrophes for thousands": lambda v: f"{v:,.2f}".replace(",", "'"),
        "euros behind": lambda v: f"{v:.2f} €".replace(".", ","), "exponents": lambda v: f"{v:.9e}", "both decimal marks": lambda v: f"{v:.2f}".replace(".", ".,"[int(v) % 2]),
    }.items():
        rows = _with(sales(), 3, lambda _, cell: round(cell * 17, 2))
        yield about, of(WIDE, _with(rows, 3, lambda _, cell, shown=shown: shown(cell)), ";"), rows, WIDE
    for mark in ("NA", "n/a", "?", "-", "null", "\\N", "NaN", "#N/A", "missing", "unknown", "-999"):
        gaps = _with(sales(), 3, lambda at, cell: None if at % 9 == 4 else cell)
        yield f"{mark} for gaps", of(WIDE, _with(gaps, 3, lambda _, cell, mark=mark: cell or mark)), gaps, WIDE
    for about, made in {"codes with zeros": lambda at, _: f"{at * 37 % 9999:05}", "HTML": lambda at, _: f'<a href="/p/{at}?x=1,2">item {at}</a>\r\n<b>new</b>',
                        "pages": lambda at, _: "".join(f'Sentence {n} of {at}, with "words"; and\nmore. ' for n in range(60))}.items():
        for word in USUAL:
            yield f"{about}: {word}", of(WIDE, _with(sales(), 0, made), DELIMITERS[word]), _with(sales(), 0, made), WIDE
    for word in ("tab", "pipe", "semicolon"):
        facts = _with(sales(), 0, lambda at, _: json.dumps({"n": at, "of": [1, 2], "x": "y, z"}))
        yield f"JSON without quotes around: {word}", of(WIDE, facts, DELIMITERS[word], ""), facts, WIDE


def aligned() -> Way:
    """Columns for the eye."""
    names, rows = ["date", "quantity", "price", "city", "kind"], [[*row[:2], row[3], row[4].replace(" ", "-"), row[5]] for row in sales()]
    width = [max(len(str(row[at])) for row in [names, *rows]) for at in range(5)]
    rule = ["-" * size for size in width]
    def drawn(between: str, left: str = "", right: str = "", below: str = "", table: Cells = rows) -> str:
        padded = [between.join(str("" if cell is None else cell).ljust(size) for cell, size in zip(row, width, strict=True)) for row in [names, *table]]
        return "\n".join([left + padded[0] + right, *([below] if below else []), *[left + line + right for line in padded[1:]], ""])
    box = "+" + "+".join(f"-{part}-" for part in rule) + "+"
    gaps = _with(rows, 1, lambda at, cell: None if at % 9 == 4 else cell)
    for about, text in {"blanks": drawn("  "), "blanks and a rule": drawn("  ", below="  ".join(rule)), "pipes": drawn(" | "), "commas": drawn(" , "),
                        "Markdown": drawn(" | ", "| ", " |", box.replace("+", "|")), "psql": drawn(" | ", " ", "", box[1:-1]),
                        "MySQL": f"{box}\n{drawn(' | ', '| ', ' |', box)}{box}\n"}.items():
        yield about, text, rows, names
    yield "blanks, with gaps", drawn("  ", table=gaps), gaps, names


def small() -> Way:
    for title, (names, table) in TABLES.items():
        for n in (2, 3, 5):
            for word in USUAL:
                yield f"{n}: {title}, {word}", of(names, table()[:n], DELIMITERS[word]), table()[:n], names
        yield f"a header alone: {title}", of(names, []), None, None
    for at in (3, 2):
        yield f"one column, {WIDE[at]}", of([WIDE[at]], [[row[at]] for row in sales()]), [[row[at]] for row in sales()], [WIDE[at]]


WAYS = {"delimiters and quotes": dialects, "escapes": escapes, "ends of lines": lines, "encodings": encodings, "lines around": around, "headers": headers,
        "rows of another length": lengths, "cells": cells, "aligned columns": aligned, "few rows": small}


def files() -> list[File]:
    return [File(way, about, text if isinstance(text, bytes) else text.encode(), rows, names) for way, made in WAYS.items() for about, text, rows, names in made()]
