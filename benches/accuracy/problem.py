"""The input of a method, and its answer."""

from __future__ import annotations

import dataclasses
import functools
import time

import numpy as np
import scipy.sparse as sp
from cells import Rows

NEIGHBORS = 15
"""Neighbors of a row in the graphs of peers, as in ours."""
THREADS = 1
"""Threads of every method: the subsets are small, and most peers use one."""
Neighbors = tuple[np.ndarray, np.ndarray]


class Traits:
    """What a method is and takes; methods state what differs."""

    package: str = "scikit-learn"
    told_sizes: bool = False
    """It is told the true sizes of the classes."""
    on_graph: bool = False
    """It takes the neighbors of the problem."""
    on_split: bool = False
    """It looks at the validation nodes of a published split, and takes no other cell."""


@dataclasses.dataclass
class Problem:
    """Rows and their classes 0..c−1, with parts that are computed once for several methods."""

    features: Rows
    classes: np.ndarray
    given: Neighbors | None = None
    """Neighbors for all methods, in tasks with one graph for all."""
    graph: sp.csr_matrix | None = None
    """A graph of the rows besides their features."""
    validation: np.ndarray | None = None
    """Nodes (n) of a published split by which options may be chosen."""
    neighbor_seconds: float = 0.0

    @property
    def text(self) -> bool:
        return sp.issparse(self.features)

    @functools.cached_property
    def rows(self) -> Rows:
        """The rows for methods that do not choose a scale: term counts scaled to length 1, other rows as given."""
        if not self.text:
            return self.features
        lengths = sp.linalg.norm(self.features, axis=1)
        return sp.csr_matrix(sp.diags_array(1 / lengths) @ self.features, dtype=np.float32)

    @functools.cached_property
    def neighbors(self) -> Neighbors:
        """Indices and distances (n, k) of the neighbors of each row, without the row itself; exact, unless given."""
        if self.given is not None:
            return self.given
        from sklearn.neighbors import NearestNeighbors

        rows, start = self.rows, time.process_time()
        distances, indices = NearestNeighbors(n_neighbors=NEIGHBORS, n_jobs=THREADS).fit(rows).kneighbors()
        self.neighbor_seconds = time.process_time() - start
        return indices, distances

    @functools.cached_property
    def shares(self) -> np.ndarray:
        """The true share of each class (c), for methods that are given class sizes."""
        return np.bincount(self.classes) / len(self.classes)


@dataclasses.dataclass
class Answer:
    """A class for every row (n), and its probability (n) if the method gives one."""

    labels: np.ndarray
    confidence: np.ndarray | None = None
    expected: tuple[float, float, float] | None = None
    """The accuracy that the method expects, and the ends of its 90 % interval."""
    chosen: str | None = None
    """The candidate of the largest weight, if the method chooses by itself."""


def of_shares(shares: np.ndarray) -> Answer:
    """The most probable class of each row (n, c); a row without shares gets the first class."""
    known = np.isfinite(shares).all(axis=1)
    shares = np.where(known[:, None], shares, 1 / shares.shape[1])
    return Answer(shares.argmax(axis=1), shares.max(axis=1))
