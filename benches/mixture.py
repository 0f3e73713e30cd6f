"""The curved mixture: a million rows in 32 columns on a bent manifold of 8 dimensions, in 10 touching classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import common

ROWS = 1_000_000
LATENT, COLUMNS, WAVES, CLUSTERS = 8, 32, 96, 10
BLOCK = 50_000


def load(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Features (rows, 32) in f32 and classes; kept under `target/` after the first call."""
    with np.load(common.kept(f"mixture-{rows}.npz", lambda path: _write(path, rows))) as arrays:
        return arrays["X"], arrays["y"]


def new_points(count: int) -> np.ndarray:
    """More rows of the same mixture, none of them among those of `load`."""
    bend = Bend(np.random.default_rng(SEED))
    rng = np.random.default_rng(SEED + 1)
    return np.concatenate([bend.rows(rng.integers(CLUSTERS, size=count), rng)])


SEED = 20240217


class Bend:
    """x = B·sin(A·z + b) + noise with z drawn from the cluster of the row.

    96 sine waves of random direction and phase keep neighborhoods of z intact but bend every cluster through all 32
    columns, so that straight lines between rows leave the manifold. The clusters touch: 7 % of the edges of a
    15-nearest-neighbor graph of 40,000 rows join two classes. With 10 labels per class there, the nearest class mean
    is right for .78 of the rows, the nearest labeled row for .76, Laplace and Poisson learning for .94 and .96.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.centers = rng.normal(size=(CLUSTERS, LATENT)) * 1.6
        self.directions = rng.normal(size=(LATENT, WAVES)) * 0.4
        self.phases = rng.uniform(0, 2 * np.pi, size=WAVES)
        self.outward = rng.normal(size=(WAVES, COLUMNS)) / np.sqrt(WAVES)

    def rows(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One row per class given, f32."""
        z = self.centers[classes] + rng.normal(size=(len(classes), LATENT))
        x = np.sin(z @ self.directions + self.phases) @ self.outward
        return (x + 0.01 * rng.normal(size=x.shape)).astype(np.float32)


def _write(path: Path, rows: int) -> None:
    rng = np.random.default_rng(SEED)
    bend = Bend(rng)
    classes = rng.integers(CLUSTERS, size=rows)
    features = np.concatenate([bend.rows(classes[start : start + BLOCK], rng) for start in range(0, rows, BLOCK)])
    with open(path, "wb") as file:
        np.savez(file, X=features, y=classes)
