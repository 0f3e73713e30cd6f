"""Folds of the labeled rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d

from ._containers import as_label_array
from ._parameters import NamedParameters
from ._targets import are_continuous, may_be_values, without_target


class SemiSupervisedKFold(NamedParameters, BaseCrossValidator):  # type: ignore[misc]
    """K folds of the labeled rows; the rows without a label take part in every training set.

    Test sets hold labeled rows only, so that every score is taken on known labels. Training sets are the other
    labeled rows and all unlabeled ones; the rows of the test set are left out, and labeled as new points.

    Parameters
    ----------
    n_splits : int, default=5
        Folds, at least 2.
    stratify : bool or "auto", default="auto"
        Whether folds keep the shares of the classes; "auto" does for classes. Values have none.
    shuffle : bool, default=False
        Whether to shuffle the labeled rows before splitting.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.
    unlabeled : object, default=None
        What marks a row without a label, as in the classifiers; among values -1 is a value, as it is for the regressors.
    task : {"auto", "classification", "regression"}, default="auto"
        Kind of y. "auto" takes numbers with fractions as values, all else as classes; use "regression" if the values are
        whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import SemiSupervisedKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in SemiSupervisedKFold(n_splits=2).split(y.reshape(-1, 1), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    >>> values = np.array([2.0, -1.0, np.nan, 3.0, 0.0])
    >>> for train, test in SemiSupervisedKFold(n_splits=2, task="regression").split(values, values):
    ...     print(train, test)
    [2 3 4] [0 1]
    [0 1 2] [3 4]
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
        self.n_splits = n_splits
        self.stratify = stratify
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled
        self.task = task

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
            Labels or values.
        groups : ignored
            Present because scikit-learn passes it.

        Yields
        ------
        train : ndarray of int
            The labeled rows of the other folds, and all rows without a label.
        test : ndarray of int
            The labeled rows of the fold.

        Warns
        -----
        UserWarning
            If -1 is taken as a row without a label, though y looks like the values of a regression.
        """
        if y is None:
            raise ValueError("SemiSupervisedKFold needs y to know which rows have a label")
        indexable(X, y)
        labels = column_or_1d(as_label_array(y))
        is_regression = self._is_regression(labels)
        without = without_target(labels, self.unlabeled, is_regression=is_regression)
        labeled, unlabeled = np.flatnonzero(~without), np.flatnonzero(without)
        if len(labeled) < self.n_splits:
            most = f"at most the number of labeled rows, {len(labeled)}"
            raise ValueError(f"n_splits is {self.n_splits}; expected {most}")
        strata = None if is_regression else self._strata(labels[labeled])
        for train, test in self._folds(strata is not None).split(labeled, strata):
            yield np.sort(np.concatenate([labeled[train], unlabeled])), labeled[test]

    def _is_regression(self, labels: NDArray[Any]) -> bool:
        tasks = ("auto", "classification", "regression")
        if self.task not in tasks:
            raise ValueError(f"task is {self.task!r}; expected one of {', '.join(tasks)}")
        if self.stratify not in (True, False, "auto"):
            raise ValueError(f"stratify is {self.stratify!r}; expected True, False or 'auto'")
        is_regression = self.task == "regression" or (self.task == "auto" and are_continuous(labels))
        if is_regression and self.stratify is True:
            raise ValueError("stratify is True, but the values of a regression have no classes; expected 'auto' or False")
        if self.task == "auto" and not is_regression and self.unlabeled is None and may_be_values(labels):
            warnings.warn(
                "y holds whole numbers, taken as classes, and rows of -1 as rows without a label; give task='regression' "
                "if -1 is a value, or task='classification' if it is not",
                UserWarning,
                stacklevel=3,
            )
        return is_regression

    def _strata(self, given: NDArray[Any]) -> NDArray[np.intp] | None:
        """The class of each labeled row, by number; None if folds need not keep their shares."""
        if not self.stratify:
            return None
        strata: NDArray[np.intp] = np.unique(given, return_inverse=True)[1].reshape(-1)
        most = int(np.bincount(strata).max())
        if most < self.n_splits:
            raise ValueError(
                f"n_splits is {self.n_splits}, but no class has more than {most} labeled rows; expected at most {most}, "
                "stratify=False, or task='regression' if y holds values"
            )
        return strata

    def _folds(self, are_stratified: bool) -> KFold | StratifiedKFold:
        kind = StratifiedKFold if are_stratified else KFold
        return kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None)
