"""The programs lapwing is compared with: classifiers without a graph, and others that spread labels.

A peer takes a problem and the labels that are shown (n, −1 if hidden), and returns an answer. `about` describes the call;
results are kept under it and the version of `package`. `on_graph` tells whether a peer takes neighbors.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from correct_and_smooth import correct_and_smooth
from problem import Answer, Problem, Traits, of_shares
from scipy.sparse.csgraph import connected_components


@dataclasses.dataclass(frozen=True)
class Inductive(Traits):
    """A classifier of scikit-learn, fitted to the labeled rows alone."""

    module: str
    name: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def about(self) -> str:
        return f"`{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options.items())})`"

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        estimator = getattr(importlib.import_module(f"sklearn.{self.module}"), self.name)
        given = shown >= 0
        model = estimator(**self.options).fit(problem.rows[given], shown[given])
        # With a single neighbor the share is always 1, which is no confidence.
        if not hasattr(model, "predict_proba") or self.options.get("n_neighbors") == 1:
            return Answer(model.predict(problem.rows))
        answer = of_shares(model.predict_proba(problem.rows))
        return dataclasses.replace(answer, labels=model.classes_[answer.labels])


@dataclasses.dataclass(frozen=True)
class Boosting(Inductive):
    """Gradient boosting of scikit-learn. It takes no sparse rows: of term counts it gets the columns that labeled rows use."""

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        rows = problem.rows
        if problem.text:
            used = np.unique(rows[shown >= 0].indices)
            rows = rows[:, used].toarray()
        return super().__call__(dataclasses.replace(problem, features=rows), shown)


@dataclasses.dataclass(frozen=True)
class SelfTraining(Traits):
    """Self-training of scikit-learn: a classifier that labels rows for itself."""

    about = "`SelfTrainingClassifier(LogisticRegression(max_iter=1000))`"

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        from sklearn.linear_model import LogisticRegression
        from sklearn.semi_supervised import SelfTrainingClassifier

        model = SelfTrainingClassifier(LogisticRegression(max_iter=1000)).fit(problem.rows, shown)
        answer = of_shares(model.predict_proba(problem.rows))
        return dataclasses.replace(answer, labels=model.classes_[answer.labels])


@dataclasses.dataclass(frozen=True)
class LabelSpreading(Traits):
    """Label spreading of scikit-learn on the shared neighbors."""

    on_graph = True
    about = '`LabelSpreading(kernel="knn", n_neighbors=k + 1)` on the shared neighbors and the row itself'

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        from sklearn.semi_supervised import LabelSpreading

        # `kernel="knn"` counts the row itself among its neighbors.
        indices = _with_self(problem)[0]
        n, k = indices.shape
        starts = np.arange(0, n * k + 1, k)
        graph = sp.csr_matrix((np.ones(n * k), indices.ravel(), starts), shape=(n, n))
        model = LabelSpreading(kernel=lambda *_: graph).fit(np.zeros((n, 1)), shown)
        return of_shares(model.label_distributions_)


@dataclasses.dataclass(frozen=True)
class GraphLearning(Traits):
    """A method of graphlearning on the shared neighbors, with its weights exp(−4·d²/d_k²), mean of W and Wᵀ."""

    method: str
    told_sizes: bool = False
    package = "graphlearning"
    on_graph = True

    @property
    def about(self) -> str:
        sizes = ", true class sizes" if self.told_sizes else ""
        solver = ", by gradient descent where that graph is not connected" if self._poisson else ""
        return f"`ssl.{self.method}(weightmatrix.knn(X, k))` on the shared neighbors{solver}{sizes}"

    @property
    def _poisson(self) -> bool:
        return self.method.startswith("poisson")

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        import graphlearning

        indices, distances = _with_self(problem)
        weights = graphlearning.weightmatrix.knn(None, indices.shape[1] - 1, knn_data=(indices, distances))
        options: dict[str, Any] = {"class_priors": problem.shares} if self.told_sizes else {}
        # Its conjugate gradients do not end if the labels of a component have another mean than all labels.
        if self._poisson and connected_components(weights)[0] > 1:
            options["solver"] = "gradient_descent"
        given = np.flatnonzero(shown >= 0)
        return Answer(getattr(graphlearning.ssl, self.method)(weights, **options).fit_predict(given, shown[given]))


@dataclasses.dataclass(frozen=True)
class CorrectAndSmooth(Traits):
    """Logistic regression of the features, then Correct and Smooth on the graph."""

    autoscale: bool

    @property
    def about(self) -> str:
        return f"Correct and Smooth as published on `LogisticRegression`, {'autoscale' if self.autoscale else 'fixed scale'}"

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        from sklearn.linear_model import LogisticRegression

        given = shown >= 0
        shares = LogisticRegression(max_iter=1000).fit(problem.rows[given], shown[given]).predict_proba(problem.rows)
        graph = sp.csr_array(problem.graph)
        return of_shares(correct_and_smooth(graph, shown, shares, autoscale=self.autoscale))


def _with_self(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Indices and distances (n, k + 1), the row itself first; others are above 0, because graphlearning divides by them."""
    indices, distances = problem.neighbors
    own = np.arange(len(indices))[:, None]
    distances = np.maximum(distances.astype(np.float64), 1e-12)
    return np.hstack([own, indices]), np.hstack([np.zeros((len(own), 1)), distances])


PEERS: dict[str, Any] = {
    "logistic": Inductive("linear_model", "LogisticRegression", {"max_iter": 1000}),
    "svm-linear": Inductive("svm", "LinearSVC"),
    "svm-rbf": Inductive("svm", "SVC"),
    "random-forest": Inductive("ensemble", "RandomForestClassifier", {"random_state": 0}),
    "boosting": Boosting("ensemble", "HistGradientBoostingClassifier", {"early_stopping": False}),
    "self-training": SelfTraining(),
    "1-nn": Inductive("neighbors", "KNeighborsClassifier", {"n_neighbors": 1}),
    "label-spreading": LabelSpreading(),
    "gl-laplace": GraphLearning("laplace"),
    "gl-poisson": GraphLearning("poisson"),
    "gl-poisson-mbo": GraphLearning("poisson_mbo", told_sizes=True),
    "correct-smooth": CorrectAndSmooth(autoscale=True),
    "correct-smooth-fixed": CorrectAndSmooth(autoscale=False),
    "gl-volume-mbo": GraphLearning("volume_mbo", told_sizes=True),
}
