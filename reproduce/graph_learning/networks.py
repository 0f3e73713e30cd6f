"""Graph networks on learned graphs and on neighbor graphs of as many edges: what the paper names as a use of learned graphs."""

from __future__ import annotations

import warnings
from typing import Any

import common
import graphs
import numpy as np
import results
import sets

Setting = dict[str, Any]
NAMES = ("MNIST", "USPS", "COIL20")
DATA = sets.files(NAMES)
ROWS = 10_000
"""Rows of larger sets."""
DEGREES = (5, 10, 20)
MOST = 40
SHARE = {"MNIST": 0.01, "USPS": 0.01, "COIL20": 0.1}
NONE = "no graph"
KINDS = (*graphs.KINDS, NONE)
REGS = (1.0, 20.0)
CURVES = results.Curves(*KINDS)


def settings(small: bool) -> list[Setting]:
    """A process for each data set, graph and mean degree."""
    rows, draws, names, degrees = (1000, 2, NAMES[:1], (10,)) if small else (ROWS, 5, NAMES, DEGREES)
    return [
        {"data": name, "kind": kind, "degree": degree, "rows": rows, "draws": draws}
        for name in names
        for degree in degrees
        for kind in KINDS
        if kind != NONE or degree == degrees[0]
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Errors of a linear network at λ = 1 and 20, cross-entropy, on rows without a label."""
    from lapwing import UnfoldedGNNClassifier

    rows, classes = sets.images(setting["data"], min(setting["rows"], 60_000))
    rows = np.asarray(rows, np.float32)
    if setting["kind"] == NONE:
        weights, sizes = None, {"n_neighbors": 0, "mean_degree": 0.0}
    else:
        found = graphs.matched(setting["kind"], graphs.neighbors(setting["data"], rows, MOST), setting["degree"])
        weights, sizes = found.weights, found.sizes
        # Weights of mean 1, so that λ means the same on every graph.
        weights = weights * (len(weights.data) / weights.sum())
    records = []
    for draw in range(setting["draws"]):
        given = sets.shown(classes, SHARE[setting["data"]], draw)
        for graph_reg in REGS if weights is not None else (0.0,):
            network = UnfoldedGNNClassifier(graph_reg, loss="cross-entropy", random_state=0)
            graph = weights if weights is not None else _pairs(len(rows))
            with warnings.catch_warnings(), common.Stopwatch() as watch:
                warnings.simplefilter("ignore")
                network.fit(rows, given, graph=graph)
            error = float((network.transduction_ != classes)[given < 0].mean())
            records.append({**sizes, "graph_reg": graph_reg, "draw": draw, "error": error, **results.costs(watch)})
    return records


def _pairs(n: int) -> Any:
    """A graph of one edge, for λ = 0."""
    import scipy.sparse as sp

    return sp.csr_array((np.ones(2), ([0, 1], [1, 0])), shape=(n, n))


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each data set, degree and λ, a column for each graph: error, %."""
    kinds = CURVES.in_order(one["kind"] for one in records)
    bare = results.grouped([one for one in records if one["kind"] == NONE], lambda one: one["data"])
    rows = []
    groups = results.grouped(
        [one for one in records if one["kind"] != NONE], lambda one: (one["data"], one["degree"], one["graph_reg"])
    )
    for (name, degree, graph_reg), group in sorted(groups.items(), key=lambda item: (NAMES.index(item[0][0]), *item[0][1:])):
        by_kind = results.grouped(group, lambda one: one["kind"]) | {NONE: bare.get(name, [])}
        cells = [_cell(by_kind.get(kind, [])) for kind in kinds]
        rows.append([name, f"{group[0]['rows']:,}" if name == "MNIST" else "all", str(degree), f"{graph_reg:g}", *cells])
    head = ["data", "rows", "mean degree", "λ", *kinds]
    return common.markdown("Errors of `unfolded-gnn`, % (linear, cross-entropy)", head, rows)


def _cell(group: list[common.Record]) -> str:
    return results.spread([100 * one["error"] for one in group]) if group else "–"


def plot(records: list[common.Record]) -> Any:
    """Error over the mean degree at λ = 20, a panel for each data set."""
    chosen = [one for one in records if one["graph_reg"] == REGS[-1]]
    groups = results.grouped(chosen, lambda one: one["data"])
    figure = results.figure(3.6 * len(groups), 3.6)
    for panel, (name, group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        by_kind = results.grouped(group, lambda one: one["kind"])
        for kind in CURVES.in_order(by_kind):
            points = [(degree, 100 * results.mean(of, "error")) for degree, of in results.by(by_kind[kind], "degree").items()]
            panel.plot(*zip(*points, strict=True), label=kind, **CURVES.style(kind))
        panel.set(title=name, xlabel="mean degree", ylabel="error, %")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure
