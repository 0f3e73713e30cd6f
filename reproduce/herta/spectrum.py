"""The steps of plain gradient descent, computed from the singular values of H⁻¹X, because a run would take too long.

With squares and W = 0 at the start, a step of η = 1/ν_max shrinks what is missing in the direction of a singular value s
by 1 − η(s² + ρ), so that after t steps

    ℓ(t) − ℓ* = ½ Σᵢ (1 − η(sᵢ² + ρ))²ᵗ · sᵢ²‖uᵢᵀY‖² / (sᵢ² + ρ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

import sets

CUT = 1e-9
"""Singular values below this share of the largest count as 0."""


@dataclass(frozen=True)
class Spectrum:
    """The least-squares problem in the basis of its singular vectors."""

    eigenvalues: np.ndarray
    """sᵢ² + ρ (r), for sᵢ > 0."""
    excess: np.ndarray
    """The part of each direction in ℓ − ℓ* at W = 0."""
    optimum: float
    """ℓ*."""

    @property
    def condition(self) -> float:
        """Largest over smallest eigenvalue."""
        return float(self.eigenvalues.max() / self.eigenvalues.min())

    def steps(self, level: float) -> int:
        """Steps of gradient descent until (ℓ − ℓ*)/ℓ* is at most `level`, by bisection."""
        low, high = 0, 1
        while self._after(high) > level:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._after(middle) > level else (low, middle)
        return high

    def _after(self, steps: int) -> float:
        shrunk = np.maximum(0, 1 - self.eigenvalues / self.eigenvalues.max()) ** (2.0 * steps)
        return float(shrunk @ self.excess) / self.optimum


def spectrum(data: sets.Data, labels: np.ndarray, graph_reg: float, l2_reg: float) -> Spectrum:
    """Of labeled rows of H⁻¹X (l, d), dense."""
    known = labels >= 0
    degrees = np.asarray(data.graph.sum(axis=1)).ravel()
    roots = np.sqrt(1 + degrees)
    system = sp.diags_array(1 + (1 + graph_reg) * degrees) - graph_reg * data.graph  # D + λL
    solve = sp.linalg.splu(sp.csc_array(system)).solve
    smoothed = roots[:, None] * solve(roots[:, None] * data.features.toarray())
    left, values, _ = scipy.linalg.svd(smoothed[known], full_matrices=False, overwrite_a=True, check_finite=False)
    kept = values > CUT * values[0]
    targets = np.zeros((int(known.sum()), int(labels.max()) + 1))
    targets[np.arange(len(targets)), labels[known]] = 1
    squares = values[kept] ** 2
    gains = squares / (squares + l2_reg) * np.square(left[:, kept].T @ targets).sum(axis=1)
    return Spectrum(squares + l2_reg, 0.5 * gains, 0.5 * float((targets**2).sum() - gains.sum()))
