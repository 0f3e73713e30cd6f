"""The sets: a draw of rows, the graph that all methods share, and the rows that may be chosen."""

from __future__ import annotations

import dataclasses
import functools
import zlib
from typing import Any

import common
import numpy as np
import scipy.sparse as sp

PIXELS, TEXT, AS_IT_IS = "bytes, scaled to 0 to 1", "term counts, made tf-idf", "as it is"
SETS = {
    "mnist": ("mnist", PIXELS),
    "imbalanced": ("mnist_imbalanced_vae", AS_IT_IS),
    "covertype": ("covertype_93k", AS_IT_IS),
    "newsgroups": ("newsgroups20", TEXT),
    "usps": ("usps", AS_IT_IS),
    "fashion": ("fashion_mnist", PIXELS),
    "isolet": ("isolet", AS_IT_IS),
}
"""File and scale of each set."""
ROWS = 5000
"""Rows of a draw, unless a part takes more."""
NEIGHBORS = 15
TOPICS = 100
"""Columns of texts for peers that take no sparse rows."""


@dataclasses.dataclass
class Draw:
    """Rows drawn from a set, with all their classes 0..c−1; parts are computed once for several methods."""

    name: str
    number: int
    features: Any
    classes: np.ndarray

    @functools.cached_property
    def graph(self) -> Any:
        """The graph of lapwing's defaults, on which every method chooses and is judged."""
        from lapwing.graph import knn_graph

        return knn_graph(self.features, NEIGHBORS, random_state=0)

    @functools.cached_property
    def weights(self) -> sp.csr_matrix:
        """The same graph for peers."""
        return sp.csr_matrix(self.graph.to_scipy())

    @functools.cached_property
    def neighbors(self) -> np.ndarray:
        """The neighbors (n, 15) of each row, nearest first."""
        from lapwing.graph import kneighbors

        return kneighbors(self.features, NEIGHBORS, random_state=0)[1]

    @functools.cached_property
    def dense(self) -> np.ndarray:
        """Rows for peers that take no sparse ones: those of texts are reduced to 100 columns."""
        from sklearn.decomposition import TruncatedSVD

        return TruncatedSVD(TOPICS, random_state=0).fit_transform(self.features) if sp.issparse(self.features) else self.features

    @functools.cached_property
    def candidates(self) -> np.ndarray:
        """The half of the rows that may be chosen; accuracy is that on the other half."""
        return np.sort(self.rng(1).permutation(len(self.classes))[: len(self.classes) // 2])

    @functools.cached_property
    def judged(self) -> np.ndarray:
        """The rows that may not be chosen."""
        return np.setdiff1d(np.arange(len(self.classes)), self.candidates)

    def rng(self, purpose: int) -> np.random.Generator:
        """Random numbers that depend on the draw alone."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), self.number, purpose])

    def show(self, rows: np.ndarray) -> np.ndarray:
        """Labels (n) of these rows, −1 elsewhere."""
        y = np.full(len(self.classes), -1, dtype=np.int64)
        y[rows] = self.classes[rows]
        return y

    def accuracy(self, rows: np.ndarray, by: str) -> float:
        """Accuracy of the default classifier with the labels of these rows, on the rows that may not be chosen.

        Rows that a strategy chose are no sample of the classes, and the classifier is told so; rows at random are one.
        """
        from lapwing import HarmonicClassifier

        seen = np.unique(self.classes[rows])
        if len(seen) == 1:
            return float((self.classes[self.judged] == seen[0]).mean())
        drawn = "auto" if by == "random" else "balanced"
        model = HarmonicClassifier(labels_drawn=drawn, random_state=0)
        found = model.fit(None, self.show(rows), graph=self.graph).transduction_
        return float((found[self.judged] == self.classes[self.judged]).mean())


@functools.lru_cache(maxsize=1)
def draw(name: str, number: int, rows: int = ROWS) -> Draw:
    """One draw of rows without replacement; the whole set, in another order for each draw, if it has no more rows."""
    file, scale = SETS[name]
    with np.load(common.data_file(f"{file}.npz")) as arrays:
        features, classes = _features(arrays), arrays["y"]
    if scale == TEXT:
        full = np.diff(features.indptr) > 0
        features, classes = features[full], classes[full]
    chosen = np.random.default_rng([zlib.crc32(name.encode()), number, 0]).permutation(len(classes))[:rows]
    features = features[chosen]
    if scale == PIXELS:
        features = features.astype(np.float32) / 255
    if scale == TEXT:
        from sklearn.feature_extraction.text import TfidfTransformer

        features = TfidfTransformer(sublinear_tf=True).fit_transform(features).astype(np.float32)
    return Draw(name, number, features, np.unique(classes[chosen], return_inverse=True)[1])


def _features(arrays: Any) -> Any:
    if "X" in arrays:
        return arrays["X"]
    return sp.csr_matrix((arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=tuple(arrays["X_shape"]))
