"""What scorers see of a fitted estimator: an object that answers for rows, given by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if

from ._hiding import Targets
from ._labels import with_marker

_Method = TypeVar("_Method", bound=Callable[..., Any])


def available_where(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """Decorator: objects have the method only where `check` says so. It is scikit-learn's, annotated."""
    decorator: Callable[[_Method], _Method] = available_if(check)
    return decorator


def final_estimator(estimator: Any) -> Any:
    """The last step of a pipeline, else the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


class FoldView:
    """A fitted estimator as scorers see it. X is the numbers of rows, whatever the estimator was given.

    Attributes
    ----------
    estimator_ : object
        The fitted estimator.
    classes_ : ndarray of shape (n_classes,)
        All classes of y, also those of which the fit saw no label. Missing in a regression.
    """

    def __init__(self, estimator: Any, targets: Targets) -> None:
        self.estimator_ = estimator
        self._targets = targets
        if targets.classes is not None:
            self.classes_ = targets.classes

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator_)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _is_classifier(self) -> bool:
        return self._targets.classes is not None

    def _columns(self, classes: NDArray[Any]) -> NDArray[np.intp]:
        """Numbers of the classes that the fit saw."""
        number = {label: code for code, label in enumerate(self.classes_.tolist())}
        return np.array([number[label] for label in np.asarray(classes).tolist()], dtype=np.intp)

    def _spread(self, shares: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
        """Shares of the classes that the fit saw, as shares of all classes."""
        out: NDArray[np.float64] = np.zeros((shares.shape[0], len(self.classes_)))
        out[:, self._columns(classes)] = shares
        return out


class TransductiveView(FoldView):
    """The answers of a fit that saw all rows, and not the labels of those held out.

    A held-out row that no label reaches counts as an error: `predict` gives the likeliest wrong class, `predict_proba` the
    class prior; a regression gives the mean of the values that the fit saw.
    """

    def __init__(self, estimator: Any, targets: Targets, train: NDArray[np.intp]) -> None:
        super().__init__(estimator, targets)
        self._final = final_estimator(estimator)
        self._train = train

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Labels or values that the fit found for these rows (m,)."""
        if not self._is_classifier():
            return self._values(rows)
        codes, lost = self._codes(rows)
        truth = self._targets.answers[rows]
        wrong = lost & (truth >= 0)
        if wrong.any():
            shares = self.predict_proba(rows[wrong])
            shares[np.arange(len(shares)), truth[wrong]] = -1.0
            codes[wrong] = np.argmax(shares, axis=1)
        return self.classes_[codes]

    def labels(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """The same, with the marker in rows that no label reaches."""
        if not self._is_classifier():
            return self._values(rows)
        codes, lost = self._codes(rows)
        return with_marker(self.classes_[codes], lost, self._targets.marker)

    @available_where(lambda view: view._is_classifier())
    def predict_proba(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Shares of all classes that the fit found for these rows (m, n_classes); 0 for a class of which it saw no label."""
        shares = np.asarray(self._final.label_distributions_[rows], dtype=np.float64)
        out = self._spread(shares, self._final.classes_)
        lost = ~(np.isfinite(out).all(axis=1) & (out.sum(axis=1) > 0))
        if lost.any():
            seen = np.bincount(self._targets.answers[self._train], minlength=len(self.classes_))
            out[lost] = seen / seen.sum()
        return out

    def score(self, rows: NDArray[np.intp], y: NDArray[Any]) -> float:
        """Accuracy, or R² of values."""
        found = self.predict(rows)
        return float(np.mean(found == y)) if self._is_classifier() else float(r2_score(y, found))

    def _values(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        values = np.array(self._final.transduction_[rows], dtype=np.float64)
        return np.where(np.isnan(values), self._targets.answers[self._train].mean(), values)

    def _codes(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Numbers of the classes that the fit found, and which rows no label reaches."""
        number = {label: code for code, label in enumerate(self.classes_.tolist())}
        found = self._final.transduction_[rows].tolist()
        codes = np.fromiter((number.get(label, -1) for label in found), np.intp, count=len(found))
        lost = codes < 0
        if hasattr(self._final, "reached_"):
            lost |= ~self._final.reached_[rows]
        else:
            lost |= ~(np.nan_to_num(self._final.label_distributions_[rows]).sum(axis=1) > 0)
        return np.where(codes < 0, 0, codes), lost


def _estimator_has(method: str) -> Callable[[Any], bool]:
    return lambda view: hasattr(view.estimator_, method)


class PredictiveView(FoldView):
    """The predictions of an estimator for rows as new ones."""

    def __init__(self, estimator: Any, targets: Targets, X: Any, columns: NDArray[np.intp] | None = None) -> None:
        super().__init__(estimator, targets)
        self._X = X
        self._fitted_rows = columns

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Predictions for these rows (m,)."""
        found: NDArray[Any] = self.estimator_.predict(self._rows(rows))
        return found

    labels = predict

    @available_where(_estimator_has("predict_proba"))
    def predict_proba(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Probabilities of all classes (m, n_classes); 0 for a class of which the fit saw no label."""
        return self._spread(self.estimator_.predict_proba(self._rows(rows)), self.estimator_.classes_)

    @available_where(lambda view: hasattr(view.estimator_, "decision_function") and view._saw_all_classes())
    def decision_function(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Decision values, where the fit saw labels of all classes."""
        found: NDArray[np.float64] = self.estimator_.decision_function(self._rows(rows))
        return found

    @available_where(_estimator_has("score"))
    def score(self, rows: NDArray[np.intp], y: NDArray[Any]) -> float:
        """The estimator's own score."""
        return float(self.estimator_.score(self._rows(rows), y))

    def _saw_all_classes(self) -> bool:
        return not self._is_classifier() or len(self.estimator_.classes_) == len(self.classes_)

    def _rows(self, rows: NDArray[np.intp]) -> Any:
        return rows_of(self._X, rows, self._fitted_rows)


class WholeView:
    """The predictions of an estimator for all rows of X at once, of which a scorer sees some: those of a graph, say."""

    def __init__(self, estimator: Any, X: Any, options: dict[str, Any]) -> None:
        self.estimator_ = estimator
        self._X, self._options = X, options
        if hasattr(estimator, "classes_"):
            self.classes_ = estimator.classes_

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator_)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Predictions for these rows (m,)."""
        found: NDArray[Any] = self.estimator_.predict(self._X, **self._options)[rows]
        return found

    @available_where(_estimator_has("predict_proba"))
    def predict_proba(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Probabilities of the classes for these rows (m, n_classes)."""
        found: NDArray[np.float64] = self.estimator_.predict_proba(self._X, **self._options)[rows]
        return found

    @available_where(_estimator_has("decision_function"))
    def decision_function(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Decision values of these rows."""
        found: NDArray[np.float64] = self.estimator_.decision_function(self._X, **self._options)[rows]
        return found


def rows_of(X: Any, rows: NDArray[np.intp], columns: NDArray[np.intp] | None = None) -> Any:
    """These rows of X; for a matrix of pairs also these columns only."""
    part = _safe_indexing(X, rows)
    return part if columns is None else _safe_indexing(part, columns, axis=1)
