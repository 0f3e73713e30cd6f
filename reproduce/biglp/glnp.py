"""GLNP: the objective against passes over the rows, by solver and start, and its effect on accuracy."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
CASES = {"mnist": (4000, 50), "mnist 4, 9": (6000, 100), "protein": (3000, 100), "donors": (30_000, 10)}
"""Rows at most, and k. The last three are those of the paper's figure 4: Gisette (stood in for), Protein, HEPMASS (stood in for)."""
DATA = sets.files(CASES)
SOLVERS = {"mu": "multiplicative", "apgd": "accelerated", "apgd-paper": "accelerated, published"}
COLORS = {"mu": "tab:orange", "apgd": "tab:green", "apgd-paper": "tab:purple"}
STARTS = {"kmeans": "-", "uniform": "--"}
"""And how their lines are drawn."""
PER_CLASS = 10
TOL = 0.0
"""Iterations stop at their number, or when nothing changes any more."""
SHOWN = (0, 10, 30, 60, 100, 300)
"""Iterations after which the objective is in the table."""


def settings(small: bool) -> list[Setting]:
    """A process for each data set, solver, start and number of iterations."""
    iterations, draws = ((10, 30), 2) if small else ((60, 300), 10)
    return [
        {"data": name, "solver": solver, "start": start, "max_iter": most, "k": k, "rows": rows, "draws": draws}
        for name, (rows, k) in ({"mnist": (1000, 50)} if small else CASES).items()
        for solver in SOLVERS
        for start in STARTS
        for most in iterations
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy at the end for each draw of labels, and with the first the objective over ‖X‖² after each iteration."""
    rows, classes = sets.load(setting["data"], setting["rows"])
    draws = [sets.shown(classes, PER_CLASS, draw) for draw in range(setting["draws"])]
    params = {f"glnp_{key}": setting[key] for key in ("solver", "start", "max_iter")}
    fitted = methods.classifier("glnp", setting["k"], 0, glnp_tol=TOL, **params)
    with common.Stopwatch() as watch:
        found = methods.together(fitted, rows, draws)
    facts = fitted.report_["parts"]["glnp"]
    course = {key: facts[key] for key in ("n_iter", "n_passes", "converged")}
    objective = [round(value / facts["squared_norm"], 5) for value in facts["objective"]]
    shared = {**course, **results.costs(watch)}
    records = [
        {"draw": draw, **methods.rightness(classes, shown, guess), **shared}
        for draw, (shown, guess) in enumerate(zip(draws, found, strict=True))
    ]
    return [{**records[0], "objective": objective}, *records[1:]]


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A table for each data set."""
    groups = results.grouped(records, lambda one: (one["data"], one["k"]))
    return "\n".join(_table(f"{name}: k = {k}", group) for (name, k), group in groups.items())


def _table(title: str, records: list[common.Record]) -> str:
    """A row for each solver and start: the objective after some iterations, passes, seconds, accuracy."""
    lengths = sorted({record["max_iter"] for record in records})
    shown = [iteration for iteration in SHOWN if iteration <= lengths[-1]]
    ends = [f"accuracy at {most}" for most in lengths]
    head = ["start", "solver", *[f"Q at {iteration}" for iteration in shown], "passes", "s", *ends]
    rows = []
    for (start, solver), group in results.grouped(records, lambda one: (one["start"], one["solver"])).items():
        by_length = results.by(group, "max_iter")
        longest = by_length[lengths[-1]][0]
        objective = [f"{longest['objective'][min(at, longest['n_iter'])]:.4f}" for at in shown]
        cost = [f"{longest['n_passes']:,}", common.seconds(longest["seconds"])]
        accuracy = [results.accuracy(by_length[most]) for most in lengths]
        rows.append([start, SOLVERS[solver], *objective, *cost, *accuracy])
    return common.markdown(title, head, sorted(rows, key=lambda row: list(STARTS).index(row[0])))


def plot(records: list[common.Record]) -> Any:
    """Objective over passes; the passes of a fit are spread evenly over its iterations."""
    groups = results.grouped(records, lambda one: (one["data"], one["k"]))
    figure = results.figure(3.4 * len(groups) + 0.5, 4)
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, ((name, k), group) in zip(panels, groups.items(), strict=True):
        most = max(record["max_iter"] for record in group)
        for one in [record for record in group if record["max_iter"] == most and record["draw"] == 0]:
            passes = [one["n_passes"] * (at + 1) / (one["n_iter"] + 1) for at in range(one["n_iter"] + 1)]
            style = {"color": COLORS[one["solver"]], "linestyle": STARTS[one["start"]], "linewidth": 1.2}
            panel.plot(passes, one["objective"], label=f"{SOLVERS[one['solver']]}, {one['start']}", **style)
        panel.set(xscale="log", xlabel="passes over the rows", title=f"{name}, k = {k}")
    panels[0].set_ylabel("Q / ‖X‖²")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
