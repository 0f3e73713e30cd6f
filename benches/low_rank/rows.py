"""A file of rows: ten overlapping classes in 100 columns, float32, written piece by piece."""

from __future__ import annotations

from pathlib import Path

import common
import numpy as np

CLASSES, COLUMNS, SPREAD = 10, 100, 0.6
PER_CLASS = 100
"""Labels of each class: those of the first rows."""
PIECE = 10_000


def features(n_rows: int) -> Path:
    """The rows, 4 GB for 10⁷; the class of row i is i mod 10."""
    return common.kept(f"classes-{n_rows}.npy", lambda path: _write(path, n_rows))


def labels() -> Path:
    """The labels, as `row,label`."""
    return common.kept("classes-labels.csv", _write_labels)


def accuracy(found: np.ndarray) -> float:
    """Accuracy on the rows without a label."""
    first = CLASSES * PER_CLASS
    return float((found[first:] == np.arange(first, len(found)) % CLASSES).mean())


def _write_labels(path: Path) -> None:
    path.write_text("row,label\n" + "".join(f"{row},{row % CLASSES}\n" for row in range(CLASSES * PER_CLASS)))


def _write(path: Path, n_rows: int) -> None:
    # Like generated rows: centers spread evenly, noise of standard deviation 1.
    rng = np.random.default_rng(20170301)
    centers = rng.uniform(-SPREAD, SPREAD, size=(CLASSES, COLUMNS)).astype(np.float32)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n_rows, PIECE):
            classes = np.arange(first, min(first + PIECE, n_rows)) % CLASSES
            noise = rng.standard_normal((len(classes), COLUMNS), dtype=np.float32)
            (centers[classes] + noise).tofile(file)
