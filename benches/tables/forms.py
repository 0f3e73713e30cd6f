"""Numeric tables as people might have them: the forms of a set whose clean matrix is known.

| form | what is done to the clean matrix |
|---|---|
| raw | nothing |
| rescaled | each column is multiplied by a power of ten, drawn from 10^-2 to 10^2 |
| gaps | one cell of ten is missing, at random |
| words | the flags of a category are its name; in a set without such flags, one column is cut into five levels, whose names have no order |
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))

import cells
import numpy as np
import pandas as pd
from sklearn import datasets

FORMS = ["raw", "rescaled", "gaps", "words"]
OF_SKLEARN = ["wine", "breast_cancer", "iris", "digits"]
OF_FILES = ["usps", "isolet", "g50c", "covertype_93k", "kddcup99_10pct", "skin", "ijcnn1", "magic_gamma", "donors", "coil20"]
SETS = [*OF_SKLEARN, *OF_FILES]

LEVELS = ["ash", "birch", "cedar", "elm", "fir"]
CATEGORIES = {"covertype_93k": {"wilderness": (10, 14), "soil": (14, 54)}}
"""Columns of flags, one of which is set in each row."""

Pair = tuple[pd.DataFrame, np.ndarray]
"""A table in some form, and the clean matrix (n, d) that holds the same."""


def load(name: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """The clean matrix (n, d) of one draw, and the classes (n)."""
    if name in OF_SKLEARN:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    scale, cells.SCALES[name] = cells.SCALES[name], cells.AS_IT_IS
    try:
        rows, classes = cells.load(name, draw)
    finally:
        cells.SCALES[name] = scale
    return np.asarray(rows, dtype=np.float64), classes


def of(form: str, clean: np.ndarray, name: str, draw: int) -> Pair:
    """A form of a clean matrix."""
    rng = cells._rng(name, draw, 10 + FORMS.index(form))
    table = pd.DataFrame(clean, columns=[f"c{at}" for at in range(clean.shape[1])])
    if form == "rescaled":
        return table * 10 ** rng.uniform(-2, 2, clean.shape[1]), clean
    if form == "gaps":
        return table.mask(rng.random(clean.shape) < 0.1), clean
    if form == "words":
        return words(table, name, rng)
    return table, clean


def words(table: pd.DataFrame, name: str, rng: np.random.Generator) -> Pair:
    """Categories as texts. The clean matrix of a column that is cut has the numbers 0 to 4 of its levels, in its old deviation."""
    clean = table.to_numpy().copy()
    if name in CATEGORIES:
        for title, (first, end) in CATEGORIES[name].items():
            names = np.array([f"{title}-{at}" for at in range(end - first)])
            table = table.drop(columns=[f"c{at}" for at in range(first, end)])
            table[title] = names[clean[:, first:end].argmax(axis=1)]
        return table, clean
    varied = [at for at in range(clean.shape[1]) if len(np.unique(clean[:, at])) >= 2 * len(LEVELS)]
    at = int(rng.choice(varied or np.flatnonzero(clean.std(axis=0))))
    edges = np.unique(np.quantile(clean[:, at], np.arange(1, len(LEVELS)) / len(LEVELS)))
    level = np.searchsorted(edges, clean[:, at], side="right")
    table[f"c{at}"] = rng.permutation(LEVELS)[level]
    clean[:, at] = level * clean[:, at].std() / (level.std() or 1.0)
    return table, clean
