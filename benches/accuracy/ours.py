"""lapwing's methods: all parameters are defaults, except those in the name."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
from problem import THREADS, Answer, Problem


@dataclasses.dataclass(frozen=True)
class Lapwing:
    """An estimator of lapwing."""

    name: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    told_sizes: bool = False
    own_scale: bool = False
    """Whether the method chooses scale and metric itself, and is given unscaled term counts."""
    takes_both: bool = False
    """Whether the method takes features beside a graph."""
    package = "lapwing"
    on_graph = False

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
            fitted = estimator(**options).fit(problem.features if self.takes_both else None, shown, graph=problem.graph)
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


@functools.cache
def build() -> str:
    """The version of lapwing and a checksum of its files, so that builds count as different programs."""
    package = importlib.import_module("lapwing")
    total = hashlib.sha256()
    for path in sorted(Path(str(package.__file__)).parent.rglob("*")):
        if path.suffix in {".py", ".so", ".pyd"}:
            total.update(path.name.encode() + path.read_bytes())
    return f"{package.__version__}+{total.hexdigest()[:12]}"


OURS: dict[str, Lapwing] = {
    "harmonic": Lapwing("HarmonicClassifier"),
    "harmonic-stable": Lapwing("HarmonicClassifier", {"form": "stable", "decision": "centered"}),
    "harmonic-plain": Lapwing("HarmonicClassifier", {"form": "plain"}),
    "harmonic-sizes": Lapwing("HarmonicClassifier", {"decision": "sizes"}, told_sizes=True),
    "laprls": Lapwing("LaplacianRidgeClassifier"),
    "lapsvm": Lapwing("LaplacianSVC"),
    "low-rank": Lapwing("LowRankPropagationClassifier"),
    "nearest-label": Lapwing("baselines.NearestLabelClassifier"),
    "auto": Lapwing("AutoLabeler", own_scale=True, takes_both=True),
    "unfolded": Lapwing("UnfoldedGNNClassifier", takes_both=True),
}
