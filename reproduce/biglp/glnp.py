"""GLNP: the objective against passes over the rows, by solver and start, and its effect on accuracy."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
NAME = "mnist"
DATA = sets.files([NAME])
SOLVERS = {"mu": "multiplicative", "apgd": "accelerated", "apgd-paper": "accelerated, published"}
COLORS = {"mu": "tab:orange", "apgd": "tab:green", "apgd-paper": "tab:purple"}
STARTS = {"kmeans": "-", "uniform": "--"}
"""And how their lines are drawn."""
N_LANDMARKS = 50
PER_CLASS = 10
TOL = 0.0
"""Iterations stop at their number, or when nothing changes any more."""
SHOWN = (0, 10, 30, 60, 100, 300)
"""Iterations after which the objective is in the table."""


def settings(small: bool) -> list[Setting]:
    """A process for each solver, start and number of iterations."""
    size = {"rows": 1000, "draws": 2} if small else {"rows": 4000, "draws": 10}
    iterations = (10, 30) if small else (60, 300)
    return [
        {"solver": solver, "start": start, "max_iter": most, **size}
        for solver in SOLVERS
        for start in STARTS
        for most in iterations
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy at the end for each draw of labels, and with the first the objective over ‖X‖² after each iteration."""
    rows, classes = sets.load(NAME, setting["rows"])
    draws = [sets.shown(classes, PER_CLASS, draw) for draw in range(setting["draws"])]
    params = {f"glnp_{key}": setting[key] for key in ("solver", "start", "max_iter")}
    fitted = methods.classifier("glnp", N_LANDMARKS, 0, glnp_tol=TOL, **params)
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
    """A row for each solver and start: the objective after some iterations, passes, seconds, accuracy."""
    lengths = sorted({record["max_iter"] for record in records})
    shown = [iteration for iteration in SHOWN if iteration <= lengths[-1]]
    ends = [f"accuracy at {most}" for most in lengths]
    head = ["start", "solver", *[f"Q at {iteration}" for iteration in shown], "passes", "s", *ends]
    rows = []
    for (start, solver), group in results.grouped(records, lambda one: (one["start"], one["solver"])).items():
        by_length = results.by(group, "max_iter")
        longest = by_length[lengths[-1]][0]
        objective = [f"{longest['objective'][min(at, longest['n_iter'])]:.3f}" for at in shown]
        cost = [f"{longest['n_passes']:,}", common.seconds(longest["seconds"])]
        accuracy = [results.accuracy(by_length[most]) for most in lengths]
        rows.append([start, SOLVERS[solver], *objective, *cost, *accuracy])
    return common.table(head, sorted(rows, key=lambda row: list(STARTS).index(row[0])))


def plot(records: list[common.Record]) -> Any:
    """Objective over passes; the passes of a fit are spread evenly over its iterations."""
    figure = results.figure(7, 4.5)
    panel = figure.subplots()
    most = max(record["max_iter"] for record in records)
    longest = [record for record in records if record["max_iter"] == most and record["draw"] == 0]
    for one in longest:
        passes = [one["n_passes"] * (at + 1) / (one["n_iter"] + 1) for at in range(one["n_iter"] + 1)]
        style = {"color": COLORS[one["solver"]], "linestyle": STARTS[one["start"]], "linewidth": 1.2}
        panel.plot(passes, one["objective"], label=f"{SOLVERS[one['solver']]}, {one['start']}", **style)
    panel.set(xscale="log", xlabel="passes over the rows", ylabel="Q / ‖X‖²")
    panel.legend()
    return figure
