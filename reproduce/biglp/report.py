"""Accuracy of each method on each data set: its mean over draws, tables and plots."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import common
import methods
import results

COLUMNS = 4


def over_draws(records: list[common.Record], entry: str) -> list[common.Record]:
    """A record for each method and value of an entry: means over the draws, and the standard deviation of accuracy."""
    out = []
    for (method, value), group in results.grouped(records, lambda one: (one["method"], one[entry])).items():
        means = {key: results.mean(group, key) for key in ("accuracy", "balanced_accuracy", "seconds")}
        deviation = statistics.stdev(one["accuracy"] for one in group)
        out.append({"method": method, entry: value, **means, "deviation": deviation})
    return out


def over(entry: str, heads: Mapping[Any, str], label: str) -> tuple[Callable[..., str], Callable[..., Any]]:
    """`table` and `plot` of an experiment over one entry; its values with their column heads."""
    return partial(_tables, entry=entry, heads=heads, label=label), partial(_panels, entry=entry, label=label)


def _tables(records: list[common.Record], entry: str, heads: Mapping[Any, str], label: str) -> str:
    """A table for each data set, a row for each method, a column for each value of an entry."""
    measured = results.by(records, entry)
    heads = {value: head for value, head in heads.items() if value in measured}
    return "\n".join(
        common.markdown(f"{_title(group[0])}; {label}", ["method", *heads.values()], _rows(group, entry, heads))
        for group in results.grouped(records, lambda record: record["data"]).values()
    )


def _title(one: common.Record) -> str:
    sizes = f"{one['n_samples']:,} × {one['n_features']}, {one['n_classes']} classes, the largest {one['share']:.1%}"
    return f"{one['data']}: {sizes}"


def _rows(group: list[common.Record], entry: str, heads: Mapping[Any, str]) -> list[list[str]]:
    found = {(one["method"], one[entry]): f"{one['accuracy']:.3f} ± {one['deviation']:.3f}" for one in group}
    names = methods.CURVES.in_order(one["method"] for one in group)
    return [[name, *[found.get((name, value), "–") for value in heads]] for name in names]


def _panels(records: list[common.Record], entry: str, label: str) -> Any:
    """Mean accuracy over an entry, a panel for each data set, a curve for each method."""
    by_data = results.grouped(records, lambda record: record["data"])
    lines = math.ceil(len(by_data) / COLUMNS)
    figure = results.figure(13, 3.2 * lines)
    axes = figure.subplots(lines, COLUMNS, squeeze=False)
    for panel, (name, group) in zip(axes.flat, by_data.items(), strict=False):
        found = results.grouped(group, lambda record: record["method"])
        for method in methods.CURVES.in_order(found):
            points = [(one[entry], one["accuracy"]) for one in found[method]]
            panel.plot(*zip(*points, strict=True), label=method, **methods.CURVES.style(method))
        panel.set(xscale="log", xlabel=label, title=name)
    axes[0, 0].set_ylabel("accuracy on rows without a label")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure
