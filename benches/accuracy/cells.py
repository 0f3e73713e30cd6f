"""The cells of the table of accuracy: a subset of a data set, and which of its labels are shown.

A draw takes at most 5,000 rows of a set, without replacement, and leaves out classes with fewer than 40 of them, so that
rows without a label remain when thirty of each class have one. A draw depends only on the name of the set and its own
number. All methods are given the same rows, in the same order and scale.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

import common
import numpy as np
import scipy.sparse as sp

Rows = Any
"""Rows (n, d): a dense array, or a CSR matrix of scipy."""

ROWS = 5000
"""Rows of a draw, where a set has as many."""
FEWEST = 40
"""Rows a class needs in a draw to take part."""

IMAGE, TABLE, TEXT = "pixels from 0 to 1", "standardized columns", "term counts"
AS_IT_IS = "as it is"
SCALES = {
    "mnist": IMAGE,
    "fashion_mnist": IMAGE,
    "usps": IMAGE,
    "coil20": IMAGE,
    "isolet": AS_IT_IS,
    "g50c": AS_IT_IS,
    "protein_val": AS_IT_IS,
    "covertype_93k": AS_IT_IS,
    "cover_2class": TABLE,
    "kddcup99_10pct": TABLE,
    "skin": IMAGE,
    "ijcnn1": AS_IT_IS,
    "magic_gamma": AS_IT_IS,
    "donors": AS_IT_IS,
    "pcmac": TEXT,
    "newsgroups20": TEXT,
    "trec07p_half": TEXT,
    "enron_spam": TEXT,
    "imdb": TEXT,
}
"""The sets, with the scaling of their rows. Tables whose columns share a unit are not scaled."""
SETS = list(SCALES)

CELLS = ["1", "5", "30", "5c", "20c"]
"""Numbers of labels of each class; or factors of the number of classes, for labels drawn at random."""


def load(name: str, draw: int) -> tuple[Rows, np.ndarray]:
    """Rows (n, d) of one draw, in their scale, and all their classes 0..c−1 (n)."""
    features, classes = _whole(name)
    rows = np.sort(_rng(name, draw, 0).permutation(len(classes))[:ROWS])
    kept, counts = np.unique(classes[rows], return_counts=True)
    rows = rows[np.isin(classes[rows], kept[counts >= FEWEST])]
    return _scaled(features[rows], SCALES[name]), np.unique(classes[rows], return_inverse=True)[1]


GRAPHS = ["cora", "citeseer", "coauthor_cs", "dblp", "amazon_photo", "amazon_computers", "facebook_pages"]
"""Graphs whose nodes have features."""
STANDARD = ["cora", "citeseer"]
"""Graphs with a published split, the cell `standard`."""


@functools.lru_cache(maxsize=1)
def load_graph(name: str) -> tuple[Rows, np.ndarray, sp.csr_matrix, np.ndarray]:
    """Features (n, d), classes (n), graph (n, n) and the part of a published split (n) of the nodes whose class is known.

    Parts are 0 for training, 1 for validation, 2 for test, and −1 for the others.
    """
    with np.load(common.data_file(f"{name}.npz")) as arrays:
        features, classes, edges = _features(arrays), arrays["y"], arrays["edges"]
        part = np.full(len(classes), -1)
        for number, which in enumerate(("train_mask", "val_mask", "test_mask")):
            if which in arrays:
                part[arrays[which]] = number
    known = np.flatnonzero(classes >= 0)
    one_way = sp.coo_matrix((np.ones(len(edges)), edges.T), shape=(len(classes),) * 2)
    graph = (one_way + one_way.T).tocsr()[known][:, known]
    return features[known], np.unique(classes[known], return_inverse=True)[1], graph, part[known]


def labels(name: str, cell: str, draw: int, classes: np.ndarray | None = None) -> np.ndarray:
    """Labels (n) of a cell, −1 where hidden; `classes` as `load` returns them spares loading them again."""
    if classes is None:
        classes = load(name, draw)[1]
    if cell == "standard":
        return np.where(load_graph(name)[3] == 0, classes, -1)
    if cell.endswith("c"):
        return at_random(classes, int(cell[:-1]) * (int(classes.max()) + 1), _rng(name, draw, 2))
    return of_each_class(classes, int(cell), _rng(name, draw, 1))


def of_each_class(classes: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """A number of labels of each class; with the same generator, a larger number includes a smaller one."""
    order = rng.permutation(len(classes))
    return _show(classes, np.concatenate([order[classes[order] == one][:count] for one in np.unique(classes)]))


def at_random(classes: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """A number of labels of any class, drawn again until there is one of each.

    If a thousand draws all miss a class, the first row of every class in the last draw is taken, then further rows of it.
    """
    n_classes = len(np.unique(classes))
    for _ in range(1000):
        order = rng.permutation(len(classes))
        if len(np.unique(classes[order[:count]])) == n_classes:
            return _show(classes, order[:count])
    first = np.sort(np.unique(classes[order], return_index=True)[1])
    others = np.setdiff1d(np.arange(len(order)), first)[: count - n_classes]
    return _show(classes, order[np.concatenate([first, others])])


def _show(classes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    shown = np.full(len(classes), -1, dtype=np.int64)
    shown[rows] = classes[rows]
    return shown


@functools.lru_cache(maxsize=1)
def _whole(name: str) -> tuple[Rows, np.ndarray]:
    """All rows with a known class that are not empty."""
    with np.load(common.data_file(f"{name}.npz")) as arrays:
        features, classes = _features(arrays), arrays["y"]
    known = classes >= 0
    if SCALES[name] == TEXT:
        known &= np.diff(features.indptr) > 0
    elif sp.issparse(features):
        features = features.toarray()
    return features[known], classes[known]


def _features(arrays: Any) -> Rows:
    if "X" in arrays:
        return arrays["X"]
    parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
    return sp.csr_matrix(parts, shape=tuple(arrays["X_shape"]))


def _scaled(features: Rows, scale: str) -> Rows:
    if scale == TEXT:
        return features
    rows = features.astype(np.float32)
    if scale == IMAGE and features.dtype == np.uint8:
        rows /= 255
    if scale == TABLE:
        exact = features.astype(np.float64)
        spread = exact.std(axis=0)
        rows = ((exact - exact.mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)
    return rows


def _rng(name: str, draw: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(name.encode()), draw, purpose])
