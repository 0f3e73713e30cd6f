"""Graphs of words: the largest distance, and the words within two hops of a word."""

from __future__ import annotations

from typing import Any

import common
import graphs
import hops
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(sets.WORDS)
KINDS = ("kNN, gaussian", "log", "l2")
DEGREES = (5, 7, 10, 15, 20)
SHOWN = 5
"""The mean degree at which neighborhoods are shown."""
WORDS = ("academy", "cancer", "coffee", "piano")
MOST = 40
FIRST = 8
"""Number of words listed for a neighborhood."""


def settings(small: bool) -> list[Setting]:
    """A process for each set, graph and mean degree."""
    rows, degrees = (3000, (SHOWN, 10)) if small else (0, DEGREES)
    return [
        {"data": name, "kind": kind, "degree": degree, "rows": rows}
        for name in sets.WORDS
        for degree in degrees
        for kind in KINDS
    ]


def measure(setting: Setting) -> list[common.Record]:
    """A record of the graph, and one of each word."""
    rows, vocabulary = sets.words(setting["data"], setting["rows"])
    found = graphs.matched(setting["kind"], graphs.neighbors(setting["data"], rows, MOST), setting["degree"])
    inside = float(hops.largest_component(found.weights).mean())
    whole = {"part": "graph", **found.sizes, "diameter": hops.diameter(found.weights), "in_largest": inside}
    records = [{**whole, "n_samples": len(rows)}]
    if setting["degree"] == SHOWN:
        records += [{"part": "word", **_around(found, vocabulary, word)} for word in WORDS if word in vocabulary]
    return records


def _around(found: graphs.Found, vocabulary: list[str], word: str) -> common.Record:
    """Sizes of a neighborhood, and its strongest words."""
    record: common.Record = {"word": word}
    ways = zip(("one hop", "two hops"), hops.two_hops(found.weights, vocabulary.index(word)), strict=True)
    for way, reached in ways:
        record |= {f"{way}": len(reached), f"{way}, first": " ".join(vocabulary[at] for at in reached[:FIRST])}
    return record


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Diameters of each set, then the neighborhoods."""
    parts = results.grouped(records, lambda record: record["part"])
    by_data = results.grouped(parts["graph"], lambda record: record["data"])
    tables = [_diameters(name, group) for name, group in by_data.items()]
    by_data = results.grouped(parts.get("word", []), lambda record: record["data"])
    return "\n".join(tables + [_neighborhoods(name, group) for name, group in by_data.items()])


def _diameters(name: str, group: list[common.Record]) -> str:
    rows = []
    for degree, found in results.by(group, "degree").items():
        by_kind = {record["kind"]: record for record in found}
        rows.append([str(degree), *[_diameter(by_kind[kind]) if kind in by_kind else "–" for kind in KINDS]])
    title = f"{name}, {group[0]['n_samples']:,} words: diameter (mean degree; words beside the largest component)"
    return common.markdown(title, ["mean degree wanted", *KINDS], rows)


def _diameter(record: common.Record) -> str:
    return f"{record['diameter']} ({record['mean_degree']:.1f}; {100 * (1 - record['in_largest']):.2f} %)"


def _neighborhoods(name: str, group: list[common.Record]) -> str:
    group = sorted(group, key=lambda record: WORDS.index(record["word"]))
    entries = ("word", "kind", "one hop", "one hop, first", "two hops", "two hops, first")
    rows = [[str(one[entry]) for entry in entries] for one in group]
    head = ["word", "graph", "one hop", "the strongest", "two hops", "the strongest"]
    return common.markdown(f"{name}: neighborhoods at mean degree {SHOWN}", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Diameter over mean degree, a panel for each set."""
    whole = [record for record in records if record["part"] == "graph"]
    groups = results.grouped(whole, lambda record: record["data"])
    figure = results.figure(10, 4)
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, (name, group) in zip(panels, groups.items(), strict=True):
        by_kind = results.grouped(group, lambda record: record["kind"])
        for kind in graphs.CURVES.in_order(by_kind):
            points = sorted((one["mean_degree"], one["diameter"]) for one in by_kind[kind])
            panel.plot(*zip(*points, strict=True), label=kind, **graphs.CURVES.style(kind))
        panel.set(xlabel="mean degree", title=name)
    panels[0].set_ylabel("diameter of the largest component, hops")
    panels[0].legend()
    return figure
