"""Common parts of the classifiers: labels in, labels of new rows out."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._attributes import Classes, ExpectedAccuracy
from ._base import GraphEstimator, Problem, Spreads
from ._containers import as_label_array
from ._labels import ClassLabels, class_labels, class_names, default_marker, label_warnings, unlabeled_mask, with_marker
from ._pages import FittedRows, WritesPage
from ._parameters import documented_like
from .metrics import share_right

_Classifier = TypeVar("_Classifier", bound="SpreadingClassifier")


def expected_accuracy(report: dict[str, Any]) -> ExpectedAccuracy | None:
    """The expected accuracy in the report of a fit; None if no label was held out."""
    part = report["parts"].get("expected_accuracy")
    return part and ExpectedAccuracy(part["value"], part["low"], part["high"])


class SpreadingClassifier(WritesPage, Spreads, ClassifierMixin, Classes, GraphEstimator):  # type: ignore[misc]
    """Base of the classifiers that label the rows of the fit and new rows."""

    def _fit(
        self: _Classifier, X: Any, y: Any, sample_weight: Any, graph: Any, validation: Any = None
    ) -> _Classifier:
        problem = self._begin(X, y, graph)
        weights = self._label_weights(sample_weight, problem.n_samples)
        labels, argument = self._labels(y, problem.n_samples, weights)
        extras = {"hands_extension": not self._keeps_rows, **self._extras(labels, validation)}
        extras |= self._prior_argument(problem, X, graph, labels, weights)
        self._solve(problem, labels, argument, weights, extras)
        self.report_["warnings"] += label_warnings(self.classes_, self.unlabeled)
        self._warn()
        return self

    def _solve(
        self, problem: Problem, labels: ClassLabels, argument: Any, weights: Any, extras: dict[str, Any]
    ) -> dict[str, Any]:
        """Fit, and store what was found."""
        fitted: dict[str, Any] = _lapwing.fit_classifier(
            problem.method, problem.parameters, problem.rows, argument, weights, extras, problem.control
        )
        self._keep_labels(labels, fitted)
        codes = labels.codes if isinstance(argument, tuple) else _likeliest(argument)
        ends = np.where(fitted["reached"] | (not self.abstain), fitted["labels"].astype(np.int32), -1).astype(np.int32)
        self._fitted_rows, self._call = FittedRows(problem, codes >= 0, codes, ends, fitted["graph"]), None
        self._keep(problem, fitted, fitted["scores"])
        self.expected_accuracy_ = expected_accuracy(self.report_)
        return fitted

    def _extras(self, labels: ClassLabels, validation: Any) -> dict[str, Any]:
        """Inputs of the method besides rows, labels and parameters."""
        return {}

    def _prior_argument(
        self, problem: Problem, X: Any, graph: Any, labels: ClassLabels, weights: NDArray[np.float64] | None
    ) -> dict[str, Any]:
        """Where the fit starts: the prior, for a method that takes one."""
        return {}

    @documented_like(Spreads.predict)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes for new rows.

        Parameters
        ----------

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
        check_is_fitted(self)
        return self._labeling(*self._new_scores(X, graph))

    def _labeling(self, scores: NDArray[np.float64], errors: NDArray[np.float64] | None) -> dict[str, Any]:
        """Labels from scores, by the rule of the fit."""
        return _lapwing.apply_rule(scores, errors, self._rule, self._control(quiet=True))

    def _keep_labels(self, labels: ClassLabels, fitted: dict[str, Any]) -> None:
        """Store the labels of the rows of the fit, and the rule for those of new rows."""
        self.classes_ = labels.classes
        self._marker = labels.marker
        self._rule = fitted["rule"]
        self._keep_labeling(fitted)

    def _keep_labeling(self, labeling: dict[str, Any]) -> None:
        self.scores_ = labeling["scores"]
        self.reached_ = labeling["reached"]
        self.label_distributions_ = labeling["label_distributions"]
        self.confidence_ = labeling["confidence"]
        self.transduction_ = self._decode(labeling)

    def _restore(self, parts: dict[str, Any]) -> None:
        """Restore the parts of a model file."""
        self._fitted_extension = parts["extension"]
        self._scaling = parts["scaling"]
        self._rule = parts["rule"]
        self.classes_ = np.asarray(parts["classes"])
        self._marker = default_marker(self.classes_)
        self.n_features_in_ = parts["n_features"]
        self._recipe, self._id = parts["recipe"], parts["id"]
        if parts["feature_names"] is not None:
            # A recipe makes several features of one column, or none.
            self.n_features_in_ = len(parts["feature_names"])
            self.feature_names_in_ = np.asarray(parts["feature_names"], dtype=object)
        if self._keeps_rows:
            self._keep_labeling(self._labeling(parts["extension"]["scores"], None))
        self._keep_extension()

    @classmethod
    def _parameters_of(cls, extension: Any) -> dict[str, Any]:
        """The parameters that the extension to new rows has stored."""
        names = cls._declared if cls._keeps_rows else ("metric", "zero_rows")
        graph = extension["graph"] if isinstance(extension, dict) else {}
        return {name: value for name, value in graph.items() if name in names}

    def _decode(self, labeling: dict[str, Any]) -> NDArray[Any]:
        labels = self.classes_[labeling["labels"]]
        return with_marker(labels, ~labeling["reached"], self._marker) if self.abstain else labels

    def _labels(self, y: Any, n_samples: int, weights: NDArray[np.float64] | None) -> tuple[ClassLabels, Any]:
        """The classes, and the labels in the form that the compiled part takes."""
        array = as_label_array(y)
        if array.ndim == 2 and array.shape[1] > 1:
            shares = np.array(array, dtype=np.float64, order="C")
            self._require_length(shares, n_samples)
            shares[np.isnan(shares).all(axis=1)] = 0.0
            marker = -1 if self.unlabeled is None else self.unlabeled
            return ClassLabels(np.arange(shares.shape[1]), np.empty(0, np.int32), marker), shares
        array = column_or_1d(array, warn=True)
        self._require_length(array, n_samples)
        labels = class_labels(array, self.unlabeled, weights)
        return labels, (labels.codes, class_names(labels.classes))


def _likeliest(shares: NDArray[np.float64]) -> NDArray[np.int32]:
    """The class of the largest share in each row; -1 in rows of zeros."""
    return np.where(shares.any(axis=1), shares.argmax(axis=1), -1).astype(np.int32)
