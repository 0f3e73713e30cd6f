"""What preparing costs or gains: labels from a table in some form, beside those from its clean matrix in the better of two scales."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))

import cells
import common
import forms
import numpy as np
import pandas as pd
from common import Record
from lapwing import HarmonicClassifier
from lapwing.prepare import TableEncoder

LABELS = ["5", "20", "10c"]
"""Labels of each class; or at random, so many times the number of classes."""


def task(args: argparse.Namespace) -> tuple[list[Record], str]:
    warnings.simplefilter("ignore")
    records = []
    for name in args.sets:
        print(f"tables {name}", file=sys.stderr, flush=True)
        records.append({"set": name, "differences": differences(name, args.draws, args.forms)})
    return records, table(records, args.forms)


def differences(name: str, draws: int, shapes: list[str]) -> dict[str, list[float]]:
    """For each form, the accuracy on hidden rows less that of the better clean matrix: a number for each draw and number of labels."""
    found: dict[str, list[float]] = {form: [] for form in shapes}
    for draw in range(draws):
        clean, classes = forms.load(name, draw)
        for form in shapes:
            frame, same = forms.of(form, clean, name, draw)
            for cell in LABELS:
                shown = cells.labels(name, cell, draw, classes)
                found[form].append(prepared(frame, classes, shown) - best_of_clean(same, classes, shown))
    return found


def prepared(frame: pd.DataFrame, classes: np.ndarray, shown: np.ndarray) -> float:
    return accuracy(TableEncoder().fit(frame, shown).transform(frame), classes, shown)


def best_of_clean(clean: np.ndarray, classes: np.ndarray, shown: np.ndarray) -> float:
    """As the numbers are, or standardized."""
    spread = clean.std(axis=0)
    scaled = (clean - clean.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return max(accuracy(matrix, classes, shown) for matrix in (clean, scaled))


def accuracy(features: np.ndarray, classes: np.ndarray, shown: np.ndarray) -> float:
    found = HarmonicClassifier(random_state=0).fit(features.astype(np.float32), shown).transduction_
    hidden = shown < 0
    return float((found[hidden] == classes[hidden]).mean())


def table(records: list[Record], shapes: list[str]) -> str:
    """Mean differences with their standard errors, a row per set, and the means over sets."""
    def cell(values: list[float]) -> str:
        return f"{np.mean(values):+.3f} ± {np.std(values) / len(values) ** 0.5:.3f}"

    rows = [[f"`{one['set']}`", *[cell(one["differences"][form]) for form in shapes]] for one in records]
    means = [f"{np.mean([np.mean(one['differences'][form]) for one in records]):+.3f}" for form in shapes]
    return common.markdown("Accuracy less that of the clean matrix", ["set", *shapes], [*rows, ["mean", *means]])
