"""The rows of the tasks, and exact distances for measuring recall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import common
import mixture
import truth

NEIGHBORS = 15


@dataclass(frozen=True)
class Task:
    """One set of rows: its name in tables, its metric and the targets of recall."""

    title: str
    metric: str
    targets: tuple[float, ...]
    rows: Callable[[], Any]
    queries: Callable[[], np.ndarray] | None = None
    sample: int = 2000

    def cheapest(self, runs: list[common.Record], target: float) -> common.Record | None:
        """The fastest measurement that reached a recall; for new points, the one with the most queries per second."""
        cost = "ask_seconds" if self.queries else "wall_seconds"
        return min((run for run in runs if run["recall"] >= target), key=lambda run: run[cost], default=None)

    def threshold(self, name: str) -> dict[str, np.ndarray]:
        """The sampled rows and the true distance of their k-th neighbor, computed once and kept."""
        with np.load(common.kept(f"truth-{name}-{self.sample}.npz", self._write_threshold)) as arrays:
            return dict(arrays)

    def _write_threshold(self, path: Path) -> None:
        rows = self.rows()
        if self.queries is None:
            chosen = np.sort(np.random.default_rng(15).choice(rows.shape[0], self.sample, replace=False))
            kth = truth.kth_distance(rows, rows[chosen], NEIGHBORS, self.metric, exclude=chosen)
        else:
            queries = self.queries()
            chosen = np.arange(min(self.sample, len(queries)))
            kth = truth.kth_distance(rows, queries[chosen], NEIGHBORS, self.metric, exclude=None)
        with open(path, "wb") as file:
            np.savez(file, rows=chosen, kth=kth)


def mnist() -> np.ndarray:
    """The 60,000 training rows of MNIST, 784 grey values of one byte each."""
    with np.load(common.data_file("mnist.npz")) as arrays:
        return arrays["X"][:60_000].copy()


def words(rows: int = 100_000, columns: int = 300) -> np.ndarray:
    """Unit rows shaped like word vectors, f32: 200 topics of very different size around random unit centers.

    A topic spreads in 30 directions of its own with a spectrum falling as 1/√j, and a little in all 300 columns.
    """
    path = common.kept_array(f"words-{rows}x{columns}.npy", lambda: _draw_words(rows, columns))
    return np.load(path)


def _draw_words(rows: int, columns: int, topics: int = 200, inner: int = 30) -> np.ndarray:
    rng = np.random.default_rng(300)
    centers = rng.normal(size=(topics, columns))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    share = 1 / np.arange(1, topics + 1) ** 0.7
    topic = rng.choice(topics, size=rows, p=share / share.sum())
    spectrum = 1 / np.sqrt(np.arange(1, inner + 1))
    out = np.empty((rows, columns), dtype=np.float32)
    for one in range(topics):
        mine = np.flatnonzero(topic == one)
        directions = np.linalg.qr(rng.normal(size=(columns, inner)))[0].T
        inside = rng.normal(size=(len(mine), inner)) * spectrum * 0.45
        noise = rng.normal(size=(len(mine), columns)) * (0.25 / np.sqrt(columns))
        x = centers[one] + inside @ directions + noise
        out[mine] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return out


def text() -> sp.csr_matrix:
    """Term counts of 37,576 mails over 32,606 words, the empty ones dropped, CSR in f32."""
    with np.load(common.data_file("trec07p_half.npz")) as arrays:
        shape = tuple(arrays["X_shape"])
        rows = sp.csr_matrix((arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=shape)
    return rows[np.diff(rows.indptr) > 0]


def huge(rows: int = 10_000_000, columns: int = 16) -> np.ndarray:
    """A file of 640 MB, mapped: 50 clusters of 6 dimensions bent into 16 columns of f32."""
    path = common.kept(f"huge-{rows}x{columns}.npy", partial(_write_huge, rows=rows, columns=columns))
    return np.load(path, mmap_mode="r")


def _write_huge(path: Path, rows: int, columns: int, latent: int = 6, clusters: int = 50, block: int = 100_000) -> None:
    rng = np.random.default_rng(16)
    centers = rng.normal(size=(clusters, latent)) * 2
    directions, phases = rng.normal(size=(latent, 48)) * 0.4, rng.uniform(0, 2 * np.pi, size=48)
    outward = rng.normal(size=(48, columns)) / np.sqrt(48)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, columns))
    for start in range(0, rows, block):
        count = min(block, rows - start)
        z = centers[rng.integers(clusters, size=count)] + rng.normal(size=(count, latent))
        x = np.sin(z @ directions + phases) @ outward
        out[start : start + count] = x + 0.01 * rng.normal(size=x.shape)
    out.flush()


TASKS = {
    "mnist": Task("MNIST, 60,000 × 784, bytes", "euclidean", (0.99,), mnist),
    "mixture": Task("Curved mixture, 1,000,000 × 32, f32", "euclidean", (0.95, 0.99), lambda: mixture.load()[0]),
    "words": Task("Unit vectors in 200 topics, 100,000 × 300, f32, cosine", "cosine", (0.95,), words),
    "text": Task("TREC mails, 37,576 × 32,606 sparse counts, cosine", "cosine", (0.99,), text),
    "huge": Task("Mapped file, 10,000,000 × 16, f32", "euclidean", (0.95,), huge, sample=500),
    "queries": Task(
        "New points against 1,000,000 × 32, one thread",
        "euclidean",
        (0.95,),
        lambda: mixture.load()[0],
        queries=lambda: mixture.new_points(20_000),
    ),
}
DEFAULT = ["mnist", "mixture", "words", "text", "queries"]
