"""The picture of the landing page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import style
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from lapwing import AutoLabeler
from lapwing.display import LabelMapDisplay


def digits() -> Figure:
    """The digits of scikit-learn by the labels that lapwing gives them from 50 given ones."""
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(len(X)) < 50, truth, -1)
    auto = AutoLabeler(random_state=0, n_jobs=1).fit(X, y)
    figure, ax = style.figure(7.2, 4.6)
    display = LabelMapDisplay.from_estimator(auto, ax=ax, point_size=11)
    # A white ring around the dark one of given labels, for dark pages.
    ax.scatter(*display.points[display.given].T, s=72, color="white", edgecolors="none", zorder=2.5)
    style.map_axes(ax)
    ax.set(xlabel="", ylabel="")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {"digits": digits}
