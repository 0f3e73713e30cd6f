"""lapwing's methods: all parameters are defaults, except those in the name."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import inspect
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from problem import THREADS, Answer, Problem, Traits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression


@dataclasses.dataclass(frozen=True)
class Lapwing(Traits):
    """An estimator of lapwing."""

    name: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    told_sizes: bool = False
    own_scale: bool = False
    """Whether the method chooses scale and metric itself, and is given unscaled term counts."""
    takes_both: bool = False
    """Whether the method takes features beside a graph."""
    package = "lapwing"

    @property
    def about(self) -> str:
        options = [f"{key}={value!r}" for key, value in self.options.items()]
        options += ["class_prior=<true shares>"] if self.told_sizes else []
        return f"`{self.name}({', '.join(options)})`"

    @property
    def installed(self) -> bool:
        """Whether this build has the estimator."""
        return hasattr(*self._place())

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        estimator = getattr(*self._place())
        options = {**self.options, "random_state": 0, "n_jobs": THREADS}
        if self.told_sizes:
            options["class_prior"] = problem.shares
        if problem.given is not None:
            fitted = estimator(**options, affinity="precomputed").fit(problem.given, shown)
        elif problem.graph is not None:
            features = problem.features if self.own_scale else problem.rows
            fitted = estimator(**options).fit(features if self.takes_both else None, shown, graph=problem.graph)
        elif self.own_scale:
            fitted = estimator(**options).fit(problem.features, shown)
        else:
            if problem.text and "metric" in inspect.signature(estimator).parameters:
                options["metric"] = "cosine"
            fitted = estimator(**options).fit(problem.rows, shown)
        expected = getattr(fitted, "expected_accuracy_", None)
        chosen = max(fitted.results_, key=lambda row: row["weight"])["name"] if hasattr(fitted, "results_") else None
        answer = Answer(np.asarray(fitted.transduction_), getattr(fitted, "confidence_", None))
        return dataclasses.replace(answer, expected=expected and tuple(map(float, expected)), chosen=chosen)

    def _place(self) -> tuple[Any, str]:
        """The module that holds the estimator, and its name there."""
        module, _, name = f"lapwing.{self.name}".rpartition(".")
        return importlib.import_module(module), name


@dataclasses.dataclass(frozen=True)
class Validated(Traits):
    """The graph network on the sum of a graph and that of the neighbors by features; options and weights of terms are those of the
    most right validation nodes, of which it learns nothing else."""

    package = "lapwing"
    on_split = True
    installed = True
    about = "`UnfoldedGNNClassifier` on the graph and neighbors, options chosen on the validation nodes of a published split"
    grid = list(itertools.product([10, 20], ["cross-entropy", "mse"], ["auto", 0.01, 0.1]))

    def __call__(self, problem: Problem, shown: np.ndarray) -> Answer:
        from lapwing import UnfoldedGNNClassifier
        from lapwing.graph import knn_graph

        best: tuple[float, Answer] | None = None
        weighed = sp.csr_matrix(TfidfTransformer().fit_transform(problem.rows), dtype=np.float32)
        for (name, rows), k in itertools.product({"raw": problem.rows, "tfidf": weighed}.items(), [10, 15, 20]):
            near = knn_graph(rows, k, metric="cosine", n_jobs=THREADS).to_scipy()
            graph = problem.graph + near * (0.25 * problem.graph.sum() / near.sum())
            for graph_reg, loss, l2_reg in self.grid:
                model = UnfoldedGNNClassifier(graph_reg, loss=loss, l2_reg=l2_reg, random_state=0, n_jobs=THREADS)
                model.fit(rows, shown, graph=graph)
                right = float((model.transduction_ == problem.classes)[problem.validation].mean())
                if best is None or right > best[0]:
                    chosen = f"{name} {k} {graph_reg} {loss} {l2_reg}"
                    best = right, Answer(model.transduction_, model.confidence_, chosen=chosen)
        assert best is not None
        return best[1]


@functools.cache
def build() -> str:
    """The version of lapwing and a checksum of its files, so that builds count as different programs."""
    package = importlib.import_module("lapwing")
    total = hashlib.sha256()
    for path in sorted(Path(str(package.__file__)).parent.rglob("*")):
        if path.suffix in {".py", ".so", ".pyd"}:
            total.update(path.name.encode() + path.read_bytes())
    return f"{package.__version__}+{total.hexdigest()[:12]}"


OURS: dict[str, Lapwing | Validated] = {
    "harmonic": Lapwing("HarmonicClassifier"),
    "harmonic-stable": Lapwing("HarmonicClassifier", {"form": "stable", "decision": "centered"}),
    "harmonic-plain": Lapwing("HarmonicClassifier", {"form": "plain"}),
    "harmonic-sizes": Lapwing("HarmonicClassifier", {"decision": "sizes"}, told_sizes=True),
    "laprls": Lapwing("LaplacianRidgeClassifier"),
    "lapsvm": Lapwing("LaplacianSVC"),
    "low-rank": Lapwing("LowRankPropagationClassifier"),
    "nearest-label": Lapwing("baselines.NearestLabelClassifier"),
    "linear": Lapwing("baselines.LinearClassifier"),
    "forest": Lapwing("baselines.ForestClassifier"),
    "auto": Lapwing("AutoLabeler", own_scale=True, takes_both=True),
    "unfolded": Lapwing("UnfoldedGNNClassifier", takes_both=True),
    "harmonic-prior": Lapwing("HarmonicClassifier", {"prior": LogisticRegression(max_iter=1000)}, takes_both=True),
    "unfolded-validated": Validated(),
}
