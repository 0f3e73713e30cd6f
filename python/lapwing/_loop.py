"""The label loop of a fitted harmonic classifier: suggestions, audits, more labels, more rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _lapwing, active
from ._containers import as_label_array
from ._control import Self
from ._inputs import csr_from_parts, csr_parts, vector
from ._labels import unlabeled_mask, with_marker
from ._looped import LoopState
from ._parameters import documented_by
from ._sets import PredictsSets
from ._shared import Rows, given_labels, next_rows, row_numbers
from ._signatures import HARMONIC_CLASSIFIER_AUDIT_PARAMETERS, HARMONIC_CLASSIFIER_SUGGEST_PARAMETERS
from ._warnings import warn_of
from .audit import Audit, audit, audited


class LabelLoop(PredictsSets):
    """Mixin of the harmonic classifiers: what to do with labels after a fit."""

    @documented_by(HARMONIC_CLASSIFIER_SUGGEST_PARAMETERS, active.suggest)
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
    ) -> Any:
        """Rows to label next, given the labels of the fit; see :func:`lapwing.active.suggest`."""
        state = self._looped()
        control = self._control()
        if state.suggester is None:
            state.suggester = _lapwing.Suggester(state.rows.graph, {**control, "callback": None})
        options = {"strategy": strategy, "check": check, "explore": explore}
        wanted = (n, candidates, exclude, cost, options)
        found = next_rows(state.suggester, state.labels, *wanted, control, True, return_report)
        state.reasons.update(zip(found[0].tolist(), found[1].tolist()))
        return found

    @documented_by(HARMONIC_CLASSIFIER_AUDIT_PARAMETERS, audit)
    def audit(self, *, rounds: int = 1, duplicates: float = 0.3) -> Audit:
        """Labels of the fit that are probably wrong; see :func:`lapwing.audit.audit`."""
        state = self._looped()
        parameters = {"rounds": rounds, "duplicates": duplicates}
        found = audited(state.rows, state.labels, self._graph_parameters(), parameters, self._control())
        warn_of(found.report_["warnings"])
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
        trust = len(state.labeled()) if state.labels.weights is None else float(state.labels.weights[state.labeled()].sum())
        smoothness = graph_reg * trust * self.report_["graph"]["mean_degree"]
        return _lapwing.leave_one_out_scores(
            state.rows.graph, state.labels.argument, state.labels.weights, smoothness, centering, self._control()
        )

    def add_labels(
        self, rows: ArrayLike, labels: Any, *, sample_weight: ArrayLike | None = None, warm_start: bool = True
    ) -> Self:
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
        if not isinstance(state.labels.argument, tuple):
            raise ValueError("the fit has shares of classes as labels; fit again with all of them")
        numbers = row_numbers(rows, state.n_samples, "rows")
        given = as_label_array(labels)
        if given.shape != numbers.shape:
            raise ValueError(f"labels have shape {given.shape}; expected one for each of the {len(numbers)} rows")
        y = self._labels_so_far(state)
        y[numbers] = given
        y[numbers[unlabeled_mask(given, self.unlabeled, state.labels.classes)]] = None
        weights = self._more_weights(state, numbers, sample_weight)
        return self._again(state, state.rows, y, weights, warm_start)

    def _more_weights(
        self, state: LoopState, rows: NDArray[np.uint32], sample_weight: Any
    ) -> NDArray[np.float64] | None:
        """Trust in the labels of the fit and of the rows that are added to them."""
        if state.labels.weights is None and sample_weight is None:
            return None
        weights = np.ones(state.n_samples) if state.labels.weights is None else state.labels.weights.copy()
        if sample_weight is not None:
            given = vector(sample_weight, "sample_weight")
            if given.shape != rows.shape or not (given > 0).all():
                raise ValueError(f"sample_weight must hold a number above 0 for each of the {len(rows)} rows")
            weights[rows] = given
            return weights
        labeled = state.labeled()
        new = rows[state.labels.codes[rows] < 0]
        weights[new] = weights[labeled].mean()
        return weights

    def add_rows(self, X: Any, *, warm_start: bool = True) -> Self:
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
        if state.rows.features is None or not isinstance(state.labels.argument, tuple):
            raise ValueError("rows can be added to a fit that built its graph from features, with one class for each label")
        new = self._new_features(X)
        graph = state.rows.graph.with_rows(state.rows.features, new, self._graph_parameters(), self._control())
        m = graph.n_samples - state.n_samples
        y = np.concatenate([self._labels_so_far(state), np.full(m, None, dtype=object)])
        weights = None if state.labels.weights is None else np.concatenate([state.labels.weights, np.ones(m)])
        start = np.concatenate([self.scores_, self._new_scores(X)]) if warm_start else None
        rows = Rows(graph, _stacked(state.rows.features, new))
        return self._again(state, rows, y, weights, warm_start, start)

    def _labels_so_far(self, state: LoopState) -> NDArray[np.object_]:
        """The labels of the fit as objects, None where there is none."""
        codes, classes = state.labels.codes, state.labels.classes
        return with_marker(classes[np.maximum(codes, 0)].astype(object), codes < 0, None)

    def _again(
        self, state: LoopState, rows: Rows, y: NDArray[Any], weights: Any, warm_start: bool, start: Any = None
    ) -> Self:
        """Fit to these rows and labels."""
        if self.prior is not None:
            raise ValueError("the fit starts from a prior, which has to know the labels; fit again with all of them")
        labels = given_labels(y, len(y), self.unlabeled, weights)
        problem = self._kept_problem(self, state, rows, labels.codes)
        scores = None
        if warm_start and np.array_equal(labels.classes, state.labels.classes):
            scores = np.ascontiguousarray(self.scores_ if start is None else start)
        recipe = self._recipe
        self._solve(problem, labels, {"scores": scores, "suggested": state.chosen(labels.codes)})
        # How columns are made stays, and so do the cells of the graph.
        self._recipe = recipe
        if self._state is not None and rows is state.rows:
            self._state.suggester = state.suggester
        self._warn()
        return self

    def _graph_parameters(self) -> dict[str, Any]:
        return _lapwing.check_parameters(self._method, self._parameters())


def _stacked(old: Any, new: Any) -> Any:
    """Features one behind the other, in the form that the compiled part takes."""
    if isinstance(old, tuple):
        return csr_parts(sp.vstack([csr_from_parts(old), csr_from_parts(new)]), np.float32)
    # Bytes beside other numbers become those.
    return np.ascontiguousarray(np.vstack([old, new]))
