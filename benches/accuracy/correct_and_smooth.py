"""Correct and Smooth as published (Huang, He, Singh, Lim & Benson 2020), after `outcome_correlation.py` of its authors.

Residuals of a classifier at the labels are propagated by S = D^(−1/2)AD^(−1/2) and added to its shares, scaled row by row
(`autoscale`) or by 1 (`fixed`, where residuals at the labels are kept). Then the shares, with the labels in their rows, are
propagated. Both sequences have 50 steps, with α = 0.8.

The authors tune α, the scale and the kind of S on a validation set of further labels, whose labels also take part in the second
sequence. Here there are none: all methods are given the same labels, and nothing else. 0.8, 0.8 and 1 are the defaults of the
implementation in PyTorch Geometric.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

ALPHA = 0.8
STEPS = 50

Step = Callable[[np.ndarray], np.ndarray]


def correct_and_smooth(graph: sp.csr_array, shown: np.ndarray, shares: np.ndarray, *, autoscale: bool) -> np.ndarray:
    """Corrected and smoothed shares (n, c); `shown` are labels (n), −1 where hidden."""
    given = shown >= 0
    targets = np.eye(shares.shape[1])[shown[given]]
    averages = _normalized(graph)
    errors = np.zeros_like(shares)
    errors[given] = targets - shares[given]

    def keep_errors(block: np.ndarray) -> np.ndarray:
        block[given] = errors[given]
        return block

    spread = _propagated(averages, errors, (lambda block: np.clip(block, -1, 1)) if autoscale else keep_errors)
    corrected = shares + (_scale(errors[given], spread) if autoscale else 1.0) * spread
    corrected[given] = targets
    return _propagated(averages, corrected, lambda block: np.clip(block, 0, 1))


def _scale(errors: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Factor (n, 1) that gives the spread errors of a row the mean size of the errors; 1 where they are near 0."""
    sizes = np.abs(spread).sum(axis=1, keepdims=True)
    mean = np.abs(errors).sum() / len(errors)
    scale = np.divide(mean, sizes, out=np.ones_like(sizes), where=sizes > 0)
    return np.where(scale > 1000, 1.0, scale)


def _propagated(averages: sp.csr_array, start: np.ndarray, after: Step) -> np.ndarray:
    block = start.copy()
    for _ in range(STEPS):
        block = after(ALPHA * (averages @ block) + (1 - ALPHA) * start)
    return block


def _normalized(graph: sp.csr_array) -> sp.csr_array:
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = sp.diags_array(np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0))
    return sp.csr_array(scale @ graph @ scale)
