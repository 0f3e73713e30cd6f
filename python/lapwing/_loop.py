"""The label loop of a fitted harmonic classifier: suggestions, audits, sets of classes, more labels, more rows."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, TypeVar, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._arguments import choice, number
from ._attributes import Calibrated
from ._base import Problem
from ._classifier import SpreadingClassifier
from ._control import Unpack
from ._inputs import csr_from_parts, csr_parts
from ._labels import ClassLabels, as_label_array, with_marker
from ._parameters import documented_by
from ._shared import GivenLabels, NextRows, NextRowsWithReport, Rows, next_rows, row_numbers
from ._signatures import (
    HARMONIC_CLASSIFIER_AUDIT_PARAMETERS,
    HARMONIC_CLASSIFIER_SUGGEST_PARAMETERS,
    HarmonicClassifierSuggestOptions,
)
from ._warnings import warn_of
from .audit import Audit, audited

_Loop = TypeVar("_Loop", bound="LabelLoop")

_BY_CHANCE = ("check", "random")
_Sets = NDArray[np.bool_]


class _SetOptions(TypedDict, total=False):
    method: Literal["leave-one-out", "split"]
    by_class: bool
    check_rows: ArrayLike | None


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
        return sorted(row for row, reason in self.reasons.items() if reason not in _BY_CHANCE and codes[row] >= 0)


class LabelLoop(Calibrated, SpreadingClassifier):
    """Mixin of the harmonic classifiers: what to do with labels after a fit."""

    prior: Any
    form: Any
    graph_reg: Any
    clamp: Any
    decision: Any
    calibration: Any
    labels_drawn: Any

    _state: LoopState | None = None

    def __getstate__(self) -> Any:
        # The graph is as large as all else together: it is not pickled.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_state"} if isinstance(state, dict) else state

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

    @overload
    def suggest(
        self, n: int = ..., *, return_report: Literal[False] = ..., **options: Unpack[HarmonicClassifierSuggestOptions]
    ) -> NextRows: ...
    @overload
    def suggest(
        self, n: int = ..., *, return_report: Literal[True], **options: Unpack[HarmonicClassifierSuggestOptions]
    ) -> NextRowsWithReport: ...
    @overload
    def suggest(
        self, n: int = ..., *, return_report: bool, **options: Unpack[HarmonicClassifierSuggestOptions]
    ) -> NextRows | NextRowsWithReport: ...
    @documented_by(HARMONIC_CLASSIFIER_SUGGEST_PARAMETERS)
    def suggest(
        self,
        n: int = 20,
        *,
        candidates: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        strategy: Literal["mix", "cover", "border", "margin", "random"] = "mix",
        check: float = 0.0,
        explore: float = 0.0,
        return_report: bool = False,
    ) -> NextRows | NextRowsWithReport:
        """Rows to label next, given the labels of the fit; see :func:`lapwing.active.suggest`.

        Parameters
        ----------

        Returns
        -------
        rows : ndarray of shape (n,), int64
            The rows, the most useful ones first.
        reasons : ndarray of shape (n,), str
            Why each one, as in :func:`lapwing.active.suggest`.
        report : dict
            Only with ``return_report=True``; as in :func:`lapwing.active.suggest`.
        """
        state = self._looped()
        control = self._control()
        if state.suggester is None:
            state.suggester = _lapwing.Suggester(state.rows.graph, {**control, "callback": None})
        options = {"strategy": strategy, "check": check, "explore": explore}
        found = next_rows(
            state.suggester, state.given, n, state.n_samples, candidates, exclude, cost, options, control, True
        )
        state.reasons.update(zip(found[0].tolist(), found[1].tolist()))
        return found if return_report else found[:2]

    @documented_by(HARMONIC_CLASSIFIER_AUDIT_PARAMETERS)
    def audit(self, *, rounds: int = 1, duplicates: float = 0.3) -> Audit:
        """Labels of the fit that are probably wrong; see :func:`lapwing.audit.audit`.

        Parameters
        ----------

        Returns
        -------
        Audit
            What was found, for every row.
        """
        state = self._looped()
        parameters = {"rounds": rounds, "duplicates": duplicates}
        found = audited(state.rows, state.given, self._graph_parameters(), parameters, self._control())
        warn_of(found.report_["warnings"], 3)
        return found

    def leave_one_out_scores(self) -> NDArray[np.float64]:
        """Scores of the labeled rows by a fit without their own label.

        In closed form, at the smoothness and the level of the fit, on the graph that the fit kept.

        Returns
        -------
        ndarray of shape (n_labeled, n_classes)
            Scores, in the order of the rows. NaN where no other label reaches the row; with the stable form −∞ for a class without
            another label.
        """
        state = self._looped()
        form = self.report_["chosen"].get("form", self.form)
        graph_reg = self.report_["chosen"].get("graph_reg", self.graph_reg)
        if self.clamp == "hard" or self.prior is not None or not np.isfinite(graph_reg):
            raise ValueError("leave-one-out scores need soft labels, a finite graph_reg and no prior")
        level = self.report_["chosen"].get("decision", self.decision)
        centering = "stable" if form == "stable" else "row-mean" if level == "row-mean" else "plain"
        trust = len(state.labeled()) if state.weights is None else float(state.weights[state.labeled()].sum())
        smoothness = graph_reg * trust * self.report_["graph"]["mean_degree"]
        return _lapwing.leave_one_out_scores(
            state.rows.graph, state.argument, state.weights, smoothness, centering, self._control()
        )

    @overload
    def predict_sets(
        self, level: float = ..., X: Any = ..., *, return_report: Literal[False] = ..., **options: Unpack[_SetOptions]
    ) -> _Sets: ...
    @overload
    def predict_sets(
        self, level: float = ..., X: Any = ..., *, return_report: Literal[True], **options: Unpack[_SetOptions]
    ) -> tuple[_Sets, dict[str, Any]]: ...
    @overload
    def predict_sets(
        self, level: float = ..., X: Any = ..., *, return_report: bool, **options: Unpack[_SetOptions]
    ) -> _Sets | tuple[_Sets, dict[str, Any]]: ...
    def predict_sets(
        self,
        level: float = 0.9,
        X: Any = None,
        *,
        method: Literal["leave-one-out", "split"] = "leave-one-out",
        by_class: bool = False,
        check_rows: ArrayLike | None = None,
        return_report: bool = False,
    ) -> _Sets | tuple[_Sets, dict[str, Any]]:
        """Sets of classes that hold the right one in a share `level` of the rows.

        Parameters
        ----------
        level : float in (0, 1), default=0.9
            Share of the rows whose set is to hold their class. It needs 1/(1 − level) − 1 labels: 9 for 0.9, 19 for 0.95.
        X : array-like of shape (m, n_features), default=None
            New rows; None for the rows of the fit.
        method : {"leave-one-out", "split"}, default="leave-one-out"
            How labels are held out: by scores that did not see them, or by a fit to half of the labels. The sets of the second are larger,
            and have a guarantee for rows that are drawn like the labels, of classes that have one: coverage of at least `level` on
            average over draws.
        by_class : bool, default=False
            Whether the level holds in each class, which needs that many labels of each.
        check_rows : array-like of int or mask of shape (n_samples,), default=None
            Rows of the fit that were drawn at random, if the others were not: only their labels calibrate the sets. None takes those
            of :meth:`suggest` with the reason "check", where rows of the fit were suggested by it and then added by :meth:`add_labels`.
        return_report : bool, default=False
            Whether to return what is known of the sets as well.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), bool
            Whether the class is in the set of the row. All classes in rows that no label reaches.
        report : dict
            `level`, `expected` (the 5 and 95 % points of the coverage given these labels), `n_held_out`, `n_classes_seen`, `mean_size`,
            `n_unreached`, and by which labels the sets were calibrated.

        Raises
        ------
        ValueError
            If there are too few held-out labels for the level; the message says how many are needed.

        Notes
        -----
        Coverage holds for labels that are drawn like the rows. If rows were suggested by :meth:`suggest` and added by
        :meth:`add_labels`, those with the reason "check" calibrate the sets where they are enough; else a warning says that the level may
        not hold. A new fit does not know which rows were suggested: give `check_rows`.
        """
        state = self._looped()
        if not 0 < number("level", level) < 1:
            raise ValueError(f"level is {level}; expected a number above 0 and below 1")
        fitted = self
        if choice("method", method, ("leave-one-out", "split")) == "split":
            fitted, rows, classes, shares = self._split(state)
        elif not isinstance(state.argument, tuple):
            raise ValueError("sets need one class for each label, not shares of classes")
        else:
            fitted, held_out = self._left_out(state)
            rows, classes, shares = (held_out[name] for name in ("rows", "classes", "shares"))
        used, source = self._fair(state, rows, classes, level, by_class, check_rows)
        if by_class:
            self._enough_of_each(classes[used], level)
        labeling = fitted._apply(X) if X is not None else None
        distributions = fitted.label_distributions_ if labeling is None else labeling["label_distributions"]
        reached = fitted.reached_ if labeling is None else labeling["reached"]
        options = {"level": level, "by_class": by_class}
        sets, summary = _lapwing.prediction_sets(
            np.ascontiguousarray(classes[used]), np.ascontiguousarray(shares[used]), distributions, reached, options
        )
        return (sets, {**json.loads(summary), "method": method, "calibration": source}) if return_report else sets

    def _fair(
        self,
        state: LoopState,
        rows: NDArray[np.uint32],
        classes: NDArray[np.uint32],
        level: float,
        by_class: bool,
        check_rows: Any,
    ) -> tuple[NDArray[np.int64], str]:
        """Which of the held-out rows calibrate sets: those drawn at random if others were suggested and these are enough."""
        least = _lapwing.least_labels(level)
        if len(rows) < least:
            # The compiled part says how many are needed.
            return np.arange(len(rows)), "all labels"
        if check_rows is not None:
            drawn = np.isin(rows, row_numbers(check_rows, state.n_samples, "check_rows"))
            if drawn.sum() < least:
                raise ValueError(f"check_rows has {drawn.sum()} rows with a held-out label; the level {level} needs at least {least}")
            return np.flatnonzero(drawn), "check labels"
        reasons = [state.reasons.get(int(row), "") for row in rows]
        suggested = np.array([reason not in ("", *_BY_CHANCE) for reason in reasons], dtype=bool)
        checks = np.flatnonzero([reason == "check" for reason in reasons])
        everything = np.arange(len(rows))
        if not suggested.any():
            return everything, "all labels"
        counts = np.bincount(classes[checks], minlength=int(classes.max()) + 1)[np.unique(classes)] if by_class and len(checks) else [len(checks)]
        if np.min(counts) >= least:
            return checks, "check labels"
        warnings.warn(
            "labels were suggested, not drawn at random, and too few of them are check rows, so that sets may hold the right class less "
            "often than the level says; suggest some rows with check=0.2",
            UserWarning,
            stacklevel=3,
        )
        return everything, "suggested labels"

    def _enough_of_each(self: _Loop, classes: NDArray[np.uint32], level: float) -> None:
        """An error that names the class with too few held-out labels for sets by class."""
        least = _lapwing.least_labels(level)
        for code, count in zip(*np.unique(classes, return_counts=True), strict=True):
            if count < least:
                raise ValueError(
                    f"class {self.classes_[code].item()!r} has {count} held-out labels; by_class needs at least {least} of each class "
                    f"for the level {level}"
                )

    def _left_out(self: _Loop, state: LoopState) -> tuple[_Loop, dict[str, Any]]:
        """A fit that left out every label, and what it found of them: this one, unless it left out a part of them only."""
        n_labeled = len(state.labeled())
        n_left_out = 0 if state.held_out is None else len(state.held_out["rows"])
        if n_left_out == n_labeled or self.calibration != "auto" or self.prior is not None:
            fitted, held_out = self, state.held_out
        else:
            if state.left_out is None:
                fitted = clone(self).set_params(calibration="leave-one-out", certify=False)
                fitted._fit_again(self, state, state.labels, state.argument)
                state.left_out = fitted
            fitted = state.left_out
            held_out = fitted._state.held_out or state.held_out
        if held_out is None:
            few = n_labeled < 2 * len(self.classes_) or len(self.classes_) < 2
            raise ValueError(
                f"{n_labeled} labels of {len(self.classes_)} classes are too few to hold any out; sets need two classes, two labels a class "
                "on average"
                if few
                else "with these parameters, a fit holds out no label; take the defaults of form, clamp, graph_reg and calibration, and no prior"
            )
        return fitted, held_out

    def _split(self: _Loop, state: LoopState) -> tuple[_Loop, NDArray[Any], NDArray[Any], NDArray[Any]]:
        """A fit to half of the labels, and classes and shares of the other half."""
        if not isinstance(state.argument, tuple):
            raise ValueError("sets need one class for each label, not shares of classes")
        labeled = state.labeled()
        order = np.random.default_rng(self._control()["seed"]).permutation(labeled)
        held: NDArray[np.bool_] = np.zeros(state.n_samples, dtype=bool)
        held[order[: len(order) // 2]] = True
        codes = np.where(held, np.int32(-1), state.labels.codes)
        if len(labeled) < 2:
            raise ValueError("a single label leaves none to hold out")
        if self.prior is not None:
            raise ValueError("method='split' fits again to half of the labels, which the prior has seen; take method='leave-one-out'")
        half = clone(self)
        half._fit_again(self, state, replace(state.labels, codes=codes), (codes, state.argument[1]))
        rows = np.flatnonzero(held).astype(np.uint32)
        return half, rows, state.labels.codes[rows].astype(np.uint32), half.label_distributions_[rows]

    def _fit_again(self: _Loop, first: _Loop, state: LoopState, labels: ClassLabels, argument: Any) -> None:
        """Fit this copy of `first` to other labels on the same graph."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        problem = self._kept_problem(first, state, state.rows, labels.codes)
        self._solve(problem, labels, argument, state.weights, {"hands_extension": not self._keeps_rows})
        self._recipe, self._scaling = first._recipe, first._scaling

    def _kept_problem(self, first: LabelLoop, state: LoopState, rows: Rows, codes: NDArray[np.int32]) -> Problem:
        """The problem of a fit to these rows, on the graph of the fit `first`, with labels of these codes."""
        problem = self._problem()
        problem.rows, problem.n_samples = {"features": rows.features, "graph": rows.graph, "edges": None}, len(codes)
        if self.labels_drawn == "auto" and state.chosen(codes):
            # The shares of suggested labels say nothing about the sizes of classes.
            problem.parameters["labels_drawn"] = "balanced"
        return problem

    def add_labels(
        self: _Loop, rows: ArrayLike, labels: Any, *, sample_weight: ArrayLike | None = None, warm_start: bool = True
    ) -> _Loop:
        """Fit again with more labels, on the same graph.

        Parameters
        ----------
        rows : array-like of int or mask of shape (n_samples,)
            The rows.
        labels : array-like
            A label for each of them, of any class; the marker removes a label.
        sample_weight : array-like, default=None
            Trust in each of them, above 0. None keeps the trust of rows that have a label, and gives others the mean trust of the fit.
        warm_start : bool, default=True
            Whether the solver starts from the scores so far. False gives the bits of a new fit to all labels on the graph that the fit
            kept.

        Returns
        -------
        self
            The classifier, fitted to all labels.
        """
        state = self._looped()
        if not isinstance(state.argument, tuple):
            raise ValueError("the fit has shares of classes as labels; fit again with all of them")
        numbers = row_numbers(rows, state.n_samples, "rows")
        given = as_label_array(labels)
        if given.shape != numbers.shape:
            raise ValueError(f"labels have shape {given.shape}; expected one for each of the {len(numbers)} rows")
        y = self._labels_so_far(state)
        y = y.astype(np.result_type(y, given)) if y.dtype.kind in "iuf" and given.dtype.kind in "iuf" else y.astype(object)
        y[numbers] = given
        weights = self._more_weights(state, numbers, sample_weight)
        return self._again(state, state.rows, y, weights, warm_start)

    def _more_weights(
        self, state: LoopState, rows: NDArray[np.uint32], sample_weight: Any
    ) -> NDArray[np.float64] | None:
        """Trust in the labels of the fit and of the rows that are added to them."""
        if state.weights is None and sample_weight is None:
            return None
        weights = np.ones(state.n_samples) if state.weights is None else state.weights.copy()
        if sample_weight is not None:
            given = np.asarray(sample_weight, dtype=np.float64)
            if given.shape != rows.shape or not (given > 0).all():
                raise ValueError(f"sample_weight must hold a number above 0 for each of the {len(rows)} rows")
            weights[rows] = given
            return weights
        labeled = state.labeled()
        new = rows[state.labels.codes[rows] < 0]
        weights[new] = weights[labeled].mean()
        return weights

    def add_rows(self: _Loop, X: Any, *, warm_start: bool = True) -> _Loop:
        """Fit again with more rows, which have no label yet, behind those of the fit.

        Each new row is joined to its nearest rows; the edges of the other rows stay. Fit again once the added rows exceed a
        fifth of all, because the graph drifts from the one that would be built anew.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            New rows.
        warm_start : bool, default=True
            Whether the solver starts from the scores so far, and those of the neighbors of the new rows.

        Returns
        -------
        self
            The classifier, fitted to all rows.
        """
        state = self._looped()
        if state.rows.features is None or not isinstance(state.argument, tuple):
            raise ValueError("rows can be added to a fit that built its graph from features, with one class for each label")
        new = self._new_features(X)
        graph = state.rows.graph.with_rows(state.rows.features, new, self._graph_parameters(), self._control())
        m = graph.n_samples - state.n_samples
        y = np.concatenate([self._labels_so_far(state), np.repeat(self._labels_so_far(state, True)[:1], m)])
        weights = None if state.weights is None else np.concatenate([state.weights, np.ones(m)])
        start = np.concatenate([self.scores_, self._new_scores(X)[0]]) if warm_start else None
        rows = Rows(graph, _stacked(state.rows.features, new))
        return self._again(state, rows, y, weights, warm_start, start)

    def _labels_so_far(self, state: LoopState, only_marker: bool = False) -> NDArray[Any]:
        """The labels of the fit in the form of y; or only markers."""
        codes = np.full_like(state.labels.codes, -1) if only_marker else state.labels.codes
        classes = state.labels.classes
        return with_marker(classes[np.maximum(codes, 0)], codes < 0, state.labels.marker)

    def _again(
        self: _Loop, state: LoopState, rows: Rows, y: NDArray[Any], weights: Any, warm_start: bool, start: Any = None
    ) -> _Loop:
        """Fit to these rows and labels."""
        if self.prior is not None:
            raise ValueError("the fit starts from a prior, which has to know the labels; fit again with all of them")
        labels, argument = self._labels(y, len(y), weights)
        problem = self._kept_problem(self, state, rows, labels.codes)
        scores = None
        if warm_start and np.array_equal(labels.classes, state.labels.classes):
            scores = np.ascontiguousarray(self.scores_ if start is None else start)
        recipe, scaling = self._recipe, self._scaling
        extras = {"hands_extension": not self._keeps_rows, "scores": scores, "suggested": state.chosen(labels.codes)}
        self._solve(problem, labels, argument, weights, extras)
        # How columns are made and scaled stays, and so do the cells of the graph.
        self._recipe, self._scaling = recipe, scaling
        if self._state is not None and rows is state.rows:
            self._state.suggester = state.suggester
        self._warn()
        return self

    def _graph_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = _lapwing.check_parameters(self._method, self._parameters())
        return parameters


def _stacked(old: Any, new: Any) -> Any:
    """Features one behind the other, in the form that the compiled part takes."""
    if isinstance(old, tuple):
        return csr_parts(sp.vstack([csr_from_parts(old), csr_from_parts(new)]), np.float32)
    # Bytes beside other numbers become those.
    return np.ascontiguousarray(np.vstack([old, new]))
