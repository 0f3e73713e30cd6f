"""Spam or not: accuracy against time, memory and edges on the mails of TREC 2007, by method."""

from __future__ import annotations

import math
import statistics
import warnings
from typing import Any

import numpy as np

import common
import mails
import report

Setting = dict[str, Any]
GRAPH = {"weights": "gaussian", "bandwidth": math.sqrt(3), "symmetrize": "union"}
DRAWS = 3
FULL = {
    "labeled": (20, 100, 1000),
    "neighbors": (1000, 2000, 4000, 7500),
    "edges_per_row": (None, 10),
    "eigenfunctions": (10, 30, 100, 300, 1000, 2000),
    "subsamples": (2000, 5000, 10000, 20000),
}
SMALL = {
    "labeled": (20, 100, 400),
    "neighbors": (200, 1000),
    "edges_per_row": (None, 10),
    "eigenfunctions": (10, 100),
    "subsamples": (1000,),
}
SUBSAMPLE_NEIGHBORS = 0.05
"""Neighbours on a sample, as a share of its rows."""


def settings(small: bool) -> list[Setting]:
    """Everything to be measured, a process each, in the order it is measured: first draws first, small graphs first."""
    size = SMALL if small else FULL
    cases = [{"small": small, "labeled": count, "draw": draw} for draw in range(DRAWS) for count in size["labeled"]]
    chosen = [{**case, **method} for case in cases for method in _cheap(size)]
    for k in size["neighbors"]:
        for method in _on_graphs(k, size):
            chosen += [{**case, **method} for case in cases if case["draw"] < _draws(k)]
    return chosen


def _cheap(size: Setting) -> list[Setting]:
    eigenfunctions = [{"method": "eigenfunctions", "size": q} for q in size["eigenfunctions"]]
    subsamples = [{"method": "subsampling", "size": s} for s in size["subsamples"]]
    return [{"method": "nearest label", "size": 1}, *eigenfunctions, *subsamples]


def _on_graphs(k: int, size: Setting) -> list[Setting]:
    sparse = [{"method": "sparse", "size": k, "edges_per_row": budget} for budget in size["edges_per_row"]]
    return [{"method": "all edges", "size": k}, *sparse]


def _draws(n_neighbors: int) -> int:
    return DRAWS if n_neighbors <= 2000 else 1


def measure(setting: Setting) -> common.Record:
    """Accuracy, edges, seconds and memory of one setting, features to labels."""
    rows, classes = mails.load(setting["small"])
    labels = mails.labels(classes, setting["labeled"], setting["draw"])
    classifier = _classifier(setting, rows.shape[0])
    held = common.peak_bytes()
    with common.Stopwatch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(rows, labels)
    peak = common.peak_bytes()
    hidden = labels < 0
    right = (classifier.transduction_ == classes) & classifier.reached_
    return {
        "accuracy": float(right[hidden].mean()),
        "balanced_accuracy": statistics.mean(float(right[hidden & (classes == one)].mean()) for one in np.unique(classes)),
        "converged": classifier.converged_,
        "n_iter": classifier.n_iter_,
        "start_bytes": held,
        "peak_bytes": peak,
        **report.edges(classifier.report_),
        **report.costs(watch),
    }


def _classifier(setting: Setting, n_samples: int) -> Any:
    from lapwing import HarmonicClassifier, SparseHarmonicClassifier, baselines

    size, seed = setting["size"], setting["draw"]
    match setting["method"]:
        case "nearest label":
            return baselines.NearestLabelClassifier(random_state=seed)
        case "eigenfunctions":
            # As many axes as functions are asked for: each axis brings at least one.
            return baselines.EigenfunctionClassifier(size, n_components=min(size, 300), random_state=seed)
        case "subsampling":
            k = max(15, round(SUBSAMPLE_NEIGHBORS * size))
            return baselines.SubsamplingHarmonicClassifier(size, n_neighbors=k, **GRAPH, random_state=seed)
        case "all edges":
            return HarmonicClassifier(size, **GRAPH, random_state=seed)
    budget = setting["edges_per_row"] and setting["edges_per_row"] * n_samples
    return SparseHarmonicClassifier(size, **GRAPH, edge_budget=budget, random_state=seed)


# --- what is shown ---------------------------------------------------------------------------------------------------


def name(record: common.Record) -> str:
    """The curve a measurement belongs to."""
    if record["method"] != "sparse":
        return record["method"]
    return f"sparse {record['edges_per_row']}n" if record["edges_per_row"] else "sparse, default"


def table(records: list[common.Record]) -> str:
    """A row for each method and size: accuracy by number of labels; edges, time and memory at the fewest labels."""
    counts = sorted({record["labeled"] for record in records})
    head = ["method", "size", *[f"{count:,} labels" for count in counts], "edges held", "of edges", "s", "CPU s", "MiB"]
    groups = report.grouped(records, lambda record: (name(record), record["size"]))
    rows = []
    for (method, size), group in groups.items():
        by_count = report.grouped(group, lambda record: record["labeled"])
        cells = [report.accuracy(by_count.get(count, [])) for count in counts]
        rows.append([method, f"{size:,}", *cells, *_costs(group)])
    return common.table(head, rows)


def _costs(group: list[common.Record]) -> list[str]:
    kept = statistics.mean(record["n_kept"] for record in group)
    share = f"{100 * kept / group[0]['n_edges']:.1f} %" if group[0]["method"] == "sparse" else ""
    times = [common.seconds(statistics.median(record[key] for record in group)) for key in ("seconds", "cpu_seconds")]
    return [f"{kept:,.0f}" if kept else "", share, *times, common.mib(max(record["peak_bytes"] for record in group))]


PANELS = {"cpu_seconds": "CPU seconds, features to labels", "peak_bytes": "peak memory, MiB", "n_kept": "edges held"}


def plot(records: list[common.Record]) -> Any:
    """Accuracy over time, memory and edges, a row of panels for each number of labels, a curve for each method."""
    counts = sorted({record["labeled"] for record in records})
    figure = report.figure(12, 3.4 * len(counts))
    panels = figure.subplots(len(counts), len(PANELS), squeeze=False, sharex="col", sharey="row")
    for row, count in zip(panels, counts, strict=True):
        chosen = [record for record in records if record["labeled"] == count]
        for panel, (key, label) in zip(row, PANELS.items(), strict=True):
            for one, group in report.grouped(chosen, name).items():
                _curve(panel, one, group, key)
            panel.set(xscale="log", title=f"{count:,} labels")
        row[0].set_ylabel("accuracy")
    for panel, label in zip(panels[-1], PANELS.values(), strict=True):
        panel.set_xlabel(label)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    return figure


def _curve(panel: Any, one: str, group: list[common.Record], key: str) -> None:
    """Means over the draws, a point for each size; methods without edges are left out where edges are shown."""
    by_size = [found for _, found in sorted(report.grouped(group, lambda record: record["size"]).items())]
    scale = 2**20 if key == "peak_bytes" else 1
    x = [statistics.mean(record[key] for record in found) / scale for found in by_size]
    if any(x):
        panel.plot(x, [statistics.mean(record["accuracy"] for record in found) for found in by_size], label=one, **report.style(one))
