"""What the summaries of the results pages claim is in the tables below them.

A claim is a link: [11.0 %](#errors-on-coil20 "LapSVM, Newton; U, %") names the heading of a table, the first cells of a row and a
column. Each sentence under *Confirmed* and *Not confirmed* has one, and no number there is outside of one, but for the
setting: k, γ, λ, r, α, recall, mean degree, half of the edges, numbers of labels, neighbors, edges for each node or
iterations.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_blocks import ROOT

PAGES = [ROOT / "docs" / "results" / f"{name}.md" for name in ["sparse-hfs", "biglp", "lapsvm", "graph-learning", "herta"]]
JUDGED = ("Confirmed", "Not confirmed")
BULLET = re.compile(r"^- \*\*(.+?)\*\*(.*?)(?=^- \*\*|^\n|\Z)", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r'\[([^\]]+)\]\(#([^ )]+) "([^"]+)"\)')
NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?![\w⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
PLACE = re.compile(r"\b(tables?|figures?|sections?|equations?|appendix|theorems?|lemmas?|algorithms?|digits?) [\d.]+( (to|and) [\d.]+)?")
#: What a claim is about, not what it says: the setting.
SETTING = re.compile(
    r"\b[kγλrα] = [\d.,]*\d|\b[\d,]+ (labels|neighbors|iterations|digits|edges for each node)\b"
    r"|\b(recall|mean degree) [\d.]*\d|\bhalf of the edges\b"
)
SHARES = re.compile(r"\b(twice|double|half|halves|thirds?|quarters?|fifths?|sixths?|tenths?|\w+teenths?|twentieths?|thirtieths?)\b")


def summary(page: Path) -> dict[str, str]:
    """The text of each judged bullet before the first picture or section, on one line."""
    head = re.split(r"^(?:!\[|## )", page.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
    return {title: " ".join(text.split()) for title, text in BULLET.findall(head) if title in JUDGED}


def tables(page: Path) -> dict[str, list[list[str]]]:
    """The rows of the tables under each heading, by its anchor; the first row has the names of the columns."""
    found: dict[str, list[list[str]]] = {}
    anchor = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            anchor = re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        elif line.startswith("|") and not line.startswith("|---"):
            found.setdefault(anchor, []).append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


def cell(rows: list[list[str]], title: str) -> str:
    """The cell that a title names: the first cells of its row, then its column, separated by "; "."""
    *key, column = title.split("; ")
    matching = [row for row in rows[1:] if row[: len(key)] == key]
    assert len(matching) == 1, f"{len(matching)} rows begin with {key}"
    assert rows[0].count(column) == 1, f"no column is called {column!r}; there are {rows[0]}"
    return matching[0][rows[0].index(column)]


def numbers(text: str) -> list[float]:
    return [abs(float(found.replace("−", "-").replace(",", ""))) for found in NUMBER.findall(text)]


def decimals(text: str) -> int:
    return max((len(found.partition(".")[2]) for found in NUMBER.findall(text)), default=0)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_claims_are_in_the_tables(page: Path) -> None:
    known = tables(page)
    claims = [claim for text in summary(page).values() for claim in CLAIM.findall(text)]
    assert claims
    for text, anchor, title in claims:
        assert anchor in known, f"{text}: no table under #{anchor}"
        there, close = numbers(cell(known[anchor], title)), 0.5 * 10.0 ** -decimals(text) + 1e-9
        for claimed in numbers(text):
            assert any(abs(value - claimed) <= close for value in there), f"{text}: {title} has {there}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sentences_point_to_their_rows(page: Path) -> None:
    found = summary(page)
    assert set(found) == set(JUDGED)
    for text in found.values():
        for sentence in re.split(r"(?<=[.]) (?=[A-Z])", CLAIM.sub("⟦⟧", text)):
            assert "⟦⟧" in sentence, f"no claim in: {sentence}"
            rest = SETTING.sub("", PLACE.sub("", re.sub(r"`[^`]*`", "", sentence)))
            assert not numbers(rest) and not SHARES.search(rest), f"outside of a claim: {sentence}"


def test_a_wrong_claim_is_found() -> None:
    rows = [["method", "U, %"], ["SVM", "26.01 ± 2.33"], ["LapSVM, Newton", "10.99 ± 2.68"]]
    assert numbers(cell(rows, "LapSVM, Newton; U, %"))[0] == 10.99
    assert numbers("1,500 of 21 at 1e-06 and −.5, but not COIL20 or 10⁻⁶") == [1500, 21, 1e-6, 0.5]
    with pytest.raises(AssertionError, match="0 rows begin"):
        cell(rows, "RLSC; U, %")
