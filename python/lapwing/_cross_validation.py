"""Scikit-learn's cross-validation, with labels hidden and rows and graph whole."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import sklearn.model_selection
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from ._containers import as_label_array
from ._folds import SemiSupervisedKFold
from ._labels import class_labels, unlabeled_mask
from ._targets import target_values
from ._transductive import Transductive, final_step


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    graph: Any = None,
    *,
    groups: ArrayLike | None = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    fit_params: dict[str, Any] | None = None,
    unlabeled: Any = None,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: float | Literal["raise"] = math.nan,
) -> dict[str, Any]:
    """Scores of an estimator on hidden labels: `cross_validate` of scikit-learn, for a :class:`Transductive`.

    Parameters
    ----------
    estimator : estimator
        As for :class:`Transductive`. It is cloned for every fold.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        All rows, as for the estimator's `fit`: features, a precomputed graph or Gram matrix, or None beside a graph.
    y : array-like of shape (n_samples,)
        Labels or values, with the marker in rows that have none.
    graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
        Given to every fit as ``graph=``.
    groups : array-like of shape (n_samples,), default=None
        Groups of the rows, for splitters that take them.
    scoring : str, callable, list, tuple or dict, default=None
        As in scikit-learn; None is the accuracy or R².
    cv : int, splitter or iterable, default=None
        An int is a number of folds that keep the shares of the classes, shuffled with a fixed seed; None takes 5, or
        fewer if a class has fewer labels. A splitter divides the labeled rows. An iterable has pairs (train, test) of
        numbers of rows.
    n_jobs : int or None, default=None
        Processes that fit folds, as in scikit-learn.
    fit_params : dict, default=None
        ``{"sample_weight": weights}``, trust in the label of each row.
    unlabeled : object, default=None
        What marks a row without a label, for estimators that have no ``unlabeled`` of their own.
    return_estimator : bool, default=False
        Whether to return the fitted estimators.
    return_indices : bool, default=False
        Whether to return the numbers of the labeled rows that each fit saw, and of those it was tested on.
    error_score : "raise" or float, default=nan
        The score of a fit or a scorer that fails, with a warning; or "raise".

    Returns
    -------
    dict
        ``test_score``, or ``test_<name>`` for each of several scores, ``fit_time`` and ``score_time``: arrays (n_folds,).
        ``estimator``: a list. ``indices``: a dict of ``train`` and ``test``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.graph import knn_graph
    >>> from lapwing.model_selection import cross_validate
    >>> X, y = load_digits(return_X_y=True)
    >>> y[100:] = -1
    >>> found = cross_validate(HarmonicClassifier(), None, y, knn_graph(X, 15))
    >>> sorted(found), bool(found["test_score"].mean() > 0.85)
    (['fit_time', 'score_time', 'test_score'], True)
    """
    labels, has_values = column_or_1d(as_label_array(y)), is_regressor(estimator)
    marker = getattr(final_step(estimator), "unlabeled", unlabeled)
    if has_values:
        truth: NDArray[Any] = target_values(labels, marker)
        rows = np.flatnonzero(~np.isnan(truth))
        truth, fewest = truth[rows], len(rows)
    else:
        found = class_labels(labels, marker)
        rows = np.flatnonzero(found.codes >= 0)
        truth, fewest = found.classes[found.codes[rows]], int(np.bincount(found.codes[rows]).min(initial=len(rows)))
        if marker is None and unlabeled_mask(found.classes).any():
            # Beside other marks -1 is a class, and it stays one where no other mark is left.
            estimator = clone(estimator)
            final_step(estimator).set_params(unlabeled=math.nan)
    if cv is None or isinstance(cv, numbers.Integral):
        cv = SemiSupervisedKFold(max(2, min(5, fewest)) if cv is None else int(cv), shuffle=True, random_state=0)
    if isinstance(cv, SemiSupervisedKFold):
        # All that it divides have a label, and their kind is known.
        cv = copy.copy(cv)
        cv.task, cv.unlabeled = "regression" if has_values else "classification", math.nan
    elif not hasattr(cv, "split") and isinstance(cv, Iterable):
        cv = list(_among(rows, cv, len(labels)))
    scores: dict[str, Any] = sklearn.model_selection.cross_validate(
        Transductive(estimator, X, graph=graph),
        rows,
        truth,
        groups=None if groups is None else _safe_indexing(groups, rows),
        scoring=scoring,
        cv=cv,
        n_jobs=n_jobs,
        params={name: _safe_indexing(values, rows) for name, values in (fit_params or {}).items()},
        return_estimator=return_estimator,
        return_indices=return_indices,
        error_score=error_score,
    )
    if return_estimator:
        scores["estimator"] = [getattr(model, "estimator_", model.estimator) for model in scores["estimator"]]
    if return_indices:
        scores["indices"] = {part: [rows[of] for of in folds] for part, folds in scores["indices"].items()}
    return scores


def _among(
    rows: NDArray[np.intp], folds: Iterable[Any], n_samples: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Folds given by numbers of rows, or masks, as positions among the labeled rows."""
    for number, fold in enumerate(folds):
        train, test = (np.arange(n_samples)[part] for part in fold)
        without = np.setdiff1d(test, rows)
        if len(without):
            raise ValueError(
                f"fold {number} of cv tests row {without[0]}, which has no label to compare with; leave it out"
            )
        yield np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test))
