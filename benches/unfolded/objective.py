"""The objective of an unfolded graph network, and an independent evaluation of weights in double precision.

    ℓ(W) = Σ over labeled nodes of loss(z, y) + (ρ/2)‖W‖²,   Z = H⁻¹XW,   H = I + λ·D^(−1/2)·L·D^(−1/2),

with D the degrees plus 1, a loop of each node. The loss is ½‖z − y‖² with y one-hot ("mse"), or the cross-entropy of
the softmax of z ("cross-entropy").
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import common
from problem import Problem

LOSSES = ("mse", "cross-entropy")
EXACT = 1e-12
"""Relative residual of the systems of an evaluation."""


@dataclass(frozen=True)
class Task:
    """The objective of a task."""

    problem: Problem
    loss: str
    graph_reg: float
    """λ."""
    l2_reg: float | None = None
    """ρ; None is the default of lapwing's estimator."""


class Objective:
    """The loss of hidden states, and its gradient with respect to them."""

    def __init__(self, task: Task, dtype: Any = np.float32) -> None:
        labels = task.problem.labels
        known = labels >= 0
        self.loss, self.l2_reg = task.loss, task.l2_reg or 0.0
        self.mask = known.astype(dtype)[:, None]
        self.targets = np.zeros((len(known), task.problem.n_classes), dtype)
        self.targets[known, labels[known]] = 1

    def __call__(self, hidden: np.ndarray, layer: np.ndarray) -> tuple[float, np.ndarray]:
        """ℓ at Z (n, c) and W (d, c), and ∂ℓ/∂Z (n, c), 0 where there is no label."""
        value, residuals = self.of_states(hidden)
        return value + self.penalty(layer), residuals

    def of_rows(self, chosen: np.ndarray) -> Objective:
        """The same for some of the nodes (n), a mask."""
        part = copy.copy(self)
        part.mask, part.targets = self.mask[chosen], self.targets[chosen]
        return part

    def penalty(self, layer: np.ndarray) -> float:
        """(ρ/2)‖W‖²."""
        return 0.5 * self.l2_reg * float(np.sum(np.square(layer), dtype=np.float64))

    def of_states(self, hidden: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum of the losses, and its gradient (n, c)."""
        if self.loss == "mse":
            residuals = hidden * self.mask
            residuals -= self.targets
            return 0.5 * float(np.sum(np.square(residuals), dtype=np.float64)), residuals
        shifted = hidden - hidden.max(axis=1, keepdims=True)
        shares = np.exp(shifted)
        sums = shares.sum(axis=1, keepdims=True)
        value = float(np.sum(self.mask * np.log(sums), dtype=np.float64))
        value -= float(np.sum(self.targets * shifted, dtype=np.float64))
        shares *= self.mask / sums
        shares -= self.targets
        return value, shares


def system(graph: sp.csr_array, graph_reg: float) -> tuple[sp.csr_array, np.ndarray]:
    """S·H·S (n, n), with ones on its diagonal, and S (n): conjugate gradients on it equal those with Jacobi on H."""
    weights = graph.astype(np.float64)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    scales = 1 / np.sqrt(1 + degrees + graph_reg * degrees)  # by the diagonal of D + λL
    weights.data *= -graph_reg * scales[weights.indices] * np.repeat(scales, np.diff(weights.indptr))
    return sp.csr_array(weights + sp.eye_array(len(scales))), scales * np.sqrt(1 + degrees)


def conjugate_gradients(matrix: sp.csr_array, rhs: np.ndarray, tol: float) -> np.ndarray:
    """Columns of a positive definite system, double precision."""
    solution, residuals = np.zeros_like(rhs), rhs.copy()
    squares = np.einsum("ij,ij->j", residuals, residuals)
    goals, direction = tol**2 * squares, residuals.copy()
    for _ in range(10 * len(rhs)):
        if (squares <= goals).all():
            return solution
        product = matrix @ direction
        steps = ratio(squares, np.einsum("ij,ij->j", direction, product))
        solution += steps * direction
        residuals -= steps * product
        new = np.einsum("ij,ij->j", residuals, residuals)
        direction *= ratio(new, squares)
        direction += residuals
        squares = new
    raise RuntimeError("conjugate gradients did not converge")


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Quotients, 0 if the divisor is 0, so that a solved column does not change."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def judged(task: Task, layer: np.ndarray) -> common.Record:
    """ℓ at W (d, c), the norm of its gradient, and a bound on (ℓ − ℓ*)/ℓ.

    ℓ is ρ-strongly convex, so that ℓ − ℓ* ≤ ‖∇ℓ‖²/(2ρ).
    """
    matrix, scales = system(task.problem.graph, task.graph_reg)
    objective = Objective(task, np.float64)

    def solved(rhs: np.ndarray) -> np.ndarray:
        return scales[:, None] * conjugate_gradients(matrix, scales[:, None] * rhs, EXACT)

    layer = np.asarray(layer, np.float64)
    value, residuals = objective(solved(task.problem.features @ layer), layer)
    gradient = task.problem.features.T @ solved(residuals) + objective.l2_reg * layer
    length = float(np.linalg.norm(gradient))
    return {"value": value, "gradient": length, "bound": length**2 / (2 * objective.l2_reg) / value}
