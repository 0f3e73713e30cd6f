"""Approximate neighbors, as the paper uses them: the distance to the optimum over recall and r, wrong edges and labels."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import common
import graphs
import numpy as np
import results
import scipy.sparse as sp
import sets
import support

Setting = dict[str, Any]
DATA = sets.files(["MNIST"])
NEIGHBORS = 10
RECALLS = (0.8, 0.9, 0.95, 0.99, 1.0)
"""Asked of the search; 1 is the exact one."""
FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0)
REPAIRED = 3.0
"""The factor at which the graph is also repaired."""
TOL = 1e-9
SHARE = 0.01
KINDS = ("log", "l2", "kNN, binary", "kNN, self-tuning")
CURVES = results.Curves(*[f"recall {recall:g}" for recall in RECALLS])


def settings(small: bool) -> list[Setting]:
    """A process for each recall and seed of the search; then one for each graph of all digits and recall."""
    if small:
        optimum = [{"part": "optimum", "rows": 500, "recall": recall, "seed": 0} for recall in (0.9, 1.0)]
        return optimum + [
            {"part": "quality", "rows": 1000, "recall": 0.9, "kind": kind, "draws": 2} for kind in ("log", "kNN, binary")
        ]
    optimum = [
        {"part": "optimum", "rows": 6000, "recall": recall, "seed": seed}
        for recall in RECALLS
        for seed in range(3 if recall < 1 else 1)
    ]
    quality = [
        {"part": "quality", "rows": sets.TRAINING, "recall": recall, "kind": kind, "draws": 5}
        for kind in KINDS
        for recall in (0.9, 0.95, 0.99, 1.0)
    ]
    return optimum + quality


def measure(setting: Setting) -> list[common.Record]:
    """Distances to the graph on all pairs, or wrong weight and errors of labels."""
    return _optimum(setting) if setting["part"] == "optimum" else [_quality(setting)]


def _search(recall: float, seed: int) -> dict[str, Any]:
    """Options of a search for neighbors."""
    approximate = {"method": "partitions", "recall_target": recall, "random_state": seed}
    return {"method": "exact"} if recall == 1 else approximate


def _optimum(setting: Setting) -> list[common.Record]:
    from lapwing.graph import GraphLearner

    rows, _ = sets.drawn("MNIST", setting["rows"])
    full = GraphLearner(NEIGHBORS, support_factor=None, method="exact", tol=TOL).fit(rows)
    whole, sparsity = full.graph_.to_scipy(), float(full.sparsity_)
    records = []
    for factor, repair in [*[(factor, False) for factor in FACTORS], (REPAIRED, True)]:
        options: dict[str, Any] = {"support_factor": factor, "sparsity": sparsity, "repair": repair, "tol": TOL}
        with warnings.catch_warnings(record=True) as said_aloud:
            warnings.simplefilter("always")
            found = GraphLearner(NEIGHBORS, **options, **_search(setting["recall"], setting["seed"])).fit(rows)
        said = found.report_
        facts = {"found": said["knn"]["recall"], "n_uncertified": said["n_uncertified"]}
        error = support.distance(found.graph_.to_scipy(), whole)
        records.append({"factor": factor, "repair": repair, "error": error, "warned": len(said_aloud), **facts})
    return records


def _quality(setting: Setting) -> common.Record:
    from lapwing import HarmonicClassifier
    from lapwing.graph import GraphLearner, knn_graph

    rows, classes = sets.images("MNIST", setting["rows"])
    search, kind = _search(setting["recall"], 0), setting["kind"]
    with warnings.catch_warnings(), common.Stopwatch() as watch:
        warnings.simplefilter("ignore")
        if kind in graphs.LEARNED:
            fitted = GraphLearner(NEIGHBORS, model=kind, support_factor=REPAIRED, **search).fit(rows)
            graph, recall = fitted.graph_, fitted.report_["knn"]["recall"]
        else:
            search["knn_method"] = search.pop("method")
            asked: dict[str, Any] = {**search, "weights": kind.partition(", ")[2], "symmetrize": "union"}
            graph = knn_graph(rows, NEIGHBORS, **asked)
            recall = graph.report["recall"]
    weights = sp.csr_array(graph.to_scipy())
    ends = weights.tocoo()
    wrong = classes[ends.coords[0]] != classes[ends.coords[1]]
    errors = []
    for draw in range(setting["draws"]):
        given = sets.shown(classes, SHARE, draw)
        classifier = HarmonicClassifier(affinity="precomputed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows out of reach, which are counted
            classifier.fit(weights, given)
        missed = (classifier.transduction_ != classes) | ~classifier.reached_
        errors.append(float(missed[given < 0].mean()))
    share = float(ends.data[wrong].sum() / ends.data.sum())
    mean_degree = weights.nnz / weights.shape[0]
    return {"found": recall, "mean_degree": mean_degree, "wrong": share, "errors": errors, **results.costs(watch)}


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Distances over recall and r; then wrong weight and errors of labels."""
    parts = results.grouped(records, lambda one: one["part"])
    return "\n".join({"optimum": _distances, "quality": _qualities}[part](group) for part, group in parts.items())


def _distances(records: list[common.Record]) -> str:
    head = ["recall asked", "recall measured", *[f"r = {factor:g}" for factor in FACTORS], f"r = {REPAIRED:g}, repaired"]
    head += ["rows without a certificate, repaired", "warned"]
    rows = []
    for recall, group in results.by(records, "recall").items():
        found = results.grouped(group, lambda one: (one["factor"], one["repair"]))
        cells = [f"{recall:g}", f"{results.mean(group, 'found'):.3f}"]
        cells += [f"{results.mean(found[factor, False], 'error'):.3f}" for factor in FACTORS]
        repaired = found[REPAIRED, True]
        cells += [f"{results.mean(repaired, 'error'):.1e}", f"{results.mean(repaired, 'n_uncertified'):,.0f}"]
        rows.append([*cells, "yes" if all(one["warned"] for one in repaired) else "no"])
    title = f"MNIST, {records[0]['rows']:,} rows, log, k = {NEIGHBORS}: relative distance to the graph on all pairs"
    return common.markdown(title, head, rows)


def _qualities(records: list[common.Record]) -> str:
    head = ["graph", "recall asked", "recall measured", "mean degree", "wrong weight", "error of labels, %", "graph s"]
    rows = []
    for one in records:
        errors = results.spread([100 * error for error in one["errors"]])
        cells = [one["kind"], f"{one['recall']:g}", f"{one['found']:.3f}", f"{one['mean_degree']:.2f}"]
        rows.append([*cells, f"{100 * one['wrong']:.2f} %", errors, common.seconds(one["seconds"])])
    title = f"{records[0]['rows']:,} digits, {100 * SHARE:g} % labeled: graphs on approximate neighbors"
    return common.markdown(title, head, rows)


def plot(records: list[common.Record]) -> Any:
    """Distance to the optimum over r, a curve for each recall."""
    figure = results.figure(6, 4)
    panel = figure.subplots()
    chosen = [one for one in records if one["part"] == "optimum" and not one["repair"]]
    for recall, group in results.by(chosen, "recall").items():
        points = [(factor, results.mean(found, "error")) for factor, found in results.by(group, "factor").items()]
        label = f"recall {recall:g}"
        measured = statistics.mean(one["found"] for one in group)
        panel.plot(*zip(*points, strict=True), **CURVES.style(label), label=f"{label} ({measured:.3f} measured)")
    panel.set(yscale="log", xlabel="allowed neighbors / wanted, r", ylabel="relative distance to the graph on all pairs")
    panel.legend()
    return figure
