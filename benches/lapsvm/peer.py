"""Laplacian SVM and LapRLSC in NumPy, as an experienced programmer would write them; independent of lapwing.

The algorithms of Melacci & Belkin (JMLR 2011) for one problem of two classes, in double precision throughout:
preconditioned conjugate gradients with exact line search that stop when labels are stable, Newton's method by an n × n
system in each step, the closed form of LapRLSC, and the dual by scikit-learn's SVC. The Gram matrix and the Laplacian
are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

Array = np.ndarray


@dataclass(frozen=True)
class Problem:
    """½(Σ loss + γ_A·αᵀKα + γ_I·αᵀK·Lᵖ·Kα) with the squared hinge, or squares, as loss over the labeled rows."""

    kernel: Array
    """K (n, n), C-contiguous f64."""
    laplacian: sp.csr_matrix
    labels: Array
    """(n): 1 or −1, and 0 where unknown."""
    ambient: float
    graph: float
    power: int = 1

    def smoothed(self, values: Array) -> Array:
        """Lᵖ·values by p products, because Lᵖ would be dense."""
        for _ in range(self.power):
            values = self.laplacian @ values
        return values

    def objective(self, coefficients: Array, bias: float, squares: bool = False) -> float:
        """The objective, computed from α with a product with K."""
        scores = self.kernel @ coefficients
        known = np.flatnonzero(self.labels)
        margins = 1 - self.labels[known] * (scores[known] + bias)
        loss = margins if squares else np.maximum(0, margins)
        inner = self.ambient * (coefficients @ scores) + self.graph * (scores @ self.smoothed(scores))
        return 0.5 * float(loss @ loss + inner)


@dataclass(frozen=True)
class Solution:
    """f(x) = Σ αⱼ·k(xⱼ, x) + b."""

    coefficients: Array
    bias: float
    scores: Array
    """f (n) of the rows, bias and all."""
    n_iter: int


def normalized_laplacian(weights: sp.csr_matrix) -> sp.csr_matrix:
    """I − D^(−1/2) W D^(−1/2); rows without an edge are those of I."""
    degree = np.asarray(weights.sum(axis=1)).ravel()
    scale = sp.diags_array(np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
    return sp.csr_matrix(sp.eye_array(len(degree)) - scale @ weights @ scale)


# --- conjugate gradients ---------------------------------------------------------------------------------------------

Stop = Callable[[Array, Array, float], bool]
"""Whether to stop, by scores (n) with the bias, coefficients and the bias; called every ½√n iterations."""


def stability(labels: Array, most: float = 0.015) -> Stop:
    """Stop when the share of unlabeled rows that changed sign since the last call is below `most`."""
    hidden = np.flatnonzero(labels == 0)
    before = np.zeros(len(hidden))

    def stop(scores: Array, _: Array, __: float) -> bool:
        nonlocal before
        now = np.sign(scores[hidden])
        changed, before = np.mean(now != before), now
        return bool(changed < most)

    return stop


def validation(kernel: Array, labels: Array) -> Stop:
    """Stop unless at least one more validation row is right; their `kernel` (v, n) and `labels` (v), 1 or −1."""
    before = 1.0

    def stop(_: Array, coefficients: Array, bias: float) -> bool:
        nonlocal before
        last, before = before, float(np.mean(labels * (kernel @ coefficients + bias) <= 0))
        return before > last - 1 / len(labels)

    return stop


def both(*stops: Stop) -> Stop:
    """Stop when all rules would stop at the same check."""
    return lambda *state: all([stop(*state) for stop in stops])


def never(*_: object) -> bool:
    return False


def conjugate_gradients(
    problem: Problem, stop: Stop = never, bias: bool = False, squares: bool = False, max_iter: int = 200
) -> Solution:
    """Directions in the space of coefficients, preconditioned by K: one product with K and one with Lᵖ an iteration."""
    kernel, y, n = problem.kernel, problem.labels, len(problem.labels)
    known = np.flatnonzero(y)
    search = _LineSearch(y[known], squares)
    every = max(1, round(math.sqrt(n) / 2))
    alpha, scores, smooth, b = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
    # The first residuals are the labels, so that few columns of K are enough.
    gradient, gradient_b = y.astype(float), float(y.sum()) if bias else 0.0
    k_gradient = kernel[:, known] @ gradient[known]
    direction, direction_b, k_direction = gradient.copy(), gradient_b, k_gradient.copy()
    for t in range(1, max_iter + 1):
        l_k_direction = problem.smoothed(k_direction)
        left = problem.ambient * (direction @ scores) + problem.graph * (k_direction @ smooth)
        right = problem.ambient * (direction @ k_direction) + problem.graph * (k_direction @ l_k_direction)
        step = search.step(scores[known] + b, k_direction[known] + direction_b, left, right)
        if step <= 0:
            return Solution(alpha, b, scores + b, t - 1)
        alpha += step * direction
        b += step * direction_b
        scores += step * k_direction
        smooth += step * l_k_direction
        residuals = search.residuals(scores[known] + b)
        new = -problem.ambient * alpha - problem.graph * smooth
        new[known] -= residuals
        new_b = -float(residuals.sum()) if bias else 0.0
        if t == max_iter or (t % every == 0 and stop(scores + b, alpha, b)):
            break
        k_new = kernel @ new
        above = k_new @ (new - gradient) + new_b * (new_b - gradient_b)
        ratio = max(0.0, above / (k_gradient @ gradient + gradient_b**2))
        direction *= ratio
        direction += new
        k_direction *= ratio
        k_direction += k_new
        direction_b = ratio * direction_b + new_b
        gradient, gradient_b, k_gradient = new, new_b, k_new
    return Solution(alpha, b, scores + b, t)


class _LineSearch:
    """The exact minimum along a direction, of a piecewise quadratic function."""

    def __init__(self, labels: Array, squares: bool) -> None:
        self.labels, self.squares = labels, squares

    def residuals(self, scores: Array) -> Array:
        """f − y of the error vectors, 0 of the others."""
        residuals = scores - self.labels
        return residuals if self.squares else np.where(self.labels * residuals < 0, residuals, 0.0)

    def step(self, scores: Array, slopes: Array, left: float, right: float) -> float:
        """The step s at which the derivative, left + s·right plus that of the loss, is 0; 0 if there is no descent."""
        y = self.labels
        away = scores - y
        # At the kink, a row is an error vector if it moves inwards.
        errors = (y * away < 0) | ((away == 0) & (y * slopes < 0)) | self.squares
        first, second = slopes * away, slopes * slopes
        left, right = left + first[errors].sum(), right + second[errors].sum()
        if left >= 0 or right <= 0:
            return 0.0
        if self.squares:
            return float(-left / right)
        breaks = np.divide(-away, slopes, out=np.zeros_like(away), where=slopes != 0)
        order = np.flatnonzero((breaks > 0) & np.isfinite(breaks))
        order = order[np.argsort(breaks[order])]
        enters = np.where(errors[order], -1, 1)
        lefts = left + np.concatenate([[0.0], np.cumsum(enters * first[order])])
        rights = right + np.concatenate([[0.0], np.cumsum(enters * second[order])])
        beyond = np.flatnonzero(lefts[:-1] + breaks[order] * rights[:-1] >= 0)
        piece = beyond[0] if len(beyond) else len(order)
        return float(-lefts[piece] / rights[piece])


# --- systems of n equations ------------------------------------------------------------------------------------------


def newton(problem: Problem, bias: bool = False, max_iter: int = 200) -> Solution:
    """Newton's method: (I_E·K + γ_A·I + γ_I·Lᵖ·K)·α = I_E·(y − b) for the error vectors E until they stay."""
    y = problem.labels
    known = np.flatnonzero(y)
    base = _smooth_system(problem, 1.0)
    errors = known
    for t in range(1, max_iter + 1):
        solution = _step(problem, base, errors, bias, t)
        now = known[y[known] * solution.scores[known] < 1]
        if np.array_equal(now, errors):
            break
        errors = now
    return solution


