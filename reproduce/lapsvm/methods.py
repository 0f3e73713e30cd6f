"""The methods that are compared, and the choice of their weights by validation."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
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
    """Parameters of the estimator by method; weights are chosen with the first, and may not suit the others."""
    squares: bool = False
    """Whether the loss is the square, without a hinge."""
    supervised: bool = False
    """Whether the graph is left out."""


FAMILIES = {
    "SVM": Family({"SVM": {"solver": "newton"}}, supervised=True),
    "RLSC": Family({"RLSC": {"solver": "newton"}}, squares=True, supervised=True),
    "LapRLSC": Family({"LapRLSC": {"solver": "newton"}}, squares=True),
    "LapSVM": Family(
        {
            "LapSVM, Newton": {"solver": "newton"},
            "LapSVM, dual": {"solver": "dual", "bias": True},
            "LapSVM, CG, stability": {"solver": "cg", "stopping": "stability"},
            "LapSVM, CG, validation": {"solver": "cg", "stopping": "validation"},
            "LapSVM, CG, mixed": {"solver": "cg", "stopping": "mixed"},
        }
    ),
}
_SOLVERS = ("dual", "Newton", "CG, stability", "CG, validation", "CG, mixed")
CURVES = results.Curves("SVM", "RLSC", "LapRLSC", *(f"LapSVM, {solver}" for solver in _SOLVERS))


def pairs(family: Family, grid: Sequence[float]) -> Iterator[Weights]:
    """Weights to choose among."""
    return itertools.product(grid, [0.0] if family.supervised else grid)


def fitted(family: Family, params: dict[str, Any], weights: Weights, task: sets.Task, power: int) -> Any:
    """An estimator, fitted to Gram matrix and graph; its warnings are in the report."""
    from lapwing import LaplacianRidgeClassifier, LaplacianSVC

    kind = LaplacianRidgeClassifier if family.squares else LaplacianSVC
    ambient, graph = weights
    given = {"kernel": "precomputed", "ambient_reg": ambient, "graph_reg": graph, "laplacian_power": power}
    held = task.validation if params.get("stopping") in ("validation", "mixed") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = kind(**given, max_iter=MAX_ITER, **params)
        return estimator.fit(task.gram, task.labels, graph=task.graph, validation=held)


def chosen(name: str, family: Family, grid: Sequence[float], draws: int) -> Weights:
    """The weights of the least mean error on the rows for validation."""
    of = sets.SETS[name]
    params = {"solver": "newton" if family.supervised else of.searched}
    found: dict[Weights, list[float]] = {weights: [] for weights in pairs(family, grid)}
    for task in sets.tasks(name, min(draws, of.search_draws)):
        for weights, errors in found.items():
            errors.append(error(fitted(family, params, weights, task, of.power), *task.validation))
    return min(found, key=lambda weights: float(np.mean(found[weights])))


def measured(family: Family, method: str, weights: Weights, task: sets.Task, power: int) -> common.Record:
    """Errors on each part, seconds of the fit, and steps or iterations."""
    with common.Stopwatch() as watch:
        estimator = fitted(family, family.methods[method], weights, task, power)
    hidden = task.labels < 0
    errors = {
        "U": float(np.mean(estimator.transduction_[hidden] != task.truth[hidden])),
        "V": error(estimator, *task.validation),
        "T": error(estimator, *task.test),
    }
    return {"method": method, **errors, "n_iter": int(np.max(estimator.n_iter_)), **results.costs(watch)}


def error(estimator: Any, kernel: np.ndarray, classes: np.ndarray) -> float:
    """Share of rows with a wrong class, from their kernel with the fitted rows."""
    return float(np.mean(estimator.predict(kernel) != classes))
