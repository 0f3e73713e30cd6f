"""What the displays share: axes, colors, and what an estimator must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._pages import WritesPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Colors of classes, those of the HTML pages; further classes share a gray.
COLORS = (
    "#0072b2 #e69f00 #009e73 #cc79a7 #d55e00 #56b4e9 #6a4fb3 #a89a00 #882255 #5b7f1e "
    "#44aa99 #aa4499 #7a5c3a #8b1a1a #5f86b8 #737373 #c9a75b #2f4b7c #cc6677 #3d3399"
).split()
OTHERS = "#a3a8a6"
LINE = COLORS[0]


class Display:
    """What all displays share."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _begin(self, ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
        """The axes to draw on: those given, or those of a new figure."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                name = type(self).__name__
                raise ImportError(
                    f'{name} draws with matplotlib, which is not installed; run: pip install "lapwing[plot]"'
                ) from error
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def expect(estimator: Any, kind: type, display: type) -> Any:
    """The estimator, if it is of the kind that the display takes."""
    if not isinstance(estimator, kind):
        wanted = "a classifier" if kind is WritesPage else "a classifier or regressor"
        raise TypeError(f"{display.__name__} takes {wanted} of lapwing, not {type(estimator).__name__}")
    return estimator


def inferred(fitted: Any, y_true: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Confidence of the rows whose label was not given, and whether each is right if the truth is given."""
    rows = fitted._rows_of_fit()
    shown = ~rows.known & fitted.reached_
    _, truth = fitted._true_codes(y_true, len(shown))
    if truth is None:
        return fitted.confidence_[shown], None
    shown &= truth >= 0
    return fitted.confidence_[shown], rows.labels[shown] == truth[shown]
