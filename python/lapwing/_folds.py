"""Folds of the labeled rows."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from ._arguments import choice
from ._containers import as_label_array
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
    choice("task", task, ("auto", "classification", "regression"))
    is_regression = task == "regression" or (task == "auto" and are_continuous(labels))
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
