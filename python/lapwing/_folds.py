"""Folds of the labeled rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import column_or_1d

from ._arguments import choice
from ._containers import as_label_array
from ._parameters import NamedParameters
from ._targets import are_continuous, may_be_values, without_target


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
        warnings.warn(
            "y holds whole numbers, taken as classes, and rows of -1 as rows without a label; give task='regression' "
            "if -1 is a value, or task='classification' if it is not",
            UserWarning,
            stacklevel=2,
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
