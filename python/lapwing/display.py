"""Pictures of fits, in scikit-learn's manner: ``LabelMapDisplay.from_estimator(fitted)`` draws, and returns an object with ``ax_``.

They need matplotlib, which ``pip install "lapwing[plot]"`` installs; nothing else in lapwing does. The page of a fit,
``fitted.report("page.html")``, has such pictures too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _lapwing
from ._displays import (
    COLORS,
    OTHERS,
    CompareDisplay,
    ConfidenceDisplay,
    Drawn,
    LossCurveDisplay,
    ReliabilityDisplay,
)
from ._pages import KeepsRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CompareDisplay", "ConfidenceDisplay", "LabelMapDisplay", "LossCurveDisplay", "ReliabilityDisplay"]


class LabelMapDisplay(Drawn):
    """The rows in two dimensions, colored by their labels, or by their values for regressors.

    Dense rows are shown by their first two principal components where these hold at least half of the variance, all others by a layout
    of the graph, in which rows that the graph joins lie together. Rows with a given label are larger and outlined. Of many rows, up to
    5,000 are shown, evenly spread, half of them rows with a given label where there are that many.

    Parameters
    ----------
    points : array-like of shape (n_shown, 2)
        Coordinates of the rows that are shown.
    labels : array-like of shape (n_shown,)
        Their labels, or their values.
    given : array-like of shape (n_shown,), bool
        Whether the label of the row was given.
    rows : array-like of shape (n_shown,), int, default=None
        Their row numbers; None is 0, 1, 2 and so on.
    reached : array-like of shape (n_shown,), bool, default=None
        Whether a label reaches the row; rows that none reaches are gray. None is True for all.
    classes : array-like of shape (n_classes,), default=None
        The classes, in the order of colors; None takes those of the labels, sorted.
    is_value : bool, default=False
        Whether `labels` are values, which get a color bar instead of a legend.
    axes_names : tuple of two str, default=("", "")
        What the axes show.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on; only after drawing.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.display import LabelMapDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> y[100:] = -1
    >>> clf = HarmonicClassifier(random_state=0).fit(X, y)
    >>> display = LabelMapDisplay.from_estimator(clf)
    >>> display.ax_.get_xlabel()
    'layout of the graph, first axis'
    """

    _takes = KeepsRows

    def __init__(
        self,
        points: Any,
        labels: Any,
        given: Any,
        *,
        rows: Any = None,
        reached: Any = None,
        classes: Any = None,
        is_value: bool = False,
        axes_names: tuple[str, str] = ("", ""),
    ) -> None:
        self.points = np.asarray(points, dtype=np.float64)
        self.labels = np.asarray(labels)
        self.given = np.asarray(given, dtype=bool)
        n = len(self.points)
        self.rows = np.arange(n) if rows is None else np.asarray(rows)
        self.reached = np.ones(n, dtype=bool) if reached is None else np.asarray(reached, dtype=bool)
        self.classes = np.unique(self.labels) if classes is None and not is_value else classes
        self.is_value = is_value
        self.axes_names = axes_names

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> LabelMapDisplay:
        """Draw the rows of a fit.

        Parameters
        ----------
        estimator : classifier or regressor of lapwing
            Fitted in this process: those from files, pickles and copies hold no rows.
        **options
            Arguments of :meth:`plot`.

        Returns
        -------
        LabelMapDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If `estimator` is no estimator that labels rows.
        ValueError
            If it is not fitted, holds no rows, or has fewer than ten of them.
        """
        fitted = cls._fitted(estimator)
        kept, control = fitted._rows_of_fit(), fitted._control()
        graph = kept.graph_of(fitted.report_, control)
        known = np.flatnonzero(kept.known).astype(np.uint32)
        drawn = _lapwing.map_points(kept.features, graph, known, control)
        if drawn is None:
            raise ValueError("a map needs at least ten rows, with two features or a graph")
        rows = drawn["rows"]
        classes = getattr(fitted, "classes_", None)
        names = {
            "components": ("first principal component", "second principal component"),
            "layout": ("layout of the graph, first axis", "layout of the graph, second axis"),
        }[drawn["axes"]]
        display = cls(
            drawn["points"],
            fitted.transduction_[rows],
            kept.known[rows],
            rows=rows,
            reached=fitted.reached_[rows],
            classes=classes,
            is_value=classes is None,
            axes_names=names,
        )
        return display.plot(**options)

    def plot(self, *, ax: Axes | None = None, point_size: float = 9.0, legend: bool = True) -> LabelMapDisplay:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        point_size : float, default=9.0
            Area of a point, in square points. Given labels are drawn four times as large.
        legend : bool, default=True
            Whether to name the classes, or the values.

        Returns
        -------
        LabelMapDisplay
            This display, drawn.
        """
        ax = self._begin(ax, (8.0, 5.4))
        colors = None if self.is_value else self._colors()
        for given, size, edge in ((False, point_size, "none"), (True, 4.0 * point_size, "black")):
            for reached in (False, True):
                rows = (self.given == given) & (self.reached == reached)
                style: dict[str, Any] = {"s": size, "edgecolors": edge, "linewidths": 0.9, "alpha": 1.0 if given else 0.75}
                if not reached:
                    style["c"] = OTHERS
                elif colors is None:
                    values = self.labels[self.reached].astype(np.float64)
                    ends = (values.min(), values.max()) if values.size else (0.0, 1.0)
                    style |= {"c": self.labels[rows], "cmap": "viridis", "vmin": ends[0], "vmax": ends[1]}
                else:
                    style["c"] = colors[rows]
                marks = ax.scatter(*self.points[rows].T, zorder=3 if given else 2, **style)
                if legend and colors is None and reached and not given:
                    self.figure_.colorbar(marks, ax=ax, label="value")
        if legend and colors is not None:
            self._add_legend(ax)
        ax.set(xlabel=self.axes_names[0], ylabel=self.axes_names[1], xticks=[], yticks=[])
        ax.set_aspect("equal", adjustable="datalim")
        return self

    def _colors(self) -> NDArray[Any]:
        """The color of each row."""
        ranks = {name: at for at, name in enumerate(np.asarray(self.classes).tolist())}
        known = [ranks.get(label, len(COLORS)) for label in self.labels.tolist()]
        return np.array([COLORS[rank] if rank < len(COLORS) else OTHERS for rank in known])

    def _add_legend(self, ax: Axes) -> None:
        names = np.asarray(self.classes).tolist()
        marks = [(name, color) for name, color in zip(names, COLORS)]
        if len(names) > len(COLORS):
            marks.append((f"{len(names) - len(COLORS)} others", OTHERS))
        handles = [ax.scatter([], [], c=color, s=30, label=str(name)) for name, color in marks]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
