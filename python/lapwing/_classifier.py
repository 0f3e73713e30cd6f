"""What the classifiers share: labels in, labels of new rows out."""

from __future__ import annotations

import json
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._arguments import text
from ._base import GraphEstimator, Source
from ._labels import ClassLabels, as_label_array, class_labels, with_marker
from .metrics import accuracy_score

_Method = TypeVar("_Method", bound="MethodClassifier")


def class_names(classes: NDArray[Any]) -> list[int] | list[str]:
    """Names of the classes as messages of the compiled part have them."""
    if classes.dtype.kind in "iuf" and (abs(classes) < 2**53).all():
        return [int(name) for name in classes]
    return [str(name) for name in classes.tolist()]


class SpreadingClassifier(ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Base of the classifiers that label the rows of the fit, and new rows after them."""

    _method: ClassVar[str]
    """Name of the method, as in model files."""

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray[Any]:
        """Label every row of X; the same as ``fit(X, y).transduction_``."""
        return self.fit(X, y, sample_weight).transduction_

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the weighted mean of the scores of their nearest fitted rows, or as the class says.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; for ``affinity="precomputed"`` their affinities to the fitted rows (m, n_samples).

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._decode(self._apply(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes (m, n_classes) for new rows, as for :meth:`predict`; rows sum to 1."""
        shares: NDArray[np.float64] = self._apply(X)["label_distributions"]
        return shares

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of ``predict(X)`` over the rows of y that have a label."""
        return accuracy_score(y, self.predict(X), unlabeled=self.unlabeled, sample_weight=sample_weight)

    def _apply(self, X: Any) -> dict[str, Any]:
        check_is_fitted(self)
        return _lapwing.apply_rule(self._new_scores(X), None, self._rule, self._control(quiet=True))

    def _new_scores(self, X: Any) -> NDArray[np.float64]:
        return self._extend(X, self.scores_, self.reached_)

    def _extension(self) -> Any:
        """What labels new rows, as the compiled part takes it; None without features."""
        return None if self._fit_X is None else self._neighbor_extension(self.scores_)

    _decides_sizes: ClassVar[bool] = False
    """Whether the fit itself holds classes to sizes."""

    def _sized(
        self, fitted: dict[str, Any], argument: Any, weights: NDArray[np.float64] | None, control: dict[str, Any]
    ) -> dict[str, Any]:
        """What a fit returns, decided again if every class is to get its size."""
        if self._decides_sizes or getattr(self, "decision", "auto") != "sizes":
            return fitted
        sizes = self._size_options()
        sized = _lapwing.decide_by_sizes(fitted["scores"], fitted["rule"], argument, weights, sizes, control)
        report = json.loads(fitted["report"])
        report["parts"]["sizes"] = json.loads(sized.pop("part"))
        report["warnings"] += sized.pop("warnings")
        return {**fitted, **sized, "report": json.dumps(report)}

    def _check_sizes(self, n_classes: int) -> None:
        """Refuse sizes that cannot be, before anything is built."""
        decision = text("decision", getattr(self, "decision", "auto"))
        if not self._decides_sizes and decision not in ("auto", "sizes") and self._method != "subsampling":
            raise ValueError(f"decision: expected auto or sizes, got {decision!r}")
        _lapwing.check_sizes(self._size_options(), n_classes)

    def _keep_labels(self, labels: ClassLabels, fitted: dict[str, Any]) -> None:
        """Take over what every fit of a classifier returns."""
        self.scores_ = fitted["scores"]
        self.classes_ = labels.classes
        self._marker = labels.marker
        self._rule = fitted["rule"]
        self.label_distributions_ = fitted["label_distributions"]
        self.confidence_ = fitted["confidence"]
        self.transduction_ = self._decode(fitted)

    def _decode(self, labeling: dict[str, Any]) -> NDArray[Any]:
        labels = self.classes_[labeling["labels"]]
        return with_marker(labels, ~labeling["reached"], self._marker) if self.abstain else labels

    def _labels(self, y: Any, n_samples: int, weights: NDArray[np.float64] | None) -> tuple[ClassLabels, Any]:
        """The classes, and the labels as the compiled part takes them."""
        array = as_label_array(y)
        if array.ndim == 2 and array.shape[1] > 1:
            shares = np.array(array, dtype=np.float64, order="C")
            self._require_length(shares, n_samples)
            shares[np.isnan(shares).all(axis=1)] = 0.0
            marker = -1 if self.unlabeled is None else self.unlabeled
            self._check_sizes(shares.shape[1])
            return ClassLabels(np.arange(shares.shape[1]), np.empty(0, np.int32), marker), shares
        array = column_or_1d(array, warn=True)
        self._require_length(array, n_samples)
        labels = class_labels(array, self.unlabeled, weights)
        self._check_sizes(len(labels.classes))
        return labels, (labels.codes, class_names(labels.classes))


class MethodClassifier(SpreadingClassifier):
    """Base of the classifiers of one fit, each by its own compiled function."""

    def fit(self: _Method, X: Any, y: Any, sample_weight: Any = None) -> _Method:
        """Label every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As in :meth:`lapwing.HarmonicClassifier.fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, with the marker in rows that have none; or soft labels: shares that sum to 1, rows of zeros
            unlabelled.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given label, at least 0, default 1. A row of weight 0 counts as unlabelled.

        Returns
        -------
        self
        """
        self._require_y(y)
        control = self._control()
        source = self._source(X, control)
        weights = self._label_weights(sample_weight, source.n_samples)
        labels, argument = self._labels(y, source.n_samples, weights)
        fitted = self._fitted(source, (source.argument, argument, weights), control)
        fitted = self._sized(fitted, argument, weights, control)
        self._take(source, fitted)
        self._keep_labels(labels, fitted)
        self._warn()
        return self

    def _source(self, X: Any, control: dict[str, Any]) -> Source:
        """X, checked."""
        raise NotImplementedError

    def _fitted(self, source: Source, problem: tuple[Any, ...], control: dict[str, Any]) -> dict[str, Any]:
        """Call the compiled part with rows, labels and trust."""
        raise NotImplementedError

    def _take(self, source: Source, fitted: dict[str, Any]) -> None:
        """Take over what labels new rows."""
        self._keep(source, fitted)


class FeatureClassifier(MethodClassifier):
    """Base of the classifiers that keep something other than all rows of the fit."""

    _takes_graph_as = ""

    def _source(self, X: Any, control: dict[str, Any]) -> Source:
        return self._from_features(X, self._graph_options())

    def _take(self, source: Source, fitted: dict[str, Any]) -> None:
        self._fitted_extension = fitted["extension"]
        self._keep_report(fitted)

    def _new_scores(self, X: Any) -> NDArray[np.float64]:
        return self._extend_features(X, self._fitted_extension)

    def _extension(self) -> Any:
        return self._fitted_extension
