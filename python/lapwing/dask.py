"""Classifiers on Dask: rows that lie in the partitions of an array or a data frame, on one machine or many.

`fit` takes a Dask array or data frame: each partition tells its labels, the rows that are drawn, and others that join them; the process that
calls `fit` fits the sample. `predict` and `predict_proba` are lazy: each partition is labeled where it lies, by one model that each worker
gets once. Model and labels are those of ``lapwing`` on the same rows in one array with the same `fit_rows`, bit for bit.

``pip install lapwing[dask]`` brings Dask.

>>> import dask.array as da, numpy as np
>>> from sklearn.datasets import load_digits
>>> from lapwing.dask import HarmonicClassifier
>>> X, truth = load_digits(return_X_y=True)
>>> y = np.where(np.arange(len(X)) < 200, truth, -1)
>>> rows = da.from_array(X, chunks=(500, -1))
>>> clf = HarmonicClassifier(fit_rows=1000, random_state=0).fit(rows, da.from_array(y, chunks=500))
>>> labels = clf.predict(rows)
>>> bool((labels.compute() == truth).mean() > 0.9)
True
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

import lapwing
from lapwing import baselines

from ._classifier import SpreadingClassifier
from ._control import Self
from ._labels import with_marker
from ._parameters import documented_like
from ._parts import Shared, Told, Visit, fit_parts

__all__ = [
    "AutoLabeler",
    "ForestClassifier",
    "HarmonicClassifier",
    "LaplacianRidgeClassifier",
    "LaplacianSVC",
    "LinearClassifier",
    "SparseHarmonicClassifier",
    "UnfoldedGNNClassifier",
]

#: Answers of parts that are joined at a time.
_JOINED = 8


def _is_dask(X: Any) -> bool:
    return dask.is_dask_collection(X)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "columns")


def _partitions(X: Any) -> list[Any]:
    """The partitions of an array or a frame, each with all columns."""
    if isinstance(X, da.Array) and X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def _embedded(value: Any) -> Any:
    """A value in the graph of a computation, which the scheduler keeps, so that it outlives any worker."""
    return dask.delayed(Shared(value), traverse=False)


def _scattered(value: Any) -> Any:
    """A value that every worker gets once, and before the computation; each has a copy, so that one that ends takes none along."""
    client: Any = getattr(dask.base.get_scheduler(), "__self__", None)
    return client.scatter(Shared(value), broadcast=True, hash=False) if hasattr(client, "scatter") else _embedded(value)


def _computed(*tasks: Any) -> tuple[Any, ...]:
    """The results of tasks; their graph may be large, because it holds the sample."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        results: tuple[Any, ...] = dask.compute(*tasks)
    return results


class _Partitions:
    """The partitions of rows, and their labels, which may be divided in another way."""

    def __init__(self, X: Any, y: Any) -> None:
        self.names = [str(name) for name in X.columns] if _is_frame(X) else None
        self.X, self.y = _partitions(X), y
        self.sizes: list[int] = []

    def told(self, tell: Callable[[Any, Any], Told], unlabeled: Any) -> list[Told]:
        size, task = dask.delayed(len, pure=False), dask.delayed(tell, pure=False)
        tasks = [task(unlabeled, part) for part in _partitions(self.y)] if _is_dask(self.y) else []
        self.sizes, told = _computed([size(part) for part in self.X], tasks)
        told = told or [tell(unlabeled, self.y)]
        n, n_labels = sum(self.sizes), sum(part.n_rows for part in told)
        if n != n_labels:
            raise ValueError(f"y has {n_labels} rows; expected one per row of X, {n}")
        return told

    def _tasks(self, asked: Visit, shared: Any) -> list[Any]:
        task, firsts = dask.delayed(_checked, pure=False), np.cumsum([0, *self.sizes[:-1]]).tolist()
        return [task(asked, shared, *part) for part in zip(firsts, self.sizes, self.X, strict=True)]

    def visit(self, asked: Visit, shared: Any) -> list[Any]:
        return list(_computed(*self._tasks(asked, _embedded(shared))))

    def joined(self, asked: Visit, shared: Any, join: Callable[[Any, list[bytes]], bytes]) -> bytes:
        sent, task = _embedded(shared), dask.delayed(_joined, pure=False)
        found = self._tasks(asked, sent)
        while len(found) > 1:
            found = [task(join, sent, found[at : at + _JOINED]) for at in range(0, len(found), _JOINED)]
        joined: bytes = _computed(found[0])[0]
        return joined


def _checked(asked: Visit, shared: Shared, first: int, size: int, X: Any) -> Any:
    if len(X) != size:
        raise ValueError("a partition had other rows at the second reading; persist() the rows, so that they stay")
    return asked(shared.value, first, X)


def _joined(join: Callable[[Any, list[bytes]], bytes], shared: Shared, found: list[bytes]) -> bytes:
    return join(shared.value, found)


