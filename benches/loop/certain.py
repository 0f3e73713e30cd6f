"""How sure: coverage and size of the sets at level .9, and the error of the confidence.

Labels of the sets are drawn like the rows, 50, 100 or 200 of 5000; coverage and size are over the rows without a label. The
error of the confidence (15 bins) is with 5, 10 and 20 labels of each class, calibrated by default or not at all.
"""

from __future__ import annotations

import argparse
from typing import Any

import cells
import common
import goals
import keep
import material
import numpy as np
from common import Record
from material import Draw
from measures import calibration_error

TITLE, THREADS, VERSION = "Sets at level .9, and the error of the confidence", 1, 1
SETS = ["mnist", "usps", "fashion", "newsgroups"]
LEVEL, LABELS, PER_CLASS = 0.9, [50, 100, 200], [5, 10, 20]
METHODS = ["lapwing-leave-one-out", "lapwing-split"]
CALIBRATIONS = ["lapwing-auto", "lapwing-none"]
ECE_DRAWS = 10
COVERAGE = (0.88, 0.96)
SIZES = {100: 0.85, 200: 1.05}
"""Mean size at most, as a part of that of the split form."""
ECE, ECE_SETS = 0.06, ["mnist", "usps", "fashion"]


def units(args: argparse.Namespace) -> list[Record]:
    return [{"set": name, "draw": number} for name in args.sets or SETS for number in range(args.draws or 20)]


def methods(unit: Record) -> list[str]:
    return [*METHODS, *(CALIBRATIONS if unit["draw"] < ECE_DRAWS else [])]


def measure(unit: Record, method: str) -> Record:
    draw, word = material.draw(unit["set"], unit["draw"]), method.removeprefix("lapwing-")
    if method in CALIBRATIONS:
        shown = {count: cells.of_each_class(draw.classes, count, draw.rng(7)) for count in PER_CLASS}
        return {"ece": {str(count): _ece(draw, y, word) for count, y in shown.items()}}
    order = draw.rng(6).permutation(len(draw.classes))
    found = {str(count): _sets(draw, draw.show(order[:count]), word) for count in LABELS}
    return {figure: {count: one[figure] for count, one in found.items()} for figure in ("coverage", "size")}


def _fitted(draw: Draw, y: np.ndarray, **options: str) -> Any:
    from lapwing import HarmonicClassifier

    return HarmonicClassifier(random_state=0, **options).fit(None, y, graph=draw.graph)


def _sets(draw: Draw, y: np.ndarray, method: str) -> Record:
    """A class that no label has named is in no set."""
    model = _fitted(draw, y)
    sets = np.asarray(keep.method_of(model, "predict_sets")(level=LEVEL, method=method))
    hidden = y < 0
    truth = draw.classes[hidden, None] == np.asarray(model.classes_)
    return {"coverage": float((sets[hidden] & truth).any(axis=1).mean()), "size": float(sets[hidden].sum(axis=1).mean())}


def _ece(draw: Draw, y: np.ndarray, calibration: str) -> float:
    from lapwing import HarmonicClassifier

    if "calibration" not in HarmonicClassifier().get_params():
        raise keep.Missing("HarmonicClassifier of this build of lapwing has no calibration")
    model, hidden = _fitted(draw, y, calibration=calibration), y < 0
    confidence = model.label_distributions_.max(axis=1)
    return calibration_error(confidence[hidden], (model.transduction_ == draw.classes)[hidden])


def table(results: goals.Results) -> str:
    sets = goals.present(results, "set")

    def of(figure: str, method: str, name: str, counts: list[int], digits: int) -> str:
        return " ".join(goals.share(goals.mean(results, f"{figure}.{count}", method, set=name), digits) for count in counts)

    def both(method: str, name: str) -> str:
        return " / ".join(of(figure, method, name, LABELS, 2) for figure in ("coverage", "size"))

    first = [[method, *[both(method, name) for name in sets]] for method in METHODS]
    second = [[method, *[of("ece", method, name, PER_CLASS, 3) for name in sets]] for method in CALIBRATIONS]
    text = common.table(["coverage / mean size at 50, 100, 200 labels", *sets], first)
    return text + "\n" + common.table(["error at 5, 10, 20 per class", *sets], second) + "\n" + _goals(results, sets)


def _goals(results: goals.Results, sets: list[str]) -> str:
    text = ""
    for name in sets:
        for count, part in SIZES.items():
            coverage = goals.mean(results, f"coverage.{count}", METHODS[0], set=name)
            ours, split = (goals.mean(results, f"size.{count}", method, set=name) for method in METHODS)
            text += goals.least(f"{name}, {count} labels, coverage", coverage, COVERAGE[0])
            text += goals.most(f"{name}, {count} labels, coverage", coverage, COVERAGE[1])
            text += goals.most(f"{name}, {count} labels, size as a part of the split form's", ours / split, part)
        if name in ECE_SETS:
            error = goals.mean(results, "ece.20", CALIBRATIONS[0], set=name)
            text += goals.most(f"{name}, 20 per class, error of the confidence", error, ECE)
    return text
