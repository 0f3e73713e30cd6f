"""All rows of the two largest sets: GLNP, stopped early and converged, beside Nyström."""

from __future__ import annotations

import statistics
from typing import Any

import common
import methods
import numpy as np
import results
import sets

Setting = dict[str, Any]
NAMES = ("donors", "cover")
DATA = sets.files(NAMES)
ROWS = 1_000_000
PER_CLASS = (10, 50, 100)
LANDMARKS = {20: 5, 100: 2}
"""k, and factors that are found with it, each with a seed of its own."""
EARLY = "glnp, 100 iterations"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "anchor": ("anchor", {}),
    "nystrom": ("nystrom", {}),
    "nystrom, uniform": ("nystrom, uniform", {}),
    EARLY: ("glnp", {"glnp_max_iter": 100}),
    "glnp": ("glnp", {}),
}
"""Factors and their options."""
NEAREST = ("1-NN", "1-NN by angle")
"""GLNP looks for lines through the origin: by angle shows what directions know about the classes."""
TEST = ("glnp", "nystrom")
CURVES = results.Curves("anchor", "nystrom", "nystrom, uniform", ("glnp", EARLY))


def settings(small: bool) -> list[Setting]:
    """A process for each data set, factor, number of landmarks, and seed of the factor."""
    size = {"rows": 2000, "draws": 2} if small else {"rows": ROWS, "draws": 4}
    landmarks = {20: 1} if small else LANDMARKS
    fits: list[Setting] = [
        {"data": name, "method": method, "k": k, "seed": seed, **size}
        for name in NAMES
        for k, seeds in landmarks.items()
        for method in VARIANTS
        for seed in range(seeds)
        if method != EARLY or k == min(landmarks)
    ]
    nearest = [
        {"data": name, "method": method, "k": 0, "seed": seed, **size}
        for name in NAMES
        for method in NEAREST
        for seed in range(max(landmarks.values()))
    ]
    return fits + nearest


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy of each draw and number of labels, and how the factor was found; every seed has labels of its own."""
    rows, classes = sets.load(setting["data"], setting["rows"])
    cases = [(count, draw) for count in PER_CLASS if sets.allows(classes, count) for draw in range(setting["draws"])]
    draws = [sets.shown(classes, count, setting["draws"] * setting["seed"] + draw) for count, draw in cases]
    if setting["method"] in NEAREST:
        if setting["method"] == NEAREST[1]:
            rows = sets.in_unit_range(rows)
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        guesses, facts = list(methods.guesses(methods.NEAREST, rows, draws, 0, "off")), {}
        found = [classes_found for method, _, classes_found, _ in guesses if method == "1-NN"]
        shared: common.Record = {"seconds": sum(one[3] for one in guesses) / 2}
    else:
        factor, options = VARIANTS[setting["method"]]
        if factor == "glnp" and rows.min() < 0:
            rows = sets.in_unit_range(rows)
        classifier = methods.classifier(factor, setting["k"], setting["seed"], **options)
        with common.Stopwatch() as watch:
            found = methods.together(classifier, rows, draws)
        shared, facts = results.costs(watch), classifier.report_["parts"].get("glnp", {})
    if facts:
        course = {name: facts[name] for name in ("n_iter", "converged")}
        shared |= {**course, "objective": facts["objective"][-1] / facts["squared_norm"]}
    sizes = sets.describe(rows, classes)
    return [
        {**sizes, "per_class": count, "draw": draw, **methods.rightness(classes, shown, guess), **shared}
        for (count, draw), shown, guess in zip(cases, draws, found, strict=True)
    ]


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A table for each data set: accuracy and its mean over the classes by labels; iterations; Welch's test."""
    return "\n".join(_table(name, group) for name, group in results.grouped(records, lambda one: one["data"]).items())


def _table(name: str, records: list[common.Record]) -> str:
    counts = sorted({one["per_class"] for one in records})
    head = ["method", "k", *[f"{count} per class" for count in counts]]
    head += [*[f"{count} per class, mean over classes" for count in counts], "iterations", "converged", "Q", "s"]
    rows = []
    for (method, k), group in results.grouped(records, lambda one: (one["method"], one["k"])).items():
        by_count = results.by(group, "per_class")
        cells = [results.accuracy(found) for found in by_count.values()]
        cells += [results.spread([one["balanced_accuracy"] for one in found], 3) for found in by_count.values()]
        rows.append([method, f"{k}" if k else "–", *cells, *_course(group), common.seconds(statistics.median(one["seconds"] for one in group))])
    first = records[0]
    title = f"{name}: {first['n_samples']:,} × {first['n_features']}, the larger class {first['share']:.1%}"
    return f"{common.markdown(title, head, rows)}\n{_tests(name, records)}"


def _course(group: list[common.Record]) -> list[str]:
    if "n_iter" not in group[0]:
        return ["–"] * 3
    runs = [found[0] for found in results.by(group, "seed").values()]
    iterations = sorted(one["n_iter"] for one in runs)
    shown = f"{iterations[0]} to {iterations[-1]}" if iterations[0] < iterations[-1] else f"{iterations[0]}"
    converged = f"{sum(one['converged'] for one in runs)} of {len(runs)}"
    return [shown, converged, f"{results.mean(runs, 'objective'):.5f}"]


def _tests(name: str, records: list[common.Record]) -> str:
    """Welch's test of GLNP against Nyström over the seeds of the factor, each the mean of its draws."""
    head = ["k", "labels", "accuracy: GLNP − Nyström", "p of it", "mean over classes: GLNP − Nyström", "p of this"]
    rows = []
    for (k, count), group in results.grouped(
        [one for one in records if one["method"] in TEST], lambda one: (one["k"], one["per_class"])
    ).items():
        by_method = results.grouped(group, lambda one: one["method"])
        if len(by_method) == len(TEST):
            cells = [_apart(*[by_method[method] for method in TEST], entry) for entry in ("accuracy", "balanced_accuracy")]
            rows.append([f"{k}", f"{count} per class", *cells[0], *cells[1]])
    return common.markdown(f"{name}: GLNP, converged, beside Nyström with centers of k-means", head, rows)


def _apart(one: list[common.Record], other: list[common.Record], entry: str) -> list[str]:
    values = [[results.mean(found, entry) for found in results.by(group, "seed").values()] for group in (one, other)]
    apart = 100 * (statistics.mean(values[0]) - statistics.mean(values[1]))
    if len(values[1]) < 2:
        return [f"{apart:+.1f} points", "–"]
    moments = statistics.mean(values[1]), statistics.stdev(values[1]), len(values[1])
    return [f"{apart:+.1f} points", results.p_value(values[0], *moments)]


def plot(records: list[common.Record]) -> Any:
    """Mean over the classes by labels, a panel for each data set and k."""
    chosen = [one for one in records if one["k"]]
    groups = results.grouped(chosen, lambda one: (one["data"], one["k"]))
    figure = results.figure(3.4 * len(groups), 3.6)
    for panel, ((name, k), group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        for method, found in results.grouped(group, lambda one: one["method"]).items():
            points = [(count, results.mean(of, "balanced_accuracy")) for count, of in results.by(found, "per_class").items()]
            dashes = {"linestyle": "--" if method == EARLY else "-", "label": method}
            panel.plot(*zip(*points, strict=True), **{**CURVES.style(method), **dashes})
        panel.set(xscale="log", xlabel="labels of each class", title=f"{name}, k = {k}", ylabel="accuracy, mean over classes")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure
