"""Three ways to train an unfolded graph network in NumPy, SciPy and PyTorch, as an experienced programmer would write them.

`adam` is the usual training: full gradients, each from two systems. These start from the solutions of the step before
and end when residuals have fallen to a tenth. `herta` is HERTA of Yang, Yang, Hu & Dereziński without
its samplings, which pay on no problem of this benchmark: Q ≈ H⁻¹X to 1e-2, the exact Gram matrix P of its labeled rows,
then conjugate gradients (squares) or L-BFGS (cross-entropy) on W preconditioned by P, with true gradients. `direct`
smooths Q to 1e-4 or 1e-5, and then solves, or runs L-BFGS, without the graph.

Single precision except for small matrices. All stop at the given optimum, so that none needs a stopping test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp

from curve import Curve
from engines import Engine
from objective import Objective, ratio

ROUGH = 1e-2
FINE = {"mse": 1e-4, "cross-entropy": 1e-5}
"""Relative residuals of Q, of `herta` and of `direct`: the largest that lead to 1e-6 of the optimum."""
INNER = 1e-5
"""Relative residuals of the steps of conjugate gradients."""
REDUCE = 0.1
"""The factor by which Adam reduces the residual of a system in each step."""
RESTART = 10
"""Steps of conjugate gradients before Z is recomputed."""
ROWS = 16_384
"""Rows that are summed up in single precision."""
Array = np.ndarray


def adam(engine: Engine, objective: Objective, rate: float, curve: Curve) -> Array:
    """Full-batch Adam at its usual constants from W = 0."""
    layer = np.zeros((engine.n_features, objective.targets.shape[1]))
    first, second = np.zeros_like(layer), np.zeros_like(layer)
    states = np.zeros(objective.targets.shape, np.float32)
    adjoint = None
    for step in itertools.count(1):
        value, residuals = objective(states, layer)
        if curve.at_goal(value):
            # Loose residuals make this loss inexact.
            states = engine.solve(engine.forward(layer), states)
            value, residuals = objective(states, layer)
        if curve.add(value):
            break
        adjoint = engine.solve(residuals, adjoint, reduce=REDUCE)
        gradient = engine.backward(adjoint) + objective.l2_reg * layer
        first += 0.1 * (gradient - first)
        second += 0.001 * (np.square(gradient) - second)
        scale = rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        layer -= scale * first / (np.sqrt(second) + 1e-8)
        states = engine.solve(engine.forward(layer), states, reduce=REDUCE)
    return layer


def herta(engine: Engine, objective: Objective, curve: Curve) -> Array:
    """Preconditioned by a rough Q."""
    curve.add(_at_zero(objective))
    factor = _factor(_smoothed(engine, objective, ROUGH), objective.l2_reg)
    start = np.zeros((engine.n_features, objective.targets.shape[1]))
    if objective.loss == "mse":
        return _preconditioned(engine, objective, factor, start, curve)
    return _quasi_newton(_Exact(engine, objective), factor, start, curve)


def direct(engine: Engine, objective: Objective, curve: Curve) -> Array:
    """A linear model on Q; for squares, steps with true gradients would follow if Q were too inexact."""
    curve.add(_at_zero(objective))
    smoothed = _smoothed(engine, objective, FINE[objective.loss])
    factor = _factor(smoothed, objective.l2_reg)
    known = objective.mask[:, 0] > 0
    targets = objective.targets[known]
    if objective.loss == "mse":
        layer = scipy.linalg.cho_solve((factor, True), (smoothed.T @ targets).astype(np.float64))
        return _preconditioned(engine, objective, factor, layer, curve)
    start = np.zeros((engine.n_features, targets.shape[1]))
    return _quasi_newton(_Stored(smoothed, objective.of_rows(known)), factor, start, curve)


def _at_zero(objective: Objective) -> float:
    return objective.of_states(np.zeros(objective.targets.shape, np.float32))[0]


# --- Q and its Gram matrix -------------------------------------------------------------------------------------------


def _smoothed(engine: Engine, objective: Objective, tol: float) -> Array:
    """Labeled rows of H⁻¹X (l, d), f32."""
    known = objective.mask[:, 0] > 0
    smoothed = np.empty((int(known.sum()), engine.n_features), np.float32)
    for first in range(0, engine.n_features, 64):
        columns = slice(first, first + 64)
        part = engine.features[:, columns]
        dense = part.toarray() if sp.issparse(part) else part
        smoothed[:, columns] = engine.solve(dense, tol=tol)[known]
    return smoothed


def _factor(smoothed: Array, l2_reg: float) -> Array:
    """Lower Cholesky factor of QᵀQ + ρI (d, d); sums of more than some rows in double precision."""
    gram = np.zeros((smoothed.shape[1],) * 2)
    for first in range(0, len(smoothed), ROWS):
        rows = smoothed[first : first + ROWS]
        gram += rows.T @ rows
    np.einsum("ii->i", gram)[:] += l2_reg
    return np.asarray(scipy.linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False))


# --- squares ---------------------------------------------------------------------------------------------------------


def _preconditioned(engine: Engine, objective: Objective, factor: Array, layer: Array, curve: Curve) -> Array:
    """Conjugate gradients on (QᵀMQ + ρI)W = QᵀMY, each column with steps of its own."""
    states = None
    while True:
        states = engine.solve(engine.forward(layer), states)
        value, residuals = objective(states, layer)
        if curve.add(value):
            return layer
        gradient = -engine.backward(engine.solve(residuals, tol=INNER)) - objective.l2_reg * layer
        direction = scipy.linalg.cho_solve((factor, True), gradient, check_finite=False)
        inner = np.einsum("ij,ij->j", gradient, direction)
        for _ in range(RESTART):
            moved = engine.solve(engine.forward(direction), tol=INNER)
            product = engine.backward(engine.solve(objective.mask * moved, tol=INNER)) + objective.l2_reg * direction
            steps = ratio(inner, np.einsum("ij,ij->j", direction, product))
            layer = layer + steps * direction
            states += (steps * moved).astype(np.float32)
            gradient -= steps * product
            if curve.add(objective(states, layer)[0]):
                return layer
            turned = scipy.linalg.cho_solve((factor, True), gradient, check_finite=False)
            new = np.einsum("ij,ij->j", gradient, turned)
            direction = turned + ratio(new, inner) * direction
            inner = new


# --- cross-entropy ---------------------------------------------------------------------------------------------------


class _Exact:
    """ℓ and its gradient by two systems, each started from its last solution."""

    def __init__(self, engine: Engine, objective: Objective) -> None:
        self._engine, self._objective = engine, objective
        self._states: Array | None = None
        self._adjoint: Array | None = None

    def __call__(self, layer: Array) -> tuple[float, Array]:
        engine = self._engine
        self._states = engine.solve(engine.forward(layer), self._states)
        value, residuals = self._objective(self._states, layer)
        self._adjoint = engine.solve(residuals, self._adjoint)
        return value, engine.backward(self._adjoint) + self._objective.l2_reg * layer


class _Stored:
    """The same from Q."""

    def __init__(self, smoothed: Array, objective: Objective) -> None:
        self._smoothed, self._objective = smoothed, objective

    def __call__(self, layer: Array) -> tuple[float, Array]:
        value, residuals = self._objective(self._smoothed @ layer.astype(np.float32), layer)
        return value, self._smoothed.T @ residuals + self._objective.l2_reg * layer


class _Enough(Exception):
    """Raised by the curve to stop a training."""


def _quasi_newton(evaluate: Callable[[Array], tuple[float, Array]], factor: Array, layer: Array, curve: Curve) -> Array:
    """L-BFGS on W′ = LᵀW with LLᵀ = P; restarted when rounding ends a line search, as long as that helps."""
    best = (math.inf, layer)

    def turned(rhs: Array, transposed: int) -> Array:
        return np.asarray(scipy.linalg.solve_triangular(factor, rhs, trans=transposed, lower=True, check_finite=False))

    def objective(flat: Array) -> tuple[float, Array]:
        nonlocal best
        layer = turned(flat.reshape(best[1].shape), 1)
        value, gradient = evaluate(layer)
        best = min(best, (value, layer), key=lambda point: point[0])
        if curve.add(value):
            raise _Enough
        return value, turned(gradient, 0).ravel()

    options = {"maxcor": 10, "ftol": 0.0, "gtol": 0.0, "maxiter": 100_000, "maxfun": 100_000}
    before = math.inf
    try:
        while best[0] < before or math.isinf(before):
            before = best[0]
            scipy.optimize.minimize(
                objective, (factor.T @ best[1]).ravel(), jac=True, method="L-BFGS-B", options=options
            )
    except _Enough:
        pass
    return best[1]
