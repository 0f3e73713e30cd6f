"""Low-rank propagation in NumPy, as an experienced programmer would write it; independent of lapwing.

Rows are memory-mapped and taken in chunks that stay in the cache. Exponents −|x − l|²/(2σ²) are one product in single
precision, of rows and landmarks less their center with two columns more for squared norms; the rest works in place, in
buffers that a thread makes once, and chunks add up in double precision. Either each thread takes chunks of its own, or
one takes them all and matrix products run on several.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

CHUNK = 4096
"""Rows of a chunk; the labeled rows are one chunk."""
ALPHA, FLOOR, RCOND, NEAREST = 0.9, 1e-3, 1e-6, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=["nystrom", "anchor"])
    parser.add_argument("rows", type=Path, help="features (n, d), float32")
    parser.add_argument("labels", type=Path, help="CSV of row,label with labels from 0 on")
    parser.add_argument("landmarks", type=Path, help="landmarks `values` (k, d) less the `center` (d), and the `width`")
    parser.add_argument("out", type=Path, help="where the label of each row goes")
    parser.add_argument("--threads", type=int, default=1, help="threads that take chunks")
    args = parser.parse_args()
    labeled, classes = np.loadtxt(args.labels, delimiter=",", skiprows=1, dtype=np.int64, unpack=True)
    with np.load(args.landmarks) as arrays:
        data = np.load(args.rows, mmap_mode="r")
        rows = Rows(data, arrays["values"], arrays["center"], float(arrays["width"]), args.threads)
    method = {"nystrom": nystrom, "anchor": anchor}[args.method]
    np.save(args.out, method(rows, labeled, np.eye(classes.max() + 1)[classes]))


class Rows:
    """Rows, landmarks, and passes over the rows."""

    def __init__(self, data: np.ndarray, landmarks: np.ndarray, center: np.ndarray, width: float, threads: int) -> None:
        self.data, self.landmarks, self.center = data, landmarks, center
        self.scale = np.float32(-0.5 / width**2)
        squares = self.scale * np.einsum("ij,ij->i", landmarks, landmarks)
        # (x, −|x|²/(2σ²), 1) times (l/σ², 1, −|l|²/(2σ²)).
        self.right = np.vstack([-2 * self.scale * landmarks.T, np.ones_like(squares), squares])
        self.pool, self.own = ThreadPoolExecutor(threads), threading.local()

    def exponents(self, rows: np.ndarray) -> np.ndarray:
        """−|x − l|²/(2σ²) of a chunk, in this thread's buffer."""
        n, d = rows.shape
        if not hasattr(self.own, "left"):
            self.own.left = np.ones((CHUNK, d + 2), np.float32)
            self.own.out = np.empty((CHUNK, len(self.landmarks)), np.float32)
        left, out = self.own.left[:n], self.own.out[:n]
        np.subtract(rows, self.center, out=left[:, :d])
        np.einsum("ij,ij->i", left[:, :d], left[:, :d], out=left[:, d])
        left[:, d] *= self.scale
        return np.matmul(left, self.right, out=out)

    def each(self, work: Callable[[np.ndarray], np.ndarray]) -> Iterable[np.ndarray]:
        """The results of `work` for the exponents of each chunk, in order."""
        starts = range(0, len(self.data), CHUNK)
        return self.pool.map(lambda start: work(self.exponents(self.data[start : start + CHUNK])), starts)


def nystrom(rows: Rows, labeled: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Degrees, sums, labels."""
    exact = rows.landmarks.astype(float)
    between = np.exp(float(rows.scale) * ((exact[:, None] - exact) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(between)
    kept = values > RCOND * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])

    def column_sums(chunk: np.ndarray) -> np.ndarray:
        return np.ones(len(chunk), np.float32) @ np.exp(chunk, out=chunk)

    sums = sum((part.astype(float) for part in rows.each(column_sums)), np.zeros(len(exact)))
    weights = root @ (root.T @ sums)
    floor, single = FLOOR * (sums @ weights) / len(rows.data), weights.astype(np.float32)

    def scaled(chunk: np.ndarray) -> np.ndarray:
        np.exp(chunk, out=chunk)
        roots = np.sqrt(np.maximum(chunk @ single, floor))
        chunk /= roots[:, None]
        return roots

    def gram(chunk: np.ndarray) -> np.ndarray:
        scaled(chunk)
        return chunk.T @ chunk

    whole = sum((part.astype(float) for part in rows.each(gram)), np.zeros_like(between))
    known = rows.exponents(rows.data[labeled]).copy()
    targets = targets / (scaled(known) @ targets)
    coefficients = propagated(known, targets, whole, root)
    narrow = coefficients.astype(np.float32)

    def labels(chunk: np.ndarray) -> np.ndarray:
        # The degree is a factor of all scores of a row.
        return (np.exp(chunk, out=chunk) @ narrow).argmax(axis=1).astype(np.uint8)

    return all_labels(rows.each(labels), labeled, known @ coefficients + (1 - ALPHA) * targets)


def anchor(rows: Rows, labeled: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Sums, labels."""
    k = len(rows.landmarks)

    def shares(chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest landmarks and their shares; the largest three times is twice as fast as a partition."""
        every, nearest = np.arange(len(chunk)), np.empty((len(chunk), NEAREST), np.int64)
        values = np.empty((len(chunk), NEAREST), np.float32)
        for at in range(NEAREST):
            nearest[:, at] = chunk.argmax(axis=1)
            values[:, at] = chunk[every, nearest[:, at]]
            chunk[every, nearest[:, at]] = -np.inf
        values -= values[:, :1].copy()
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
        return nearest, values

    def gram(chunk: np.ndarray) -> np.ndarray:
        nearest, values = shares(chunk)
        pairs, products = k * nearest[:, :, None] + nearest[:, None], values[:, :, None] * values[:, None]
        return np.bincount(pairs.ravel(), products.ravel(), k * k)

    whole = sum(rows.each(gram), np.zeros(k * k)).reshape(k, k)
    # Shares add up to 1: the sums of rows are Zᵀ1.
    sums = whole.sum(axis=1)
    nearest, values = shares(rows.exponents(rows.data[labeled]))
    known = np.zeros((len(labeled), k))
    np.put_along_axis(known, nearest, values, axis=1)
    targets = targets / targets.sum(axis=0)
    coefficients = propagated(known, targets, whole, np.diag(np.where(sums > 0, sums, np.inf) ** -0.5))
    narrow = coefficients.astype(np.float32)

    def labels(chunk: np.ndarray) -> np.ndarray:
        nearest, values = shares(chunk)
        return np.einsum("ns,nsc->nc", values, narrow[nearest]).argmax(axis=1).astype(np.uint8)

    return all_labels(rows.each(labels), labeled, known @ coefficients + (1 - ALPHA) * targets)


def propagated(known: np.ndarray, targets: np.ndarray, gram: np.ndarray, root: np.ndarray) -> np.ndarray:
    """(1−α)·αN(I − αH)⁻¹Nᵀ·Aᵀf₀ with H = Nᵀ·gram·N."""
    h = root.T @ gram @ root
    damped = ALPHA / max(1.0, np.linalg.eigvalsh(h)[-1])
    right = root.T @ (known.T.astype(float) @ targets)
    return (1 - ALPHA) * damped * (root @ np.linalg.solve(np.eye(len(h)) - damped * h, right))


def all_labels(parts: Iterable[np.ndarray], labeled: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Labels of all rows, one byte each; `scores` are those of labeled rows."""
    labels = np.concatenate(list(parts))
    labels[labeled] = scores.argmax(axis=1)
    return labels


if __name__ == "__main__":
    main()
