"""Four boxes: labels in the outer two; the inner two are reached only if each row has thousands of neighbors.

Boxes of 1 × 1 are stacked in the plane, 4000, 2050, 2050 and 4000 points, 3, 0.5 and 3 apart; the upper two are one
class, the lower two the other. Two points of the top box and two of the bottom box are labeled.
"""

from __future__ import annotations

import itertools
import math
import statistics
import warnings
from typing import Any

import numpy as np

import common
import report
import results

DATA: tuple[str, ...] = ()
SIZES = (4000, 2050, 2050, 4000)
GAPS = (3.0, 0.5, 3.0)
NEIGHBORS = (1000, 2000, 3000, 3990, 4100, 4200, 4500, 5200, 6000, 7000, 8000, 10000, 11500, 12000)
LABELED_PER_BOX = 2
UNDECIDED = 1e-7
"""Scores that differ by less than this share of the largest count as equal."""
GRAPH = {"weights": "binary", "symmetrize": "union", "graph_reg": 1.0, "tol": 1e-9}

Setting = dict[str, Any]
REPEATED = (4200, 4500, 6000, 8000)
"""Neighbors at which further seeds are measured."""
FULL = {"scale": 1, "neighbors": NEIGHBORS, "budgets": (25, 100), "seeds": 3}
SMALL = {"scale": 10, "neighbors": (3900, 4200, 4500, 6000, 8000, 10000), "budgets": (10, 20), "seeds": 1}


def settings(small: bool) -> list[Setting]:
    """All settings, a process for each: the first seed comes first, the quick settings before the others."""
    size = SMALL if small else FULL
    methods: list[Setting] = [{"method": "stable"}]
    for sampler in ("uniform", "streaming"):
        methods += [{"method": "sparse", "sampler": sampler, "edges_per_row": budget} for budget in size["budgets"]]
    cases = itertools.product(range(size["seeds"]), methods, size["neighbors"])
    chosen = [(seed, method, k) for seed, method, k in cases if not seed or k in REPEATED]
    chosen.sort(key=lambda case: (case[0], case[1].get("sampler") == "streaming", case[2] not in REPEATED, case[2]))
    scale = size["scale"]
    return [{"seed": seed, "scale": scale, "n_neighbors": k // scale, **method} for seed, method, k in chosen]


def points(scale: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (n, 2), classes (n), and labels (n): the class, or −1."""
    rng = np.random.default_rng(seed)
    sizes = [size // scale for size in SIZES]
    tops = -np.concatenate([[0.0], np.cumsum(1.0 + np.array(GAPS))])
    box = np.repeat(np.arange(len(sizes)), sizes)
    rows = rng.random((len(box), 2)) * [1.0, -1.0] + np.stack([np.zeros(len(box)), tops[box]], axis=1)
    truth = (box >= 2).astype(np.int64)
    labels = np.full(len(box), -1)
    for outer in (0, len(sizes) - 1):
        chosen = rng.choice(np.flatnonzero(box == outer), LABELED_PER_BOX, replace=False)
        labels[chosen] = truth[chosen]
    return rows, truth, labels


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy, edges and seconds of one setting."""
    rows, truth, labels = points(setting["scale"], setting["seed"])
    classifier = _classifier(setting, len(rows))
    with common.Stopwatch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unreached rows are expected here
        classifier.fit(rows, labels)
    margin = np.nan_to_num(classifier.scores_[:, 1] - classifier.scores_[:, 0])
    decided = classifier.reached_ & (np.abs(margin) > UNDECIDED * np.nanmax(np.abs(classifier.scores_)))
    right = decided & ((margin > 0) == (truth == 1))
    found = {"accuracy": float(right[labels < 0].mean()), "decided": float(decided[labels < 0].mean())}
    solve = {"converged": classifier.converged_, "n_iter": classifier.n_iter_}
    return [{**found, **solve, **report.edges(classifier.report_), **results.costs(watch)}]


def _classifier(setting: Setting, n_samples: int) -> Any:
    from lapwing import HarmonicClassifier, SparseHarmonicClassifier

    if setting["method"] == "stable":
        return HarmonicClassifier(setting["n_neighbors"], **GRAPH)
    budget = {"sampler": setting["sampler"], "edge_budget": setting["edges_per_row"] * n_samples}
    return SparseHarmonicClassifier(setting["n_neighbors"], **GRAPH, **budget, refinements=0, random_state=setting["seed"])


# --- tables and plots ---------------------------------------------------------------------------------------------------


ALL = "all edges"


def name(record: common.Record) -> str:
    """The curve or column a measurement belongs to."""
    if record["method"] == "stable":
        return ALL
    sampler = {"streaming": "sparse", "uniform": "uniform"}[record["sampler"]]
    return f"{sampler} {record['edges_per_row']}n"


def table(records: list[common.Record]) -> str:
    """A row for each number of neighbors: accuracy by method, edges, and the share of them that is kept."""
    groups = results.grouped(records, lambda record: (record["n_neighbors"], name(record)))
    names = report.CURVES.in_order(map(name, records))
    sparse = [one for one in names if one != ALL]
    head = ["k", "edges / n", *names, *[f"kept, {one}" for one in sparse]]
    rows = []
    for k in sorted({record["n_neighbors"] for record in records}):
        found = {one: groups.get((k, one), []) for one in names}
        read = [record["n_edges"] / record["n_samples"] for one in found.values() for record in one]
        kept = [f"{100 * statistics.mean(_shares(found[one])):.2f} %" if found[one] else "–" for one in sparse]
        shown = [results.accuracy(one) for one in found.values()]
        rows.append([f"{k:,}", f"{statistics.mean(read):,.0f}", *shown, *kept])
    return common.table(head, rows)


def plot(records: list[common.Record]) -> Any:
    """Accuracy, and edges kept / edges, over the number of neighbors."""
    figure = results.figure(10, 4)
    left, right = figure.subplots(1, 2)
    groups = results.grouped(records, name)
    for one in report.CURVES.in_order(groups):
        by_k = sorted(results.grouped(groups[one], lambda record: record["n_neighbors"]).items())
        k = [at for at, _ in by_k]
        style = report.CURVES.style(one)
        left.plot(k, [statistics.mean(record["accuracy"] for record in found) for _, found in by_k], label=one, **style)
        if one != ALL:
            right.plot(k, [statistics.mean(_shares(found)) for _, found in by_k], label=one, **style)
    left.set(xlabel="neighbors k", ylabel="accuracy on rows without a label")
    right.set(xlabel="neighbors k", ylabel="edges kept / edges", yscale="log")
    left.legend()
    right.legend()
    return figure


def _shares(records: list[common.Record]) -> list[float]:
    return [record["n_kept"] / record["n_edges"] for record in records] or [math.nan]
