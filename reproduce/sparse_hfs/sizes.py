"""Accuracy over the number of edges kept, on the mails with the 3,000 neighbors that are best in the paper, by its sampler and by lapwing's."""

from __future__ import annotations

import math
import warnings
from typing import Any

import common
import mails
import results
import trec

Setting = dict[str, Any]
DATA = (mails.NAME,)
NEIGHBORS, SMALL_NEIGHBORS = 3000, 1000
SAMPLERS = ("kelner-levin", "streaming", "uniform")
EPSILON = 0.9
"""ε of the paper for the mails."""
EDGES_A_ROW = (5, 10, 20, 40, 80)
"""Besides the n·ln²n/ε² edges of the paper."""
LABELED, DRAWS = (20, 100, 1000), 3
CURVES = results.Curves(*SAMPLERS, "all edges")


def settings(small: bool) -> list[Setting]:
    """A process for each sampler; the first also measures all edges."""
    names = SAMPLERS[:1] if small else SAMPLERS
    sizes = (10,) if small else EDGES_A_ROW
    return [{"sampler": name, "small": small, "sizes": list(sizes)} for name in names]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy of Stable-HFS on the sparsified graphs, without refinement, for each number of labels and each draw of them."""
    from lapwing.graph import knn_graph, sparsify

    rows, classes = mails.load(setting["small"])
    n, k = rows.shape[0], SMALL_NEIGHBORS if setting["small"] else NEIGHBORS
    graph = knn_graph(rows, k, **trec.GRAPH, random_state=0)
    records = []
    if setting["sampler"] == SAMPLERS[0]:
        records += _accuracies(graph, classes, {"kept": graph.n_edges, "edges": "all"})
    sizes: list[dict[str, Any]] = [{"edge_budget": size * n} for size in setting["sizes"]] + [{"epsilon": EPSILON}]
    for size in sizes:
        with common.Stopwatch() as watch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = sparsify(graph, sampler=setting["sampler"], random_state=0, **size)
        edges = f"{setting['sizes'][sizes.index(size)]}n" if "edge_budget" in size else "n·ln²n/ε²"
        facts = {"edges": edges, "kept": kept.n_edges, "share": kept.n_edges / graph.n_edges, **results.costs(watch)}
        records += _accuracies(kept, classes, facts)
    return [{"n": n, "k": k, **record} for record in records]


def _accuracies(graph: Any, classes: Any, facts: common.Record) -> list[common.Record]:
    from lapwing import HarmonicClassifier

    records = []
    for count in LABELED:
        for draw in range(DRAWS):
            classifier = HarmonicClassifier(affinity="precomputed", form="stable", random_state=0)
            labels = mails.labels(classes, count, draw)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = classifier.fit(graph, labels).transduction_
            accuracy = float((found == classes)[labels < 0].mean())
            records.append({"labeled": count, "draw": draw, "accuracy": accuracy, **facts})
    return records


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each sampler and size."""
    first = records[0]
    rows = []
    for (sampler, edges), group in results.grouped(
        records, lambda one: ("–" if one["edges"] == "all" else one["sampler"], one["edges"])
    ).items():
        of_count = results.grouped(group, lambda one: one["labeled"])
        cells = [results.accuracy(of_count[count]) for count in LABELED]
        share = group[0].get("share", 1)
        rows.append([sampler, edges, f"{group[0]['kept'] / first['n']:.0f}", f"{100 * share:.1f}", *cells])
    head = ["sampler", "edges", "kept for each row", "of all edges, %", *[f"{count:,} labels" for count in LABELED]]
    title = f"Accuracy over edges: {first['n']:,} mails, k = {first['k']:,}, ε = {EPSILON}, n·ln²n/ε² = {math.log(first['n']) ** 2 / EPSILON**2:.0f}·n"
    return common.markdown(title, head, rows)


def plot(records: list[common.Record]) -> Any:
    """Accuracy over edges kept, a panel for each number of labels."""
    figure = results.figure(4 * len(LABELED), 3.2)
    for panel, count in zip(figure.subplots(1, len(LABELED), squeeze=False)[0], LABELED, strict=True):
        chosen = [record for record in records if record["labeled"] == count]
        for sampler, group in results.grouped(
            [one for one in chosen if one["edges"] != "all"], lambda one: one["sampler"]
        ).items():
            by_size = results.by(group, "kept")
            panel.plot(
                [kept / group[0]["n"] for kept in by_size],
                [results.mean(of, "accuracy") for of in by_size.values()],
                label=sampler,
                **CURVES.style(sampler),
            )
        panel.axhline(
            results.mean([one for one in chosen if one["edges"] == "all"], "accuracy"),
            linestyle="--",
            color="black",
            label="all edges",
        )
        panel.set(xscale="log", title=f"{count:,} labels", xlabel="edges kept for each row")
    figure.axes[0].set_ylabel("accuracy")
    figure.axes[0].legend(fontsize="small")
    return figure
