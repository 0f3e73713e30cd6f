"""Cross-validation with rows that have no label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d

from ._labels import as_label_array, unlabeled_mask

__all__ = ["SemiSupervisedKFold"]


class SemiSupervisedKFold(BaseCrossValidator):  # type: ignore[misc]
    """K folds of the labelled rows; the rows without a label take part in every training set.

    Test sets hold labelled rows only, so that every score is taken on known labels. Training sets are the other
    labelled rows and all unlabelled ones; the rows of the test set are left out, and labelled as new points.

    Parameters
    ----------
    n_splits : int, default=5
        Folds, at least 2.
    stratify : bool, default=True
        Whether folds keep the shares of the classes; for regression targets (fractions among the labels) they never do.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows before splitting.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.
    unlabeled : object, default=None
        What marks a row without a label; None, NaN and NA always do, and -1 unless another marker is given here.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import SemiSupervisedKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in SemiSupervisedKFold(n_splits=2).split(y.reshape(-1, 1), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        stratify: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.stratify = stratify
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
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
            Labels.
        groups : ignored
        """
        if y is None:
            raise ValueError("SemiSupervisedKFold needs y to know which rows have a label")
        indexable(X, y)
        labels = column_or_1d(as_label_array(y))
        without = unlabeled_mask(labels, self.unlabeled)
        labeled, unlabeled = np.flatnonzero(~without), np.flatnonzero(without)
        if len(labeled) < self.n_splits:
            most = f"at most the number of labelled rows, {len(labeled)}"
            raise ValueError(f"n_splits is {self.n_splits}; expected {most}")
        given = labels[labeled]
        for train, test in self._folds(given).split(labeled, _as_strata(given)):
            yield np.sort(np.concatenate([labeled[train], unlabeled])), labeled[test]

    def _folds(self, given: NDArray[Any]) -> KFold | StratifiedKFold:
        measured = given.dtype.kind == "f" and bool((given != np.floor(given)).any())
        kind = StratifiedKFold if self.stratify and not measured else KFold
        return kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None)


def _as_strata(given: NDArray[Any]) -> NDArray[np.intp]:
    return np.unique(given, return_inverse=True)[1].reshape(-1)
