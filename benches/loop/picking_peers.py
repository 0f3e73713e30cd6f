"""Strategies of graphlearning, on the graph of lapwing, and of scikit-activeml, on the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from material import Draw

EIGENVECTORS = 50
"""As the documentation of graphlearning computes covariances."""
TAU, SMALLEST = 0.1, 1e-9
"""Decay of Miller & Calder 2023: τ falls from the first to the second number while two labels per class are added, then is 0."""


def free(draw: Draw, y: np.ndarray) -> np.ndarray:
    """Candidates without a label."""
    return draw.candidates[y[draw.candidates] < 0]


# --- graphlearning ---------------------------------------------------------------------------------------------------


class Uncertainty:
    """Uncertainty of Laplace learning; a batch is the rows of greatest uncertainty, as the library takes them."""

    starts_alone = False

    def __init__(self, draw: Draw, method: str) -> None:
        import graphlearning

        self.draw, self.library = draw, graphlearning
        self.graph = graphlearning.graph(draw.weights)
        self.acquisition = graphlearning.active_learning.unc_sampling(method)

    def scores(self, y: np.ndarray) -> np.ndarray:
        return fitted(self.library.ssl.laplace(self.graph), y)

    def values(self, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self.acquisition.compute(self.scores(y), rows)

    def pick(self, y: np.ndarray, n: int) -> np.ndarray:
        rows = free(self.draw, y)
        return rows[np.argsort(-self.values(y, rows), kind="stable")[:n]]


class ReweightedNorm(Uncertainty):
    """The least norm of the scores of Poisson-reweighted Laplace learning with decaying τ."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw, "unc_2norm")
        self.start: int | None = None

    def scores(self, y: np.ndarray) -> np.ndarray:
        count = int((y >= 0).sum())
        self.start = count if self.start is None else self.start
        decay = (count - self.start) / (2 * (int(self.draw.classes.max()) + 1))
        tau = TAU * (SMALLEST / TAU) ** decay if decay < 1 else 0.0
        return fitted(self.library.ssl.laplace(self.graph, reweighting="poisson", tau=tau), y)


class Variance:
    """VOpt and Σ-optimality on 50 eigenvectors. They need no labels; within a batch the covariance is updated row by row."""

    starts_alone = True

    def __init__(self, draw: Draw, name: str) -> None:
        import graphlearning

        self.draw, self.library = draw, graphlearning
        self.graph = graphlearning.graph(draw.weights)
        values, vectors = self.graph.eigen_decomp(normalization="normalized", k=EIGENVECTORS)
        covariance = np.diag(1 / (np.maximum(values, 0) + 1e-11))
        self.acquisition = getattr(graphlearning.active_learning, name)(C=covariance, V=vectors)
        self.known: set[int] = set()

    def scores(self, y: np.ndarray) -> np.ndarray | None:
        return None

    def pick(self, y: np.ndarray, n: int) -> np.ndarray:
        self._learn([row for row in np.flatnonzero(y >= 0).tolist() if row not in self.known])
        scores, rows, chosen = self.scores(y), free(self.draw, y), []
        for _ in range(n):
            best = int(rows[np.argmax(self.acquisition.compute(scores, rows))])
            chosen.append(best)
            rows = rows[rows != best]
            self._learn([best])
        return np.array(chosen)

    def _learn(self, rows: list[int]) -> None:
        self.acquisition.update(rows, None)
        self.known.update(rows)


class ModelChange(Variance):
    """Model change, and its product with VOpt; the scores are those before the batch."""

    starts_alone = False

    def scores(self, y: np.ndarray) -> np.ndarray:
        return fitted(self.library.ssl.laplace(self.graph), y)


def fitted(model: Any, y: np.ndarray) -> np.ndarray:
    """Scores (n, classes seen) of a model of graphlearning, which wants classes 0..c−1 without gaps."""
    rows = np.flatnonzero(y >= 0)
    return model.fit(rows, np.unique(y[rows], return_inverse=True)[1])


# --- scikit-activeml -------------------------------------------------------------------------------------------------


class ActiveMl:
    """A strategy of `skactiveml.pool` that looks at the rows alone."""

    starts_alone = True

    def __init__(self, draw: Draw, name: str) -> None:
        from skactiveml import pool

        options = {"n_classes": int(draw.classes.max()) + 1} if name == "ProbCover" else {}
        self.draw, self.strategy = draw, getattr(pool, name)(missing_label=-1, random_state=0, **options)

    def pick(self, y: np.ndarray, n: int) -> np.ndarray:
        rows = free(self.draw, y)
        return topped_up(self.strategy.query(self.draw.dense, y, candidates=rows, batch_size=n, **self.extras()), rows, n)

    def extras(self) -> dict[str, Any]:
        return {}


class ActiveMlMargin(ActiveMl):
    """Least margin of logistic regression, which is told the classes."""

    starts_alone = False

    def __init__(self, draw: Draw) -> None:
        from skactiveml.classifier import SklearnClassifier
        from skactiveml.pool import UncertaintySampling
        from sklearn.linear_model import LogisticRegression

        self.draw = draw
        self.strategy = UncertaintySampling(method="margin_sampling", missing_label=-1, random_state=0)
        model = LogisticRegression(max_iter=200)
        self.model = SklearnClassifier(model, classes=np.unique(draw.classes), missing_label=-1, random_state=0)

    def extras(self) -> dict[str, Any]:
        return {"clf": self.model}


def topped_up(chosen: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Each chosen row once; then others of `rows`, as TypiClust may name a row twice where clusters hold no candidate."""
    unique = np.array(list(dict.fromkeys(int(one) for one in chosen)))
    return np.concatenate([unique, np.setdiff1d(rows, unique)[: n - len(unique)]])
