"""The programs that are timed: lapwing's estimator and the peer, fitted to the digits after all preparation."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import common
import digits
import peer

MAX_ITER = 200
"""The most iterations of conjugate gradients."""


@dataclass(frozen=True)
class Fit:
    """A solution, and the report of the program."""

    coefficients: np.ndarray
    bias: float
    n_iter: int
    solve_seconds: float | None = None
    """Seconds of the phase "solve", if the program reports them."""
    said: dict[str, Any] = field(default_factory=dict)


def lapwing(task: str, data: digits.Digits) -> Callable[[], Fit]:
    """`LaplacianSVC` on the Gram matrix and the graph; its Laplacian is part of the fit."""
    from lapwing import LaplacianSVC

    labels = np.where(data.labels == 0, -1, (data.labels > 0).astype(np.int64))
    machine = LaplacianSVC(
        kernel="precomputed",
        ambient_reg=digits.AMBIENT,
        graph_reg=digits.GRAPH,
        laplacian_power=digits.POWER,
        solver=task,
        stopping="stability",
        max_iter=MAX_ITER,
    )

    def run() -> Fit:
        machine.fit(data.kernel, labels, graph=data.weights)
        phases = {phase["name"]: phase["seconds"] for phase in machine.report_["phases"]}
        said = {"phases": phases, "chosen": machine.report_["chosen"], "objective": _number(machine.objective_)}
        coefficients = np.ascontiguousarray(np.asarray(machine.coefficients_, dtype=float).reshape(-1))
        bias, n_iter = _number(machine.bias_), int(np.max(machine.n_iter_))
        return Fit(coefficients, bias, n_iter, phases.get("solve"), said)

    return run


def numpy(task: str, data: digits.Digits) -> Callable[[], Fit]:
    """The peer on the Gram matrix and the Laplacian."""
    given = problem(data)

    def run() -> Fit:
        if task == "cg":
            found = peer.conjugate_gradients(given, peer.stability(given.labels), max_iter=MAX_ITER)
        else:
            found = peer.newton(given)
        return Fit(found.coefficients, found.bias, found.n_iter)

    return run


def problem(data: digits.Digits) -> peer.Problem:
    laplacian = peer.normalized_laplacian(data.weights)
    return peer.Problem(data.kernel, laplacian, data.labels, digits.AMBIENT, digits.GRAPH, digits.POWER)


PROGRAMS: dict[str, Callable[[str, digits.Digits], Callable[[], Fit]]] = {
    "lapwing": lapwing,
    "numpy": numpy,
}


def version(name: str) -> str:
    package = name.partition(",")[0]
    return f"{package} {importlib.metadata.version(package)}"


def judged(found: Fit, data: digits.Digits) -> tuple[common.Record, np.ndarray]:
    """The objective, computed in the same way for every program, errors on U, V and T, and the scores (n)."""
    given = problem(data)
    scores = data.kernel @ found.coefficients + found.bias
    hidden = data.labels == 0
    errors = {"U": _error(scores[hidden], data.truth[hidden])}
    for name, (kernel, truth) in data.others.items():
        errors[name] = _error(kernel @ found.coefficients + found.bias, truth)
    return {"objective": given.objective(found.coefficients, found.bias), "errors": errors, "said": found.said}, scores


def _error(scores: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean((scores > 0) != (truth > 0)))


def _number(value: Any) -> float:
    return float(np.asarray(value, dtype=float).reshape(-1)[0])
