"""Distances within each class (figure 9): the ones of MNIST are close to each other."""

from __future__ import annotations

from typing import Any

import common
import numpy as np
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(sets.IMAGES)
DRAWN = 500
"""Rows of each class."""


def settings(small: bool) -> list[Setting]:
    """A process for each data set."""
    return [{"data": name, "drawn": 50 if small else DRAWN} for name in sets.IMAGES]


def measure(setting: Setting) -> list[common.Record]:
    """Mean distance of two drawn rows of a class, and of a row to its nearest drawn one, relative to the means over classes."""
    from scipy.spatial.distance import cdist

    rows, classes = sets.images(setting["data"])
    rng = np.random.default_rng(0)
    records = []
    for one in np.unique(classes):
        members = np.flatnonzero(classes == one)
        chosen = rows[rng.choice(members, min(setting["drawn"], len(members)), replace=False)].astype(np.float64)
        apart = cdist(chosen, chosen)
        np.fill_diagonal(apart, np.nan)
        found = {"pair": float(np.nanmean(apart)), "nearest": float(np.nanmin(apart, axis=1).mean())}
        records.append({"class": str(one), "size": len(members), **found})
    for entry in ("pair", "nearest"):
        middle = results.mean(records, entry)
        for record in records:
            record[entry] /= middle
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each data set and kind of distance, a column for each of the first ten classes."""
    groups = results.grouped(records, lambda one: one["data"])
    names = [one["class"] for one in next(iter(groups.values()))][:10]
    head = ["data", "distance", *names, "least over largest"]
    rows = []
    for name, group in groups.items():
        for entry, what in {"pair": "of two rows of a class", "nearest": "to the nearest row of a class"}.items():
            values = [one[entry] for one in group]
            rows.append([name, what, *[f"{value:.2f}" for value in values[:10]], f"{min(values) / max(values):.2f}"])
    return common.markdown("Distances inside the classes, relative to their mean over the classes", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Distances of pairs by class, a panel for each data set."""
    groups = results.grouped(records, lambda one: one["data"])
    figure = results.figure(10, 3)
    for panel, (name, group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        panel.bar([one["class"] for one in group], [one["pair"] for one in group], color="tab:blue")
        panel.set(title=name, xlabel="class", ylabel="distance of two rows / mean")
        panel.tick_params(axis="x", labelsize=6)
    return figure
