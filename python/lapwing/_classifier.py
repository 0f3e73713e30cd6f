"""Common parts of the classifiers: labels in, labels of new rows out."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._attributes import Classes, ExpectedAccuracy
from ._base import GraphEstimator, Problem
from ._containers import as_label_array
from ._labels import ClassLabels, class_labels, class_names, default_marker, label_warnings, unlabeled_mask, with_marker
from ._pages import FittedRows, WritesPage
from .metrics import share_right

_Classifier = TypeVar("_Classifier", bound="SpreadingClassifier")


def expected_accuracy(report: dict[str, Any]) -> ExpectedAccuracy | None:
    """The expected accuracy in the report of a fit; None if no label was held out."""
    part = report["parts"].get("expected_accuracy")
    return part and ExpectedAccuracy(part["value"], part["low"], part["high"])


class SpreadingClassifier(WritesPage, ClassifierMixin, Classes, GraphEstimator):  # type: ignore[misc]
    """Base of the classifiers that label the rows of the fit and new rows."""

    def fit(self: _Classifier, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> _Classifier:
        """Label every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features; or what `affinity` says. C-contiguous float32, float64 and uint8 arrays are used in place, all else is
            converted once.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, with the marker in rows that have none, in any container: list, array, masked array, series or column of pandas,
            polars or Arrow. Or soft labels, also as a sparse matrix: shares that sum to 1, rows of zeros unlabeled.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given label, at least 0, default 1. A row of weight 0 counts as unlabeled; it stays in the graph.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            The graph of the rows: symmetric weights, a :class:`lapwing.graph.Graph`, or ``(indices, distances)`` of a neighbor
            search; None builds the graph from X. Methods that need features beside a graph take both. For the others the
            graph stands for X, which may be None, and new rows are given by their affinities to those of the fit; only a
            classifier as `prior` is fitted to X then. Methods without a graph take none.

        Returns
        -------
        self
            The classifier, fitted.
        """
        return self._fit(X, y, sample_weight, graph)

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

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> NDArray[Any]:
        """Label every row of X; the same as ``fit(X, y).transduction_``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for :meth:`fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            As for :meth:`fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            As for :meth:`fit`.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label for every row.
        """
        return self.fit(X, y, sample_weight, graph=graph).transduction_

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the weighted mean of the scores of their nearest fitted rows, or as the class says.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; if the fit was given a graph instead of features, their affinities to the fitted rows
            (m, n_samples).

        Returns
        -------
        ndarray of shape (m,)
            A label for every row.
        """
        return self._decode(self._apply(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes for new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows, as for :meth:`predict`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares in the order of `classes_`; rows sum to 1.
        """
        shares: NDArray[np.float64] = self._apply(X)["label_distributions"]
        return shares

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of ``predict(X)`` over the rows of y that have a label.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            Rows, as for :meth:`predict`.
        y : array-like of shape (m,)
            Labels, with the marker in rows that have none.
        sample_weight : array-like of shape (m,), default=None
            Weights of the rows; None for 1.

        Returns
        -------
        float
            The share of right labels, in [0, 1].
        """
        return self._score_of(self.predict(X), y, sample_weight)

    def _score_of(self, predicted: NDArray[Any], y: Any, sample_weight: Any) -> float:
        truth = as_label_array(y)
        return share_right(truth, predicted, ~unlabeled_mask(truth, self.unlabeled, self.classes_), sample_weight)

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
