"""Tables of the accuracy benchmark, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import cells
import common
from measures import Means, Results, best, means, regrets
from methods import METHODS

TITLES = {
    "20": "20 labels of each class",
    "standard": "published split, test nodes",
    "1": "1 label of each class",
    "5": "5 labels of each class",
    "30": "30 labels of each class",
    "5c": "labels at random, 5 times the classes",
    "20c": "labels at random, 20 times the classes",
}
SHORT = {"1": "1 each", "5": "5 each", "30": "30 each", "5c": "5c at random", "20c": "20c at random"}
TOLD = "◆ told the true sizes of the classes; such methods, and those of graphlearning, do not count for the best."
PUBLISHED = {
    "Poisson, published": [".902", ".936", ".945"],
    "PoissonMBO, published, true sizes": [".965", ".972", ".972"],
    "VolumeMBO, published, true sizes": [".899", ".956", ".962"],
}
"""Calder et al. (2020), 1 to 3 labels of each class, means of 100 sets of labels; their own autoencoder."""


def subsets(results: Results) -> str:
    """Regrets, calibration and seconds of each method over all cells; then the accuracies, a table for each cell."""
    accuracies = means(results, "accuracy")
    names = [name for name in METHODS if any(name in row for row in accuracies.values())]
    draws = {name: len({one["draw"] for one in results if one["method"] == name}) for name in names}
    parts = [_regrets(accuracies, draws), _calibration(results, names), _seconds(results, names), _beside_default(results)]
    if any("expected" in one for one in results):
        parts.append(_expected(results, names))
    found = [cell for cell in cells.CELLS if any(place[1] == cell for place in accuracies)]
    return "\n".join([*parts, *[_accuracies(accuracies, cell, names) for cell in found], _legend(results, names)])


def on_graphs(results: Results) -> str:
    """Accuracies of graphs whose nodes have features, with the seconds of each method."""
    accuracies = means(results, "accuracy")
    names = [name for name in METHODS if any(name in row for row in accuracies.values())]
    found = [cell for cell in ("5", "20", "20c", "standard") if any(place[1] == cell for place in accuracies)]
    parts = [_accuracies(accuracies, cell, names) for cell in found]
    return "\n".join([*parts, _seconds(results, names), _legend(results, names)])


def on_one_graph(results: Results) -> str:
    """Accuracy by cell over all draws of a method, and once more over the draws that all methods share."""
    names = [name for name in METHODS if any(one["method"] == name and "accuracy" in one for one in results)]
    drawn = {name: {one["draw"] for one in results if one["method"] == name} for name in names}
    shared = set.intersection(*drawn.values()) if drawn else set()
    text = _by_cell("All draws", results, names)
    if any(draws != shared for draws in drawn.values()):
        of_all = [one for one in results if one["draw"] in shared]
        text += "\n" + _by_cell("The draws that all methods had", of_all, names)
    return f"{text}\n{_legend(results, names)}"


# --- over all cells --------------------------------------------------------------------------------------------------


def _regrets(accuracies: Means, draws: Mapping[str, int]) -> str:
    head = ["method", "mean", "worst", "where", "balanced: mean", "worst", "at random: mean", "worst", "cells", "draws"]
    rows = []
    for name in draws:
        found = regrets(accuracies, name)
        worst = max(found, key=lambda place: found[place])
        balanced = [value for (_, cell), value in found.items() if not cell.endswith("c")]
        random = [value for (_, cell), value in found.items() if cell.endswith("c")]
        row = [_named(name), _mean(list(found.values())), _digits(found[worst]), " ".join(worst)]
        row += [_mean(balanced), _most(balanced), _mean(random), _most(random), str(len(found)), str(draws[name])]
        rows.append(row)
    return common.markdown("Distance to the best of all methods", head, rows)


def _calibration(results: Results, names: Sequence[str]) -> str:
    errors = means(results, "ece")
    rows = []
    for name in names:
        of_method = {place: row[name] for place, row in errors.items() if name in row}
        by_cell = [[value for (_, cell), value in of_method.items() if cell == one] for one in cells.CELLS]
        if of_method:
            rows.append([_named(name), *map(_mean, by_cell), _most(list(of_method.values()))])
    head = ["method", *[SHORT[cell] for cell in cells.CELLS], "worst"]
    return common.markdown("Expected calibration error, mean over the sets", head, rows)


def _expected(results: Results, names: Sequence[str]) -> str:
    """How often the accuracy lies within the interval that a method states for it, and the width of the interval."""
    rows = []
    for name in names:
        found = [one for one in results if one["method"] == name and "expected" in one]
        by_cell = [[_is_within(one) for one in found if one["cell"] == cell] for cell in cells.CELLS]
        if found:
            inside = [_mean(cell) for cell in by_cell]
            errors = [one["expected"][0] - one["accuracy"] for one in found]
            widths = [one["expected"][2] - one["expected"][1] for one in found]
            all_of_them = _mean([value for cell in by_cell for value in cell])
            rows.append([_named(name), *inside, all_of_them, _mean(errors), _mean(widths)])
    head = ["method", *[SHORT[cell] for cell in cells.CELLS], "all", "mean of expected less true", "mean width"]
    return common.markdown("Share of cells whose accuracy is within the stated 90 % interval", head, rows)


def _is_within(one: Mapping[str, Any]) -> float:
    _, low, high = one["expected"]
    return float(low <= one["accuracy"] <= high)


def _seconds(results: Results, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        found = [one["cpu_seconds"] for one in results if one["method"] == name and "cpu_seconds" in one]
        rows.append([_named(name), common.seconds(statistics.median(found)), common.seconds(max(found))])
    return common.markdown("Seconds of a processor, from rows to labels", ["method", "median", "most"], rows)


def _beside_default(results: Results) -> str:
    """The time of methods that choose others, beside that of the default they try first."""
    spent = {(one["method"], *_place(one)): one["cpu_seconds"] for one in results if "cpu_seconds" in one}
    lines = []
    for name in dict.fromkeys(one["method"] for one in results if "chosen" in one):
        found = [one for one in results if one["method"] == name and ("harmonic", *_place(one)) in spent]
        defaults = [spent["harmonic", *_place(one)] for one in found]
        if found:
            pairs = list(zip(found, defaults, strict=True))
            ratio = statistics.median(one["cpu_seconds"] / default for one, default in pairs)
            own = [spent.get((one["chosen"], *_place(one)), 0.0) for one in found]
            over = [one["cpu_seconds"] > 10 * default + chosen for (one, default), chosen in zip(pairs, own, strict=True)]
            slow = [one["set"] for one, is_over in zip(found, over, strict=True) if is_over]
            where = ", ".join(f"{place} {slow.count(place)}" for place in dict.fromkeys(slow))
            lines.append(
                f"{name} takes {ratio:.1f} times as long as harmonic (median). In {len(slow)} of {len(found)} draws it takes longer than "
                f"ten times harmonic and once the chosen method: {where or 'none'}.\n"
            )
    return "\n".join(lines)


def _place(one: Mapping[str, Any]) -> tuple[Any, ...]:
    """The set, cell and draw of a result."""
    return one["set"], one["cell"], one["draw"]


def _accuracies(accuracies: Means, cell: str, names: Sequence[str]) -> str:
    """A row for each set; values within .005 of the best are bold."""
    rows = []
    for (name, _), found in ((place, row) for place, row in accuracies.items() if place[1] == cell):
        near = best(found) - 0.005
        rows.append([name, *[_bold(found[method], near) if method in found else "–" for method in names]])
    return common.markdown(f"Accuracy, {TITLES[cell]}", ["set", *map(_named, names)], rows)


# --- one graph -------------------------------------------------------------------------------------------------------


def _by_cell(title: str, results: Results, names: Sequence[str]) -> str:
    found = sorted({one["cell"] for one in results})
    head = ["method", *[_count(cell) for cell in found], "draws", "seconds, median"]
    rows = [_line(name, [one for one in results if one["method"] == name], found) for name in names]
    if found == ["1", "2", "3", "4", "5"]:
        rows += [[name, *values, *["–"] * (len(found) - len(values))] for name, values in PUBLISHED.items()]
    return common.markdown(title, head, rows)


def _line(name: str, results: Results, found: Sequence[str]) -> list[str]:
    answered = [one for one in results if "accuracy" in one]
    figures = [_spread([one["accuracy"] for one in answered if one["cell"] == cell]) for cell in found]
    seconds = statistics.median(one["cpu_seconds"] for one in answered)
    return [_named(name), *figures, str(len({one["draw"] for one in answered})), common.seconds(seconds)]


def _count(cell: str) -> str:
    return f"{cell} of each class" if not cell.endswith("c") else "at random"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return _mean(values) + (f" ± {_digits(statistics.stdev(values))}" if len(values) > 1 else "")


# --- words and digits ------------------------------------------------------------------------------------------------


def _legend(results: Results, names: Sequence[str]) -> str:
    """The call of each method, and its failures."""
    programs = {one["method"]: one["program"] for one in results}
    lines = [f"- {name}: {METHODS[name].about}, {programs[name]}" for name in names]
    told = [TOLD, ""] if any(METHODS[name].told_sizes for name in names) else []
    return "\n".join([*told, *lines, *_failures(results), ""])


def _failures(results: Results) -> list[str]:
    """A line for each method and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in results:
        if "failed" in one:
            found.setdefault((one["method"], one["failed"]), []).append(f"{one['set']} {one['cell']}")
    return [f"- {name} failed {len(at)} times, first on {at[0]}: {why}" for (name, why), at in found.items()]


def _named(name: str) -> str:
    return f"{name} ◆" if METHODS[name].told_sizes else name


def _digits(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _bold(value: float, near: float) -> str:
    return f"**{_digits(value)}**" if value >= near else _digits(value)


def _mean(values: Sequence[float]) -> str:
    return _digits(statistics.mean(values)) if values else "–"


def _most(values: Sequence[float]) -> str:
    return _digits(max(values)) if values else "–"
