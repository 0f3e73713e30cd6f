"""Spam or not: accuracy against time, memory and edges on the mails of TREC 2007, by method."""

from __future__ import annotations

import itertools
import math
import statistics
import warnings
from typing import Any

import numpy as np

import common
import mails
import report
import results

Setting = dict[str, Any]
DATA = (mails.NAME,)
GRAPH = {"weights": "gaussian", "bandwidth": math.sqrt(3), "symmetrize": "union"}
FORMS = {"all edges": {}, "all edges, hard": {"form": "plain", "clamp": "hard", "decision": "argmax"}}
"""Functions on the graph that is not sparsified: the stable one, and that of Zhu et al. 2003."""
SPARSE = {"sparse": (None, 0), "sparse, refined": (None, 3), "sparse 20n, refined": (20, 3)}
"""Edges kept for each row, or those of the default distortion; and passes of refinement."""
DRAWS = 3
FULL = {
    "labeled": (20, 100, 1000),
    "few_neighbors": (15, 100),
    "neighbors": (1000, 2000, 4000, 7500),
    "fewer_edges": (1000, 2000),
    "eigenfunctions": (10, 100, 1000, 2000),
    "subsamples": (2000, 5000, 10000, 20000),
}
SMALL = {
    "labeled": (20, 100, 400),
    "few_neighbors": (15,),
    "neighbors": (200, 1000),
    "fewer_edges": (1000,),
    "eigenfunctions": (10, 100),
    "subsamples": (1000,),
}
QUICK = [("subsampling", "subsamples", 10000), ("eigenfunctions", "eigenfunctions", 10)]
"""Method, its sizes, and the largest size that is measured with every draw of labels."""
SUBSAMPLE_NEIGHBORS = 0.05
"""Neighbors on a sample, as a share of its rows."""


def settings(small: bool) -> list[Setting]:
    """All settings, a process for each: quick ones first, then by neighbors."""
    size = SMALL if small else FULL
    every = {"small": small, "labeled": size["labeled"], "draws": DRAWS}
    chosen = [{**every, "method": "nearest label", "size": 1}]
    for method, sizes, repeated in QUICK:
        for one in size[sizes]:
            chosen.append({**every, "method": method, "size": one, "draws": DRAWS if one <= repeated else 1})
    chosen += [{**every, "method": "all edges", "size": k} for k in size["few_neighbors"]]
    for k in size["neighbors"]:
        chosen.append({**every, "method": "all edges", "size": k})
        sparse = [method for method in SPARSE if not SPARSE[method][0] or k in size["fewer_edges"]]
        for count, method in itertools.product(size["labeled"], sparse):
            chosen.append({"small": small, "labeled": [count], "draws": 1, "method": method, "size": k})
    return chosen


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy, edges, seconds and memory, features to labels, for each number of labels and each draw of them."""
    if setting["method"] == "all edges":
        return _measure_all_edges(setting)
    rows, classes = mails.load(setting["small"])
    records = [
        {"labeled": count, "draw": draw, **_fit(_classifier(setting, rows.shape[0], draw), rows, classes, count, draw)}
        for count, draw in itertools.product(setting["labeled"], range(setting["draws"]))
    ]
    return [{**record, "peak_bytes": common.peak_bytes()} for record in records]


def _measure_all_edges(setting: Setting) -> list[common.Record]:
    """The first case in one call, for its peak memory; then one search for edges, whose time counts in every case."""
    from lapwing import HarmonicClassifier
    from lapwing.graph import knn_graph

    rows, classes = mails.load(setting["small"])
    k, counts = setting["size"], setting["labeled"]
    _fit(HarmonicClassifier(k, **GRAPH), rows, classes, counts[0], 0)
    peak = common.peak_bytes()
    with common.Stopwatch() as watch:
        graph = knn_graph(rows, k, **GRAPH, random_state=0)
    records = []
    for count, draw, (method, form) in itertools.product(counts, range(setting["draws"]), FORMS.items()):
        found = _fit(HarmonicClassifier(affinity="precomputed", **form), graph, classes, count, draw)
        costs = {key: found[key] + value for key, value in results.costs(watch).items()}
        records.append({"method": method, "labeled": count, "draw": draw, **found, **costs, "peak_bytes": peak})
    return records


def _fit(classifier: Any, rows: Any, classes: np.ndarray, n_labeled: int, draw: int) -> common.Record:
    """Accuracy of a fit on the rows without a label, and its cost."""
    labels = mails.labels(classes, n_labeled, draw)
    with common.Stopwatch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the record holds what they report
        classifier.fit(rows, labels)
    hidden = labels < 0
    right = (classifier.transduction_ == classes) & classifier.reached_
    by_class = [float(right[hidden & (classes == one)].mean()) for one in np.unique(classes)]
    return {
        "accuracy": float(right[hidden].mean()),
        "balanced_accuracy": statistics.mean(by_class),
        "converged": classifier.converged_,
        "n_iter": classifier.n_iter_,
        **report.edges(classifier.report_),
        **results.costs(watch),
    }


def _classifier(setting: Setting, n_samples: int, seed: int) -> Any:
    from lapwing import SparseHarmonicClassifier, baselines

    size = setting["size"]
    match setting["method"]:
        case "nearest label":
            return baselines.NearestLabelClassifier(random_state=seed)
        case "eigenfunctions":
            return baselines.EigenfunctionClassifier(size, random_state=seed)
        case "subsampling":
            k = max(15, round(SUBSAMPLE_NEIGHBORS * size))
            return baselines.SubsamplingHarmonicClassifier(size, n_neighbors=k, **GRAPH, random_state=seed)
    per_row, passes = SPARSE[setting["method"]]
    budget = per_row and per_row * n_samples
    return SparseHarmonicClassifier(size, **GRAPH, edge_budget=budget, refinements=passes, random_state=seed)


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each method and size: accuracy by number of labels; edges, time and memory at the fewest labels."""
    counts = sorted({record["labeled"] for record in records})
    head = ["method", "size", *[f"{count:,} labels" for count in counts], "edges held", "of edges", "s", "CPU s", "MiB"]
    groups = results.grouped(records, lambda record: (record["method"], record["size"]))
    rows = []
    for (method, size), group in groups.items():
        by_count = results.grouped(group, lambda record: record["labeled"])
        cells = [results.accuracy(by_count.get(count, [])) for count in counts]
        rows.append([method, f"{size:,}", *cells, *_costs(group)])
    return common.table(head, rows)


def _costs(group: list[common.Record]) -> list[str]:
    kept = statistics.mean(record["n_kept"] for record in group)
    share = f"{100 * kept / group[0]['n_edges']:.1f} %" if group[0]["method"] in SPARSE else ""
    times = [common.seconds(statistics.median(record[key] for record in group)) for key in ("seconds", "cpu_seconds")]
    return [f"{kept:,.0f}" if kept else "", share, *times, common.mib(max(record["peak_bytes"] for record in group))]


PANELS = {"cpu_seconds": "CPU seconds, features to labels", "peak_bytes": "peak memory, MiB", "n_kept": "edges held"}


def plot(records: list[common.Record]) -> Any:
    """Accuracy over time, memory and edges, a row of panels for each number of labels, a curve for each method."""
    counts = sorted({record["labeled"] for record in records})
    figure = results.figure(12, 3.4 * len(counts))
    panels = figure.subplots(len(counts), len(PANELS), squeeze=False, sharex="col", sharey="row")
    for row, count in zip(panels, counts, strict=True):
        chosen = [record for record in records if record["labeled"] == count]
        for panel, key in zip(row, PANELS, strict=True):
            groups = results.grouped(chosen, lambda record: record["method"])
            for one in report.CURVES.in_order(groups):
                _curve(panel, one, groups[one], key)
            panel.set(xscale="log", title=f"{count:,} labels")
            panel.tick_params(axis="x", which="minor", labelsize=6)
        row[0].set_ylabel("accuracy")
    for panel, label in zip(panels[-1], PANELS.values(), strict=True):
        panel.set_xlabel(label)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    return figure


def _curve(panel: Any, one: str, group: list[common.Record], key: str) -> None:
    """Means over the draws, a point for each size; methods without edges are left out where edges are shown."""
    by_size = [found for _, found in sorted(results.grouped(group, lambda record: record["size"]).items())]
    scale = 2**20 if key == "peak_bytes" else 1
    x = [statistics.mean(record[key] for record in found) / scale for found in by_size]
    y = [statistics.mean(record["accuracy"] for record in found) for found in by_size]
    if any(x):
        panel.plot(x, y, label=one, **report.CURVES.style(one))
