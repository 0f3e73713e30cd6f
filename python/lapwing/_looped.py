"""Harmonic classifiers that keep the graph of a fit, and fit again on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._attributes import Calibrated
from ._base import Problem
from ._classifier import SpreadingClassifier
from ._labels import ClassLabels
from ._shared import GivenLabels, Rows

_Fitted = TypeVar("_Fitted", bound="KeepsGraph")

#: Reasons of rows that were suggested by chance.
BY_CHANCE = ("check", "random")


@dataclass
class LoopState:
    """What later calls on the rows of a fit need."""

    rows: Rows
    labels: ClassLabels
    argument: Any
    weights: NDArray[np.float64] | None
    held_out: dict[str, Any] | None
    reasons: dict[int, str] = field(default_factory=dict)
    """Why rows were suggested."""
    suggester: Any = None
    left_out: Any = None
    """A fit to the same labels that left out each of them, if this one did not."""

    @property
    def n_samples(self) -> int:
        return int(self.rows.graph.n_samples)

    @property
    def given(self) -> GivenLabels:
        return GivenLabels(self.labels, self.argument, self.weights)

    def labeled(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.labels.codes >= 0)

    def chosen(self, codes: NDArray[np.int32]) -> list[int]:
        """The rows with a label, of these codes, that were suggested other than by chance, ascending."""
        return sorted(row for row, reason in self.reasons.items() if reason not in BY_CHANCE and codes[row] >= 0)


class KeepsGraph(Calibrated, SpreadingClassifier):
    """Mixin of the harmonic classifiers: the graph of the fit, for later calls."""

    prior: Any
    form: Any
    graph_reg: Any
    clamp: Any
    decision: Any
    calibration: Any

    _state: LoopState | None = None

    def _solve(
        self, problem: Problem, labels: ClassLabels, argument: Any, weights: Any, extras: dict[str, Any]
    ) -> dict[str, Any]:
        fitted: dict[str, Any] = super()._solve(problem, labels, argument, weights, {**extras, "keeps_graph": True})
        reasons = self._state.reasons if self._state is not None and "scores" in extras else {}
        self._state = None
        graph, held_out = fitted["graph"], fitted["held_out"]
        if graph is not None:
            if not isinstance(argument, tuple):
                labels = replace(labels, codes=self._rows_of_fit().codes)
            rows = Rows(graph, problem.rows["features"])
            self._state = LoopState(rows, labels, argument, weights, held_out, reasons)
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

    def _fit_again(
        self: _Fitted, first: _Fitted, state: LoopState, labels: ClassLabels, argument: Any, for_sets: bool = False
    ) -> None:
        """Fit this copy of `first` to other labels on the same graph."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        problem = self._kept_problem(first, state, state.rows, labels.codes)
        extras = {"hands_extension": not self._keeps_rows, "suggested": state.chosen(labels.codes), "for_sets": for_sets}
        self._solve(problem, labels, argument, state.weights, extras)
        self._recipe, self._scaling = first._recipe, first._scaling

    def _kept_problem(self, first: KeepsGraph, state: LoopState, rows: Rows, codes: NDArray[np.int32]) -> Problem:
        """The problem of a fit to these rows, on the graph of the fit `first`, with labels of these codes."""
        problem = self._problem()
        problem.rows, problem.n_samples = {"features": rows.features, "graph": rows.graph, "edges": None}, len(codes)
        return problem
