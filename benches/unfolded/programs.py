"""The programs that are timed, from arrays in memory to weights: lapwing's estimator by solver, and the peers by engine."""

from __future__ import annotations

import importlib.metadata
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import common
import curve
import engines
import peer
from objective import Objective, Task

TOL = 1e-6
"""(ℓ − ℓ*)/ℓ* at which all programs stop; peers stop at half of it, so that rounding cannot put them above the level."""
SOLVERS = ("auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam")
SLOW = ("gd", "adam")
"""Solvers whose number of iterations fills the time limit."""
PEERS = ("direct", "herta", "adam")
PROGRAMS = [f"lapwing, {solver}" for solver in SOLVERS]
PROGRAMS += [f"{engine}, {method}" for engine in engines.ENGINES for method in PEERS]
REPORTED = ("solver", "optimizer", "l2_reg", "gap", "condition", "edge_passes", "routes", "n_kept_edges", "rank")
TRIED = 10
"""Iterations for measuring the time of one; also the fewest of a training."""


@dataclass(frozen=True)
class Fit:
    """Weights, the loss after each iteration, and the report of the program."""

    layer: np.ndarray
    """W (d, c)."""
    points: curve.Points
    n_iter: int
    said: common.Record = field(default_factory=dict)


def training(program: str, task: Task, optimum: float | None, limit: float, rate: float) -> Callable[[], Fit]:
    """A function that trains from W = 0 to TOL or to the limit in seconds; `rate` is the learning rate of a peer's Adam."""
    package, _, method = program.partition(", ")
    if package != "lapwing":
        return lambda: _peer(package, method, task, curve.Curve(optimum, TOL / 2, limit), rate)
    options = {"max_iter": _iterations(task, method, limit)} if method in SLOW else {}
    return lambda: lapwing(task, method, **options)


def _peer(package: str, method: str, task: Task, written: curve.Curve, rate: float) -> Fit:
    engine = engines.ENGINES[package](task.problem, task.graph_reg)
    objective = Objective(task)
    if method == "adam":
        layer = peer.adam(engine, objective, rate, written)
    else:
        layer = {"direct": peer.direct, "herta": peer.herta}[method](engine, objective, written)
    said = {"edge_passes": engine.iterations, **({"rate": rate} if method == "adam" else {})}
    return Fit(layer, written.points, len(written.points) - 1, said)


def lapwing(task: Task, solver: str, tol: float = TOL, **options: Any) -> Fit:
    """`UnfoldedGNNClassifier`, linear and without a bias."""
    from lapwing import UnfoldedGNNClassifier

    l2_reg: Any = "auto" if task.l2_reg is None else task.l2_reg
    given: dict[str, Any] = {"loss": task.loss, "l2_reg": l2_reg, "solver": solver, "tol": tol}
    network = UnfoldedGNNClassifier(task.graph_reg, bias=False, random_state=0, **given, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few iterations, which the curve shows
        network.fit(task.problem.features, task.problem.labels, graph=task.problem.graph)
    part = network.report_["parts"]["unfolded"]
    points = list(zip(part["seconds"], part["loss"], strict=True))
    said = {name: part.get(name) for name in REPORTED} | {"converged": bool(np.all(network.converged_))}
    return Fit(np.asarray(network.layer_weights_), points, int(np.max(network.n_iter_)), said)


def iteration_seconds(points: curve.Points) -> float:
    """Median seconds of an iteration."""
    return statistics.median(np.diff([seconds for seconds, _ in points]).tolist())


def _iterations(task: Task, solver: str, limit: float) -> int:
    """The number of iterations that fills the time limit."""
    tried = lapwing(task, solver, max_iter=TRIED)
    if tried.n_iter < TRIED:
        return TRIED
    return max(TRIED, int((limit - tried.points[0][0]) / iteration_seconds(tried.points)))


def prepared(program: str) -> str:
    """Import packages before the measurement, and return their versions."""
    package = program.partition(",")[0]
    if package == "lapwing":
        from lapwing import UnfoldedGNNClassifier  # noqa: F401
    elif package == "torch":
        import torch

        torch.ones(1).sum().item()
    distributions = ["numpy", "scipy"] if package == "numpy" else [package]
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in distributions)
