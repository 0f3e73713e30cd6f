"""Ten classes of handwritten digits at once: Newton's method, Gram matrix and graph given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

import common
import peer

ROWS, PER_CLASS = 3000, 10
NEIGHBORS, POWER, WIDTH = 10, 2, 9.4
AMBIENT, GRAPH = 1e-2, 1.0


def load() -> tuple[np.ndarray, sp.csr_matrix, np.ndarray]:
    """Gram matrix (n, n), heat weights of the graph, and classes, −1 where unknown."""
    from lapwing.graph import kneighbors, knn_graph

    with np.load(common.data_file("usps.npz")) as data:
        chosen = np.random.default_rng(0).permutation(len(data["y"]))[:ROWS]
        rows, classes = 2.0 * data["X"][chosen] - 1, data["y"][chosen]
    squares = (rows**2).sum(axis=1)
    kernel = np.exp(-np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0) / (2 * WIDTH**2))
    distances, _ = kneighbors(rows, NEIGHBORS)
    graph = knn_graph(rows, NEIGHBORS, weights="gaussian", bandwidth=float(distances.mean()), symmetrize="union")
    shown = np.full(ROWS, -1)
    for one in range(10):
        shown[np.flatnonzero(classes == one)[:PER_CLASS]] = one
    return kernel, sp.csr_matrix(graph.to_scipy()), shown


def lapwing(kernel: np.ndarray, weights: sp.csr_matrix, shown: np.ndarray) -> Callable[[], list[float]]:
    """One fit of all classes; the objective of each."""
    from lapwing import LaplacianSVC

    machine = LaplacianSVC(
        "precomputed", ambient_reg=AMBIENT, graph_reg=GRAPH, laplacian_power=POWER, solver="newton"
    )
    return lambda: machine.fit(kernel, shown, graph=weights).objective_.tolist()


def numpy(kernel: np.ndarray, weights: sp.csr_matrix, shown: np.ndarray) -> Callable[[], list[float]]:
    """A problem for each class against the rest."""
    laplacian = peer.normalized_laplacian(weights)

    def problem(one: int) -> peer.Problem:
        labels = np.where(shown < 0, 0.0, np.where(shown == one, 1.0, -1.0))
        return peer.Problem(kernel, laplacian, labels, AMBIENT, GRAPH, POWER)

    def run() -> list[float]:
        found = [(one, peer.newton(problem(one))) for one in range(10)]
        return [problem(one).objective(solution.coefficients, solution.bias) for one, solution in found]

    return run
