"""Pictures of fits, in scikit-learn's manner: ``LabelMapDisplay.from_estimator(fitted)`` draws, and returns an object with ``ax_``.

They need matplotlib, which ``pip install "lapwing[plot]"`` installs; nothing else in lapwing does. The page of a fit,
``fitted.report("page.html")``, has such pictures too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._base import GraphEstimator
from ._classifier import SpreadingClassifier
from ._control import Self

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["CompareDisplay", "ConfidenceDisplay", "LabelMapDisplay", "LossCurveDisplay", "ReliabilityDisplay"]

#: Colors of classes, those of the HTML pages; further classes share a gray.
COLORS = (
    "#0072b2 #e69f00 #009e73 #cc79a7 #d55e00 #56b4e9 #6a4fb3 #a89a00 #882255 #5b7f1e "
    "#44aa99 #aa4499 #7a5c3a #8b1a1a #5f86b8 #737373 #c9a75b #2f4b7c #cc6677 #3d3399"
).split()
OTHERS = "#a3a8a6"
LINE, WRONG = COLORS[0], COLORS[4]


class Display:
    """A picture of what a fit knows of itself; kinds have `_read`, which takes it, and `_draw`."""

    ax_: Axes
    figure_: Figure | SubFigure
    _takes: ClassVar[type] = SpreadingClassifier
    _size: ClassVar[tuple[float, float]] = (6.0, 3.6)
    _read: Callable[..., None]
    _draw: Callable[[Axes], None]

    def __init__(self, estimator: Any, **options: Any) -> None:
        if not isinstance(estimator, self._takes):
            name, wanted = type(self).__name__, "a classifier" if self._takes is SpreadingClassifier else "a classifier or regressor"
            raise TypeError(f"{name} takes {wanted} of lapwing, not {type(estimator).__name__}")
        check_is_fitted(estimator)
        self._read(estimator, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw a fit.

        Parameters
        ----------
        estimator : classifier or regressor of lapwing
            Fitted; for maps and `y_true` in this process: those from files, pickles and copies hold no rows. What the fit does not know
            cannot be drawn, and is a ValueError.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options
            For maps `point_size`, the area of a point in square points (9; given labels are drawn four times as large), and
            `legend`, whether to name the classes or values (True). For confidence and reliability `bins` and `y_true`: true labels
            where they are known, with the marker elsewhere. Rows with a true label are shown then, apart from those whose label was
            given.

        Returns
        -------
        Display
            The display, drawn: on its `ax_`, which is in its `figure_`.
        """
        display = cls(estimator, **options)
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                needs = f'{cls.__name__} draws with matplotlib, which is not installed; run: pip install "lapwing[plot]"'
                raise ImportError(needs) from error
            _, ax = plt.subplots(figsize=cls._size, layout="constrained")
        display.ax_, display.figure_ = ax, ax.figure
        display._draw(ax)
        return display


