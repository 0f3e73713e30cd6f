"""Common parts of the classifiers: labels in, labels of new rows out."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._base import GraphEstimator, Problem, Spreads
from ._containers import as_label_array
from ._control import Self
from ._labels import default_marker, label_warnings, unlabeled_mask, with_marker
from ._pages import FittedRows, WritesPage
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


class SpreadingClassifier(WritesPage, Spreads, ClassifierMixin, GraphEstimator):  # type: ignore[misc]
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
