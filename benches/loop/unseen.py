"""A digit that no label names: are the rows that look unexplored of that digit?

10,000 digits, ten labels of each of the other nine. `share` is the part of the first 50 rows that are of the missing digit,
`auc` that of the measure by which they are taken, over all rows without a label.
"""

from __future__ import annotations

import argparse

import cells
import common
import goals
import keep
import material
import numpy as np
from common import Record
from material import Draw

TITLE, THREADS, VERSION = "A class nobody has named: the first 50 rows that look unexplored", 1, 1
ROWS, PER_CLASS, SHOWN = 10_000, 10, 50
DIGITS = [0, 4, 8]
METHODS = ["lapwing-far", "lapwing-low-margin", "graphlearning-norm"]


def units(args: argparse.Namespace) -> list[Record]:
    sets = [name for name in args.sets or ["mnist"] if name == "mnist"]
    kinds = [(name, digit) for name in sets for digit in DIGITS]
    return [{"set": name, "missing": digit, "draw": number} for name, digit in kinds for number in range(args.draws or 3)]


def methods(unit: Record) -> list[str]:
    return METHODS


def measure(unit: Record, method: str) -> Record:
    draw = material.draw(unit["set"], unit["draw"], ROWS)
    y = cells.of_each_class(draw.classes, PER_CLASS, draw.rng(3))
    y[y == unit["missing"]] = -1
    if method == "lapwing-far":
        return _far(draw, y, unit["missing"])
    values = {"lapwing-low-margin": low_margin, "graphlearning-norm": low_norm}[method](draw, y)
    first = np.argsort(np.where(y < 0, -values, np.inf), kind="stable")[:SHOWN]
    return {"share": _share(draw, first, unit["missing"]), "auc": auc(draw, y, values, unit["missing"])}


def _far(draw: Draw, y: np.ndarray, missing: int) -> Record:
    """`suggest` with explore=1; the AUC of the distance from labels."""
    rows, reasons = keep.lapwing("active", "suggest")(None, y, SHOWN, graph=draw.graph, explore=1.0)
    far = np.asarray(rows)[np.asarray(reasons) == "far"]
    suggester = keep.lapwing("active", "Suggester")(draw.graph)
    distance = np.asarray(suggester.distance_from_labels(y))
    return {"share": _share(draw, far, missing), "far": len(far), "auc": auc(draw, y, distance, missing)}


def low_margin(draw: Draw, y: np.ndarray) -> np.ndarray:
    """1 less the difference of the two largest shares of the default classifier."""
    from lapwing import HarmonicClassifier

    shares = np.sort(HarmonicClassifier(random_state=0).fit(None, y, graph=draw.graph).label_distributions_, axis=1)
    return 1 - shares[:, -1] + shares[:, -2]


def low_norm(draw: Draw, y: np.ndarray) -> np.ndarray:
    """Uncertainty by the norm of the scores of Poisson-reweighted Laplace learning with its first τ."""
    from picking_peers import ReweightedNorm

    return ReweightedNorm(draw).values(y, np.arange(len(y)))


def auc(draw: Draw, y: np.ndarray, values: np.ndarray, missing: int) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(draw.classes[y < 0] == missing, values[y < 0]))


def _share(draw: Draw, rows: np.ndarray, missing: int) -> float | None:
    return float((draw.classes[rows] == missing).mean()) if len(rows) else None


def table(results: goals.Results) -> str:
    digits, shown = goals.present(results, "missing"), goals.present(results, "method")
    rows = []
    for method in shown:
        row = [method]
        for digit in digits:
            of = {figure: goals.mean(results, figure, method, missing=digit) for figure in ("share", "auc")}
            row.append(f"{goals.share(of['share'], 2)}, {goals.share(of['auc'])}")
        rows.append(row)
    text = common.table(["share of the first 50, AUC", *[f"digit {digit}" for digit in digits]], rows) + "\n"
    for digit in digits:
        of = {figure: goals.mean(results, figure, "lapwing-far", missing=digit) for figure in ("far", "share", "auc")}
        text += goals.least(f"digit {digit}, rows of the first 50 with reason far", of["far"], SHOWN, 0)
        text += goals.least(f"digit {digit}, share of those", of["share"], 0.90)
        text += goals.least(f"digit {digit}, AUC of the distance", of["auc"], 0.95)
    return text
