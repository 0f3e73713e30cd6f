"""The problems: a graph, features and labels as arrays, generated here or read from data sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import common

SHARE = 0.8
"""Labeled nodes."""
SHARES = (0.45, 0.2, 0.35)
"""Shares of edges: within a community, within a class, and between any two nodes."""
COMMUNITY = 300
"""Mean number of nodes of a community, which is part of a class."""
TAIL = 1.8
"""Exponent of the tail of the degrees, P(degree > x) ∝ x^−TAIL."""
SETS = ("cora", "dblp", "coauthor_cs", "coauthor_physics")


@dataclass(frozen=True)
class Problem:
    """A graph whose nodes have features and, in part, classes."""

    graph: sp.csr_array
    """Symmetric weights (n, n), f32, without loops."""
    features: Any
    """(n, d), f32, an array or a `csr_array`."""
    labels: np.ndarray
    """(n), −1 where unlabeled."""

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def about(self) -> str:
        """Its sizes, in words."""
        n, d = self.features.shape
        sizes = f"{n:,} nodes, {self.graph.nnz // 2:,} edges, {d:,} features, {self.n_classes} classes"
        return f"{sizes}, {(self.labels >= 0).sum():,} labels"


@dataclass(frozen=True)
class Shape:
    """Sizes of a generated problem."""

    n_nodes: int
    n_edges: int
    n_features: int
    n_classes: int

    @property
    def name(self) -> str:
        """As `named` takes it."""
        return f"{self.n_nodes}-{self.n_edges}-{self.n_features}-{self.n_classes}"


ARXIV = Shape(170_000, 1_200_000, 128, 40)
"""Sizes of a well-known graph of citations."""


def named(name: str) -> Problem:
    """A data set, or a shape by its four numbers; generated problems are kept under `target/`."""
    return _of_set(name) if name in SETS else made(Shape(*map(int, name.split("-"))))


def adjacency(edges: np.ndarray, n_nodes: int) -> sp.csr_array:
    """Unit weights of edges (m, 2)."""
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    graph = sp.csr_array((np.ones(2 * len(edges), np.float32), (rows, columns)), shape=(n_nodes, n_nodes))
    return narrow(graph)


def narrow(matrix: sp.csr_array) -> sp.csr_array:
    """The same matrix with indices of 32 bits: with mixed widths, SciPy copies them at every product."""
    indices, starts = (part.astype(np.int32) for part in (matrix.indices, matrix.indptr))
    return sp.csr_array((matrix.data, indices, starts), shape=matrix.shape)


def hidden(classes: np.ndarray) -> np.ndarray:
    """Labels (n): SHARE of the nodes that have a class keep it, the others get −1."""
    known = np.flatnonzero(classes >= 0)
    chosen = np.random.default_rng(1).permutation(known)[: round(SHARE * len(known))]
    labels = np.full(len(classes), -1)
    labels[chosen] = classes[chosen]
    return labels


# --- data sets -------------------------------------------------------------------------------------------------------


def _of_set(name: str) -> Problem:
    """Rows of unit length."""
    with np.load(common.data_file(f"{name}.npz")) as data:
        parts = (data["X_data"].astype(np.float32), data["X_indices"], data["X_indptr"])
        rows = narrow(sp.csr_array(parts, shape=tuple(data["X_shape"])))
        edges, classes = data["edges"], data["y"]
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(np.maximum(lengths, 1e-30), np.diff(rows.indptr)).astype(np.float32)
    return Problem(adjacency(edges, len(classes)), rows, hidden(classes))


# --- generated problems ----------------------------------------------------------------------------------------------


def made(shape: Shape) -> Problem:
    """Communities within classes, noise edges between any two nodes, degrees with a heavy tail.

    Features are a vector of the class, one of the community, one of the node and one that all share, all Gaussian.
    Standard deviations fall as 1/√j in a random orthogonal basis: columns are correlated, as those of embeddings are.
    """
    with np.load(common.kept(f"unfolded-{shape.name}.npz", lambda path: _write(path, shape))) as arrays:
        return Problem(adjacency(arrays["edges"], shape.n_nodes), arrays["features"], hidden(arrays["classes"]))


def _write(path: Path, shape: Shape) -> None:
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, shape.n_classes + 1) ** 0.7
    classes = rng.choice(shape.n_classes, shape.n_nodes, p=shares / shares.sum())
    counts = np.maximum(1, np.bincount(classes, minlength=shape.n_classes) // COMMUNITY)
    firsts = np.cumsum(counts) - counts
    communities = firsts[classes] + rng.integers(0, counts[classes])
    edges = _edges(rng, shape, [communities, classes, np.zeros_like(classes)])
    features = _features(rng, shape, communities, classes)
    with path.open("wb") as file:
        np.savez(file, edges=edges, features=features, classes=classes)


def _edges(rng: np.random.Generator, shape: Shape, groupings: list[np.ndarray]) -> np.ndarray:
    """Distinct pairs (m, 2), the lower end first, of nodes in the same group of one of the groupings."""
    activity = rng.random(shape.n_nodes) ** (-1 / TAIL)
    keys = np.empty(0, np.int64)
    while len(keys) < shape.n_edges:
        # More than are missing, because many are drawn twice.
        counts = rng.multinomial(2 * (shape.n_edges - len(keys)) + 100, SHARES)
        ends = [_pairs(rng, activity, groups, count) for groups, count in zip(groupings, counts, strict=True)]
        low, high = np.sort(np.concatenate(ends, axis=1), axis=0)
        keys = np.union1d(keys, (low * shape.n_nodes + high)[low < high])
    chosen = np.sort(rng.permutation(keys)[: shape.n_edges])
    return np.stack(np.divmod(chosen, shape.n_nodes), axis=1).astype(np.int32)


def _pairs(rng: np.random.Generator, activity: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Nodes (2, count), each in proportion to its activity, the second of the group of the first."""
    order = np.argsort(groups, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(activity[order])])
    ends = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))

    def drawn(low: Any, high: Any) -> np.ndarray:
        at = np.searchsorted(sums, low + rng.random(count) * (high - low), side="right") - 1
        return order[np.clip(at, 0, len(order) - 1)]

    first = drawn(0.0, sums[-1])
    return np.stack([first, drawn(sums[ends[groups[first]]], sums[ends[groups[first] + 1]])])


def _features(rng: np.random.Generator, shape: Shape, communities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    d = shape.n_features
    deviations = 1 / np.sqrt(np.arange(1, d + 1))
    basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
    turned = (deviations[:, None] * basis).astype(np.float32)
    shared = rng.standard_normal((1, d), np.float32)
    of_class = rng.standard_normal((shape.n_classes, d), np.float32)
    of_community = rng.standard_normal((int(communities.max()) + 1, d), np.float32)
    rows = rng.standard_normal((shape.n_nodes, d), np.float32)
    rows += 0.5 * of_class[classes] + 0.5 * of_community[communities] + shared
    return rows @ turned
