"""Scores over the rows whose label is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor
from sklearn.metrics import accuracy_score as _accuracy_score

from ._containers import as_label_array
from ._inputs import vector
from ._labels import unlabeled_mask
from ._targets import are_continuous, without_target

__all__ = ["accuracy_on_unlabeled", "accuracy_score", "labeled_scorer"]


def accuracy_score(y_true: Any, y_pred: Any, *, unlabeled: Any = None, sample_weight: ArrayLike | None = None) -> float:
    """Share of right labels among the rows of `y_true` that have one.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Known and predicted labels.
    unlabeled : object, default=None
        What marks an unknown label in `y_true`, as in the classifiers: None, NaN and NA always do, and -1 unless another is given here
        or some rows are marked in one of these ways.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1]; a row that `y_pred` leaves unlabeled counts as wrong.

    Raises
    ------
    ValueError
        If no row of `y_true` has a label.

    Examples
    --------
    >>> from lapwing.metrics import accuracy_score
    >>> accuracy_score([0, 1, -1, 1], [0, 1, 1, 0])
    0.6666666666666666
    """
    truth = as_label_array(y_true)
    return share_right(truth, y_pred, ~unlabeled_mask(truth, unlabeled), sample_weight)


def accuracy_on_unlabeled(
    y_true: Any, y_pred: Any, y_given: Any, *, unlabeled: Any = None, sample_weight: ArrayLike | None = None
) -> float:
    """Share of right labels among the rows whose label was hidden: known in `y_true`, marked in `y_given`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Known labels, and those inferred (``transduction_``).
    y_given : array-like of shape (n_samples,)
        The labels the fit was given.
    unlabeled : object, default=None
        As in :func:`accuracy_score`, for both `y_true` and `y_given`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1]; a row that `y_pred` leaves unlabeled counts as wrong.

    Examples
    --------
    >>> from lapwing.metrics import accuracy_on_unlabeled
    >>> accuracy_on_unlabeled([0, 1, 1, 0], [0, 1, 0, 0], y_given=[0, 1, -1, -1])
    0.5
    """
    truth = as_label_array(y_true)
    given = as_label_array(y_given)
    hidden = unlabeled_mask(given, unlabeled)
    if hidden.shape != truth.shape:
        raise ValueError(f"y_given has shape {hidden.shape}; expected that of y_true, {truth.shape}")
    return share_right(truth, y_pred, hidden & ~unlabeled_mask(truth, unlabeled, given[~hidden]), sample_weight)


def labeled_scorer(
    score_func: Callable[..., float] = _accuracy_score,
    *,
    response_method: Literal["predict", "predict_proba"] = "predict",
    greater_is_better: bool = True,
    unlabeled: Any = None,
    **kwargs: Any,
) -> Callable[..., float]:
    """Scorer for ``GridSearchCV`` and the like that skips the rows without a label.

    Parameters
    ----------
    score_func : callable, default=sklearn.metrics.accuracy_score
        ``score_func(y_true, y_pred, **kwargs)``.
    response_method : {"predict", "predict_proba"}, default="predict"
        Method of the estimator whose result the function gets.
    greater_is_better : bool, default=True
        Whether to return the value, or its negative.
    unlabeled : object, default=None
        As in :func:`accuracy_score`; for regressors, and numbers with fractions, -1 is a value.
    **kwargs
        Passed on to `score_func`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``; it can be pickled.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from lapwing.metrics import labeled_scorer
    >>> scorer = labeled_scorer(f1_score, average="macro")
    """
    return _LabeledScorer(score_func, response_method, 1 if greater_is_better else -1, unlabeled, kwargs)


@dataclass(eq=False)
class _LabeledScorer:
    score_func: Callable[..., float]
    response_method: str
    sign: int
    unlabeled: Any
    kwargs: dict[str, Any]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        truth = as_label_array(y)
        is_regression = is_regressor(estimator) or are_continuous(truth)
        classes = getattr(estimator, "classes_", None)
        known = ~without_target(truth, self.unlabeled, is_regression=is_regression, classes=classes)
        _require_any(known)
        predicted = getattr(estimator, self.response_method)(X)
        kwargs = dict(self.kwargs)
        if sample_weight is not None:
            kwargs["sample_weight"] = vector(sample_weight, "sample_weight")[known]
        return self.sign * float(self.score_func(_plain(truth[known]), predicted[known], **kwargs))


def share_right(truth: NDArray[Any], y_pred: Any, counted: NDArray[np.bool_], sample_weight: Any) -> float:
    """The weighted share of right labels among those that are `counted`."""
    predicted = as_label_array(y_pred)
    if predicted.shape != truth.shape:
        raise ValueError(f"y_pred has shape {predicted.shape}; expected that of y_true, {truth.shape}")
    _require_any(counted)
    known, said = truth[counted], predicted[counted]
    if known.dtype.kind != said.dtype.kind:
        _require_one_kind(known, said)
        known, said = known.astype(object), said.astype(object)
    right = (known == said).astype(bool)
    weights = None if sample_weight is None else vector(sample_weight, "sample_weight")[counted]
    return float(np.average(right, weights=weights))


def _require_one_kind(known: NDArray[Any], said: NDArray[Any]) -> None:
    """Raise an error for texts on one side, and only other labels on the other: no label could be right."""
    of_truth, of_answer = (
        {"texts" if isinstance(label, str) else "numbers" for label in labels.tolist() if label is not None}
        for labels in (known, said)
    )
    if len(of_answer) == 1 and not of_truth & of_answer:
        raise TypeError(
            f"y_true holds {of_truth.pop()}, but y_pred {of_answer.pop()}, so that no label is right; expected labels of one kind, as by "
            "astype(str)"
        )


def _require_any(counted: NDArray[np.bool_]) -> None:
    if not counted.any():
        raise ValueError("no row with a known label to score")


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Objects as the narrowest array that holds them, which scikit-learn's metrics require."""
    return np.asarray(labels.tolist()) if labels.dtype.kind == "O" else labels
