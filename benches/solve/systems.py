"""The systems: graphs, terms on their diagonals, and ten right-hand sides for each.

All are Laplacians L = D − W, or L + diag(g). Made once and kept under `target/bench`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import chimera
import common
import mixture

RIGHT_SIDES = 10


@dataclass(frozen=True)
class System:
    """W and g of (L + diag(g))·X = B. Without g, columns of B sum to zero and solutions are up to a constant."""

    adjacency: sp.csr_matrix
    diagonal: np.ndarray | None
    right_sides: np.ndarray

    @property
    def singular(self) -> bool:
        """Whether constants solve the system without right-hand side."""
        return self.diagonal is None

    def matrix(self) -> sp.csr_matrix:
        """L + diag(g) in CSR with f64."""
        degree = np.asarray(self.adjacency.sum(axis=1)).reshape(-1)
        shift = 0.0 if self.diagonal is None else self.diagonal
        matrix = (sp.diags(degree + shift) - self.adjacency).tocsr()
        matrix.sort_indices()
        return matrix

    def residuals(self, solution: np.ndarray, right_sides: np.ndarray) -> np.ndarray:
        """‖b − A·x‖ / ‖b‖ of each column, from the edges: Σ wᵢⱼ(xᵢ − xⱼ) is exact even if weights differ by many orders."""
        solution, right_sides = np.atleast_2d(solution.T).T, np.atleast_2d(right_sides.T).T
        edges = sp.triu(self.adjacency, format="coo")
        out = []
        for x, b in zip(solution.T, right_sides.T, strict=True):
            flow = edges.data * (x[edges.row] - x[edges.col])
            product = np.bincount(edges.row, flow, len(x)) - np.bincount(edges.col, flow, len(x))
            product += 0.0 if self.diagonal is None else self.diagonal * x
            out.append(np.linalg.norm(b - product) / np.linalg.norm(b))
        return np.array(out)


def load(name: str, orders: int) -> System:
    """A system by name; `orders` is the number of powers of ten over which the weights of the grid spread."""
    make = partial(grid, orders=orders) if name == "grid" else MAKERS[name]
    file = f"system-{name}-{orders}.npz" if name == "grid" else f"system-{name}.npz"
    with np.load(common.kept(file, lambda path: _write(path, make))) as arrays:
        n = len(arrays["indptr"]) - 1
        adjacency = sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
        return System(adjacency, arrays["diagonal"] if "diagonal" in arrays else None, arrays["right_sides"])


def _write(path: Path, make: Callable[[], System]) -> None:
    system = make()
    parts = {key: getattr(system.adjacency, key) for key in ("data", "indices", "indptr")}
    parts |= {} if system.diagonal is None else {"diagonal": system.diagonal}
    with open(path, "wb") as file:
        np.savez(file, right_sides=system.right_sides, **parts)


def harmonic() -> System:
    """Harmonic functions on the 15-nearest-neighbor graph of the curved mixture, 1,000 of its million rows labeled.

    Rows of labeled nodes are cut out; their weights stand on the diagonal and, a column per class, on the right.
    """
    from lapwing.graph import knn_graph

    features, classes = mixture.load()
    weights = knn_graph(features, 15, symmetrize="union", recall_target=0.99, random_state=0).to_scipy().tocsr()
    labeled = np.zeros(len(classes), dtype=bool)
    labeled[np.random.default_rng(1).choice(len(classes), len(classes) // 1000, replace=False)] = True
    component = connected_components(weights, directed=False)[1]
    asked = ~labeled & np.isin(component, component[labeled])
    towards = weights[asked][:, labeled]
    given = np.eye(RIGHT_SIDES)[classes[labeled]]
    inner = sp.csr_matrix(weights[asked][:, asked])
    return System(inner, np.asarray(towards.sum(axis=1)).reshape(-1), np.asarray(towards @ given))


def grid(orders: int, side: int = 1000) -> System:
    """A grid of side × side nodes, weights log-uniform over `orders` powers of ten."""
    rng = np.random.default_rng(2)
    node = np.arange(side * side).reshape(side, side)
    left = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    right = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    return floating(side * side, left, right, 10 ** rng.uniform(-orders / 2, orders / 2, size=len(left)), rng)


def power_law(nodes: int = 1_000_000, each: int = 10) -> System:
    """Preferential attachment (Barabási and Albert): every node brings 10 edges, unit weights, parallel ones added up."""
    rng = np.random.default_rng(3)
    left, right = chimera.attachment(nodes, each, rng)
    return floating(nodes, left, right, np.ones(len(left)), rng)


def woven(weighted: bool, nodes: int = 500_000) -> System:
    """A graph recursively put together from unlike pieces, see `chimera.py`; unit weights, or very unequal ones."""
    rng = np.random.default_rng(9)
    left, right = chimera.chimera(nodes, rng)
    weights = chimera.unequal_weights(nodes, left, right, rng) if weighted else np.ones(len(left))
    return floating(nodes, left, right, weights, rng)


def floating(nodes: int, left: np.ndarray, right: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> System:
    """The Laplacian of given edges, made connected, with random right-hand sides that sum to zero."""
    half = sp.coo_matrix((weights, (left, right)), shape=(nodes, nodes)).tocsr()
    count, component = connected_components(half, directed=False)
    if count > 1:
        first = np.unique(component, return_index=True)[1]
        bridges = sp.coo_matrix((np.full(count - 1, np.median(weights)), (first[:-1], first[1:])), shape=half.shape)
        half = (half + bridges).tocsr()
    right_sides = rng.normal(size=(nodes, RIGHT_SIDES))
    adjacency = sp.csr_matrix(half + half.T)
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    return System(adjacency, None, right_sides - right_sides.mean(axis=0))


MAKERS: dict[str, Callable[[], System]] = {
    "harmonic": harmonic,
    "grid": partial(grid, orders=6),
    "power-law": power_law,
    "chimera": partial(woven, weighted=False),
    "weighted-chimera": partial(woven, weighted=True),
}
TITLES = {
    "harmonic": "Harmonic functions, 15 neighbors of 10⁶ rows, 1,000 labeled",
    "grid": "Grid 1000 × 1000, weights over {orders} powers of ten",
    "power-law": "Preferential attachment, 10⁶ nodes, 10⁷ edges",
    "chimera": "Chimera, 5·10⁵ nodes, unit weights",
    "weighted-chimera": "Chimera, 5·10⁵ nodes, unequal weights",
}