def ridge(problem: Problem, bias: bool = False) -> Solution:
    """LapRLSC: the same system once, with all labeled rows."""
    return _step(problem, _smooth_system(problem, 1.0), np.flatnonzero(problem.labels), bias, 1)


def dual(problem: Problem) -> Solution:
    """The hinge instead of its square, with C = 1 and a bias, which SVC always has."""
    from sklearn.svm import SVC

    y = problem.labels
    known = np.flatnonzero(y)
    targets = np.zeros((len(y), len(known)))
    targets[known, np.arange(len(known))] = 1
    columns = _solved(_smooth_system(problem, 2.0), targets)
    gram = problem.kernel[known] @ columns
    machine = SVC(C=1.0, kernel="precomputed").fit((gram + gram.T) / 2, y[known])
    coefficients = columns[:, machine.support_] @ machine.dual_coef_[0]
    bias = float(machine.intercept_[0])
    return Solution(coefficients, bias, problem.kernel @ coefficients + bias, int(machine.n_iter_[0]))


def _smooth_system(problem: Problem, factor: float) -> Array:
    """factor·(γ_A·I + γ_I·Lᵖ·K)."""
    system = problem.smoothed(problem.kernel)
    system *= factor * problem.graph
    np.einsum("ii->i", system)[:] += factor * problem.ambient
    return system


def _step(problem: Problem, base: Array, errors: Array, bias: bool, t: int) -> Solution:
    """One Newton step; b follows from Σ_E (f + b − y) = 0, which holds for any Laplacian."""
    system = base.copy()
    system[errors] += problem.kernel[errors]
    targets = np.zeros((len(base), 1 + bias))
    targets[errors, 0] = problem.labels[errors]
    targets[errors, 1:] = 1
    parts = _solved(system, targets)
    products = problem.kernel @ parts
    alpha, scores, b = parts[:, 0], products[:, 0], 0.0
    if bias:
        b = float((problem.labels[errors] - scores[errors]).sum() / (1 - products[errors, 1]).sum())
        alpha, scores = alpha - b * parts[:, 1], scores - b * products[:, 1] + b
    return Solution(alpha, b, scores, t)


def _solved(system: Array, targets: Array) -> Array:
    """Overwrites the system. LAPACK takes its transpose without a copy."""
    factors = scipy.linalg.lu_factor(system.T, overwrite_a=True, check_finite=False)
    return scipy.linalg.lu_solve(factors, targets, trans=1, check_finite=False)
