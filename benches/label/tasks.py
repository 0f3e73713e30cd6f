"""The two tasks of the label benchmark: rows and given labels."""

from __future__ import annotations

import numpy as np

import common
import mixture


def load(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and true classes of a task."""
    return {"mnist": mnist, "mixture": mixture.load}[task]()


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training rows of MNIST, 784 grey values of one byte each."""
    with np.load(common.data_file("mnist.npz")) as arrays:
        return arrays["X"][:60_000], arrays["y"][:60_000].astype(np.int64)


def show_labels(classes: np.ndarray, per_class: int, draw: int) -> np.ndarray:
    """Labels with all but `per_class` of each class hidden (-1); a larger `per_class` gives a superset of a smaller one."""
    rng = np.random.default_rng(draw)
    shown = np.full(len(classes), -1, dtype=np.int64)
    for one in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == one))[:per_class]
        shown[rows] = one
    return shown
