"""Rows, labels and edges in the plane that pictures show, and ways to draw them."""

from __future__ import annotations

from typing import Any

import numpy as np
import style
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from scipy import sparse
from sklearn.datasets import make_moons

Array = np.ndarray[Any, Any]
COLORS = (style.FIRST, style.SECOND, style.THIRD)


def moons(n_samples: int = 240, n_labels: int = 2, noise: float = 0.09, seed: int = 3) -> tuple[Array, Array, Array]:
    """Two moons, their true classes, and labels with so many given of each class, −1 elsewhere."""
    X, truth = make_moons(n_samples, noise=noise, random_state=seed)
    y = np.full(n_samples, -1)
    rng = np.random.default_rng(seed)
    for label in (0, 1):
        y[rng.choice(np.flatnonzero(truth == label), n_labels, replace=False)] = label
    return X, truth, y


def draw_edges(ax: Axes, X: Array, graph: Any, widths: float | Array = 0.7, color: str = style.PALE) -> None:
    """The edges of a graph of lapwing, or of a matrix of SciPy."""
    matrix = sparse.triu(graph if sparse.issparse(graph) else graph.to_scipy())
    ax.add_collection(LineCollection(X[np.column_stack(matrix.nonzero())], linewidths=widths, colors=color, zorder=1))
    ax.autoscale_view()


def draw_rows(ax: Axes, X: Array, labels: Array, size: float = 14, colors: tuple[str, ...] = COLORS) -> None:
    """Rows in the colors of their labels; those with label −1 are gray."""
    for label in np.unique(labels):
        color = style.FRAME if label < 0 else colors[label]
        ax.scatter(*X[labels == label].T, s=size, color=color, edgecolors="none", zorder=2)


def draw_given(ax: Axes, X: Array, y: Array, size: float = 90, colors: tuple[str, ...] = COLORS) -> None:
    """Rows with a given label: large, with a ring that shows on white and on dark pages."""
    for label in np.unique(y[y >= 0]):
        for ring, width in (("white", 3.4), ("#222222", 1.4)):
            ax.scatter(*X[y == label].T, s=size, color=colors[label], edgecolors=ring, linewidths=width, zorder=4)


def draw_scores(ax: Axes, X: Array, scores: Array, size: float = 16) -> Any:
    """Rows colored from the first class (−1) to the second (1)."""
    return ax.scatter(*X.T, c=scores, cmap=SCALE, vmin=-1, vmax=1, s=size, edgecolors="none", zorder=2)


def _scale() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("classes", [style.FIRST, "#a9a9a9", style.SECOND], N=32)


SCALE = _scale()
