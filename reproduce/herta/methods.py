"""The training methods that are compared, and the optimum they approach."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import common
import results
import sets

LOSSES = {"mse": "squares", "cross-entropy": "cross-entropy"}
GRAPH_REGS = (1.0, 20.0)
SOMETIMES = ("condition", "effective_dimension", "gap", "n_kept_edges", "rank", "routes", "sketch_size")
"""Entries of a report that only some solvers fill."""
BEST = 1e-10
"""Tolerance of the optimum."""
RATES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Learning rates of the paper (appendix E), which shows the trial of the least final loss."""
METHODS: dict[str, dict[str, Any]] = {
    "GD": {"solver": "gd"},
    "Adam": {"solver": "adam"},
    "HERTA": {"solver": "herta", "optimizer": "gd"},
    "HERTA, Adam": {"solver": "herta", "optimizer": "adam"},
    "HERTA, CG": {"solver": "herta", "optimizer": "cg"},
    "HERTA, L-BFGS": {"solver": "herta", "optimizer": "l-bfgs"},
    "direct": {"solver": "direct"},
}
SLOW = {"mse": ["HERTA, Adam"], "cross-entropy": ["HERTA, Adam", "direct"]}
"""Variants that are too slow with many features: the symmetric root of P is an eigenproblem, and each of a hundred
iterations reads all stored rows."""
RATED = ("GD", "Adam", "HERTA", "HERTA, Adam")
"""Methods that take a learning rate: besides those of the paper the default, 2/(ν₁ + ν_d) or 0.05."""
PLAIN = ("GD", "Adam")
"""Methods without a preconditioner."""
ONLY = {"HERTA, CG": "mse", "HERTA, L-BFGS": "cross-entropy"}
"""Methods of one loss."""
CURVES = results.Curves(*METHODS)


def of(loss: str, data: str) -> list[str]:
    """Methods that support a loss, on a data set."""
    names = [method for method in METHODS if ONLY.get(method, loss) == loss]
    return [method for method in names if data not in sets.WIDE or method not in SLOW[loss]]


def l2_reg(name: str, loss: str, data: sets.Data, labels: np.ndarray) -> float | str:
    """Weight of ‖W‖²/2: none for squares, as in the paper, where smoothed features are independent; else the default.

    With fewer labels than features the least loss is nearly 0, and without this weight cross-entropy has no minimum.
    """
    is_free = loss == "mse" and name not in sets.DEPENDENT and int((labels >= 0).sum()) > data.features.shape[1]
    return 0.0 if is_free else "auto"


def network() -> Any:
    """The estimator, imported here: the first import takes a second, which is not part of a fit."""
    from lapwing import UnfoldedGNNClassifier

    return UnfoldedGNNClassifier


def fitted(data: sets.Data, labels: np.ndarray, loss: str, graph_reg: float, **options: Any) -> Any:
    """A trained network, linear and without a bias unless options say otherwise; its warnings are in the report."""
    estimator = network()(graph_reg, loss=loss, random_state=0, **{"bias": False, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(data.features, labels, graph=data.graph)


def part(trained: Any) -> common.Record:
    """Part of the report of a training; None if there is none."""
    return {**dict.fromkeys(SOMETIMES), **trained.report_["parts"]["unfolded"]}


def judged(trained: Any, data: sets.Data, labels: np.ndarray) -> common.Record:
    """Accuracy on the nodes without a label whose class is known, loss of a labeled node at the end, and steps."""
    test = (labels < 0) & (data.classes >= 0)
    accuracy = float((trained.transduction_ == data.classes)[test].mean())
    loss = float(trained.loss_curve_[-1]) / int((labels >= 0).sum())
    return {"accuracy": accuracy, "loss_a_node": loss, "n_iter": len(trained.loss_curve_) - 1}


@dataclass(frozen=True)
class Optimum:
    """The optimum that methods approach."""

    value: float
    """ℓ*."""
    l2_reg: float
    """ρ it was found with."""

    @classmethod
    def kept(cls, file: str, trained: Callable[[], Any]) -> Optimum:
        """The end of a training to all digits, kept as `target/bench/FILE` after the first call."""

        def found() -> np.ndarray:
            said = part(trained())
            return np.array([said["loss"][-1], said["l2_reg"]])

        return cls(*np.load(common.kept_array(file, found)).tolist())

    def error(self, value: float) -> float:
        """(ℓ − ℓ*)/ℓ*."""
        return (value - self.value) / self.value


def optimum(name: str, data: sets.Data, labels: np.ndarray, loss: str, graph_reg: float) -> Optimum:
    """The optimum to all digits, for squares by the direct solver; kept under `target/` after the first call."""

    def trained() -> Any:
        options = {"l2_reg": l2_reg(name, loss, data, labels), "tol": BEST}
        options["solver"] = "direct" if loss == "mse" else "auto"
        return fitted(data, labels, loss, graph_reg, **options)

    file = f"herta-optimum-{(sets.SETS | sets.DENSE)[name].removesuffix('.npz')}-{loss}-{graph_reg:g}.npy"
    return Optimum.kept(file, trained)
