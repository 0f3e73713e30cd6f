"""Tables of parameters in the documentation."""

import re

import generate
import pytest
import tables
from declarations import SIGNATURES

PAGES = {page.name: page.read_text(encoding="utf-8") for page in (generate.ROOT / "docs/methods").glob("*.md")}


def declared(name, doc="A number.", default="auto", kind="choice", interval="", words=(), cases=()):
    words = [(word, f"What {word} does.") for word in words]
    return {"name": name, "doc": doc, "default": default, "kind": kind, "interval": interval, "words": words,
            "cases": cases, "excludes": []}  # fmt: skip


GRAPH = [declared("metric", "Distance |x − y|.", "euclidean", words=["euclidean", "cosine"])]
METHOD = [
    declared("tol", "Residual. Auto is small. More is said here.", "auto", "real", "(0, 1)", ["auto"]),
    declared("steps", "Steps.", 10_000, "count", "[1, ∞)", cases=[[("solver", ["a", "b"])], [("steps", ["given"])]]),
    declared("weight", "Weight.", 1e-6, "real", "(0, ∞]", cases=[[("elsewhere", ["a"])]]),
    declared("bias", "Whether there is a bias.", True, "flag"),
    declared("solver", "Solver.", "a", words=["a", "b"]),
    *GRAPH,
]
DESCRIBE = {"method": METHOD, "graph": GRAPH, "other": [GRAPH[0]]}.__getitem__


def table(marker, page="page.md"):
    kind = marker.split(":")[0]
    text = f"before\n<!-- {marker} -->\nold\n<!-- end of {kind} -->\nafter\n"
    written = tables.page(page, text, DESCRIBE)
    assert written == tables.page(page, written, DESCRIBE)
    assert written.startswith(f"before\n<!-- {marker} -->\n\n") and written.endswith(f"\n<!-- end of {kind} -->\nafter\n")
    return written.split("\n")[3:-4]


def test_rows_have_default_values_and_meaning():
    head = ["| parameter | default | values | meaning |", "|---|---|---|---|"]
    assert table("parameters: method, without graph") == [
        *head,
        "| `tol` | `auto` | number in (0, 1), `auto` | Residual. Auto is small. |",
        "| `steps` | 10,000 | integer ≥ 1 | Steps. Only with `solver` `a` or `b`, or `steps` a number. |",
        "| `weight` | 1e-6 | number > 0, `inf` | Weight. |",
        "| `bias` | `true` | `true`, `false` | Whether there is a bias. |",
        "| `solver` | `a` | `a`, `b` | Solver. |",
        "",
        f"{tables.READING} Also all of [the graph](harmonic.md#parameters-of-the-graph).",
    ]
    metric = "| `metric` | `euclidean` | `euclidean`, `cosine` | Distance \\|x − y\\|. |"
    assert table("parameters: graph") == [*head, metric, "", tables.READING]


def test_links_within_a_page_and_tables_without_rows():
    also = "Also all of [the graph](#parameters-of-the-graph)."
    assert table("parameters: other, without graph", "harmonic.md") == [f"{tables.READING} {also}"]


def test_choices_have_their_meaning():
    assert table("choices: method, solver")[2:] == [
        "| `solver` | `a` | What a does. |",
        "| `solver` | `b` | What b does. |",
    ]


@pytest.mark.parametrize("end", ["", "<!-- end of choices -->", "<!-- parameters: graph -->\n<!-- end of parameters -->"])
def test_a_table_without_an_end_is_an_error(end):
    with pytest.raises(ValueError, match="page.md: a table has no end"):
        tables.page("page.md", f"<!-- parameters: method -->\n{end}", DESCRIBE)


@pytest.mark.parametrize("group", tables.SHARED)
def test_shared_groups_have_their_table_where_links_lead(group):
    page, anchor = tables.SHARED[group][1].split("#")
    sections = re.split(r"^#+ (.*)$", PAGES[page], flags=re.MULTILINE)
    of_anchor = dict(zip((heading.lower().replace(" ", "-") for heading in sections[1::2]), sections[2::2]))[anchor]
    assert f"<!-- parameters: {group}" in of_anchor


def test_every_method_has_its_table():
    tabled = {name for page in PAGES.values() for name in re.findall(r"<!-- parameters: ([\w-]+)", page)}
    declared = {of for signature in SIGNATURES for of in signature.of}
    # laprls has the parameters of lapsvm, nearest-label and knn have some of those of the graph, majority has none.
    assert declared - tabled == {"laprls", "nearest-label", "majority", "knn"}
