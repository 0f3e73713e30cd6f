"""Errors, steps and seconds of each method on each data set, weights chosen by validation."""

from __future__ import annotations

import statistics
from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
DATA = sets.files()
DRAWS = 12
SMALL_SETS = ("G50C", "COIL20(B)")
SMALL_DRAWS = 4
PARTS = ("U", "V", "T")
IN_PAPER = ("SVM", "RLSC", "LapRLSC", "LapSVM, dual", "LapSVM, Newton")
PAPER = {
    "G50C": ("9.33 ± 2.00", "10.43 ± 5.26", "6.03 ± 1.32", "5.52 ± 1.15", "6.16 ± 1.48"),
    "COIL20(B)": ("16.23 ± 2.63", "16.22 ± 2.64", "8.07 ± 2.05", "8.31 ± 2.19", "8.16 ± 2.04"),
    "PCMAC": ("19.65 ± 6.91", "19.63 ± 6.91", "9.67 ± 0.74", "10.78 ± 1.83", "9.68 ± 0.77"),
    "USPST(B)": ("17.00 ± 2.74", "17.21 ± 3.02", "8.87 ± 1.88", "8.84 ± 2.20", "8.72 ± 2.15"),
    "COIL20": ("29.49 ± 2.24", "29.51 ± 2.23", "10.35 ± 2.30", "10.51 ± 2.06", "10.54 ± 2.03"),
    "USPST": ("23.84 ± 3.26", "23.95 ± 3.53", "15.12 ± 2.90", "14.36 ± 2.55", "14.98 ± 2.88"),
    "MNIST3VS8": ("8.82 ± 1.11", "8.82 ± 1.11", "1.95 ± 0.05", "2.29 ± 0.17", "2.20 ± 0.14"),
}
"""Errors on the unlabeled rows in table 4 of the paper, percent, of the methods above."""


def settings(small: bool) -> list[Setting]:
    """A process for each data set and family of methods."""
    names, draws = (SMALL_SETS, SMALL_DRAWS) if small else (tuple(sets.SETS), DRAWS)
    return [
        {"data": name, "family": one, "draws": min(draws, sets.SETS[name].draws), "small": small}
        for name in names
        for one in methods.FAMILIES
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Weights by validation over the draws, then every method of the family on each of them."""
    name, family = setting["data"], methods.FAMILIES[setting["family"]]
    grid = methods.SMALL_GRID if setting["small"] else methods.GRID
    weights = methods.chosen(name, family, grid, setting["draws"])
    records = []
    for draw, task in enumerate(sets.tasks(name, setting["draws"])):
        for method in family.methods:
            found = methods.measured(family, method, weights, task, sets.SETS[name].power)
            sizes = {"n_labeled": int((task.labels >= 0).sum()), "n_unlabeled": int((task.labels < 0).sum())}
            sizes |= {"n_validation": len(task.validation[1]), "n_test": len(task.test[1])}
            records.append({"draw": draw, "ambient_reg": weights[0], "graph_reg": weights[1], **found, **sizes})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Errors of each data set, then seconds of all."""
    groups = results.grouped(records, lambda record: record["data"])
    return "\n".join([*(_errors(name, group) for name, group in groups.items()), _seconds(groups)])


def _errors(name: str, records: list[common.Record]) -> str:
    """A row for each method, percent."""
    first = records[0]
    sizes = " / ".join(f"{first[key]:,}" for key in ("n_labeled", "n_unlabeled", "n_validation", "n_test"))
    by_method = results.grouped(records, lambda record: record["method"])
    rows = []
    for method in methods.CURVES.in_order(by_method):
        group = by_method[method]
        weights = [f"{group[0][key]:g}" if group[0][key] else "–" for key in ("ambient_reg", "graph_reg")]
        of_paper = dict(zip(IN_PAPER, PAPER[name], strict=True))
        rows.append([method, *weights, *[_percent(group, part) for part in PARTS], of_paper.get(method, "")])
    head = ["method", "γ_A", "γ_I", *[f"error on {part}, %" for part in PARTS], "paper, U"]
    return common.markdown(f"{name}: {sizes}", head, rows)


def _percent(records: list[common.Record], part: str) -> str:
    found = [100 * record[part] for record in records]
    spread = f" ± {statistics.stdev(found):.2f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.2f}{spread}"


def _seconds(groups: dict[str, list[common.Record]]) -> str:
    """A row for each data set: median seconds of a fit, with steps or iterations."""
    there = {record["method"] for group in groups.values() for record in group}
    names = [method for method in methods.CURVES.in_order(there) if method.startswith("Lap")]
    rows = []
    for name, group in groups.items():
        by_method = results.grouped(group, lambda record: record["method"])
        rows.append([name, *[_cost(by_method.get(method, [])) for method in names]])
    title = "Seconds of a fit, Gram matrix and graph given (steps or iterations)"
    return common.markdown(title, ["data", *names], rows)


def _cost(records: list[common.Record]) -> str:
    if not records:
        return "–"
    seconds = statistics.median(record["seconds"] for record in records)
    steps = [record["n_iter"] for record in records]
    least, most = min(steps), max(steps)
    return f"{seconds:.3f} ({least if least == most else f'{least} to {most}'})"


def plot(records: list[common.Record]) -> Any:
    """Errors on U and on T, a column for each data set; bars of one deviation."""
    figure = results.figure(12, 4)
    panels = figure.subplots(1, 2, sharey=True)
    names = list(dict.fromkeys(record["data"] for record in records))
    groups = results.grouped(records, lambda record: (record["method"], record["data"]))
    shown = methods.CURVES.in_order(method for method, _ in groups)
    for panel, (part, title) in zip(panels, {"U": "unlabeled rows", "T": "rows of the test"}.items(), strict=True):
        for at, method in enumerate(shown):
            there = [(place, groups[method, name]) for place, name in enumerate(names) if (method, name) in groups]
            places = [place + 0.8 * ((at + 0.5) / len(shown) - 0.5) for place, _ in there]
            errors = [[100 * record[part] for record in group] for _, group in there]
            spread = [statistics.pstdev(found) for found in errors]
            style = {**methods.CURVES.style(method), "linestyle": "none", "label": method, "elinewidth": 0.8}
            panel.errorbar(places, [statistics.mean(found) for found in errors], spread, **style)
        panel.set(title=title)
        panel.set_xticks(range(len(names)), names)
    panels[0].set_ylabel("error, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