def _applied(shared: Shared, name: str, dtype: Any, part: Any) -> Any:
    """Labels or shares of a partition."""
    model = shared.value
    width = (len(model.classes_),) if name == "predict_proba" else ()
    values = getattr(model, name)(part).astype(dtype) if len(part) else np.empty((0, *width), dtype)
    if not _is_frame_part(part):
        return values
    import pandas as pd

    if name == "predict":
        return pd.Series(values, index=part.index, name="label")
    return pd.DataFrame(values, index=part.index, columns=[str(label) for label in model.classes_])


def _is_frame_part(part: Any) -> bool:
    return hasattr(part, "iloc")


class _OnDask(SpreadingClassifier):
    """Mixin that fits to partitions, and labels them where they lie."""

    def fit(self, X: Any, y: Any, *args: Any, **options: Any) -> Self:
        """Fit to a sample of the rows of all partitions.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_features), or Dask data frame of numbers
            The rows. They are read three times: ``X.persist()`` keeps them in the memory of the workers.
        y : Dask array or series of shape (n_samples,), or array-like
            Labels, with the marker in rows that have none.

        Returns
        -------
        self
            The estimator, fitted. It knows no labels of the rows: `predict` finds them.

        Notes
        -----
        About `fit_rows` rows are fitted, 300,000 for None: the same for any partitions. A worker needs the memory of the sample, of a
        partition, and of what is found in it. For rows that are no Dask collection, this is the estimator of ``lapwing``.
        """
        if not _is_dask(X):
            return super().fit(X, y, *args, **options)
        if args or any(value is not None for value in options.values()):
            raise ValueError("fit of a Dask collection takes X and y alone")
        fit_parts(self, _Partitions(X, y))
        return self

    def predict(self, X: Any, *args: Any, **options: Any) -> Any:
        """Labels of rows; lazy for a Dask collection.

        Parameters
        ----------
        X : Dask array or data frame of shape (m, n_features), or array-like
            Rows.

        Returns
        -------
        Dask array or series of shape (m,), or ndarray
            A label for every row.
        """
        return self._lazily(X, "predict") if _is_dask(X) else super().predict(X, *args, **options)

    @documented_like(predict)
    def predict_proba(self, X: Any, *args: Any, **options: Any) -> Any:
        """Shares of the classes for rows; lazy for a Dask collection.

        Returns
        -------
        Dask array or data frame of shape (m, n_classes), or ndarray
            Shares in the order of `classes_`.
        """
        return self._lazily(X, "predict_proba") if _is_dask(X) else super().predict_proba(X, *args, **options)

    def _lazily(self, X: Any, name: str) -> Any:
        check_is_fitted(self)
        dtype = np.dtype(np.float64)
        if name == "predict":
            is_open = np.array([self.abstain])
            dtype = with_marker(self.classes_[:1], is_open, self._marker).dtype
            dtype = np.result_type(dtype, self.classes_.dtype)
        model = self._local()
        sent, task = _scattered(model), dask.delayed(_applied, pure=False)
        parts = [task(sent, name, dtype, part) for part in _partitions(X)]
        if _is_frame(X):
            import dask.dataframe as dd

            return dd.from_delayed(parts, meta=_applied(Shared(model), name, dtype, X._meta), divisions=X.divisions, verify_meta=False)
        width = (len(self.classes_),) if name == "predict_proba" else ()
        sizes = X.chunks[0] if isinstance(X, da.Array) else [math.nan] * len(parts)
        arrays = [da.from_delayed(part, (size, *width), dtype) for part, size in zip(parts, sizes, strict=True)]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def _local(self) -> SpreadingClassifier:
        """The estimator of ``lapwing`` with this model, which uses one thread unless `n_jobs` says more."""
        model: SpreadingClassifier = copy.copy(self)
        kinds: Any = type(self).__mro__
        model.__class__ = next(kind for kind in kinds if not issubclass(kind, _OnDask))
        model.n_jobs = self.n_jobs or 1
        model.verbose, model.callback = 0, None
        return model


class AutoLabeler(_OnDask, lapwing.AutoLabeler):
    """:class:`lapwing.AutoLabeler` on Dask."""


class HarmonicClassifier(_OnDask, lapwing.HarmonicClassifier):
    """:class:`lapwing.HarmonicClassifier` on Dask."""


class SparseHarmonicClassifier(_OnDask, lapwing.SparseHarmonicClassifier):  # type: ignore[misc]
    """:class:`lapwing.SparseHarmonicClassifier` on Dask."""


class LaplacianSVC(_OnDask, lapwing.LaplacianSVC):
    """:class:`lapwing.LaplacianSVC` on Dask."""


class LaplacianRidgeClassifier(_OnDask, lapwing.LaplacianRidgeClassifier):
    """:class:`lapwing.LaplacianRidgeClassifier` on Dask."""


class UnfoldedGNNClassifier(_OnDask, lapwing.UnfoldedGNNClassifier):
    """:class:`lapwing.UnfoldedGNNClassifier` on Dask."""


class LinearClassifier(_OnDask, baselines.LinearClassifier):
    """:class:`lapwing.baselines.LinearClassifier` on Dask."""


class ForestClassifier(_OnDask, baselines.ForestClassifier):
    """:class:`lapwing.baselines.ForestClassifier` on Dask."""
