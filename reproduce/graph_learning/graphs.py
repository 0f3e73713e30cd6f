"""The graphs that are compared, from the same neighbors and with equal numbers of edges.

The number of neighbors k does not determine the number of edges: the graph of the k nearest has an edge if either row is
a neighbor of the other, and a learned graph chooses its edges. So k is found by bisection, such that the mean degree is
as near to the wanted one as a whole k allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import common
import results

FACTOR = 3
"""Allowed neighbors of a learned graph for each neighbor."""
KINDS = ("kNN, binary", "kNN, gaussian", "kNN, self-tuning", "log", "l2")
CURVES = results.Curves(*KINDS)
LEARNED = ("log", "l2")


@dataclass(frozen=True)
class Neighbors:
    """Rows and their nearest others, exact: both (n, K), nearest first."""

    rows: np.ndarray
    indices: np.ndarray
    squares: np.ndarray
    """Squared distances, f64."""


@dataclass(frozen=True)
class Found:
    """A graph and its parameters."""

    weights: sp.csr_array
    n_neighbors: int

    @property
    def mean_degree(self) -> float:
        """Edges at a row, 2m/n."""
        return self.weights.nnz / self.weights.shape[0]

    @property
    def sizes(self) -> common.Record:
        """Entries of a record."""
        return {"n_neighbors": self.n_neighbors, "mean_degree": self.mean_degree}


def neighbors(name: str, rows: np.ndarray, most: int) -> Neighbors:
    """At least FACTOR × `most` neighbors of each row; kept under `target/` after the first call."""

    def write(path: Path) -> None:
        from lapwing.graph import kneighbors

        distances, indices = kneighbors(rows, min(FACTOR * most, len(rows) - 1), method="exact")
        with path.open("wb") as file:
            np.savez(file, distances=distances, indices=indices)

    with np.load(common.kept(f"neighbors-{name}-{len(rows)}-{FACTOR * most}.npz", write)) as arrays:
        return Neighbors(rows, arrays["indices"], arrays["distances"].astype(np.float64) ** 2)


def matched(kind: str, table: Neighbors, degree: float) -> Found:
    """The graph of a kind with the closest mean degree."""
    most = table.indices.shape[1] // FACTOR
    if kind in LEARNED:
        return _nearest(lambda k: learned(kind, table, k), degree, most)
    k = _nearest(lambda k: Found(_pattern(table, k), k), degree, most).n_neighbors
    return Found(_weighted(table.rows, k, kind.partition(", ")[2]), k)


def _nearest(make: Callable[[int], Found], degree: float, most: int) -> Found:
    """The least k that reaches the degree, by bisection, or the k before it."""
    made: dict[int, Found] = {}
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        made[middle] = make(middle)
        low, high = (middle + 1, high) if made[middle].mean_degree < degree else (low, middle)
    made.setdefault(low, make(low))
    return min(made.values(), key=lambda found: (abs(found.mean_degree - degree), found.n_neighbors))


def learned(model: str, table: Neighbors, n_neighbors: int) -> Found:
    """A learned graph that may use the nearest FACTOR × `n_neighbors`."""
    from lapwing.graph import GraphLearner

    allowed = FACTOR * n_neighbors
    learner = GraphLearner(n_neighbors, model=model, support_factor=float(FACTOR))
    fitted = learner.fit((table.indices[:, :allowed], table.squares[:, :allowed]))
    return Found(fitted.graph_.to_scipy(), n_neighbors)


def _pattern(table: Neighbors, k: int) -> sp.csr_array:
    """1 where either row is a neighbor of the other."""
    n = len(table.indices)
    named = (np.ones(n * k), table.indices[:, :k].ravel(), np.arange(0, n * k + 1, k))
    directed = sp.csr_array(named, shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


def _weighted(rows: np.ndarray, k: int, weights: str) -> sp.csr_array:
    from lapwing.graph import knn_graph

    options: dict[str, Any] = {"weights": weights, "symmetrize": "union", "knn_method": "exact"}
    return knn_graph(rows, k, **options).to_scipy()
