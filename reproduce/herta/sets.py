"""The data sets: graphs whose nodes are texts, with rows of features that sum to 1, and which labels are shown.

Cora and Citeseer are the paper's; its Pubmed and ogbn-arxiv are not among them.
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
    return tuple(SETS[name] for name in names)


def chosen(small: bool) -> tuple[str, ...]:
    """The sets of an experiment."""
    return SMALL if small else tuple(SETS)


def load(name: str) -> Data:
    """A data set."""
    with np.load(common.data_file(SETS[name])) as data:
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


def shown(classes: np.ndarray, draw: int) -> np.ndarray:
    """Labels (n): SHARE of the nodes that have a class keep it, the others get −1."""
    known = np.flatnonzero(classes >= 0)
    drawn = np.random.default_rng(draw).permutation(known)[: round(SHARE * len(known))]
    labels = np.full(len(classes), -1)
    labels[drawn] = classes[drawn]
    return labels
