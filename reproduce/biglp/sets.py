"""The data sets, and labels drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import common


@dataclass(frozen=True)
class Set:
    """A file of rows and classes, and the part of it that is used."""

    file: str
    classes: tuple[int, ...] = ()
    """The classes that are kept; all if none is given."""
    standardized: bool = False
    """Whether columns are standardized to mean 0 and standard deviation 1."""


SETS = {
    "mnist": Set("mnist.npz"),
    "mnist 7, 9": Set("mnist.npz", (7, 9)),
    "mnist 4, 9": Set("mnist.npz", (4, 9)),
    "fashion": Set("fashion_mnist.npz"),
    "usps": Set("usps.npz"),
    "protein": Set("protein_val.npz"),
    "donors": Set("donors.npz"),
    "magic": Set("magic_gamma.npz"),
    "cover": Set("cover_2class.npz", standardized=True),
}


def files(names: Sequence[str]) -> tuple[str, ...]:
    """Files of these sets in the directory of the data."""
    return tuple(dict.fromkeys(SETS[name].file for name in names))


def load(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d), bytes or f32, and classes (n) from 0; of larger sets `most` rows, drawn uniformly."""
    chosen = SETS[name]
    with np.load(common.data_file(chosen.file)) as data:
        classes = data["y"]
        rows = data["X"] if "X" in data else _dense(data)
    kept = np.flatnonzero(np.isin(classes, chosen.classes or np.unique(classes)))
    if len(kept) > most:
        kept = np.sort(np.random.default_rng(0).choice(kept, most, replace=False))
    rows, classes = rows[kept], np.unique(classes[kept], return_inverse=True)[1]
    if chosen.standardized:
        spread = rows.std(axis=0, dtype=np.float64)
        rows = ((rows - rows.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1)).astype(np.float32)
    return np.ascontiguousarray(rows), classes


def _dense(data: np.lib.npyio.NpzFile) -> np.ndarray:
    return sp.csr_matrix((data["X_data"], data["X_indices"], data["X_indptr"]), shape=tuple(data["X_shape"])).toarray()


def in_unit_range(rows: np.ndarray) -> np.ndarray:
    """The rows with every column between 0 and 1."""
    least, span = rows.min(axis=0), np.ptp(rows, axis=0)
    return ((rows - least) / np.where(span > 0, span, 1)).astype(np.float32)


def shown(classes: np.ndarray, per_class: int | Sequence[int], draw: int) -> np.ndarray:
    """Labels (n): a number of drawn rows of each class keep their labels, the others get −1."""
    rng = np.random.default_rng(draw)
    sizes = np.bincount(classes)
    labels = np.full(len(classes), -1)
    for one, count in enumerate(np.broadcast_to(per_class, len(sizes))):
        chosen = rng.choice(np.flatnonzero(classes == one), count, replace=False)
        labels[chosen] = one
    return labels


def allows(classes: np.ndarray, per_class: int) -> bool:
    """Whether every class has more rows than labels."""
    return bool(np.bincount(classes).min() > per_class)


def describe(rows: np.ndarray, classes: np.ndarray) -> common.Record:
    """Sizes, for the head of a table."""
    sizes = np.bincount(classes)
    share = float(sizes.max() / len(classes))
    return {"n_samples": len(rows), "n_features": rows.shape[1], "n_classes": len(sizes), "share": share}
