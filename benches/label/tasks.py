"""The two tasks of the label benchmark: their rows, and which labels are shown."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MIXTURE_ROWS = 1_000_000


def data_dir() -> Path:
    """Where the data sets lie: `LAPWING_DATA`, else beside the repository."""
    return Path(os.environ.get("LAPWING_DATA", ROOT.parent / "shared" / "data"))


def load(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and true classes of a task."""
    return {"mnist": mnist, "mixture": mixture}[task]()


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training rows of MNIST, 784 grey values of one byte each."""
    path = data_dir() / "mnist.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; set LAPWING_DATA to the directory that holds mnist.npz")
    with np.load(path) as arrays:
        return arrays["X"][:60_000], arrays["y"][:60_000].astype(np.int64)


def mixture(rows: int = MIXTURE_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """A curved mixture: 10 Gaussian clusters in 8 dimensions, bent into 32 by a smooth random map.

    x = B·sin(A·z + b) + noise with z drawn from the cluster of the row. 96 sine waves of random direction and phase
    keep neighbourhoods of z intact but bend every cluster through all 32 columns, so that straight lines between rows
    leave the manifold. The clusters touch: 7 % of the edges of a 15-nearest-neighbour graph of 40,000 rows join two
    classes. With 10 labels per class there, the nearest class mean is right for .78 of the rows, the nearest labelled
    row for .76, Laplace and Poisson learning for .94 and .96. Kept as f32 under `target/` after the first call.
    """
    cache = ROOT / "target" / "bench" / f"mixture-{rows}.npz"
    if not cache.exists():
        features, classes = _draw_mixture(rows)
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial = cache.with_suffix(".part.npz")
        np.savez(partial, X=features, y=classes)
        partial.rename(cache)
    with np.load(cache) as arrays:
        return arrays["X"], arrays["y"]


def _draw_mixture(rows: int) -> tuple[np.ndarray, np.ndarray]:
    latent, columns, waves, clusters = 8, 32, 96, 10
    rng = np.random.default_rng(20240217)
    centres = rng.normal(size=(clusters, latent)) * 1.6
    directions = rng.normal(size=(latent, waves)) * 0.4
    phases = rng.uniform(0, 2 * np.pi, size=waves)
    outward = rng.normal(size=(waves, columns)) / np.sqrt(waves)
    features = np.empty((rows, columns), dtype=np.float32)
    classes = rng.integers(clusters, size=rows)
    for start in range(0, rows, 50_000):
        block = slice(start, min(start + 50_000, rows))
        z = centres[classes[block]] + rng.normal(size=(len(classes[block]), latent))
        x = np.sin(z @ directions + phases) @ outward
        features[block] = x + 0.01 * rng.normal(size=x.shape)
    return features, classes


def show_labels(classes: np.ndarray, per_class: int, draw: int) -> np.ndarray:
    """Labels with all but `per_class` of each class hidden (-1); a larger `per_class` shows a superset of a smaller."""
    rng = np.random.default_rng(draw)
    shown = np.full(len(classes), -1, dtype=np.int64)
    for one in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == one))[:per_class]
        shown[rows] = one
    return shown
