"""Copies hidden among 10,000 digits: how many are found beside their originals, and how many other rows are called copies.

`noisy` copies differ from their originals by noise of standard deviation 8 of 255; `exact` ones do not. Half of the 200
copies have another label than their originals, which both rows should be told of.
"""

from __future__ import annotations

import argparse

import common
import goals
import keep
import material
import numpy as np
from common import Record

TITLE, THREADS, VERSION = "Duplicates: 200 copies among 10,000 digits", 1, 1
ROWS, COPIES, DEVIATION = 10_000, 200, 8 / 255
DATALAB_SHARE = 0.13
"""Datalab calls rows near duplicates below this part of the median distance of a row to its nearest neighbor."""
METHODS = ["lapwing", "datalab-rule"]
FALSE = 2.0
"""Rows at most that are called copies wrongly, of 10,000."""


def units(args: argparse.Namespace) -> list[Record]:
    sets = [name for name in args.sets or ["mnist"] if name == "mnist"]
    kinds = [(name, kind) for name in sets for kind in ("noisy", "exact")]
    return [{"set": name, "copies": kind, "draw": number} for name, kind in kinds for number in range(args.draws or 3)]


def methods(unit: Record) -> list[str]:
    return METHODS


def measure(unit: Record, method: str) -> Record:
    draw = material.draw(unit["set"], unit["draw"], ROWS)
    rng = draw.rng(5)
    originals = rng.choice(ROWS, COPIES, replace=False)
    copied = draw.features[originals]
    if unit["copies"] == "noisy":
        levels = np.round(255 * (copied + DEVIATION * rng.normal(size=copied.shape)))
        copied = np.clip(levels, 0, 255).astype(np.float32) / 255
    rows, labels = np.concatenate([draw.features, copied]), np.concatenate([draw.classes, draw.classes[originals]])
    labels[ROWS : ROWS + COPIES // 2] = (labels[ROWS : ROWS + COPIES // 2] + 1) % 10
    group, contradicts = (_lapwing if method == "lapwing" else _datalab)(rows, labels)
    return _figures(group, contradicts, originals)


def _figures(group: np.ndarray, contradicts: np.ndarray | None, originals: np.ndarray) -> Record:
    copies = ROWS + np.arange(COPIES)
    found = (group[copies] >= 0) & (group[copies] == group[originals])
    planted = np.zeros(len(group), dtype=bool)
    planted[copies], planted[originals] = True, True
    record: Record = {"found": float(found.mean()), "false": 10_000 * float((group[~planted] >= 0).sum()) / ROWS}
    if contradicts is not None:
        spoiled = slice(0, COPIES // 2)
        record["contradictory"] = float((contradicts[copies[spoiled]] & contradicts[originals[spoiled]]).mean())
    return record


def _lapwing(rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = keep.lapwing("audit", "audit")(rows, labels)
    return np.asarray(found.duplicate_group), np.asarray(found.contradicts)


def _datalab(rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, None]:
    """The rule of cleanlab's Datalab, over exact Euclidean distances; groups are the components of the pairs."""
    from lapwing.graph import kneighbors
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    distances, indices = kneighbors(rows, 10, method="exact")
    near = distances < DATALAB_SHARE * max(float(np.median(distances[:, 0])), 1e-16)
    first, column = np.nonzero(near)
    pairs = coo_matrix((np.ones(len(first)), (first, indices[first, column])), shape=(len(rows),) * 2)
    group = connected_components(pairs, directed=False)[1]
    return np.where(np.bincount(group)[group] > 1, group, -1), None


def table(results: goals.Results) -> str:
    kinds, shown = goals.present(results, "copies"), goals.present(results, "method")
    figures = ["found", "false", "contradictory"]
    rows = [[kind, method, *[goals.share(goals.mean(results, figure, method, copies=kind)) for figure in figures]]
            for kind in kinds for method in shown]  # fmt: skip
    text = common.table(["copies", "method", "found", "false of 10,000", "contradictory found"], rows) + "\n"
    for kind in kinds:
        of = {figure: goals.mean(results, figure, "lapwing", copies=kind) for figure in figures}
        text += goals.least(f"{kind}, found", of["found"], 0.98 if kind == "noisy" else 1.0)
        text += goals.most(f"{kind}, false of 10,000", of["false"], FALSE, 1)
        text += goals.least(f"{kind}, contradictory pairs told", of["contradictory"], 0.98 if kind == "noisy" else 1.0)
    return text
