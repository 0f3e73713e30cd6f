"""Files of text whose table is known: three small tables, written in the ways of real files.

The ways are those that Pollock (Vitagliano et al. 2023) and CSVsniffer (García 2024) describe: delimiters, quotes, escapes, ends of
lines, encodings, lines before and behind the table, headers, rows of another length, empty lines, several tables, texts in cells. Each
is made anew here. A file that does not tell its table has no rows: the right answer is then to refuse it, or to warn.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

Cells = list[list[Any]]
"""Rows of cells: texts, numbers (int, float), or None where nothing is."""

ROWS = 40
WIDE = ["date", "quantity", "product", "price", "city", "kind"]
"""Names of the table that most ways are shown on."""


class File(NamedTuple):
    """A file, and the table that a reader should find in it."""

    way: str
    about: str
    text: bytes
    names: list[str] | None
    """None if the file has no names, or none that are clear."""
    rows: Cells | None
    ending: str = "csv"


def sales(n: int = ROWS) -> Cells:
    """Dates, numbers, texts with commas and letters with accents."""
    rng, size = np.random.default_rng(1), n
    product = [f"{rng.choice(['steel', 'brass', 'oak'])} {rng.choice(['bolt', 'nut', 'peg'])}, {rng.integers(2, 40)} mm" for _ in range(size)]
    city = rng.choice(["Köln", "Málaga", "Zürich", "São Paulo", "Oslo"], size)
    price, quantity = rng.uniform(1, 900, size).round(2), rng.integers(1, 60, size)
    days = [f"2024-{rng.integers(1, 13):02}-{rng.integers(13, 29):02}" for _ in range(size)]
    return [list(row) for row in zip(days, quantity.tolist(), product, price.tolist(), city.tolist(), rng.choice(["A", "B"], size).tolist(), strict=True)]


def numbers(n: int = ROWS) -> Cells:
    """Numbers with decimals, some missing, and a class."""
    rng = np.random.default_rng(2)
    rows = [[*map(float, rng.normal(50, 20, 4).round(3)), int(rng.integers(1, 4))] for _ in range(n)]
    for row in rng.choice(n, n // 8, replace=False):
        rows[row][2] = None
    return rows


def people(n: int = ROWS) -> Cells:
    """Texts: names, addresses, times of day with colons, JSON, and sentences with quotes and line ends."""
    rng = np.random.default_rng(3)
    first, last = rng.choice(["Anna", "Ben", "Chloé", "Dmitri"], n), rng.choice(["Miller", "O'Brien", "Núñez", "Li"], n)
    said = ["all fine", 'said "later", then left', "asked twice; paid", "first line\nsecond line", "nothing | to add", "it's ok"]
    rows: Cells = []
    for at in range(n):
        facts = json.dumps({"age": int(rng.integers(18, 80)), "tags": ["a", "b"][: rng.integers(0, 3)]})
        time, mail = f"{rng.integers(8, 19):02}:{rng.integers(10, 60)}", f"{first[at].lower()}{at}@mail.example"
        rows.append([f"{last[at]}, {first[at]}", mail, time, facts, str(rng.choice(said)), round(float(rng.uniform(0, 10)), 1)])
    return rows


TABLES = {"sales": (WIDE, sales), "numbers": (["x1", "x2", "x3", "x4", "class"], numbers),
          "people": (["name", "mail", "time", "facts", "remark", "score"], people)}


def written(names: list[str] | None, rows: Cells, delimiter: str = ",", quote: str = '"', *, every: bool = False, escape: str = "",
            end: str = "\n", decimal: str = ".") -> str:
    """A table as text; quotes in quoted cells are doubled, or follow `escape`; without a quote, `escape` stands before delimiters."""
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        if isinstance(value, float):
            text = text.replace(".", decimal)
        if not quote:
            for special in (escape, delimiter, "\n"):
                text = text.replace(special, escape + special) if special and escape else text
            return text
        if every or any(part and part in text for part in (delimiter, quote, "\n", "\r", escape)):
            return quote + (text.replace(escape, escape * 2) if escape else text).replace(quote, (escape or quote) + quote) + quote
        return text

    return "".join(delimiter.join(map(cell, row)) + end for row in ([names] if names else []) + rows)


def files() -> list[File]:
    """All files, ways of one kind together."""
    made = [*dialects(), *escapes(), *lines(), *encodings(), *around(), *headers(), *lengths(), *several(), *cells(), *aligned(), *small()]
    return [file if isinstance(file.text, bytes) else file._replace(text=file.text.encode()) for file in made]


DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "caret": "^", "tilde": "~", "colon": ":",
              "two colons": "::", "comma and space": ", ", "semicolon and space": "; "}


def dialects() -> Iterator[File]:
    for title, (names, table) in TABLES.items():
        for word, delimiter in DELIMITERS.items():
            for how, options in {"": {}, ", all quoted": {"every": True}, ", plain quotes": {"quote": "'"}, ", plain quotes, all": {"quote": "'", "every": True}}.items():
                if "plain" in how and (word in ("two colons", "comma and space") or title == "numbers" and "all" not in how):
                    continue
                yield File("delimiters and quotes", f"{title}: {word}{how}", written(names, table(), delimiter, **options), names, table())
    for word in ("semicolon", "tab", "pipe"):
        for title in ("sales", "numbers"):
            names, table = TABLES[title]
            yield File("decimal commas", f"{title}: {word}", written(names, table(), DELIMITERS[word], decimal=","), names, table())


def escapes() -> Iterator[File]:
    names, rows = TABLES["people"][0], people()
    for word in ("comma", "semicolon", "tab", "pipe"):
        yield File("escapes", f"backslash before quotes: {word}", written(names, rows, DELIMITERS[word], escape="\\"), names, rows)
        flat = [[cell.replace("\n", " ") if isinstance(cell, str) else cell for cell in row] for row in rows]
        yield File("escapes", f"backslash before delimiters, no quotes: {word}", written(names, flat, DELIMITERS[word], "", escape="\\"), names, flat)
    plain = [[cell.replace(",", "") if isinstance(cell, str) else cell for cell in row] for row in sales()]
    for row in plain[::7]:
        row[2] = f'{row[2]} 5"'
    yield File("escapes", "quotes that are inches", written(WIDE, plain, quote=""), WIDE, plain)
    first = [[*row[:2], f'"{row[2][:5]}" {row[2][6:9]}' if at % 7 == 0 else row[2], *row[3:]] for at, row in enumerate(plain)]
    yield File("escapes", "quotes around a first word", written(WIDE, first, quote=""), WIDE, first)


def lines() -> Iterator[File]:
    for word, end in {"CR LF": "\r\n", "CR": "\r", "LF CR": "\n\r"}.items():
        for title, (names, table) in TABLES.items():
            rows = [[cell.replace("\n", " ") if isinstance(cell, str) else cell for cell in row] for row in table()] if end == "\r" else table()
            yield File("ends of lines", f"{word}: {title}", written(names, rows, end=end), names, rows)
    text, rows = written(WIDE, sales()), sales()
    parts = text.split("\n")
    mixed = "".join(line + ("\r\n" if at % 2 else "\n") for at, line in enumerate(parts[:-1]))
    ways = {"mixed": mixed, "none at the end": text[:-1], "two at the end": text + "\n", "many at the end": text + "\n" * 20,
            "an empty first line": "\n\n" + text, "an empty line under the header": text.replace("\n", "\n\n", 1),
            "every second line empty": text.replace("\n", "\n\n"), "lines of blanks between": text.replace("\n", "\n   \n", 9),
            "lines of delimiters between": "\n".join(parts[:12] + [",,,,,"] + parts[12:]), "end of file of DOS": text + "\x1a",
            "lines of delimiters behind": text + ",,,,,\n" * 30, "blanks at the ends of lines": text.replace("\n", "  \n")}
    yield from (File("ends of lines", about, changed, WIDE, rows) for about, changed in ways.items())


def encodings() -> Iterator[File]:
    text, rows = written(WIDE, sales()), sales()
    for name in ("utf-8-sig", "utf-16", "cp1252", "latin-1", "mac-roman", "cp850"):
        yield File("encodings", name, text.encode(name, "replace"), WIDE, rows)
    yield File("encodings", "utf-16-be with mark", codecs.BOM_UTF16_BE + text.encode("utf-16-be"), WIDE, rows)
    yield File("encodings", "utf-16-le without mark", text.encode("utf-16-le"), WIDE, rows)
    yield File("encodings", "utf-32", text.encode("utf-32"), WIDE, rows)
    words = {"cp1251": ["Москва", "Казань", "Тверь"], "shift-jis": ["東京都", "大阪府", "北海道"], "gb18030": ["北京市", "上海市", "广州市"],
             "iso-8859-7": ["Αθήνα", "Πάτρα", "Βόλος"], "euc-kr": ["서울시", "부산시", "대구시"], "iso-8859-2": ["Łódź", "Žilina", "Győr"]}
    for name, cities in words.items():
        local = [[*row[:4], cities[at % 3], row[5]] for at, row in enumerate(rows)]
        yield File("encodings", name, written(WIDE, local).encode(name), WIDE, local)
    yield File("encodings", "utf-8-sig, all quoted", written(WIDE, rows, every=True).encode("utf-8-sig"), WIDE, rows)


def around() -> Iterator[File]:
    """Lines before and behind the table."""
    before = {"a title": "Sales of the year\n", "a title with commas": "Sales, all shops, 2024\n", "title and empty line": "Sales of the year\n\n",
              "five lines": "Report\nShop: north\nFrom: 2024-01-01\nTo: 2024-12-31\n\n", "facts in two cells": "Report,Sales\nShop,north\nCreated,2024-12-31\n\n",
              "title filled with delimiters": "Sales of the year,,,,,\n,,,,,\n", "comments #": "# sales\n# all shops, 2024\n",
              "comments %": "% sales\n% all shops\n", "comments //": "// sales\n// all shops, 2024\n", "comments ;": "; sales\n; all shops\n",
              "a quoted title": '"Sales of the year"\n', "twelve lines": "".join(f"Note {at}: see page {at}\n" for at in range(12))}
    behind = {"a note": "Source: own counts\n", "empty line and note": "\nSource: own counts\n", "a note with commas": "Source: own counts, estimates, rounded\n",
              "rows affected": "\n(40 rows affected)\n", "a count": "40 rows\n", "an end mark": "-- end --\n", "a total": "Total,1190,,17200.5,,\n",
              "a total and a note": "Total,1190,,17200.5,,\n\nSource: own counts\n", "comments #": "# end\n", "notes filled up": "Source: own counts,,,,,\n"}
    for word in ("comma", "semicolon", "tab"):
        text, rows = written(WIDE, sales(), DELIMITERS[word]), sales()
        of = lambda lines: lines.replace(",", DELIMITERS[word]) if "with commas" not in lines else lines
        for about, added in before.items():
            yield File("lines before", f"{about}: {word}", of(added) + text, WIDE, rows)
        for about, added in behind.items():
            # Whether a total is a row is not told.
            yield File("lines behind", f"{about}: {word}", text + of(added), WIDE, None if "total" in about else rows)
    turned = [[row[4], *row[:4], row[5]] for row in sales()]
    total = written(["city", *WIDE[:4], "kind"], turned) + "Total,,1190,,17200.5,\n"
    yield File("lines behind", "a total under texts", total, WIDE, None)
    for delimiter in ";,\t|":
        yield File("lines before", f"sep={delimiter!r}", f"sep={delimiter}\n" + written(WIDE, sales(), delimiter), WIDE, sales())
    text = written(WIDE, sales())
    yield File("lines before", "comments among rows", text[: (cut := text.index("\n", 900)) + 1] + "# page 2\n" + text[cut + 1 :], WIDE, sales())


def headers() -> Iterator[File]:
    for title, (names, table) in TABLES.items():
        yield File("headers", f"none: {title}", written(None, table()), None, table())
        yield File("headers", f"none, semicolons: {title}", written(None, table(), ";"), None, table())
        yield File("headers", f"two lines: {title}", written(names, [[f"of {name[:1]}" for name in names], *table()]), None, table())
        yield File("headers", f"again in the middle: {title}", written(names, table()[:15]) + written(names, table()[15:]), names, table())
        yield File("headers", f"a delimiter behind: {title}", written([*names, ""], table()), names, table())
        yield File("headers", f"delimiters behind all lines: {title}", written([*names, None], [[*row, None] for row in table()]), names, table())
        yield File("headers", f"numbers of rows, unnamed: {title}", written(["", *names], [[at, *row] for at, row in enumerate(table())]), None, [[at, *row] for at, row in enumerate(table())])
        yield File("headers", f"names of rows of R: {title}", written(names, [[f"r{at}", *row] for at, row in enumerate(table())]), None, [[f"r{at}", *row] for at, row in enumerate(table())])
        yield File("headers", f"blanks around names: {title}", written([f" {name} " for name in names], table()), names, table())
    units = ["", "pieces", "", "EUR", "", ""]
    rows = sales()
    yield File("headers", "units below", written(WIDE, [units, *rows]), WIDE, rows)
    yield File("headers", "groups above", written(["when", "what", "", "", "where", ""], [WIDE, *rows]), WIDE, rows)
    yield File("headers", "three lines", written(["date", "quantity", "product", "price", "city", "kind"], [["", "of", "of", "of", "of", "of"], ["", "order", "shop", "shop", "shop", "shop"], *rows]), None, rows)
    yield File("headers", "types below", written(WIDE, [["date", "int", "string", "float", "string", "string"], *rows]), WIDE, rows)
    yield File("headers", "a line of dashes below", written(WIDE, [["---"] * 6, *rows]), WIDE, rows)
    years = ["shop", "2021", "2022", "2023"]
    wide = [[f"s{at}", *row[:2], row[3]] for at, row in enumerate(numbers())]
    yield File("headers", "years", written(years, wide), years, wide)
    yield File("headers", "a name twice", written([*WIDE[:5], "city"], rows), None, rows)
    yield File("headers", "names with line ends", written(["date", "quantity\n(pieces)", *WIDE[2:]], rows), ["date", "quantity\n(pieces)", *WIDE[2:]], rows)
    yield File("headers", "names with delimiters", written(["date", "quantity, pieces", *WIDE[2:]], rows), ["date", "quantity, pieces", *WIDE[2:]], rows)
    words = [[a, b] for a, b in zip(["red", "blue", "green", "red", "blue"] * 6, ["cat", "dog", "cat"] * 10, strict=True)]
    yield File("headers", "texts alone", written(["color", "animal"], words), ["color", "animal"], words)
    yield File("headers", "none, texts alone", written(None, words), None, words)


def lengths() -> Iterator[File]:
    """Rows of another length: cells that lack at the end are missing; a row with too many does not tell which is which."""
    text, rows = written(WIDE, sales()), sales()
    parts = text.split("\n")[:-1]
    for about, at in {"first": 1, "middle": 20, "last": 40}.items():
        lacks = [[*row[:4], None, None] if place == at - 1 else row for place, row in enumerate(rows)]
        cut = parts[at].rsplit(",", 2)[0]
        yield File("rows of another length", f"two cells less, {about}", "\n".join([*parts[:at], cut, *parts[at + 1 :], ""]), WIDE, lacks)
        yield File("rows of another length", f"an empty cell more, {about}", "\n".join([*parts[:at], parts[at] + ",", *parts[at + 1 :], ""]), WIDE, rows)
        yield File("rows of another length", f"a cell more, {about}", "\n".join([*parts[:at], parts[at].replace(",", ",7,", 1), *parts[at + 1 :], ""]), None, None)
        yield File("rows of another length", f"a delimiter less, {about}", "\n".join([*parts[:at], parts[at].replace(",", "", 1), *parts[at + 1 :], ""]), None, None)
        yield File("rows of another length", f"other delimiters, {about}", "\n".join([*parts[:at], parts[at].replace(",", ";"), *parts[at + 1 :], ""]), None, None)
        yield File("rows of another length", f"an open quote, {about}", "\n".join([*parts[:at], parts[at].replace(",", ',"', 1), *parts[at + 1 :], ""]), None, None)
    short = [[*row[:5], None] if place % 3 else row for place, row in enumerate(rows)]
    yield File("rows of another length", "many short rows", "".join(written(None, [row[:5] if row[5] is None else row]) if at else written(WIDE, [row]) for at, row in enumerate(short)), WIDE, short)


def several() -> Iterator[File]:
    """Two tables in a file: no single table is right."""
    text, (names, table) = written(WIDE, sales()), TABLES["numbers"]
    for about, gap in {"": "", ", empty line": "\n", ", title": "\nSecond table\n"}.items():
        yield File("several tables", f"narrower behind{about}", text + gap + written(names, table()), None, None)
        yield File("several tables", f"wider behind{about}", written(names, table()) + gap + text, None, None)
        yield File("several tables", f"as wide{about}", text + gap + written([f"{name}2" for name in WIDE], sales()), None, None)


def cells() -> Iterator[File]:
    """Numbers and texts as people write them."""
    def with_price(about: str, shown: Any, delimiter: str = ",") -> File:
        rows = sales()
        price = [row[3] * 17 // 0.01 / 100 for row in rows]
        text = written(WIDE, [[*row[:3], shown(value), *row[4:]] for row, value in zip(rows, price, strict=True)], delimiter)
        return File("numbers", about, text, WIDE, [[*row[:3], value, *row[4:]] for row, value in zip(rows, price, strict=True)])

    yield with_price("commas for thousands", lambda value: f"{value:,.2f}")
    yield with_price("points for thousands", lambda value: f"{value:,.2f}".translate(str.maketrans(",.", ".,")), ";")
    yield with_price("blanks for thousands", lambda value: f"{value:,.2f}".translate(str.maketrans(",.", " ,")), ";")
    yield with_price("apostrophes for thousands", lambda value: f"{value:,.2f}".replace(",", "'"))
    yield with_price("dollars", lambda value: f"${value:,.2f}")
    yield with_price("euros behind", lambda value: f"{value:.2f} €".replace(".", ","), "\t")
    yield with_price("exponents", lambda value: f"{value:.9e}")
    yield with_price("a sign of plus", lambda value: f"+{value:.2f}")
    for mark in ("NA", "n/a", "?", "-", "null", "\\N", "NaN", "#N/A", "missing", "unknown", "-999"):
        rows = sales()
        gaps = [[*row[:3], None if at % 9 == 4 else row[3], *row[4:]] for at, row in enumerate(rows)]
        yield File("gaps", f"{mark} among numbers", written(WIDE, [[mark if cell is None else cell for cell in row] for row in gaps]), WIDE, gaps)
    rows = [[f"{at * 37 % 9999:05}", *row[1:]] for at, row in enumerate(sales())]
    yield File("texts", "codes with zeros before", written(["code", *WIDE[1:]], rows), ["code", *WIDE[1:]], rows)
    html = [[f'<a href="/p/{at}?x=1,2">item {at}</a>\r\n<b>new</b>', *row[1:]] for at, row in enumerate(sales())]
    for word in ("comma", "semicolon", "tab", "pipe"):
        yield File("texts", f"HTML with line ends: {word}", written(["page", *WIDE[1:]], html, DELIMITERS[word]), ["page", *WIDE[1:]], html)
    for word in ("tab", "pipe", "semicolon"):
        facts = [[json.dumps({"n": at, "of": [1, 2], "x": "y, z"}), *row[1:]] for at, row in enumerate(sales())]
        yield File("texts", f"JSON without quotes around: {word}", written(["facts", *WIDE[1:]], facts, DELIMITERS[word], ""), ["facts", *WIDE[1:]], facts)
    long = [["".join(f"Sentence {n} of {at}, with \"words\"; and\nmore. " for n in range(60)), *row[1:]] for at, row in enumerate(sales())]
    yield File("texts", "pages of text", written(["essay", *WIDE[1:]], long), ["essay", *WIDE[1:]], long)


def aligned() -> Iterator[File]:
    """Columns for the eye."""
    rows = [[row[0], row[1], row[3], row[4].replace(" ", "-"), row[5]] for row in sales()]
    names = ["date", "quantity", "price", "city", "kind"]
    texts = [names, *[[str(cell) for cell in row] for row in rows]]
    width = [max(len(row[at]) for row in texts) for at in range(5)]
    padded = [[cell.ljust(size) for cell, size in zip(row, width, strict=True)] for row in texts]
    rule = ["-" * size for size in width]
    joined = lambda between, left="", right="", rules="": "\n".join([left + between.join(padded[0]) + right, *([rules] if rules else []), *[left + between.join(row) + right for row in padded[1:]], ""])
    ways = {"blanks": joined("  "), "blanks, a rule below": joined("  ", rules="  ".join(rule)), "pipes": joined(" | "), "Markdown": joined(" | ", "| ", " |", "|" + "|".join(f" {part} " for part in rule) + "|"),
            "psql": joined(" | ", " ", "", "+".join(f"-{part}-" for part in rule)), "MySQL": joined(" | ", "| ", " |", "+" + "+".join(f"-{part}-" for part in rule) + "+"),
            "commas": joined(" , "), "semicolons": joined(" ; "), "numbers to the right": "\n".join("  ".join(f"{cell:>{size}}" for cell, size in zip(row, width, strict=True)) for row in texts) + "\n"}
    box = "+" + "+".join(f"-{part}-" for part in rule) + "+\n"
    ways["MySQL, whole box"] = box + ways["MySQL"] + box
    yield from (File("aligned", about, text, names, rows, "txt") for about, text in ways.items())


def small() -> Iterator[File]:
    for title, (names, table) in TABLES.items():
        for n in (2, 3, 5):
            for word in ("comma", "semicolon", "tab"):
                yield File("few rows", f"{n}: {title}, {word}", written(names, table()[:n], DELIMITERS[word]), names, table()[:n])
        yield File("few rows", f"a header alone: {title}", written(names, []), None, None)
    yield File("few rows", "nothing", "", None, None)
    for about, row in {"numbers": 3, "texts": 2}.items():
        name, column = [WIDE[row]], [[one[row]] for one in sales()]
        yield File("few rows", f"one column of {about}", written(name, column), name, column)
