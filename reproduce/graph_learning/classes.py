"""Weight on edges between classes, and how well each class is connected, on graphs of as many edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import common
import graphs
import hops
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(["MNIST"])
DEGREES = (5, 10, 20, 30)
SHOWN = 5
"""The mean degree of the graphs in the table of classes."""
MOST = 40
"""Neighbors from which graphs with equal numbers of edges are built."""


def settings(small: bool) -> list[Setting]:
    """A process for each graph and mean degree."""
    rows, degrees = (2000, (SHOWN, 10)) if small else (sets.TRAINING, DEGREES)
    return [{"kind": kind, "degree": degree, "rows": rows} for degree in degrees for kind in graphs.KINDS]


def measure(setting: Setting) -> list[common.Record]:
    """A record of the whole graph, and one of each class."""
    rows, classes = sets.images("MNIST", setting["rows"])
    found = graphs.matched(setting["kind"], graphs.neighbors("MNIST", rows, MOST), setting["degree"])
    return [{**found.sizes, **one} for one in judged(found.weights, classes)]


def judged(weights: sp.csr_array, classes: np.ndarray) -> list[common.Record]:
    """Shares of the weight, and of the rows of each class that are cut off."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    total = float(degrees.sum())
    ends = weights.tocoo()
    low, high = (classes[end] for end in ends.coords)
    same = low == high
    alone, inside = np.diff(weights.indptr) == 0, hops.largest_component(weights)

    def shares(which: str, rows: np.ndarray, within: float) -> common.Record:
        of_rows = {"isolated": float(alone[rows].mean()), "in_largest": float(inside[rows].mean())}
        return {"class": which, "within": within / total, "degrees": float(degrees[rows].sum()) / total, **of_rows}

    within = np.bincount(low[same], ends.data[same], minlength=int(classes.max()) + 1)
    records = [shares("all", np.full(len(classes), True), float(within.sum()))]
    return records + [shares(str(one), classes == one, float(within[one])) for one in np.unique(classes)]


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each graph: wrong edges and disconnected rows; then the same by class."""
    return f"{_wholes(records)}\n{_by_class(records)}"


def _wholes(records: list[common.Record]) -> str:
    head = ["mean degree wanted", "graph", "k", "mean degree", "wrong weight", "isolated rows"]
    head += ["beside the largest component", "least share of a class", "largest share of a class"]
    rows = []
    groups = results.grouped(records, lambda one: (one["degree"], one["kind"]))
    for (degree, kind), group in groups.items():
        whole, *parts = group
        cells = [str(degree), kind, str(whole["n_neighbors"]), f"{whole['mean_degree']:.2f}"]
        cells += [_percent(share) for share in (1 - whole["within"], whole["isolated"], 1 - whole["in_largest"])]
        shares = [one["degrees"] for one in parts]
        rows.append([*cells, _percent(min(shares)), _percent(max(shares))])
    return common.markdown(f"{records[0]['rows']:,} digits", head, rows)


def _by_class(records: list[common.Record]) -> str:
    groups = results.grouped([one for one in records if one["degree"] == SHOWN], lambda one: one["kind"])
    weights, rows = [], []
    for kind, (whole, *parts) in groups.items():
        inside = [f"{100 * one['within']:.1f} ({100 * one['degrees']:.1f})" for one in parts]
        weights.append([kind, *inside, f"{100 * (1 - whole['within']):.1f}"])
        rows.append([kind, *[f"{100 * one['isolated']:.1f} ({100 * (1 - one['in_largest']):.1f})" for one in parts]])
    names = [one["class"] for one in next(iter(groups.values()))[1:]]
    title = f"Weight inside each class, % of all (degrees in it, %); mean degree {SHOWN}"
    first = common.markdown(title, ["graph", *names, "between classes"], weights)
    title = f"Rows of each class without an edge, % (beside the largest component, %); mean degree {SHOWN}"
    return f"{first}\n{common.markdown(title, ['graph', *names], rows)}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def plot(records: list[common.Record]) -> Any:
    """Wrong weight over mean degree, and the share of the weight inside each class."""
    figure = results.figure(11, 4)
    left, right = figure.subplots(1, 2)
    groups = results.grouped(records, lambda one: one["kind"])
    for kind in graphs.CURVES.in_order(groups):
        whole = results.by([one for one in groups[kind] if one["class"] == "all"], "mean_degree")
        wrong = [100 * (1 - group[0]["within"]) for group in whole.values()]
        left.plot(list(whole), wrong, label=kind, **graphs.CURVES.style(kind))
        parts = [one for one in groups[kind] if one["class"] != "all" and one["degree"] == SHOWN]
        shares = [100 * one["within"] for one in parts]
        right.plot([one["class"] for one in parts], shares, label=kind, **graphs.CURVES.style(kind))
    left.set(xlabel="mean degree", ylabel="weight between classes, %")
    right.set(xlabel="class", ylabel=f"weight inside the class, % (mean degree {SHOWN})")
    left.legend()
    return figure
