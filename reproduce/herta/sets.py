"""The data sets: graphs whose nodes are texts, with rows of features that sum to 1, and which labels are shown.

Cora and Citeseer are the paper's. DBLP and Coauthor CS stand in for Pubmed, whose features are not at hand, and Coauthor
Physics for ogbn-arxiv.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import common

SETS = {
    "Cora": "cora.npz",
    "Citeseer": "citeseer.npz",
    "DBLP": "dblp.npz",
    "Coauthor CS": "coauthor_cs.npz",
    "Coauthor Physics": "coauthor_physics.npz",
}
DENSE = {
    "Amazon Photo": "amazon_photo.npz",
    "Amazon Computers": "amazon_computers.npz",
    "BlogCatalog": "blogcatalog.npz",
    "Flickr": "flickr.npz",
}
"""Graphs of 31 to 66 edges at a node; none is in the paper."""
STANDS_FOR = {"DBLP": "Pubmed", "Coauthor CS": "Pubmed", "Coauthor Physics": "ogbn-arxiv"}
SMALL = ("Cora",)
WIDE = ("Coauthor CS", "Coauthor Physics")
"""Sets of many features: 6,805 and 8,415."""
DEPENDENT = ("Coauthor Physics",)
"""Sets with smoothed words that are linearly dependent at the labeled nodes, up to rounding."""
SHARE = 0.8
"""Labeled nodes."""


@dataclass(frozen=True)
class Data:
    """A graph, its features and classes."""

    graph: sp.csr_array
    """Unit weights (n, n)."""
    features: sp.csr_array
    """(n, d), f64, rows of sum 1 or empty."""
    classes: np.ndarray
    """(n), −1 where unknown."""
    parts: dict[str, np.ndarray]
    """Masks (n) of the standard split, "train", "val" and "test", if the data set has one."""


def files(names: Iterable[str] = tuple(SETS)) -> tuple[str, ...]:
    """Files of these sets in the directory of the data."""
    return tuple((SETS | DENSE)[name] for name in names)


def chosen(small: bool) -> tuple[str, ...]:
    """The sets of an experiment."""
    return SMALL if small else tuple(SETS)


def load(name: str) -> Data:
    """A data set."""
    with np.load(common.data_file((SETS | DENSE)[name])) as data:
        n = len(data["y"])
        rows, columns = np.concatenate([data["edges"], data["edges"][:, ::-1]]).T
        graph = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
        parts = (data["X_data"].astype(np.float64), data["X_indices"], data["X_indptr"])
        features = sp.csr_array(parts, shape=tuple(data["X_shape"]))
        masks = {part: data[f"{part}_mask"] for part in ("train", "val", "test") if f"{part}_mask" in data}
        classes = data["y"]
    sums = np.asarray(features.sum(axis=1)).ravel()
    features.data /= np.repeat(np.where(sums == 0, 1, sums), np.diff(features.indptr))
    return Data(graph, features, classes, masks)


def generated(n_nodes: int, degree: int, n_features: int, seed: int = 0) -> Data:
    """Ten classes, 70 % of the edges inside one; Gaussian columns around the mean of the class, the j-th of size 1/j²."""
    rng = np.random.default_rng(seed)
    classes = np.sort(rng.integers(10, size=n_nodes))
    starts = np.searchsorted(classes, np.arange(11))
    first = rng.integers(n_nodes, size=n_nodes * degree // 2)
    low, high = starts[classes[first]], starts[classes[first] + 1]
    inside = rng.random(len(first)) < 0.7
    second = np.where(inside, rng.integers(low, high), rng.integers(n_nodes, size=len(first)))
    first, second = first[first != second], second[first != second]
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = sp.csr_array(sp.coo_array((np.ones(2 * len(first)), ends), shape=(n_nodes, n_nodes)))
    graph.data[:] = 1
    rows = 0.3 * rng.standard_normal((10, n_features))[classes] + rng.standard_normal((n_nodes, n_features))
    return Data(graph, sp.csr_array(rows / np.arange(1, n_features + 1) ** 2), classes, {})


def shown(classes: np.ndarray, draw: int) -> np.ndarray:
    """Labels (n): SHARE of the nodes that have a class keep it, the others get −1."""
    known = np.flatnonzero(classes >= 0)
    drawn = np.random.default_rng(draw).permutation(known)[: round(SHARE * len(known))]
    labels = np.full(len(classes), -1)
    labels[drawn] = classes[drawn]
    return labels
