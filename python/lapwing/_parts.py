"""Fits to a sample of rows that lie in parts, in other processes: three passes over the parts, then a fit here."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from . import _lapwing
from ._classifier import SpreadingClassifier
from ._containers import as_label_array
from ._control import run_control
from ._inputs import check_options, features_argument
from ._labels import class_labels, class_names, label_marks
from ._shared import GivenLabels

#: Rows to fit unless the estimator says another number.
FIT_ROWS = 300_000

Visit = Callable[[Any, int, Any], Any]
"""What is asked of a part: a function of something that all parts share, and of the first row and the features of the part."""


class Parts(Protocol):
    """Rows in parts, which are numbered from the first part on."""

    names: list[str] | None
    """Names of the features, if they have any."""

    def told(self, tell: Callable[[Any, Any], Told], unlabeled: Any) -> list[Told]:
        """What is told of the labels, in the order of the rows, by parts of any size. It is called first, and counts the rows too."""

    def visit(self, asked: Visit, shared: Any) -> list[Any]:
        """What the parts answer, in the order of the rows."""

    def joined(self, asked: Visit, shared: Any, join: Callable[[Any, list[bytes]], bytes]) -> bytes:
        """The answers of all parts, joined; `join` gets what is shared too."""


class Shared:
    """A value that all tasks need: sent as bytes, which a process unpacks once; it does not keep the bytes."""

    def __init__(self, value: Any, key: str = "") -> None:
        self.value, self._key = value, key

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps(self.value, protocol=5)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        packed = self._packed
        if self._key:
            # It came from another process, and is rarely sent on. Another thread may have been here.
            self.__dict__.pop("_packed", None)
        key = self._key or hashlib.blake2b(packed).hexdigest()
        # A buffer is not copied where the engine sends buffers apart.
        return _unpacked, (pickle.PickleBuffer(packed) if protocol >= 5 else packed, key)


_last: dict[str, Shared] = {}
"""The value that this process has unpacked last: it serves one fit or model after another."""


def _unpacked(packed: Any, key: str) -> Shared:
    shared = _last.get(key)
    if shared is None:
        shared = Shared(pickle.loads(packed), key)
        _last.clear()
        _last[key] = shared
    return shared


class Told(NamedTuple):
    """What a part says of its labels."""

    n_rows: int
    n_none: int
    """Rows that surely have none, and rows with -1 or the like, which are classes if other rows have another mark."""
    n_open: int
    places: NDArray[np.int64]
    labels: list[Any]


def features_of(X: Any, first: int = 0) -> NDArray[Any]:
    """The features of a part, dense and finite."""
    if len(X) == 0:
        return np.zeros((0, X.shape[1]))
    array: NDArray[Any] = features_argument(check_array(X, **{**check_options(X), "accept_sparse": False}))
    is_finite = np.isfinite(array)
    if not is_finite.all():
        row, column = (int(at) for at in np.argwhere(~is_finite)[0])
        raise ValueError(f"X has {array[row, column]} in row {first + row}, column {column}; expected finite numbers: impute them first")
    return array


def _tell(unlabeled: Any, y: Any) -> Told:
    labels = as_label_array(y)
    marks = label_marks(labels, unlabeled)
    places = np.flatnonzero(marks == 0)
    return Told(len(labels), int((marks == 1).sum()), int((marks == 2).sum()), places, labels[places].tolist())


def _drawn(draw: Any, first: int, X: Any) -> tuple[Any, Any]:
    rows = draw.rows(first, first + len(X))
    return rows, features_of(X, first)[rows - first]


def _compared(search: Any, first: int, X: Any) -> bytes:
    found: bytes = search.compare(first, features_of(X, first), run_control(1, 0)) if len(X) else search.join([])
    return found


def labels_of(told: list[Told], unlabeled: Any) -> tuple[GivenLabels, NDArray[np.uint32]]:
    """The labels of all parts, and the rows that have one."""
    if sum(part.n_none for part in told) and sum(part.n_open for part in told):
        raise ValueError("y marks rows without a label in two ways, by -1 or a text such as 'none' and by missing values; pass unlabeled=...")
    sizes = [part.n_rows for part in told]
    n, firsts = sum(sizes), np.cumsum([0, *sizes[:-1]])
    rows = np.concatenate([first + part.places for first, part in zip(firsts, told, strict=True)]).astype(np.uint32)
    labels = [label for part in told for label in part.labels]
    found = class_labels(labels, unlabeled)
    if n >= 2**32:
        raise ValueError(f"there are {n} rows; expected fewer than {2**32}")
    argument = (n, rows, found.codes.astype(np.uint32), class_names(found.classes))
    return GivenLabels(found.classes, found.codes, found.marker, argument, None), rows


def _join(search: Any, found: list[bytes]) -> bytes:
    joined: bytes = search.join(found)
    return joined


def fit_parts(estimator: SpreadingClassifier, parts: Parts) -> None:
    """Fit an estimator to a sample of the rows of all parts."""
    if getattr(estimator, "prior", None) is not None:
        raise ValueError("prior needs rows in memory, and these lie in parts")
    affinity = getattr(estimator, "affinity", "knn")
    if affinity != "knn":
        raise ValueError(f"affinity is {affinity!r}; expected 'knn': rows in parts are features")
    problem = estimator._problem()
    control = problem.control | {"callback": None}
    told = parts.told(_tell, estimator.unlabeled)
    sizes = [part.n_rows for part in told]
    labels, labeled = labels_of(told, estimator.unlabeled)
    draw = _lapwing.RowDraw(sum(sizes), labeled, estimator._fitted_row_count() or FIT_ROWS, control["seed"])
    drawn = [(rows, X) for rows, X in parts.visit(_drawn, draw) if len(rows)]
    if len(drawn) == 0 or sum(sizes) < 2:
        raise ValueError(f"there are {sum(sizes)} rows; expected at least 2")
    rows, features = (np.concatenate(arrays) for arrays in zip(*drawn, strict=True))
    search = _lapwing.RowSearch(draw, rows, features, estimator._stream_extras()["standardize"], control)
    found = parts.joined(_compared, search, _join)
    if parts.names is not None:
        estimator.feature_names_in_ = np.asarray(parts.names, dtype=object)
    estimator._fit_stream((search, found), labels, problem)
