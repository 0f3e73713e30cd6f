"""What preparing costs or gains: labels from a table in some form, beside those from its clean matrix in the better of two scales."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import forms
import cells
import numpy as np
from lapwing import HarmonicClassifier
from lapwing.prepare import TableEncoder

LABELS = ["5", "20", "10c"]
"""Labels of each class; or at random, so many times the number of classes."""


def differences(name: str, draws: int, shapes: list[str]) -> dict[str, list[float]]:
    """For each form, the accuracy on hidden rows less that of the better clean matrix: a number for each draw and number of labels."""
    found: dict[str, list[float]] = {form: [] for form in shapes}
    for draw in range(draws):
        clean, classes = forms.load(name, draw)
        for form in shapes:
            table, same = forms.of(form, clean, name, draw)
            for cell in LABELS:
                shown = cells.labels(name, cell, draw, classes)
                found[form].append(prepared(table, classes, shown) - best_of_clean(same, classes, shown))
    return found


def prepared(table, classes: np.ndarray, shown: np.ndarray) -> float:
    return accuracy(TableEncoder().fit(table, shown).transform(table), classes, shown)


def best_of_clean(clean: np.ndarray, classes: np.ndarray, shown: np.ndarray) -> float:
    spread = clean.std(axis=0)
    scaled = (clean - clean.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return max(accuracy(matrix, classes, shown) for matrix in (clean, scaled))


def accuracy(features, classes: np.ndarray, shown: np.ndarray) -> float:
    features = features.astype(np.float32)
    labeler = HarmonicClassifier(random_state=0)
    found = labeler.fit(features, shown).transduction_
    hidden = shown < 0
    return float((found[hidden] == classes[hidden]).mean())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    p = argparse.ArgumentParser()
    p.add_argument("sets", nargs="*")
    p.add_argument("--draws", type=int, default=3)
    p.add_argument("--forms", nargs="+", default=forms.FORMS)
    args = p.parse_args()
    total = {form: [] for form in args.forms}
    print("set", *args.forms)
    for name in args.sets or forms.SETS:
        found = differences(name, args.draws, args.forms)
        print(f"{name:16}", *[f"{np.mean(found[form]):+.3f} (±{np.std(found[form])/len(found[form])**.5:.3f})" for form in args.forms], flush=True)
        for form in args.forms: total[form].append(np.mean(found[form]))
    print("mean            ", *[f"{np.mean(total[form]):+.4f}" for form in args.forms])
