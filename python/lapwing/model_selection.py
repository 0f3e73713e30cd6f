"""Cross-validation and choice of parameters with rows that have no label."""

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
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import column_or_1d

from ._arguments import choice
from ._containers import as_label_array
from ._labels import class_labels, unlabeled_mask
from ._parameters import NamedParameters
from ._targets import are_continuous, may_be_values, target_values, without_target
from ._transductive import Transductive, final_step
from ._warnings import warn

__all__ = ["SemiSupervisedKFold", "Transductive", "cross_validate", "labeled_folds"]


def labeled_folds(
    y: Any,
    cv: Any = 5,
    *,
    groups: ArrayLike | None = None,
    unlabeled: Any = None,
    task: Literal["auto", "classification", "regression"] = "auto",
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Folds of the labeled rows, for tools of scikit-learn that divide X; rows without a label take part in every training set.

    Test sets hold labeled rows only, so that every score is taken on known labels. They are left out of the training sets, and
    labeled as new points.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels or values, with the marker in rows that have none.
    cv : int or splitter, default=5
        How to divide the labeled rows, as in scikit-learn: an int is a number of folds, which keep the shares of classes.
    groups : array-like of shape (n_samples,), default=None
        Groups of the rows, for splitters that take them.
    unlabeled : object, default=None
        What marks a row without a label, as in the classifiers; among values -1 is a value, as it is for the regressors.
    task : {"auto", "classification", "regression"}, default="auto"
        Kind of y. "auto" takes numbers with fractions as values, all else as classes; use "regression" if the values are
        whole numbers.

    Returns
    -------
    list of (train, test)
        Numbers of rows of each fold, ascending: the labeled rows of the other folds with all rows without a label, and the labeled
        rows of the fold. Give it as ``cv=``.

    Warns
    -----
    UserWarning
        If -1 is taken as a row without a label, though y looks like the values of a regression.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import labeled_folds
    >>> for train, test in labeled_folds(np.array([0, 1, -1, 0, 1, -1]), 2):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    >>> for train, test in labeled_folds([2.0, -1.0, np.nan, 3.0, 0.0], 2, task="regression"):
    ...     print(train, test)
    [2 3 4] [0 1]
    [0 1 2] [3 4]
    """
    labels = column_or_1d(as_label_array(y))
    is_regression = _are_values(labels, task)
    if task == "auto" and not is_regression and unlabeled is None and may_be_values(labels):
        warn(
            "y holds whole numbers, taken as classes, and rows of -1 as rows without a label; give task='regression' "
            "if -1 is a value, or task='classification' if it is not",
        )
    without = without_target(labels, unlabeled, is_regression=is_regression)
    labeled, others = np.flatnonzero(~without), np.flatnonzero(without)
    if not len(labeled):
        raise ValueError("no row of y has a label")
    classes = None if is_regression else np.unique(labels[labeled], return_inverse=True)[1]
    splitter = check_cv(cv, classes, classifier=not is_regression)
    of_labeled = None if groups is None else _safe_indexing(groups, labeled)
    return [
        (np.sort(np.concatenate([labeled[train], others])), np.sort(labeled[test]))
        for train, test in splitter.split(labeled, classes, of_labeled)
    ]


def _are_values(labels: NDArray[Any], task: str) -> bool:
    """Whether these are the values of a regression."""
    choice("task", task, ("auto", "classification", "regression"))
    return task == "regression" or (task == "auto" and are_continuous(labels))


class SemiSupervisedKFold(NamedParameters, BaseCrossValidator):  # type: ignore[misc]
    """:func:`labeled_folds` as a splitter of scikit-learn, for tools that give it y.

    Parameters
    ----------
    n_splits : int, default=5
        Folds, at least 2.
    stratify : bool or "auto", default="auto"
        Whether folds keep the shares of the classes; "auto" does for classes. Values have none.
    shuffle : bool, default=False
        Whether to shuffle the labeled rows before they are divided.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.
    unlabeled : object, default=None
        What marks a row without a label, as in :func:`labeled_folds`.
    task : {"auto", "classification", "regression"}, default="auto"
        Kind of y, as in :func:`labeled_folds`.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import SemiSupervisedKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in SemiSupervisedKFold(2).split(y, y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        stratify: bool | Literal["auto"] = "auto",
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
        unlabeled: Any = None,
        task: Literal["auto", "classification", "regression"] = "auto",
    ) -> None:
        self.n_splits, self.stratify, self.shuffle, self.random_state = n_splits, stratify, shuffle, random_state
        self.unlabeled, self.task = unlabeled, task

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds.

        Parameters
        ----------
        X, y, groups : ignored
            Present because scikit-learn passes them.

        Returns
        -------
        int
            `n_splits`.
        """
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the training and test rows of each fold, both ascending.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Only its length matters.
        y : array-like of shape (n_samples,)
            Labels or values, with the marker in rows that have none.
        groups : ignored
            Present because scikit-learn passes it.

        Yields
        ------
        train : ndarray of int
            The labeled rows of the other folds, and all rows without a label.
        test : ndarray of int
            The labeled rows of the fold.
        """
        if y is None:
            raise ValueError("SemiSupervisedKFold needs y to know which rows have a label")
        if self.stratify not in (True, False, "auto"):
            raise ValueError(f"stratify is {self.stratify!r}; expected True, False or 'auto'")
        indexable(X, y)
        has_values = _are_values(column_or_1d(as_label_array(y)), self.task)
        if has_values and self.stratify is True:
            raise ValueError(
                "stratify is True, but the values of a regression have no classes; expected 'auto' or False"
            )
        kind = KFold if has_values or not self.stratify else StratifiedKFold
        cv = kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None)
        yield from labeled_folds(y, cv, unlabeled=self.unlabeled, task=self.task)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    graph: Any = None,
    *,
    groups: ArrayLike | None = None,
    scoring: Any = None,
    cv: Any = None,
    fit_params: dict[str, Any] | None = None,
    unlabeled: Any = None,
    **options: Any,
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
    fit_params : dict, default=None
        ``{"sample_weight": weights}``, trust in the label of each row.
    unlabeled : object, default=None
        What marks a row without a label, for estimators that have no ``unlabeled`` of their own.
    **options
        Further options of scikit-learn's function, as it has them: `n_jobs`, `verbose`, `pre_dispatch`, `error_score`,
        `return_estimator` (the fitted estimators), `return_train_score`, and `return_indices` (the numbers of the labeled rows that each
        fit saw, and of those it was tested on).

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
        params={name: _safe_indexing(values, rows) for name, values in (fit_params or {}).items()},
        **options,
    )
    if "estimator" in scores:
        scores["estimator"] = [getattr(model, "estimator_", model.estimator) for model in scores["estimator"]]
    if "indices" in scores:
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
