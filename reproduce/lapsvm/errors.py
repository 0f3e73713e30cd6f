"""Errors, steps and seconds of each method on each data set, beside tables 3 to 5 of the paper."""

from __future__ import annotations

import statistics
from typing import Any

import common
import methods
import published
import results
import sets
import weights

Setting = dict[str, Any]
Groups = dict[str, dict[str, list[common.Record]]]
"""Records by data set and method."""
DATA = sets.files()


def settings(small: bool) -> list[Setting]:
    """A process for each data set and family of methods."""
    return [
        {"data": name, "family": family, "draws": weights.draws(name, small), "small": small}
        for name in weights.names(small)
        for family in methods.FAMILIES
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Every method of the family on each of the draws, with the weights that were chosen before."""
    name, family = setting["data"], methods.FAMILIES[setting["family"]]
    of, chosen = sets.SETS[name], weights.best(name, setting["family"], setting["small"])
    records = []
    for draw, task in enumerate(sets.tasks(of, setting["draws"])):
        sizes = {"n_labeled": int((task.labels >= 0).sum()), "n_unlabeled": int((task.labels < 0).sum())}
        sizes |= {"n_judged": len(task.judged), "n_validation": len(task.validation[1]), "n_test": len(task.test[1])}
        for method in family.methods:
            found = methods.measured(family, method, chosen, task, of)
            records.append({"draw": draw, "ambient_reg": chosen[0], "graph_reg": chosen[1], **found, **sizes})
    return records


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Errors of each data set, then what they say together, and seconds and steps of all."""
    groups: Groups = {
        name: results.grouped(of_set, lambda record: record["method"])
        for name, of_set in results.grouped(records, lambda record: record["data"]).items()
    }
    of_sets = [_errors(name, group) for name, group in groups.items()]
    return "\n".join(
        [
            _sizes(groups),
            *of_sets,
            _facemit(),
            _differences(groups),
            _stopped(groups),
            _macro(groups),
            _seconds(groups),
            _ratios(groups),
            _steps(groups),
        ]
    )


def _sizes(groups: Groups) -> str:
    entries = ("n_labeled", "n_unlabeled", "n_judged", "n_validation", "n_test")
    rows = [
        [name, *[f"{next(iter(group.values()))[0][entry]:,}" for entry in entries]] for name, group in groups.items()
    ]
    return common.markdown(
        "Rows of each part",
        ["data", "labeled", "unlabeled", "of these with a known class (U)", "validation (V)", "test (T)"],
        rows,
    )


def _percent(records: list[common.Record], entry: str) -> list[float]:
    return [100 * record[entry] for record in records]


def _errors(name: str, by_method: dict[str, list[common.Record]]) -> str:
    """A row for each method: errors in percent, with those of table 4 and the p-values of equal means."""
    rows = []
    for method in methods.CURVES.in_order(by_method):
        group = by_method[method]
        row = [method, *[f"{group[0][key]:g}" if group[0][key] else "–" for key in ("ambient_reg", "graph_reg")]]
        for part in published.PARTS:
            found, paper = _percent(group, part), published.error(name, method, part)
            row += [results.spread(found), published.text(paper) if paper else ""]
            row += [published.p_value(found, name, paper) if paper else ""]
        rows.append(row)
    columns = [column for part in published.PARTS for column in (f"{part}, %", f"{part}, paper", f"p of {part}")]
    return common.markdown(f"Errors on {name}", ["method", "γ_A", "γ_I", *columns], rows)


def _facemit() -> str:
    rows = [
        [method, *["not run" if at % 2 == 0 else parts[at // 2] for at in range(6)]]
        for method, parts in published.FACEMIT.items()
    ]
    columns = [column for part in published.PARTS for column in (f"{part}, %", f"{part}, paper")]
    return common.markdown("Macro errors on FACEMIT", ["method", *columns], rows)


def _differences(groups: Groups) -> str:
    """Points on U above the paper, with p-values."""
    rows = []
    for name, by_method in groups.items():
        row = [name]
        for method in published.METHODS:
            paper, found = published.error(name, method, "U"), _percent(by_method.get(method, []), "U")
            row.append(
                f"{statistics.mean(found) - paper[0]:+.2f} ({published.p_value(found, name, paper)})"
                if found and paper
                else "–"
            )
        rows.append(row)
    return common.markdown("Errors on U above those of table 4, points (p)", ["data", *published.METHODS], rows)


def _stopped(groups: Groups) -> str:
    """Points on U above Newton's method, in pairs of the same draw."""
    rows = []
    for name, by_method in groups.items():
        optimum = _percent(by_method[methods.NEWTON], "U")
        found = [
            [a - b for a, b in zip(_percent(by_method[method], "U"), optimum, strict=True)]
            for method in methods.STOPPED
        ]
        rows.append([name, *map(results.spread, found)])
    title = "Errors on U above those of Newton's method, by the rule that stops conjugate gradients, points"
    return common.markdown(title, ["data", *methods.STOPPED.values()], rows)


def _macro(groups: Groups) -> str:
    rows = [
        [
            name,
            *[
                results.spread(_percent(by_method[method], "macro"))
                for method in published.METHODS
                if method in by_method
            ],
        ]
        for name, by_method in groups.items()
    ]
    return common.markdown("Macro errors on U, percent", ["data", *published.METHODS], rows)


def _seconds(groups: Groups) -> str:
    """A row for each data set: median seconds of a fit, with steps or iterations."""
    there = methods.CURVES.in_order(method for group in groups.values() for method in group if method.startswith("Lap"))
    rows = [[name, *[_cost(by_method.get(method, [])) for method in there]] for name, by_method in groups.items()]
    title = "Seconds of a fit, Gram matrix and graph given (steps or iterations)"
    return common.markdown(title, ["data", *there], rows)


def _cost(records: list[common.Record]) -> str:
    if not records:
        return "–"
    steps = [record["n_iter"] for record in records]
    least, most = min(steps), max(steps)
    return f"{_median(records):.3f} ({least if least == most else f'{least} to {most}'})"


def _median(records: list[common.Record]) -> float:
    return statistics.median(record["seconds"] for record in records)


def _ratios(groups: Groups) -> str:
    """How many times as long Newton's method and the dual take as conjugate gradients that stop early."""
    rows = []
    for name, by_method in groups.items():
        dual, newton, stopped = (
            _median(by_method[method]) for method in (methods.DUAL, methods.NEWTON, "LapSVM, CG, stability")
        )
        theirs = published.SECONDS[name]
        pairs = (
            (newton / stopped, theirs[1] / theirs[2]),
            (dual / stopped, theirs[0] / theirs[2]),
            (dual / newton, theirs[0] / theirs[1]),
        )
        rows.append(
            [name, *[f"{value:.2f}" for pair in pairs for value in pair], *[f"{seconds:g}" for seconds in theirs]]
        )
    compared = [column for pair in ("Newton / CG", "dual / CG", "dual / Newton") for column in (pair, f"{pair}, paper")]
    head = ["data", *compared, "paper: dual, s", "paper: Newton, s", "paper: CG, s"]
    return common.markdown("Seconds beside table 3", head, rows)


def _steps(groups: Groups) -> str:
    rows = []
    for name, by_method in groups.items():
        steps = [float(record["n_iter"]) for record in by_method[methods.NEWTON]]
        rows.append([name, results.spread(steps), published.text(published.STEPS[name])])
    return common.markdown("Steps of Newton's method", ["data", "steps", "paper, table 5"], rows)


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
            errors = [_percent(group, part) for _, group in there]
            spread = [statistics.pstdev(found) for found in errors]
            style = {**methods.CURVES.style(method), "linestyle": "none", "label": method, "elinewidth": 0.8}
            panel.errorbar(places, [statistics.mean(found) for found in errors], spread, **style)
        panel.set(title=title)
        panel.set_xticks(range(len(names)), names)
    panels[0].set_ylabel("error, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure
