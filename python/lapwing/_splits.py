"""Folds from whatever says how to make them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from ._arguments import integer
from ._folds import SemiSupervisedKFold
from ._hiding import Targets

#: Rows with a label that the fit sees, and rows that it is tested on.
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

#: Folds where nothing else is said.
N_SPLITS = 5
#: Seed of their shuffle, so that all estimators get the same folds.
SEED = 0


def folds_of(cv: Any, targets: Targets, groups: Any = None) -> list[Fold]:
    """The folds; their rows have labels, and no row of a fold is both seen and tested."""
    if cv is None:
        cv = _default_number(targets)
    if hasattr(cv, "split"):
        folds = _split(cv, targets, groups)
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, bytes)):
        folds = _given(cv, targets)
    else:
        kind = SemiSupervisedKFold(integer("cv", cv), shuffle=True, random_state=SEED)
        folds = _split(kind, targets, groups)
    found = [_checked(number, fold) for number, fold in enumerate(folds)]
    if not found:
        raise ValueError("cv has no folds")
    return found


def _default_number(targets: Targets) -> int:
    """Five folds, or as many as the class with the fewest labels has, but at least two."""
    if targets.classes is None:
        return min(N_SPLITS, len(targets.labeled))
    counts = np.bincount(targets.answers[targets.labeled])
    if counts.max() < 2:
        raise ValueError(
            "every class has one label, and none is left where that is held out; cross-validation needs a class with at least 2"
        )
    return max(2, min(N_SPLITS, int(counts[counts > 0].min())))


def _split(splitter: Any, targets: Targets, groups: Any) -> Iterator[Fold]:
    """The folds of a splitter, which sees the labeled rows only; their numbers stand for X."""
    labeled = targets.labeled
    if isinstance(splitter, SemiSupervisedKFold):
        # Here every row has a label, and the task is known.
        task: Literal["classification", "regression"] = "regression" if targets.classes is None else "classification"
        splitter = replace(splitter, unlabeled=math.nan, task=task)
    if groups is not None:
        groups = _safe_indexing(groups, labeled)
    for train, test in splitter.split(labeled.reshape(-1, 1), targets.truth(labeled), groups):
        yield labeled[train], labeled[test]


def _given(cv: Iterable[Any], targets: Targets) -> Iterator[Fold]:
    """Folds given by numbers of rows; rows without a label say nothing in a training set, and are an error in a test set."""
    is_labeled = np.zeros(targets.n_samples, bool)
    is_labeled[targets.labeled] = True
    for number, fold in enumerate(cv):
        if not isinstance(fold, (tuple, list)) or len(fold) != 2:
            raise TypeError(f"fold {number} of cv is a {type(fold).__name__}; expected a pair (train, test) of numbers of rows")
        train, test = (_row_numbers(rows, targets.n_samples, number) for rows in fold)
        if not is_labeled[test].all():
            row = int(test[~is_labeled[test]][0])
            raise ValueError(f"fold {number} of cv tests row {row}, which has no label to compare with; leave it out")
        yield np.unique(train[is_labeled[train]]), test


def _row_numbers(rows: Any, n_samples: int, fold: int) -> NDArray[np.intp]:
    found = np.asarray(rows)
    if found.dtype.kind == "b" and found.shape == (n_samples,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise TypeError(f"fold {fold} of cv holds {found.dtype} of shape {found.shape}; expected numbers of rows")
    if found.size and (found.min() < 0 or found.max() >= n_samples):
        outside = int(found[(found < 0) | (found >= n_samples)][0])
        raise ValueError(f"fold {fold} of cv has row {outside}; expected rows in 0..{n_samples - 1}")
    return found.astype(np.intp)


def _checked(number: int, fold: Fold) -> Fold:
    train, test = fold
    for rows, what in ((train, "training"), (test, "test")):
        if not len(rows):
            raise ValueError(f"fold {number} of cv has no labeled row in its {what} set")
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(f"fold {number} of cv has row {both[0]} in its training set and in its test set")
    return fold
