"""A graph of blocks: the second end of an edge is in the class of the first with some probability, else anywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import common

CLASSES = 10
WITHIN = 0.8
"""Probability that an edge is drawn within its class; other edges may end there by chance."""

ROW = np.dtype([("u", "<u4"), ("v", "<u4"), ("weight", "<f4")])
PIECE = 1 << 22


def edges(n_nodes: int, n_edges: int) -> Path:
    """The edge list as a record array of 12 bytes a row, written once; a shorter list is its beginning."""
    return common.kept(f"blocks-{n_nodes}-{n_edges}.npy", lambda path: write(path, n_nodes, n_edges))


def write(path: Path, n_nodes: int, n_edges: int) -> None:
    """Write it piece by piece."""
    with path.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(ROW), "fortran_order": False, "shape": (n_edges,)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n_edges, PIECE):
            piece(n_nodes, first, min(PIECE, n_edges - first)).tofile(file)


def piece(n_nodes: int, first: int, count: int) -> np.ndarray:
    """Rows from `first` on; each piece has a random stream of its own."""
    rng = np.random.default_rng([n_nodes, first])
    rows = np.empty(count, ROW)
    rows["u"] = rng.integers(0, n_nodes, count, dtype=np.uint32)
    rows["v"] = rng.integers(0, n_nodes, count, dtype=np.uint32)
    stays = rng.random(count, dtype=np.float32) < WITHIN
    # Class of a node = node mod CLASSES.
    rows["v"][stays] += (rows["u"][stays] % CLASSES + CLASSES - rows["v"][stays] % CLASSES) % CLASSES
    rows["v"][rows["v"] >= n_nodes] -= CLASSES
    rows["weight"] = rng.random(count, dtype=np.float32) + 0.5
    return rows


def labels(n_nodes: int, per_class: int) -> Path:
    """A few labels of each class, as `row,label`."""
    return common.kept(f"blocks-{n_nodes}-labels-{per_class}.csv", lambda path: write_labels(path, n_nodes, per_class))


def write_labels(path: Path, n_nodes: int, per_class: int) -> None:
    """Write the labels."""
    rng = np.random.default_rng([n_nodes, per_class])
    rows = rng.choice(n_nodes // CLASSES, per_class, replace=False)[:, None] * CLASSES + np.arange(CLASSES)
    path.write_text("row,label\n" + "".join(f"{row},{row % CLASSES}\n" for row in np.sort(rows.ravel())))
