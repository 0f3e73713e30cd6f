"""The methods that are compared, and the weights that are tried for them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import common
import results
import sets

GRID = (100.0, 10.0, 1.0, 1e-1, 1e-2, 1e-4, 1e-6)
"""Weights that are tried; of several with equal errors, the largest are taken."""
SMALL_GRID = (1.0, 1e-2, 1e-4)
MAX_ITER = 200
"""Steps of Newton or iterations of conjugate gradients, as in the authors' program."""

Weights = tuple[float, float]
"""γ_A of the ambient norm and γ_I of the graph."""


@dataclass(frozen=True)
class Family:
    """Methods that share a choice of weights."""

    methods: dict[str, dict[str, Any]]
    """Parameters of the estimator by method; weights are chosen with the first."""
    squares: bool = False
    """Whether the loss is the square, without a hinge."""
    supervised: bool = False
    """Whether the graph is left out."""


NEWTON, DUAL = "LapSVM, Newton", "LapSVM, dual"
STOPPED = {f"LapSVM, CG, {rule}": rule for rule in ("sides", "stability", "validation", "mixed")}
"""Conjugate gradients by the rule that stops them."""
FAMILIES = {
    "SVM": Family({"SVM": {"solver": "newton"}}, supervised=True),
    "RLSC": Family({"RLSC": {"solver": "newton"}}, squares=True, supervised=True),
    "LapRLSC": Family({"LapRLSC": {"solver": "newton"}}, squares=True),
    "dual": Family({DUAL: {"solver": "dual", "bias": True}}),
    "LapSVM": Family(
        {NEWTON: {"solver": "newton"}, **{name: {"solver": "cg", "stopping": rule} for name, rule in STOPPED.items()}}
    ),
}
CURVES = results.Curves("SVM", "RLSC", "LapRLSC", DUAL, NEWTON, *STOPPED)


def pairs(family: Family, small: bool) -> Iterator[Weights]:
    """Weights to choose among."""
    grid = SMALL_GRID if small else GRID
    return itertools.product(grid, [0.0] if family.supervised else grid)


def searched(name: str, family: Family) -> dict[str, Any]:
    """Parameters of the estimator with which weights are chosen."""
    first = next(iter(family.methods.values()))
    return first if family.supervised or "bias" in first else {**first, "solver": sets.SETS[name].searched}


def fitted(family: Family, params: dict[str, Any], weights: Weights, task: sets.Task, of: sets.Set) -> Any:
    """An estimator, fitted to Gram matrix and graph; its warnings are in the report."""
    from lapwing import LaplacianRidgeClassifier, LaplacianSVC

    kind = LaplacianRidgeClassifier if family.squares else LaplacianSVC
    ambient, graph = weights
    given = {"kernel": "precomputed", "ambient_reg": ambient, "graph_reg": graph}
    given |= {"laplacian_power": of.power, "laplacian": of.laplacian, "max_iter": MAX_ITER}
    held = task.validation if params.get("stopping") in ("validation", "mixed") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**given | params).fit(task.gram, task.labels, graph=task.graph, validation=held)


def errors(estimator: Any, task: sets.Task) -> common.Record:
    """Shares of rows with a wrong class in each part, and on U the mean of the shares of each class."""
    wrong = estimator.transduction_[task.judged] != task.truth[task.judged]
    of_class = [wrong[task.truth[task.judged] == label].mean() for label in np.unique(task.truth[task.judged])]
    beside = {part: estimator.predict(rows) != classes for part, (rows, classes) in _held(task).items()}
    return {
        "U": float(wrong.mean()),
        "macro": float(np.mean(of_class)),
        **{k: float(v.mean()) for k, v in beside.items()},
    }


def _held(task: sets.Task) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {"V": task.validation, "T": task.test}


def measured(family: Family, method: str, weights: Weights, task: sets.Task, of: sets.Set) -> common.Record:
    """Errors on each part, seconds of the fit, and steps or iterations."""
    with common.Stopwatch() as watch:
        estimator = fitted(family, family.methods[method], weights, task, of)
    n_iter = {"n_iter": int(np.max(estimator.n_iter_))}
    return {"method": method, **errors(estimator, task), **n_iter, **results.costs(watch)}
