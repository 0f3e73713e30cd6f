"""The interval of sparsities that the paper's theorem gives for k neighbors, and the resulting mean degree."""

from __future__ import annotations

from typing import Any

import common
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(sets.IMAGES)
NEIGHBORS = (2, 3, 4, 5, 7, 10, 13, 16, 20, 25, 30)
SMALL_NEIGHBORS = (2, 5, 10)
FACTORS = {None: "all pairs", 3.0: "r = 3"}
"""Allowed neighbors for each wanted one."""
STYLES = {None: ("tab:blue", "o"), 3.0: ("tab:red", "x")}
ENDS = {"least_degree": 1, "most_degree": 0}
"""The end of the interval that a degree belongs to: a larger sparsity leaves fewer edges."""


def settings(small: bool) -> list[Setting]:
    """A process for each data set and support: 1,000 rows, as many of each class."""
    rows, wanted = (200, SMALL_NEIGHBORS) if small else (1000, NEIGHBORS)
    return [
        {"data": name, "rows": rows, "factor": factor, "wanted": list(wanted)}
        for name in sets.IMAGES
        for factor in FACTORS
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Sparsities, and mean degrees at the point and at both ends of the interval."""
    from lapwing.graph import GraphLearner

    rows, _ = sets.drawn(setting["data"], setting["rows"])
    records = []
    for k in setting["wanted"]:
        options: dict[str, Any] = {"support_factor": setting["factor"], "method": "exact"}
        seconds, fitted = common.timed(GraphLearner(k, **options).fit, rows)
        bounds = fitted.sparsity_bounds_
        found = {"n_neighbors": k, "degree": fitted.report_["mean_neighbors"]}
        found |= {"least_sparsity": bounds[0], "sparsity": fitted.sparsity_, "most_sparsity": bounds[1]}
        for name, at in ENDS.items():
            end = GraphLearner(k, sparsity=bounds[at], **options).fit(rows)
            found[name] = end.report_["mean_neighbors"]
        records.append({**found, "saturated": fitted.saturated_, "gap": fitted.gap_, "seconds": seconds})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A table for each data set, a row for each k: sparsities, then mean degrees by support."""
    groups = results.grouped(records, lambda record: record["data"])
    return "\n".join(_table(name, group) for name, group in groups.items())


def _table(name: str, group: list[common.Record]) -> str:
    factors = [factor for factor in FACTORS if any(one["factor"] == factor for one in group)]
    head = ["k", "θ, interval", "θ"]
    head += [cell for factor in factors for cell in (f"mean degree, {FACTORS[factor]}", "at the ends", "saturated")]
    rows = []
    for k, found in results.by(group, "n_neighbors").items():
        by_factor = {one["factor"]: one for one in found}
        first = found[0]
        cells = [str(k), f"{first['least_sparsity']:.3g} to {first['most_sparsity']:.3g}", f"{first['sparsity']:.3g}"]
        for factor in factors:
            one = by_factor[factor]
            ends = f"{one['least_degree']:.1f} to {one['most_degree']:.1f}"
            cells += [f"{one['degree']:.1f}", ends, f"{100 * one['saturated']:.1f} %"]
        rows.append(cells)
    return common.markdown(f"{name}: {group[0]['rows']:,} rows", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Mean degrees over sparsity, with the intervals that are predicted."""
    groups = results.grouped(records, lambda record: record["data"])
    figure = results.figure(12, 4)
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, (name, group) in zip(panels, groups.items(), strict=True):
        for at, one in enumerate(results.by(group, "n_neighbors").values()):
            ends = [one[0]["least_sparsity"], one[0]["most_sparsity"]]
            label = None if at else "predicted"
            panel.plot(ends, [one[0]["n_neighbors"]] * 2, color="black", linewidth=2, label=label)
        for factor, found in results.grouped(group, lambda record: record["factor"]).items():
            color, marker = STYLES[factor]
            points = [[one[entry] for one in found] for entry in ("sparsity", "degree")]
            panel.plot(*points, marker=marker, markersize=4, linewidth=0.8, color=color, label=FACTORS[factor])
        panel.set(xscale="log", xlabel="sparsity θ", title=name)
        panel.xaxis.set_minor_formatter(lambda *_: "")
        panel.invert_xaxis()
    panels[0].set_ylabel("neighbors wanted, mean degree")
    panels[0].legend()
    return figure