class LabelMapDisplay(Display):
    """The rows in two dimensions, colored by their labels, or by their values for regressors.

    Dense rows are shown by their first two principal components where these hold at least half of the variance, all others by a layout
    of the graph, in which rows that the graph joins lie together. Rows with a given label are larger and outlined, and rows that no label
    reaches are gray. Of many rows, up to 5,000 are shown, evenly spread, half of them rows with a given label where there are that many.

    Attributes
    ----------
    rows : ndarray of shape (n_shown,), int
        Numbers of the rows that are shown: at least ten.
    points : ndarray of shape (n_shown, 2)
        Their coordinates.
    labels : ndarray of shape (n_shown,)
        Their labels, or their values.
    given, reached : ndarray of shape (n_shown,), bool
        Whether the label of the row was given, and whether any label reaches it.
    axes_names : tuple of two str
        What the axes show.

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

    _takes, _size = GraphEstimator, (8.0, 5.4)
    _classes: Any

    def _read(self, fitted: Any, *, point_size: float = 9.0, legend: bool = True) -> None:
        kept, control = fitted._rows_of_fit(), fitted._control()
        known = np.flatnonzero(kept.known).astype(np.uint32)
        drawn = _lapwing.map_points(kept.features, kept.graph_of(fitted.report_, control), known, control)
        if drawn is None:
            raise ValueError("a map needs at least ten rows, with two features or a graph")
        self.rows, self.points = drawn["rows"], drawn["points"]
        self.labels, self.given = fitted.transduction_[self.rows], kept.known[self.rows]
        self.reached, self._classes = fitted.reached_[self.rows], getattr(fitted, "classes_", None)
        self._style, self._legend = {"s": point_size}, legend
        self.axes_names = ("layout of the graph, first axis", "layout of the graph, second axis")
        if drawn["axes"] == "components":
            self.axes_names = ("first principal component", "second principal component")

    def _draw(self, ax: Axes) -> None:
        colors = self._colors()
        marks = self._scatter(ax, ~self.given & self.reached, colors)
        self._scatter(ax, ~self.given & ~self.reached, {"c": OTHERS})
        large = {"s": 4.0 * self._style["s"], "edgecolors": "black", "alpha": 1.0, "zorder": 3}
        self._scatter(ax, self.given & self.reached, colors | large)
        self._scatter(ax, self.given & ~self.reached, large | {"c": OTHERS})
        if self._legend and self._classes is None:
            self.figure_.colorbar(marks, ax=ax, label="value")
        elif self._legend:
            self._add_legend(ax)
        ax.set(xlabel=self.axes_names[0], ylabel=self.axes_names[1], xticks=[], yticks=[])
        ax.set_aspect("equal", adjustable="datalim")

    def _scatter(self, ax: Axes, rows: NDArray[np.bool_], style: dict[str, Any]) -> Any:
        common: dict[str, Any] = {"edgecolors": "none", "linewidths": 0.9, "alpha": 0.75, "zorder": 2}
        style = common | self._style | style
        style["c"] = style["c"] if isinstance(style["c"], str) else style["c"][rows]
        return ax.scatter(*self.points[rows].T, **style)

    def _colors(self) -> dict[str, Any]:
        """The color of each row, as arguments of `scatter`."""
        if self._classes is None:
            values = self.labels[self.reached]
            ends = (values.min(), values.max()) if values.size else (0.0, 1.0)
            return {"c": self.labels, "cmap": "viridis", "vmin": ends[0], "vmax": ends[1]}
        colors = dict(zip(self._classes.tolist(), COLORS))
        return {"c": np.array([colors.get(label, OTHERS) for label in self.labels.tolist()])}

    def _add_legend(self, ax: Axes) -> None:
        marks = list(zip(self._classes.tolist(), COLORS))
        if len(self._classes) > len(COLORS):
            marks.append((f"{len(self._classes) - len(COLORS)} others", OTHERS))
        handles = [ax.scatter([], [], c=color, s=30, label=str(name)) for name, color in marks]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


class ConfidenceDisplay(Display):
    """How sure the labels are: a histogram of the confidence of rows whose label was not given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.display import ConfidenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1
    >>> len(ConfidenceDisplay.from_estimator(HarmonicClassifier().fit(X, y)).confidence)
    75
    """

    def _read(self, fitted: Any, *, y_true: Any = None, bins: int = 20) -> None:
        self.confidence, self.correct = _inferred(fitted, y_true)
        self._edges = np.linspace(0.0, 1.0, bins + 1).tolist()

    def _draw(self, ax: Axes) -> None:
        style: dict[str, Any] = {"stacked": True, "rwidth": 0.92}
        if self.correct is None:
            ax.hist(self.confidence, self._edges, color=LINE, **style)
        else:
            parts = [self.confidence[self.correct], self.confidence[~self.correct]]
            ax.hist(parts, self._edges, color=[LINE, WRONG], label=["right", "wrong"], **style)
            ax.legend(frameon=False)
        ax.set(xlabel="confidence", ylabel="rows", xlim=(0.0, 1.0))


class ReliabilityDisplay(Display):
    """How often held-out labels of a confidence are right. Below the diagonal confidence is too high.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.display import ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1
    >>> int(ReliabilityDisplay.from_estimator(HarmonicClassifier().fit(X, y)).count.sum())
    75
    """

    def _read(self, fitted: Any, *, y_true: Any = None, bins: int = 10) -> None:
        parts = fitted.report_["parts"].get("reliability") or []
        found = [(part["confidence"], part["accuracy"], part["count"]) for part in parts]
        if y_true is not None:
            sure, right = _inferred(fitted, y_true)
            groups = [rows for rows in np.array_split(np.argsort(sure, kind="stable"), bins) if rows.size]
            found = [(sure[rows].mean(), right[rows].mean(), rows.size) for rows in groups]
        if not found:
            raise ValueError("this fit held out no label, or too few, to compare confidence with; give y_true")
        self.confidence, self.accuracy, self.count = map(np.array, zip(*found))

    def _draw(self, ax: Axes) -> None:
        ax.plot([0.0, 1.0], [0.0, 1.0], linestyle="--", color=OTHERS)
        # The standard error of a share of `count` labels, by Agresti & Coull (1998): also of 0 and 1.
        share = (self.accuracy * self.count + 2.0) / (self.count + 4.0)
        error = np.sqrt(share * (1.0 - share) / (self.count + 4.0))
        ends = np.maximum([self.accuracy - share + error, share + error - self.accuracy], 0.0)
        ax.errorbar(self.confidence, self.accuracy, yerr=ends, marker="o", color=LINE, capsize=2.0)
        ax.set(xlabel="confidence", ylabel="share that is right", xlim=(0.0, 1.02), ylim=(0.0, 1.02), aspect="equal")


class LossCurveDisplay(Display):
    """The course of a fit: the loss after each iteration of a network, the relative residual of the other methods.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import UnfoldedGNNClassifier
    >>> from lapwing.display import LossCurveDisplay
    >>> network = UnfoldedGNNClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> LossCurveDisplay.from_estimator(network).ax_.get_ylabel()
    'loss'
    """

    _takes = GraphEstimator

    def _read(self, fitted: Any) -> None:
        self.name = "loss" if hasattr(fitted, "loss_curve_") else "relative residual"
        curve = getattr(fitted, "loss_curve_", (fitted.report_["solve"] or {}).get("residual_curve"))
        if curve is None or not len(curve):
            raise ValueError(f"this {type(fitted).__name__} did not iterate: there is no curve")
        self.values = np.array(curve, dtype=np.float64)

    def _draw(self, ax: Axes) -> None:
        has_loss = self.name == "loss"
        ax.plot(np.arange(len(self.values)) + (not has_loss), self.values, color=LINE, marker=".")
        ax.set(xlabel="iteration", ylabel=self.name, yscale="linear" if has_loss else "log")


class CompareDisplay(Display):
    """What each candidate of an automatic choice gets right of labels that were hidden from it, and its 90 % interval.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import AutoLabeler
    >>> from lapwing.display import CompareDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1
    >>> auto = AutoLabeler(candidates=["harmonic", "forest"], random_state=0).fit(X, y)
    >>> sorted(CompareDisplay.from_estimator(auto).names)
    ['forest', 'harmonic']
    """

    def _read(self, fitted: Any) -> None:
        if not hasattr(fitted, "results_"):
            raise TypeError(f"CompareDisplay takes a fitted AutoLabeler, not {type(fitted).__name__}")
        rows = [row for row in fitted.results_ if row["estimate"] is not None]
        if not rows:
            raise ValueError(
                "no candidate was compared: with fewer than 3 labels per class there is nothing to compare by"
            )
        rows.sort(key=lambda row: (row["estimate"], row["weight"]))
        self.names = [row["name"] for row in rows]
        self.estimates, self.weights = (np.array([row[key] for row in rows]) for key in ("estimate", "weight"))
        self.intervals = np.array([row["interval"] or (math.nan, math.nan) for row in rows])
        self.expected = fitted.expected_accuracy_

    def _draw(self, ax: Axes) -> None:
        lines, colors = np.arange(len(self.names)), [LINE if weight > 0 else OTHERS for weight in self.weights]
        if self.expected is not None:
            label = "expected accuracy, 90 % interval"
            ax.axvspan(self.expected.low, self.expected.high, color=LINE, alpha=0.10, label=label)
            ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        ax.hlines(lines, self.intervals[:, 0], self.intervals[:, 1], colors=colors)
        ax.scatter(self.estimates, lines, c=colors, zorder=3)
        ax.set_yticks(lines, [f"{name}, weight {weight:.0%}" for name, weight in zip(self.names, self.weights)])
        ax.set(xlabel="share of hidden labels that is right")


def _inferred(fitted: Any, y_true: Any) -> tuple[NDArray[np.float64], Any]:
    """Confidence of the rows whose label was not given, and whether each is right if the truth is given."""
    rows = fitted._rows_of_fit()
    shown = ~rows.known & fitted.reached_
    _, truth = fitted._true_codes(y_true, len(shown))
    if truth is None:
        return fitted.confidence_[shown], None
    shown &= truth >= 0
    return fitted.confidence_[shown], rows.labels[shown] == truth[shown]
