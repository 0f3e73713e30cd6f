"""Error over iterations of conjugate gradients (figures 5 to 12 of the paper), and where the rules stop."""

from __future__ import annotations

from typing import Any

import numpy as np

import common
import methods
import results
import sets
import weights

Setting = dict[str, Any]
DATA = sets.files()
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DRAWS = 4
RULES = ("sides", "stability")


def settings(small: bool) -> list[Setting]:
    """A process for each data set."""
    return [{"data": name, "draws": 1 if small else DRAWS, "small": small} for name in weights.names(small)]


def measure(setting: Setting) -> list[common.Record]:
    """Errors after numbers of iterations, at the stop of each rule, and at the optimum of Newton's method."""
    name, family = setting["data"], methods.FAMILIES["LapSVM"]
    of, chosen = sets.SETS[name], weights.best(name, "LapSVM", setting["small"])
    to_the_end = {"solver": "cg", "stopping": "gradient", "tol": 1e-12}
    runs = {str(count): {**to_the_end, "max_iter": count} for count in COUNTS}
    runs |= {rule: {"solver": "cg", "stopping": rule} for rule in RULES} | {"optimum": {"solver": "newton"}}
    records = []
    for draw, task in enumerate(sets.tasks(of, setting["draws"])):
        for label, params in runs.items():
            fitted = methods.fitted(family, params, chosen, task, of)
            reached = {"objective": float(fitted.objective_.sum()), "n_iter": int(np.max(fitted.n_iter_))}
            records.append({"draw": draw, "run": label, **methods.errors(fitted, task), **reached})
    return records


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Errors on U over iterations, and where the rules stop."""
    sets_ = results.grouped(records, lambda record: record["data"])
    runs = [*map(str, COUNTS), "optimum"]
    over, stops = [], []
    for name, of_set in sets_.items():
        by_run = results.grouped(of_set, lambda record: record["run"])
        over.append([name, *[f"{100 * results.mean(by_run[label], 'U'):.2f}" for label in runs]])
        settled = _settled(by_run)
        stops.append(
            [
                name,
                *[f"{results.mean(by_run[rule], 'n_iter'):.0f}" for rule in RULES],
                settled,
                f"{_surplus(by_run):.2g}",
            ]
        )
    first = common.markdown("Error on U after iterations of conjugate gradients, %", ["data", *runs], over)
    head = [
        "data",
        *[f"stop by {rule}" for rule in RULES],
        "within 0.5 points of the optimum from",
        "J at the stop by stability, share above the optimum",
    ]
    return f"{first}\n{common.markdown('Iterations until a stop', head, stops)}"


def _settled(by_run: dict[str, list[common.Record]]) -> str:
    """The first count from which on the error on U stays within half a point of that of the optimum."""
    optimum = results.mean(by_run["optimum"], "U")
    far = [count for count in COUNTS if abs(results.mean(by_run[str(count)], "U") - optimum) > 0.005]
    after = [count for count in COUNTS if not far or count > far[-1]]
    return str(after[0]) if after else f"over {COUNTS[-1]}"


def _surplus(by_run: dict[str, list[common.Record]]) -> float:
    optimum = results.mean(by_run["optimum"], "objective")
    return results.mean(by_run["stability"], "objective") / optimum - 1


def plot(records: list[common.Record]) -> Any:
    """Errors on U, V and T over iterations, a panel for each data set; lines of the optimum and of the stops."""
    grouped = results.grouped(records, lambda record: record["data"])
    rows = (len(grouped) + 3) // 4
    figure = results.figure(12, 3 * rows)
    panels = figure.subplots(rows, min(4, len(grouped)), squeeze=False).ravel()
    for panel, (name, of_set) in zip(panels, grouped.items(), strict=False):
        by_run = results.grouped(of_set, lambda record: record["run"])
        for part, color in {"U": "black", "V": "tab:blue", "T": "tab:red"}.items():
            errors = [100 * results.mean(by_run[str(count)], part) for count in COUNTS]
            panel.plot(COUNTS, errors, color=color, marker="o", markersize=3, linewidth=1.2, label=part)
            panel.axhline(100 * results.mean(by_run["optimum"], part), color=color, linestyle=":", linewidth=1)
        for rule, style in zip(RULES, ("--", "-."), strict=True):
            panel.axvline(
                results.mean(by_run[rule], "n_iter"),
                color="tab:gray",
                linestyle=style,
                linewidth=1,
                label=f"stop: {rule}",
            )
        panel.set(xscale="log", title=name, xlabel="iterations")
    for panel in panels[len(grouped) :]:
        panel.set_axis_off()
    panels[0].set_ylabel("error, %")
    panels[0].legend(fontsize="small")
    return figure
