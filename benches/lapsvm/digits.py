"""Digits 3 and 8 of MNIST as one problem: every program is given the same Gram matrix and graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import common

LABELED, VALIDATION = 80, 80
NEIGHBORS, POWER, DEGREE = 20, 3, 9
"""Neighbors of the graph, power of its Laplacian, and degree of the polynomial kernel of unit rows."""
AMBIENT, GRAPH = 1e-2, 1.0


@dataclass(frozen=True)
class Digits:
    """Labeled rows, then unlabeled rows; rows for validation and test as products with these."""

    kernel: np.ndarray
    """K (n, n), f64."""
    weights: sp.csr_matrix
    """Heat weights of the graph."""
    labels: np.ndarray
    """(n): 1 for an 8, −1 for a 3, and 0 where unknown."""
    truth: np.ndarray
    """(n): 1 or −1."""
    others: dict[str, tuple[np.ndarray, np.ndarray]]
    """Kernel (m, n) and true signs (m) of the rows for validation and of those for the test."""


def load(unlabeled: int | None) -> Digits:
    """All rows, or a number of the rows without a label."""
    rows, truth, n_train = _rows()
    order = np.random.default_rng(0).permutation(n_train)
    labeled, held, rest = np.split(order, [LABELED, LABELED + VALIDATION])
    chosen = np.concatenate([labeled, rest[:unlabeled]])
    test = np.arange(n_train, len(rows))
    labels = np.zeros(len(chosen))
    labels[:LABELED] = truth[labeled]
    fitted = rows[chosen]
    others = {name: (_kernel(rows[some], fitted), truth[some]) for name, some in {"V": held, "T": test}.items()}
    return Digits(_kernel(fitted, fitted), _graph(fitted), labels, truth[chosen], others)


def _rows() -> tuple[np.ndarray, np.ndarray, int]:
    """Unit rows, 1 for an 8 and −1 for a 3, and the number of rows before those of the test."""
    with np.load(common.data_file("mnist.npz")) as data:
        images, digits = data["X"], data["y"]
    kept = np.flatnonzero(np.isin(digits, (3, 8)))
    rows = images[kept].astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, np.where(digits[kept] == 8, 1.0, -1.0), int((kept < 60_000).sum())


def _kernel(rows: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    # The power by products, because NumPy's uses logarithms.
    products = rows @ fitted.T
    kernel = products.copy()
    for _ in range(DEGREE - 1):
        kernel *= products
    return kernel


def _graph(rows: np.ndarray) -> sp.csr_matrix:
    return sp.load_npz(common.kept(f"lapsvm-graph-{len(rows)}.npz", lambda path: _write_graph(path, rows)))


def _write_graph(path: Path, rows: np.ndarray) -> None:
    """exp(−d²/(2t²)), where t is the mean distance to a neighbor."""
    from lapwing.graph import kneighbors, knn_graph

    distances, _ = kneighbors(rows, NEIGHBORS)
    width = float(distances[distances > 0].mean())
    graph = knn_graph(rows, NEIGHBORS, weights="gaussian", bandwidth=width, symmetrize="union")
    with path.open("wb") as file:
        sp.save_npz(file, sp.csr_matrix(graph.to_scipy()), compressed=False)
