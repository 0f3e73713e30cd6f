"""The loss of a support of a few neighbors: the relative distance to the graph with all pairs allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import common
import graphs
import results
import sets

Setting = dict[str, Any]
SETS = {"MNIST": 1000, "USPS": 5000}
"""Rows of each, as many of each class."""
DATA = sets.files(SETS)
NEIGHBORS = 10
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Allowed neighbors for each wanted one, and at least one more than wanted: 1 allows 11 neighbors for 10."""
REPAIR = {False: "as it is", True: "with repair"}
TOL = 1e-14


def settings(small: bool) -> list[Setting]:
    """A process for each data set and model."""
    return [
        {"data": name, "rows": min(rows, 500) if small else rows, "model": model}
        for name, rows in SETS.items()
        for model in graphs.LEARNED
    ]


def measure(setting: Setting) -> list[common.Record]:
    """The graph on all pairs, then restricted ones at its sparsity."""
    from lapwing.graph import GraphLearner

    rows, _ = sets.drawn(setting["data"], setting["rows"])
    options: dict[str, Any] = {"model": setting["model"], "method": "exact", "tol": TOL}
    seconds, full = common.timed(GraphLearner(NEIGHBORS, support_factor=None, **options).fit, rows)
    whole = full.graph_.to_scipy()
    records = [{"factor": 0, "repair": False, "error": 0.0, **_facts(full, seconds)}]
    for factor in FACTORS:
        for repair in REPAIR:
            learner = GraphLearner(
                NEIGHBORS, support_factor=factor, sparsity=float(full.sparsity_), repair=repair, **options
            )
            seconds, found = common.timed(learner.fit, rows)
            error = distance(found.graph_.to_scipy(), whole)
            records.append({"factor": factor, "repair": repair, "error": error, **_facts(found, seconds)})
    return records


def distance(weights: sp.csr_array, whole: sp.csr_array) -> float:
    """‖W_r − W‖_F / ‖W‖_F."""
    return float(np.linalg.norm((weights - whole).data) / np.linalg.norm(whole.data))


def _facts(fitted: Any, seconds: float) -> common.Record:
    report = fitted.report_
    sizes = {key: report[key] for key in ("n_allowed", "n_edges", "mean_neighbors", "n_uncertified", "n_repaired")}
    return {**sizes, "saturated": fitted.saturated_, "gap": fitted.gap_, "seconds": seconds}


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A table for each data set and model, a row for each factor."""
    groups = results.grouped(records, lambda one: (one["data"], one["model"]))
    return "\n".join(_table(data, model, group) for (data, model), group in groups.items())


def _table(data: str, model: str, group: list[common.Record]) -> str:
    full, *restricted = group
    head = ["r", *[f"error, {name}" for name in REPAIR.values()], "saturated"]
    head += [cell for what in ("uncertified rows", "allowed edges", "s") for cell in (what, "with repair")]
    rows = [["all pairs", "0", *[""] * 4, f"{full['n_allowed']:,}", "", common.seconds(full["seconds"])]]
    for factor, found in results.by(restricted, "factor").items():
        plain, repaired = (next(one for one in found if one["repair"] == repair) for repair in REPAIR)
        cells = [f"{factor:g}", f"{plain['error']:.1e}", f"{repaired['error']:.1e}"]
        cells += [f"{100 * plain['saturated']:.1f} %"]
        cells += [f"{one[entry]:,}" for entry in ("n_uncertified", "n_allowed") for one in (plain, repaired)]
        rows.append([*cells, common.seconds(plain["seconds"]), common.seconds(repaired["seconds"])])
    title = f"{data}, {full['rows']:,} rows, {model}: mean degree {full['mean_neighbors']:.1f} on all pairs"
    return common.markdown(title, head, rows)


def plot(records: list[common.Record]) -> Any:
    """Error over the factor, a panel for each data set; dashed with repair."""
    figure = results.figure(10, 4)
    groups = results.grouped([one for one in records if one["factor"]], lambda one: one["data"])
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for panel, (data, group) in zip(panels, groups.items(), strict=True):
        for (model, repair), found in results.grouped(group, lambda one: (one["model"], one["repair"])).items():
            points = [(one["factor"], max(one["error"], TOL)) for one in found]
            dashes = {"linestyle": "--" if repair else "-", "label": f"{model}, {REPAIR[repair]}"}
            panel.plot(*zip(*points, strict=True), **{**graphs.CURVES.style(model), **dashes})
        panel.set(yscale="log", xlabel="allowed neighbors / wanted, r", title=f"{data}, {found[0]['rows']:,} rows")
    panels[0].set_ylabel("relative distance to the graph on all pairs")
    panels[0].legend()
    return figure
