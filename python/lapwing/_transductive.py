"""Transductive estimators in scikit-learn's cross-validation: row numbers are divided into folds, rows and graph are not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from ._containers import as_label_array
from ._graph import Graph
from ._labels import with_marker
from ._parameters import NamedParameters, documented_like
from ._shared import row_numbers
from ._targets import without_target

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _of_classifiers(method: _Method) -> _Method:
    """Decorator: a method that there is for classifiers only."""
    return available_if(is_classifier)(method)


class Transductive(NamedParameters, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose X are row numbers: its fit sees all rows, and the labels of those of the given numbers.

    The tools of scikit-learn that divide X, such as :class:`~sklearn.model_selection.GridSearchCV` and
    :func:`~sklearn.model_selection.cross_validate`, divide the numbers of the labeled rows then. In each fold the labels of the test
    rows are hidden, the graph stays whole, and the score is that of ``transduction_``.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of lapwing, another with ``transduction_``, or a pipeline that ends with one.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        All rows, as for the estimator's `fit`; None beside a graph. They are not copied, and clones share them.
    graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
        Given to every fit as ``graph=``. A pipeline gives it to its last step.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to all rows. It labels rows without a label (``transduction_``) and new rows (``predict``).
    classes_ : ndarray of shape (n_classes,)
        The classes; missing in a regression.

    Notes
    -----
    Where the estimator abstains because no label reaches a row, its answer is the most frequent class of the labels given, and the shares
    are those of these labels; in a regression it is the mean.

    Folds should keep the shares of the classes, as those of scikit-learn do: its scores of probabilities, such as the log loss, need
    labels of the same classes in the training and the test rows.

    Examples
    --------
    The weight λ of the graph, for a network on two rings whose features are wrong in a fifth of the rows:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn.model_selection import GridSearchCV
    >>> from lapwing import UnfoldedGNNClassifier
    >>> from lapwing.model_selection import Transductive
    >>> ring = sp.csr_array(np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1))
    >>> A = sp.block_diag([ring, ring], format="csr")
    >>> truth = np.arange(40) // 20
    >>> X = np.where((truth == 0) == (np.arange(40) % 5 != 3), 1.0, -1.0).reshape(-1, 1)
    >>> y = np.where(np.arange(40) % 2 == 1, truth, -1)
    >>> rows = np.flatnonzero(y >= 0)
    >>> model = Transductive(UnfoldedGNNClassifier(), X, graph=A)
    >>> search = GridSearchCV(model, {"estimator__graph_reg": [0.01, 10.0]}).fit(rows, y[rows])
    >>> search.best_params_
    {'estimator__graph_reg': 10.0}

    The best one was fitted to all labels:

    >>> (search.best_estimator_.estimator_.transduction_ == truth).mean().item()
    1.0
    """

    estimator_: Any
    classes_: NDArray[Any]

    def __init__(self, estimator: Any, X: Any, *, graph: Any = None) -> None:
        self.estimator = estimator
        self.X = X
        self.graph = graph

    def __sklearn_clone__(self) -> Transductive:
        return type(self)(clone(self.estimator), self.X, graph=self.graph)

    def __sklearn_tags__(self) -> Any:
        tags, of = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = of.estimator_type
        tags.classifier_tags, tags.regressor_tags = of.classifier_tags, of.regressor_tags
        tags.target_tags = of.target_tags
        tags.input_tags.one_d_array = True
        return tags

    def fit(self, rows: ArrayLike, y: Any, sample_weight: Any = None) -> Transductive:
        """Fit to all rows, with the labels of some.

        Parameters
        ----------
        rows : array-like of shape (m,), int
            Numbers of the rows whose label is given.
        y : array-like of shape (m,)
            Their labels or values; every one has one.
        sample_weight : array-like of shape (m,), default=None
            Trust in each label, above 0.

        Returns
        -------
        self
            The estimator, fitted.
        """
        n = self._n_samples()
        given = row_numbers(rows, n, "rows")
        labels = column_or_1d(as_label_array(y))
        _refuse_other_length("y", labels, given)
        options = {} if self.graph is None else {"graph": self.graph}
        if sample_weight is not None:
            weights = column_or_1d(np.asarray(sample_weight, dtype=np.float64))
            _refuse_other_length("sample_weight", weights, given)
            options["sample_weight"] = np.ones(n)
            options["sample_weight"][given] = weights
        prefix = _prefix(self.estimator)
        fitted = clone(self.estimator).fit(
            self.X, self._hidden(given, labels, n), **{prefix + name: value for name, value in options.items()}
        )
        final = final_step(fitted)
        if not hasattr(final, "transduction_") or (is_classifier(self) and not hasattr(final, "label_distributions_")):
            raise TypeError(
                f"{type(final).__name__} does not say what it finds for the rows of the fit (transduction_, "
                "label_distributions_), so give it to scikit-learn's tools as it is, with the labeled rows or with "
                "cv=labeled_folds(y)"
            )
        self.estimator_ = fitted
        if is_classifier(self):
            self.classes_ = final.classes_
            self._typical = np.array([(labels == label).sum() for label in self.classes_]) / len(labels)
        else:
            self._typical = labels.astype(np.float64).mean()
        return self

    def predict(self, rows: ArrayLike) -> NDArray[Any]:
        """Labels or values that the fit found for rows.

        Parameters
        ----------
        rows : array-like of shape (m,), int
            Numbers of the rows.

        Returns
        -------
        ndarray of shape (m,)
            A label or value for every row.
        """
        asked = self._asked(rows)
        found: NDArray[Any] = final_step(self.estimator_).transduction_[asked]
        if not is_classifier(self):
            return np.where(np.isnan(found), self._typical, found)
        lost = ~np.isin(found, self.classes_)
        if lost.any():
            found[lost] = self.classes_[np.argmax(self._typical)]
            return found.astype(self.classes_.dtype)
        return found

    @_of_classifiers
    @documented_like(predict)
    def predict_proba(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Shares of the classes that the fit found for rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares in the order of `classes_`; rows sum to 1.
        """
        asked = self._asked(rows)
        found: NDArray[np.float64] = final_step(self.estimator_).label_distributions_[asked].astype(np.float64)
        lost = ~(np.isfinite(found).all(axis=1) & (found.sum(axis=1) > 0))
        found[lost] = self._typical
        return found

    @documented_like(predict)
    def score(self, rows: ArrayLike, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or R² of values.

        Parameters
        ----------
        y : array-like of shape (m,)
            Their true labels or values.
        sample_weight : array-like of shape (m,), default=None
            Weights of the rows; None for 1.

        Returns
        -------
        float
            The score.
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(column_or_1d(as_label_array(y)), self.predict(rows), sample_weight=sample_weight))

    def _n_samples(self) -> int:
        of = self.graph if self.X is None else self.X
        of = of[0] if isinstance(of, tuple) else of
        return of.n_samples if isinstance(of, Graph) else int(_num_samples(of))

    def _asked(self, rows: ArrayLike) -> NDArray[np.uint32]:
        check_is_fitted(self)
        return row_numbers(rows, self._n_samples(), "rows")

    def _hidden(self, rows: NDArray[np.uint32], labels: NDArray[Any], n: int) -> NDArray[Any]:
        """The labels of all rows, with the marker in those that are not given."""
        final = final_step(self.estimator)
        marker = getattr(final, "unlabeled", -1)
        without = without_target(labels, marker, is_regression=not is_classifier(self))
        if without.any():
            at = int(np.argmax(without))
            raise ValueError(
                f"y is {labels.tolist()[at]!r} in row {rows[at]}, which marks a row without a label; give the numbers and "
                "labels of the others only"
            )
        out = np.zeros(n, labels.dtype)
        out[rows] = labels
        hidden = np.ones(n, bool)
        hidden[rows] = False
        return with_marker(out, hidden, _marker(labels.dtype.kind, marker) if is_classifier(self) else math.nan)


def _marker(kind: str, unlabeled: Any) -> Any:
    """What marks a row without a label among labels of this type, so that the type stays if it can."""
    marker = -1 if unlabeled is None else unlabeled
    is_integer = isinstance(marker, numbers.Integral) and not isinstance(marker, (bool, np.bool_))
    return math.nan if kind == "f" else marker if kind in "iu" and is_integer else None


def final_step(estimator: Any) -> Any:
    """The last step of a pipeline, else the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def _prefix(estimator: Any) -> str:
    """What stands before the options of the last step's `fit`."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        step, estimator = estimator.steps[-1]
        prefix += f"{step}__"
    return prefix


def _refuse_other_length(what: str, values: NDArray[Any], rows: NDArray[np.uint32]) -> None:
    if len(values) != len(rows):
        raise ValueError(f"{what} has {len(values)} values; expected one for each of the {len(rows)} rows")
