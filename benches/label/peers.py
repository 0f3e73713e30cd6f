"""The programs compared: each turns features and a few labels into a label for every row.

A peer builds its graph once (`graph`) and labels from it for every draw of labels (`solve`); the time from features to
labels is the sum of both. A peer with `whole` is also timed in one call, the way its documentation shows, for at least
one draw; for such a peer that call is the time from features to labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

NEIGHBORS = 15


class Lapwing:
    """lapwing with defaults: graph and solution in one call."""

    graph = None
    package = "lapwing"
    about = "`HarmonicClassifier(n_neighbors=15)`, rows as bytes"

    def whole(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        from lapwing import HarmonicClassifier

        return HarmonicClassifier(n_neighbors=NEIGHBORS).fit(features, labels).transduction_


class ScikitLearn:
    """Label spreading of scikit-learn."""

    package = "scikit-learn"
    about = '`LabelSpreading(kernel="knn", n_neighbors=15, n_jobs=-1)`: exact neighbors, unweighted'

    def whole(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        from sklearn.semi_supervised import LabelSpreading

        model = LabelSpreading(kernel="knn", n_neighbors=NEIGHBORS, n_jobs=-1)
        return model.fit(as_float(features), labels).transduction_

    def graph(self, features: np.ndarray) -> Any:
        """The graph that `kernel="knn"` builds, made once for all draws: directed, unweighted, each row its own first."""
        from sklearn.neighbors import NearestNeighbors

        features = as_float(features)
        search = NearestNeighbors(n_neighbors=NEIGHBORS, n_jobs=-1).fit(features)
        return features, search.kneighbors_graph(features, NEIGHBORS, mode="connectivity")

    def solve(self, graph: Any, labels: np.ndarray) -> np.ndarray:
        from sklearn.semi_supervised import LabelSpreading

        features, affinity = graph
        return LabelSpreading(kernel=lambda *_: affinity).fit(features, labels).transduction_


class GraphLearning:
    """Laplace and Poisson learning of graphlearning, with its weights exp(−4·d²/d_k²), mean of W and Wᵀ."""

    whole = None
    package = "graphlearning"

    def __init__(self, method: str, exact: bool = False) -> None:
        self.method = method
        self.exact = exact
        search = "exact neighbors handed to it" if exact else "its own approximate neighbors (annoy, 10 trees)"
        self.about = f"`ssl.{method}(weightmatrix.knn(X, 15))`, {search}"

    def graph(self, features: np.ndarray) -> Any:
        import graphlearning

        features = as_float(features)
        neighbors = exact_neighbors(features) if self.exact else None
        return graphlearning.weightmatrix.knn(features, NEIGHBORS, knn_data=neighbors)

    def solve(self, graph: Any, labels: np.ndarray) -> np.ndarray:
        import graphlearning

        shown = np.flatnonzero(labels >= 0)
        return getattr(graphlearning.ssl, self.method)(graph).fit_predict(shown, labels[shown])


class OnSharedGraph:
    """Base of peers that need a graph: exact neighbors, self-tuning weights, edges of either direction."""

    whole = None

    def graph(self, features: np.ndarray) -> Any:
        indices, distances = exact_neighbors(as_float(features))
        width = np.maximum(distances[:, -1], np.finfo(np.float32).tiny)
        weights = np.exp(-(distances**2) / (width[:, None] * width[indices]))
        rows = np.repeat(np.arange(len(indices)), NEIGHBORS)
        # The first column is the row itself, or a duplicate of it.
        one_way = sp.csr_matrix((weights[:, 1:].ravel(), (rows, indices[:, 1:].ravel())), shape=(len(indices),) * 2)
        return one_way.maximum(one_way.T).tocsr()


class ScikitNetwork(OnSharedGraph):
    """scikit-network's classifiers on a given graph."""

    package = "scikit-network"

    def __init__(self, classifier: str) -> None:
        self.classifier = classifier
        self.about = f"`{classifier}()` on exact neighbors with self-tuning weights"

    def solve(self, graph: Any, labels: np.ndarray) -> np.ndarray:
        import sknetwork.classification

        return getattr(sknetwork.classification, self.classifier)().fit_predict(graph, labels)


class GeometricRule(OnSharedGraph):
    """The rule of PyTorch Geometric's `LabelPropagation(num_layers=50, alpha=0.9)`, run in scipy instead of torch.

    out ← clamp(α·D^(−1/2) W D^(−1/2)·out + (1 − α)·given, 0, 1), beginning with the given labels one-hot.
    """

    package = "scipy"
    about = "rule of PyTorch Geometric's `LabelPropagation(50, 0.9)` in scipy, same graph as scikit-network"

    def solve(self, graph: Any, labels: np.ndarray) -> np.ndarray:
        scale = sp.diags(1 / np.sqrt(np.maximum(graph.sum(axis=1).A1, np.finfo(float).tiny)))
        step = (scale @ graph @ scale).astype(np.float32).tocsr()
        shown = np.flatnonzero(labels >= 0)
        given = np.zeros((len(labels), labels.max() + 1), dtype=np.float32)
        given[shown, labels[shown]] = 1
        out = given
        for _ in range(50):
            out = np.clip(0.9 * (step @ out) + 0.1 * given, 0, 1)
        return out.argmax(axis=1)


PEERS = {
    "lapwing": Lapwing(),
    "sklearn-spreading": ScikitLearn(),
    "graphlearning-laplace": GraphLearning("laplace"),
    "graphlearning-poisson": GraphLearning("poisson"),
    "graphlearning-laplace-exact": GraphLearning("laplace", exact=True),
    "graphlearning-poisson-exact": GraphLearning("poisson", exact=True),
    "sknetwork-diffusion": ScikitNetwork("DiffusionClassifier"),
    "sknetwork-propagation": ScikitNetwork("Propagation"),
    "pyg-rule": GeometricRule(),
}
QUICK = ["lapwing", "sklearn-spreading", "graphlearning-laplace", "graphlearning-poisson"]


def as_float(features: np.ndarray) -> np.ndarray:
    """Rows as f32: with bytes the peers are slow, or differences wrap around."""
    return features.astype(np.float32, copy=False)


def exact_neighbors(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices and distances of the row itself and its 15 nearest, by scikit-learn's exhaustive search."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=NEIGHBORS + 1, n_jobs=-1).fit(features)
    distances, indices = search.kneighbors(features)
    return indices, distances
