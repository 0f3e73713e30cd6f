"""The problems: graphs whose nodes have features and classes, and draws of given labels."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import common
import numpy as np
import scipy.sparse as sp

SETS = ["coauthor_cs", "dblp", "facebook_pages"]
CELLS = ["5", "20", "20c"]
"""Numbers of labels of each class; or factors of the number of classes, for labels drawn at random."""


@dataclass(frozen=True)
class Problem:
    """A graph whose nodes have features and classes."""

    graph: sp.csr_array
    """Unit weights (n, n), symmetric, without loops."""
    features: sp.csr_array
    """(n, d), rows of length 1."""
    classes: np.ndarray
    """(n), 0..c−1."""

    @property
    def n_classes(self) -> int:
        return int(self.classes.max()) + 1


def load(name: str) -> Problem:
    """A data set."""
    with np.load(common.data_file(f"{name}.npz")) as data:
        parts = (data["X_data"].astype(np.float32), data["X_indices"], data["X_indptr"])
        rows = sp.csr_array(parts, shape=tuple(data["X_shape"]))
        edges, classes = data["edges"], data["y"]
    lengths = sp.linalg.norm(rows, axis=1)
    rows = sp.csr_array(sp.diags_array(1 / np.maximum(lengths, 1e-30)) @ rows, dtype=np.float32)
    ends = np.concatenate([edges, edges[:, ::-1]]).T
    graph = sp.csr_array((np.ones(2 * len(edges)), (ends[0], ends[1])), shape=(len(classes), len(classes)))
    return Problem(graph, rows, classes)


def labels(name: str, problem: Problem, cell: str, draw: int) -> np.ndarray:
    """Labels (n) of a draw, −1 where hidden; labels at random are drawn again until there is one of each class."""
    rng = np.random.default_rng([zlib.crc32(f"{name} {cell}".encode()), draw])
    classes, c = problem.classes, problem.n_classes
    order = rng.permutation(len(classes))
    if cell.endswith("c"):
        while len(np.unique(classes[order[: int(cell[:-1]) * c]])) < c:
            order = rng.permutation(len(classes))
        given = order[: int(cell[:-1]) * c]
    else:
        given = np.concatenate([order[classes[order] == one][: int(cell)] for one in range(c)])
    shown = np.full(len(classes), -1)
    shown[given] = classes[given]
    return shown
