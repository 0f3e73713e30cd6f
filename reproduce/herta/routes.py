"""The solver chosen for each problem, and the estimated seconds of all solvers."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
DATA = sets.files()


def settings(small: bool) -> list[Setting]:
    """A process for each data set, loss and λ."""
    return [
        {"data": name, "loss": loss, "graph_reg": graph_reg}
        for name in sets.chosen(small)
        for loss in methods.LOSSES
        for graph_reg in methods.GRAPH_REGS
    ]


def measure(setting: Setting) -> list[common.Record]:
    """One training with the automatic choice."""
    data = sets.load(setting["data"])
    labels = sets.shown(data.classes, 0)
    best = methods.optimum(setting["data"], data, labels, setting["loss"], setting["graph_reg"])
    methods.network()
    with common.Stopwatch() as watch:
        trained = methods.fitted(data, labels, setting["loss"], setting["graph_reg"], l2_reg=best.l2_reg)
    said = methods.part(trained)
    found = {name: said[name] for name in ("solver", "optimizer", "gap", "edge_passes", "l2_reg")}
    found |= {f"expected {one['solver']}": one["seconds"] for one in said["routes"] or []}
    return [{**found, "error": best.error(said["loss"][-1]), "n_iter": len(said["loss"]) - 1, **results.costs(watch)}]


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each problem."""
    solvers = _solvers(records)
    head = ["data", "loss", "λ", "ρ", *[f"{solver}, s expected" for solver in solvers], "chosen", "fit s", "steps"]
    head += ["edge passes", "gap, as it says", "(ℓ−ℓ*)/ℓ*"]
    rows = []
    for one in records:
        cells = [one["data"], methods.LOSSES[one["loss"]], f"{one['graph_reg']:g}", f"{one['l2_reg']:.3g}"]
        cells += [_seconds(one.get(f"expected {solver}")) for solver in solvers]
        cells += [f"{one['solver']}, {one['optimizer']}", _seconds(one["seconds"]), str(one["n_iter"])]
        cells += [f"{one['edge_passes']:,}", "–" if one["gap"] is None else f"{one['gap']:.1e}", f"{one['error']:.1e}"]
        rows.append(cells)
    return common.markdown("Training as it comes: seconds expected of each solver, and what was chosen", head, rows)


def _solvers(records: list[common.Record]) -> list[str]:
    found = (key.removeprefix("expected ") for one in records for key in one if key.startswith("expected "))
    return list(dict.fromkeys(found))


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}" if value < 1 else common.seconds(value)


def plot(records: list[common.Record]) -> Any:
    """Seconds, over the expected seconds of the chosen solver."""
    figure = results.figure(5, 4.5)
    panel = figure.subplots()
    ends: list[float] = []
    for name, group in results.grouped(records, lambda one: one["data"]).items():
        points = [(one[f"expected {one['solver']}"], one["seconds"]) for one in group]
        panel.plot(*zip(*points, strict=True), marker="o", linestyle="none", label=name)
        ends += [seconds for point in points for seconds in point]
    panel.plot([min(ends), max(ends)], [min(ends), max(ends)], color="black", linewidth=0.8)
    panel.set(xscale="log", yscale="log", xlabel="seconds expected", ylabel="seconds of the fit")
    panel.legend()
    return figure
