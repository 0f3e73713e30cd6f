"""Harmonic classifiers that keep the graph of a fit, and fit again on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._base import Problem
from ._classifier import SpreadingClassifier
from ._control import Self
from ._shared import GivenLabels, Rows


#: Reasons of rows that were suggested by chance.
BY_CHANCE = ("check", "random")


@dataclass
class LoopState:
    """What later calls on the rows of a fit need."""

    rows: Rows
    labels: GivenLabels
    held_out: dict[str, Any] | None
    reasons: dict[int, str] = field(default_factory=dict)
    """Why rows were suggested."""
    suggester: Any = None
    left_out: Any = None
    """A fit to the same labels that left out each of them, if this one did not."""

    @property
    def n_samples(self) -> int:
        return int(self.rows.graph.n_samples)

    def labeled(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.labels.codes >= 0)

    def chosen(self, codes: NDArray[np.int32]) -> list[int]:
        """The rows with a label, of these codes, that were suggested other than by chance, ascending."""
        return sorted(row for row, reason in self.reasons.items() if reason not in BY_CHANCE and codes[row] >= 0)


class KeepsGraph(SpreadingClassifier):
    """Mixin of the harmonic classifiers: the graph of the fit, for later calls."""

    calibration_: Annotated[Literal["leave-one-out", "folds", "none"], """{"leave-one-out", "folds", "none"}
        How labels were held out to fit the confidence to them: one by one, or in folds; "none" if it is not fitted."""]

    prior: Any
    form: Any
    graph_reg: Any
    clamp: Any
    decision: Any
    calibration: Any

    _state: LoopState | None = None

    def _solve(self, problem: Problem, labels: GivenLabels, extras: dict[str, Any]) -> dict[str, Any]:
        fitted: dict[str, Any] = super()._solve(problem, labels, extras)
        reasons = self._state.reasons if self._state is not None and "scores" in extras else {}
        self._state = None
        graph, held_out = fitted["graph"], fitted["held_out"]
        if graph is not None:
            self._state = LoopState(Rows(graph, problem.rows["features"]), labels, held_out, reasons)
        source: Any = "none" if held_out is None else held_out["source"]
        is_guess = self.report_["parts"]["confidence"]["is_guess"] if "confidence" in self.report_["parts"] else True
        self.calibration_ = "none" if is_guess else source
        return fitted

    def _looped(self) -> LoopState:
        """The state of the fit."""
        check_is_fitted(self)
        if self._state is None:
            raise ValueError(
                f"this {type(self).__name__} holds no graph: it comes from a file, a pickle or a copy, or its edges were a stream; fit again"
            )
        return self._state

    def _fit_again(self, first: Self, state: LoopState, labels: GivenLabels, for_sets: bool = False) -> None:
        """Fit this copy of `first` to other labels on the same graph."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        problem = self._kept_problem(first, state, state.rows, labels.codes)
        self._solve(problem, labels, {"suggested": state.chosen(labels.codes), "for_sets": for_sets})
        self._recipe = first._recipe

    def _kept_problem(self, first: KeepsGraph, state: LoopState, rows: Rows, codes: NDArray[np.int32]) -> Problem:
        """The problem of a fit to these rows, on the graph of the fit `first`, with labels of these codes."""
        problem = self._problem()
        problem.rows, problem.n_samples = {"features": rows.features, "graph": rows.graph, "edges": None}, len(codes)
        return problem
