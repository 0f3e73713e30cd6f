"""Common parts of the classifiers: labels in, labels of new rows out."""

from __future__ import annotations

import json
from os import PathLike
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._base import FittedRows, GraphEstimator, Problem, Spreads
from ._containers import as_label_array
from ._control import Self
from ._labels import class_labels, class_names, default_marker, label_warnings, unlabeled_mask, with_marker
from ._pages import Page, as_row_names, page_path
from ._parameters import documented_like
from ._shared import GivenLabels, given_labels
from .metrics import share_right


class ExpectedAccuracy(NamedTuple):
    """Accuracy that rows without a label are expected to have, and the ends of its 90 % interval."""

    value: float
    low: float
    high: float


def expected_accuracy(report: dict[str, Any]) -> ExpectedAccuracy | None:
    """The expected accuracy in the report of a fit; None if no label was held out."""
    part = report["parts"].get("expected_accuracy")
    return part and ExpectedAccuracy(part["value"], part["low"], part["high"])


class SpreadingClassifier(Spreads, ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Base of the classifiers that label the rows of the fit and new rows."""

    transduction_: Annotated[NDArray[Any], """ndarray of shape (n_samples,)
        Label of every row of the fit."""]
    label_distributions_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples, n_classes)
        Shares of the classes; rows are finite and sum to 1. The prior in rows that no label reaches."""]
    scores_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples, n_classes)
        Scores before any normalizing; NaN in rows that no label reaches."""]
    confidence_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        Share of the chosen class in the label distribution."""]
    expected_accuracy_: Annotated[ExpectedAccuracy | None, """tuple (value, low, high), or None
        Accuracy that rows without a label are expected to have, and its 90 % interval, from labels that were held out; None with
        fewer than two labels a class, where holding out would cost too much, and where labels were held to given class sizes after
        they had been held out. ``report_["parts"]`` has more in
        ``"expected_accuracy"``, ``"reliability"`` and ``"confidence"``."""]
    classes_: Annotated[NDArray[Any], """ndarray of shape (n_classes,)
        Distinct given labels, ascending; 0..c−1 for soft labels."""]

    _keeps_rows: ClassVar[bool] = False
    """Whether model files have all rows of the fit, with their scores."""
    _call: str | None = None
    """The expression that fits again, if it is not `fit`."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, graph: Any, validation: Any = None) -> Self:
        problem = self._begin(X, y, graph)
        labels = given_labels(y, problem.n_samples, self.unlabeled, sample_weight)
        extras = self._extras(labels, validation) | self._prior_argument(problem, X, graph, labels)
        self._solve(problem, labels, extras)
        self.report_["warnings"] += label_warnings(self.classes_, self.unlabeled)
        self._warn()
        return self

    def _solve(self, problem: Problem, labels: GivenLabels, extras: dict[str, Any]) -> dict[str, Any]:
        """Fit, and store what was found."""
        extras = {"keeps_graph": self._keeps_graph, **extras}
        fitted: dict[str, Any] = _lapwing.fit_classifier(
            problem.method, problem.parameters, problem.rows, labels.argument, labels.weights, extras, problem.control
        )
        self.classes_, self._marker = labels.classes, labels.marker
        self._keep_labeling(fitted)
        ends = np.where(fitted["reached"] | (not self.abstain), fitted["labels"].astype(np.int32), -1).astype(np.int32)
        self._fitted_rows, self._call = FittedRows(problem, labels.codes >= 0, labels.codes, ends, fitted["graph"]), None
        self._keep(problem, fitted)
        self.expected_accuracy_ = expected_accuracy(self.report_)
        return fitted

    def _extras(self, labels: GivenLabels, validation: Any) -> dict[str, Any]:
        """Inputs of the method besides rows, labels and parameters."""
        return {}

    def _prior_argument(self, problem: Problem, X: Any, graph: Any, labels: GivenLabels) -> dict[str, Any]:
        """Where the fit starts: the prior, for a method that takes one."""
        return {}

    @documented_like(Spreads.predict)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes for new rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares in the order of `classes_`; rows sum to 1.
        """
        return self._apply(X)["label_distributions"]

    def _score_of(self, predicted: NDArray[Any], y: Any, sample_weight: Any) -> float:
        truth = as_label_array(y)
        return share_right(truth, predicted, ~unlabeled_mask(truth, self.unlabeled, self.classes_), sample_weight)

    def _predicted(self, X: Any, graph: Any = None) -> NDArray[Any]:
        return self._decode(self._apply(X, graph))

    def _apply(self, X: Any, graph: Any = None) -> dict[str, Any]:
        """Labels of new rows, or of the nodes of a graph."""
        check_is_fitted(self)
        if not self._model.takes_features:
            return self._model.label(self._weighted_mean(X), self._control(quiet=True))
        return self._model.predict(self._new_features(X), self._new_graph(graph), self._control())

    def _keep_labeling(self, labeling: dict[str, Any]) -> None:
        self.scores_ = labeling["scores"]
        self.reached_ = labeling["reached"]
        self.label_distributions_ = labeling["label_distributions"]
        self.confidence_ = labeling["confidence"]
        self.transduction_ = self._decode(labeling)

    def _restore(self, parts: dict[str, Any]) -> None:
        """Restore the parts of a model file."""
        self._model = parts["model"]
        self.classes_ = np.asarray(parts["classes"])
        self._marker = default_marker(self.classes_)
        self.n_features_in_ = parts["n_features"]
        self._recipe, self._id = parts["recipe"], parts["id"]
        if parts["feature_names"] is not None:
            # A recipe makes several features of one column, or none.
            self.n_features_in_ = len(parts["feature_names"])
            self.feature_names_in_ = np.asarray(parts["feature_names"], dtype=object)
        if self._keeps_rows:
            self._keep_labeling(self._model.label(None, self._control(quiet=True)))
        self._keep_parts()

    @classmethod
    def _parameters_of(cls, parts: dict[str, Any]) -> dict[str, Any]:
        """The parameters that a model file has stored."""
        names = cls._declared if cls._keeps_rows else ("metric", "zero_rows")
        return {name: value for name, value in (parts["graph"] or {}).items() if name in names}

    def _decode(self, labeling: dict[str, Any]) -> NDArray[Any]:
        labels = self.classes_[labeling["labels"]]
        return with_marker(labels, ~labeling["reached"], self._marker) if self.abstain else labels

    def report(
        self,
        path: str | PathLike[str],
        *,
        y_true: Any = None,
        title: str | None = None,
        row_names: ArrayLike | None = None,
    ) -> Page:
        """Write a page about the fit: what was done, how sure the labels are, and what to do next.

        The page shows the rows in two dimensions, class sizes, confidence and its reliability, rows to label next, labels to
        doubt, the rows that are least certain, and how the fit can be done again. It is one HTML file of about a megabyte,
        which loads nothing and follows the reader's light or dark mode; ``lapwing label --report`` writes the same page. Rows
        that are small square images, of 8 x 8 to 64 x 64 values of at least 0, are shown as such.

        Parameters
        ----------
        path : str or path-like
            The file, ending in ``.html``. It is written completely or not at all.
        y_true : array-like of shape (n_samples,), default=None
            True labels where they are known, with the marker elsewhere. Adds the accuracy on rows whose label was not
            given, and which classes are taken for which.
        title : str, default=None
            Heading of the page; None is the number of rows.
        row_names : array-like of shape (n_samples,), default=None
            Names of the rows, all different. None numbers them from 0.

        Returns
        -------
        Page
            What was written, which notebooks show in place; ``page["Confidence"]`` is one of its figures alone, by its heading.

        Raises
        ------
        ValueError
            If the estimator comes from a file, a pickle or a copy: these hold no rows.

        Notes
        -----
        Needs the features or the graph of the fit, which the estimator keeps without a copy. The picture is a layout of the graph, in
        O(edges) time; a graph that the method did not keep is built again.
        """
        rows, control = self._rows_of_fit(), self._control()
        target, row_names = page_path(path), as_row_names(row_names, len(rows.codes))
        names, truth = self._true_codes(y_true, len(rows.codes))
        report, seed = self.report_, getattr(self, "random_state", None)
        texts = {
            "title": title or f"{len(rows.codes):,} rows",
            "command": self._command(rows),
            "seed": int(seed) if isinstance(seed, (int, np.integer)) else None,
            "report": json.dumps({name: value for name, value in report.items() if name != "warnings"}),
            "warnings": [warning["text"] for warning in report["warnings"]],
        }
        outcome = {
            "names": names,
            "given": rows.codes,
            "labels": rows.labels,
            "shares": np.ascontiguousarray(self.label_distributions_),
            "confidence": np.ascontiguousarray(self.confidence_),
            "reached": np.ascontiguousarray(self.reached_),
            "truth": truth,
            "row_names": row_names,
        }
        graph = rows.graph_of(report, control)
        tol = float(getattr(self, "tol", None) or 1e-6)
        _lapwing.fit_page(target, texts, outcome, rows.features, graph, tol, control)
        return Page.written(target)

    def _command(self, rows: FittedRows) -> str:
        """The expression that fits again."""
        if self._call is not None:
            return self._call
        has_both = rows.features is not None and rows.problem.rows["graph"] is not None
        return f"{self.__repr__(N_CHAR_MAX=10**6)}.fit(X, y{', graph=graph' if has_both else ''})"  # type: ignore[call-arg]

    def _true_codes(self, y_true: Any, n_samples: int) -> tuple[list[int] | list[str], NDArray[np.int32] | None]:
        """Names of the classes, then of those that only the truth has, and the true class of each row, negative if unknown."""
        classes = self.classes_
        if y_true is None:
            return class_names(classes), None
        truth = column_or_1d(as_label_array(y_true))
        if truth.shape[0] != n_samples:
            raise ValueError(f"y_true has {truth.shape[0]} rows; expected one per row of the fit, {n_samples}")
        found = class_labels(truth, self.unlabeled, known=classes)
        given, is_text = found.classes, isinstance(classes[0], str)
        if len(given) and isinstance(given[0], str) != is_text:
            kinds = ("texts", "numbers") if is_text else ("numbers", "texts")
            raise TypeError(f"the classes of the fit are {kinds[0]}, but y_true holds {kinds[1]}; expected labels of one kind")
        if is_text:
            classes, given = classes.astype(str), given.astype(str)
        if np.result_type(classes, given).kind == "f" != classes.dtype.kind:
            # Integers with and without a sign have no common type that holds all of them.
            classes, given = classes.astype(object), given.astype(object)
        names = np.concatenate([classes, np.setdiff1d(given, classes)])
        order = np.argsort(names)
        of_given = np.append(order[np.searchsorted(names[order], given)], -1)
        return class_names(names), of_given[found.codes].astype(np.int32)
