"""Problems as arrays for all programs: edges and scaled distances, of MNIST and of golden files; and a certificate.

The model is 2zᵀw − Σᵢ log (Sw)ᵢ + ‖w‖² over w ≥ 0 for weights w (m) of the edges and z (m), squared distances times
sparsity θ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import common

ROWS, NEIGHBORS, FACTOR = 60_000, 10, 3
"""Digits, neighbors of each, and allowed neighbors for each of these."""
GOLDEN = common.ROOT / "tests" / "golden"
FILES = ("dense_50", "dense_200", "knn_200", "knn_1000")


@dataclass(frozen=True)
class Problem:
    """A problem of learned weights."""

    edges: np.ndarray
    """(m, 2), the lower end first, sorted."""
    distances: np.ndarray
    """z (m), f64; scaled but for the model l2."""
    n_samples: int


# --- digits ----------------------------------------------------------------------------------------------------------


def digits(rows: int) -> Problem:
    """The first training rows of MNIST and their exact neighbors; kept under `target/` after the first call."""
    with np.load(common.kept(f"graph-learning-{rows}.npz", lambda path: _write(path, rows))) as arrays:
        return Problem(arrays["edges"], arrays["distances"], rows)


def _write(path: Path, rows: int) -> None:
    from lapwing.graph import kneighbors

    with np.load(common.data_file("mnist.npz")) as data:
        images = data["X"][:rows]
    distances, indices = kneighbors(images, FACTOR * NEIGHBORS, method="exact")
    squares = distances.astype(np.float64) ** 2
    edges, allowed = union(indices, squares)
    with path.open("wb") as file:
        np.savez(file, edges=edges, distances=sparsity(squares, NEIGHBORS) * allowed)


def union(indices: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges (m, 2), sorted, of rows of which either is a neighbor of the other, and their squared distances (m)."""
    n, k = indices.shape
    rows, columns = np.repeat(np.arange(n), k), indices.ravel().astype(np.int64)
    keys, first = np.unique(np.minimum(rows, columns) * n + np.maximum(rows, columns), return_index=True)
    return np.stack(np.divmod(keys, n), axis=1).astype(np.int32), squares.ravel()[first]


def sparsity(squares: np.ndarray, n_neighbors: int) -> float:
    """θ for k > 1 neighbors: the geometric mean of both ends of Theorem 2, each averaged over rows."""

    def end(at: int) -> float:
        # z·Σ(z − zᵢ) over the first k; for rows with equal distances this end does not exist.
        last = squares[:, at]
        denominators = last * (last[:, None] - squares[:, :n_neighbors]).sum(axis=1)
        return float(np.mean(1 / np.sqrt(denominators[denominators > 0])))

    return float(np.sqrt(end(n_neighbors) * end(n_neighbors - 1)))


# --- golden files ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Golden:
    """A problem, its optimum, and how near the authors' program came at its defaults."""

    name: str
    model: str
    alpha: float
    """α of the log model, a of the l2 model."""
    problem: Problem
    exact: np.ndarray
    """Weights (m) at the optimum."""
    default_error: float
    default_iterations: str


def golden() -> Iterator[Golden]:
    """Every problem of the files."""
    for name in FILES:
        with np.load(GOLDEN / f"graphlearn_{name}.npz") as arrays:
            yield from (_restricted if name.startswith("knn") else _dense)(name, dict(arrays))


def _restricted(name: str, arrays: dict[str, np.ndarray]) -> Iterator[Golden]:
    problem = _scaled(arrays["X"], arrays["support_edges"], arrays["theta_min_max"][0])
    error, iterations = float(arrays["default_rel_err_to_exact"]), str(arrays["default_iters"])
    yield Golden(f"{name}, k = {arrays['k']}", "log", 1.0, problem, arrays["exact_w"], error, iterations)


def _dense(name: str, arrays: dict[str, np.ndarray]) -> Iterator[Golden]:
    features = arrays["X"]
    pairs = np.stack(np.triu_indices(len(features), 1), axis=1)

    def exact(key: str) -> np.ndarray:
        weights = np.zeros((len(features), len(features)))
        weights[tuple(arrays[f"{key}_exact_edges"].T)] = arrays[f"{key}_exact_w"]
        return weights[tuple(pairs.T)]

    for k in arrays["ks"]:
        problem = _scaled(features, pairs, arrays[f"k{k}_theta_min_max"][0])
        error = float(arrays[f"k{k}_default_rel_err_to_exact"])
        iterations = str(arrays.get(f"k{k}_default_iters", "–"))
        yield Golden(f"{name}, k = {k}", "log", 1.0, problem, exact(f"k{k}"), error, iterations)
    for number in (1, 2, 3):
        if f"l2_{number}_a" in arrays:
            alpha, error = (float(arrays[f"l2_{number}_{key}"]) for key in ("a", "default200_rel_err_to_exact"))
            problem = _scaled(features, pairs, 1.0)
            yield Golden(f"{name}, a = {alpha:g}", "l2", alpha, problem, exact(f"l2_{number}"), error, "200")


def _scaled(features: np.ndarray, edges: np.ndarray, theta: float) -> Problem:
    squares = ((features[edges[:, 0]] - features[edges[:, 1]]) ** 2).sum(axis=1)
    return Problem(edges, theta * squares, len(features))


# --- certificate -----------------------------------------------------------------------------------------------------


def certificate(problem: Problem, weights: np.ndarray) -> common.Record:
    """The gap to D(λ) at λ = 1/Sw, which needs the weights only, over the number of rows and over |P|."""
    low, high = problem.edges.T
    degrees = np.bincount(low, weights, problem.n_samples) + np.bincount(high, weights, problem.n_samples)
    if degrees.min() <= 0:
        return {"objective": np.inf, "gap_of_rows": np.inf, "gap_of_objective": np.inf}
    value = float(2 * problem.distances @ weights - np.log(degrees).sum() + weights @ weights)
    half = 0.5 / degrees
    dual_weights = np.maximum(0, half[low] + half[high] - problem.distances)
    gap = value - float((1 - np.log(degrees)).sum() - dual_weights @ dual_weights)
    return {"objective": value, "gap_of_rows": gap / problem.n_samples, "gap_of_objective": gap / abs(value)}


def on_edges(graph: sp.csr_array, edges: np.ndarray) -> np.ndarray:
    """Weights (m) of sorted edges, 0 where the graph has none."""
    upper = sp.coo_array(sp.triu(graph, 1))
    keys = edges[:, 0].astype(np.int64) * graph.shape[0] + edges[:, 1]
    low, high = (ends.astype(np.int64) for ends in upper.coords)
    at = np.searchsorted(keys, low * graph.shape[0] + high)
    weights = np.zeros(len(edges))
    weights[at] = upper.data
    return weights
