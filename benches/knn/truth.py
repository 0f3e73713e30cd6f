"""Exact neighbors of a sample by brute force in f64, and the recall of an answer against them.

A neighbor counts if its distance is at most the true k-th distance times 1 + 10⁻⁶, so that ties do not lower recall.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 8192
TIES = 1e-6
ROUNDING = 1e-12


def kth_distance(rows: Any, queries: Any, k: int, metric: str, exclude: np.ndarray | None) -> np.ndarray:
    """Distance of each query's k-th nearest row: squared Euclidean, or 1 − cosine. Query i skips row `exclude[i]`.

    Squared distances from products in f64 after centering; exact for bytes, whose products are whole numbers.
    """
    center = 0.0 if sp.issparse(rows) or rows.dtype == np.uint8 else np.asarray(rows[:BLOCK], np.float64).mean(axis=0)
    asked = prepared(queries, metric, center)
    best = np.full((queries.shape[0], k), np.inf)
    for start in range(0, rows.shape[0], BLOCK):
        distance = distances(asked, prepared(rows[start : start + BLOCK], metric, center), metric)
        if exclude is not None:
            here = np.flatnonzero((exclude >= start) & (exclude < start + distance.shape[1]))
            distance[here, exclude[here] - start] = np.inf
        _keep_smallest(best, distance)
    return best.max(axis=1)


def _keep_smallest(best: np.ndarray, distance: np.ndarray) -> None:
    """Merge a block of distances into the k smallest of each row; rows without a smaller one cost one comparison."""
    changed, columns = np.nonzero(distance < best.max(axis=1, keepdims=True))
    starts = np.flatnonzero(np.r_[True, changed[1:] != changed[:-1]]) if len(changed) else []
    for start, stop in zip(starts, [*starts[1:], len(changed)], strict=True):
        row = changed[start]
        found = np.concatenate([best[row], distance[row, columns[start:stop]]])
        best[row] = np.partition(found, best.shape[1] - 1)[: best.shape[1]]


def prepared(rows: Any, metric: str, center: Any = 0.0) -> Any:
    """Rows in f64: centered for Euclidean distances, of unit length for cosine."""
    if sp.issparse(rows):
        rows = rows.astype(np.float64)
        norms = np.sqrt(rows.multiply(rows).sum(axis=1)).A1
        return (sp.diags(1 / norms) @ rows).tocsr()
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if metric == "cosine" else rows - center


def distances(left: Any, right: Any, metric: str) -> np.ndarray:
    """All distances between prepared rows (a, b)."""
    products = left @ right.T
    products = products.toarray() if sp.issparse(products) else products
    if metric == "cosine":
        return 1 - products
    squares = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right)
    return np.maximum(squares - 2 * products, 0)


def recall(rows: Any, queries: Any, chosen: np.ndarray, found: np.ndarray, kth: np.ndarray, metric: str) -> float:
    """Share of true neighbors in `found` (sample, k): row numbers, each counted once and never the row itself.

    `chosen` holds the row of each query, or is empty for queries that are no rows.
    """
    hits = 0
    for i, limit in enumerate(kth):
        mine = np.unique(found[i][found[i] >= 0])
        mine = mine[mine != chosen[i]] if len(chosen) else mine
        distance = _direct(queries[i : i + 1] if sp.issparse(queries) else queries[i], rows[mine], metric)
        hits += int(np.sum(distance <= limit * (1 + TIES) ** 2 + ROUNDING))
    return hits / found[: len(kth)].size


def _direct(query: Any, rows: Any, metric: str) -> np.ndarray:
    """Distances in difference form: squared Euclidean, or 1 − cosine."""
    if metric == "cosine":
        query = query if sp.issparse(query) else query[None]
        return distances(prepared(query, metric), prepared(rows, metric), metric)[0]
    difference = rows.astype(np.float64) - query.astype(np.float64)
    return np.einsum("ij,ij->i", difference, difference)
