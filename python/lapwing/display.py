"""Pictures of fits, in scikit-learn's manner: ``Display.from_estimator(fitted)`` draws, and returns an object with ``ax_``.

They need matplotlib, which ``pip install "lapwing[plot]"`` installs; nothing else in lapwing does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _lapwing
from ._labels import unlabeled_mask
from ._pages import KeepsRows, WritesPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["CompareDisplay", "ConfidenceDisplay", "LabelMapDisplay", "LossCurveDisplay", "ReliabilityDisplay"]

#: Colors of classes, those of the HTML pages; further classes share a gray.
COLORS = (
    "#0072b2 #e69f00 #009e73 #cc79a7 #d55e00 #56b4e9 #6a4fb3 #a89a00 #882255 #5b7f1e "
    "#44aa99 #aa4499 #7a5c3a #8b1a1a #5f86b8 #737373 #c9a75b #2f4b7c #cc6677 #3d3399"
).split()
_OTHERS = "#a3a8a6"
_LINE = COLORS[0]


class _Display:
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


class LabelMapDisplay(_Display):
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
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, point_size: float = 9.0, legend: bool = True
    ) -> LabelMapDisplay:
        """Draw the rows of a fit.

        Parameters
        ----------
        estimator : classifier or regressor of lapwing
            Fitted in this process: those from files, pickles and copies hold no rows.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        point_size : float, default=9.0
            Area of a point, in square points. Given labels are drawn four times as large.
        legend : bool, default=True
            Whether to name the classes, or the values.

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
        fitted = _expect(estimator, KeepsRows, cls)
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
        return display.plot(ax=ax, point_size=point_size, legend=legend)

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
                    style["c"] = _OTHERS
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
        return np.array([COLORS[rank] if rank < len(COLORS) else _OTHERS for rank in known])

    def _add_legend(self, ax: Axes) -> None:
        names = np.asarray(self.classes).tolist()
        marks = [(name, color) for name, color in zip(names, COLORS)]
        if len(names) > len(COLORS):
            marks.append((f"{len(names) - len(COLORS)} others", _OTHERS))
        handles = [ax.scatter([], [], c=color, s=30, label=str(name)) for name, color in marks]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


class ConfidenceDisplay(_Display):
    """How sure the labels are: a histogram of the confidence of rows whose label was not given.

    Parameters
    ----------
    confidence : array-like of shape (n_rows,)
        Confidence of each label, between 0 and 1.
    correct : array-like of shape (n_rows,), bool, default=None
        Whether each label is right, where that is known: wrong labels are drawn in another color.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on; only after drawing.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.display import ConfidenceDisplay
    >>> X, truth = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 10 == 0, truth, -1)
    >>> clf = HarmonicClassifier().fit(X, y)
    >>> display = ConfidenceDisplay.from_estimator(clf, y_true=truth)
    >>> len(display.confidence), display.ax_.get_xlabel()
    (135, 'confidence')
    """

    def __init__(self, confidence: Any, *, correct: Any = None) -> None:
        self.confidence = np.asarray(confidence, dtype=np.float64)
        self.correct = None if correct is None else np.asarray(correct, dtype=bool)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, y_true: Any = None, ax: Axes | None = None, bins: int = 20
    ) -> ConfidenceDisplay:
        """Draw the confidence of a fit.

        Parameters
        ----------
        estimator : classifier of lapwing
            Fitted in this process.
        y_true : array-like of shape (n_samples,), default=None
            True labels where they are known, with the marker elsewhere. Only rows with a true label are shown then, right and wrong
            labels apart.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        bins : int, default=20
            Bars between 0 and 1.

        Returns
        -------
        ConfidenceDisplay
            The display, drawn.
        """
        confidence, correct = _inferred(_expect(estimator, WritesPage, cls), y_true)
        return cls(confidence, correct=correct).plot(ax=ax, bins=bins)

    def plot(self, *, ax: Axes | None = None, bins: int = 20) -> ConfidenceDisplay:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        bins : int, default=20
            Bars between 0 and 1.

        Returns
        -------
        ConfidenceDisplay
            This display, drawn.
        """
        ax = self._begin(ax, (6.0, 3.6))
        edges = np.linspace(0.0, 1.0, bins + 1).tolist()
        if self.correct is None:
            ax.hist(self.confidence, edges, color=_LINE, rwidth=0.92)
        else:
            parts = [self.confidence[self.correct], self.confidence[~self.correct]]
            ax.hist(parts, edges, color=[_LINE, COLORS[4]], label=["right", "wrong"], stacked=True, rwidth=0.92)
            ax.legend(frameon=False)
        ax.set(xlabel="confidence", ylabel="rows", xlim=(0.0, 1.0))
        return self


class ReliabilityDisplay(_Display):
    """How often labels of a confidence are right. On the diagonal both are equal; below it confidence is too high.

    Parameters
    ----------
    confidence : array-like of shape (n_bins,)
        Mean confidence of each part of the labels.
    accuracy : array-like of shape (n_bins,)
        Share of each part that is right.
    count : array-like of shape (n_bins,), int
        Labels in each part.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on; only after drawing.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from lapwing.display import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0.5, 0.6, 0.8, 0.9], [False, True, True, True], bins=2)
    >>> display.confidence.round(2).tolist(), display.accuracy.tolist()
    ([0.55, 0.85], [0.5, 1.0])
    """

    def __init__(self, confidence: Any, accuracy: Any, count: Any) -> None:
        self.confidence = np.asarray(confidence, dtype=np.float64)
        self.accuracy = np.asarray(accuracy, dtype=np.float64)
        self.count = np.asarray(count)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, y_true: Any = None, ax: Axes | None = None, bins: int = 10
    ) -> ReliabilityDisplay:
        """Draw the reliability of a fit.

        Parameters
        ----------
        estimator : classifier of lapwing
            Fitted. Without `y_true` the picture is of the labels that the fit held out, in the parts that it reports.
        y_true : array-like of shape (n_samples,), default=None
            True labels where they are known, with the marker elsewhere: the picture is of rows whose label was not given.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        bins : int, default=10
            Parts of as many rows each, with `y_true`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the fit held out no label and `y_true` is None.
        """
        fitted = _expect(estimator, WritesPage, cls)
        if y_true is not None:
            confidence, correct = _inferred(fitted, y_true)
            return cls.from_predictions(confidence, correct, ax=ax, bins=bins)
        parts = fitted.report_["parts"].get("reliability") or []
        if not parts:
            raise ValueError("this fit held out no label, or too few, to compare confidence with; give y_true")
        columns = [[part[key] for part in parts] for key in ("confidence", "accuracy", "count")]
        return cls(*columns).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, confidence: Any, correct: Any, *, ax: Axes | None = None, bins: int = 10
    ) -> ReliabilityDisplay:
        """Draw the reliability of labels whose truth is known.

        Parameters
        ----------
        confidence : array-like of shape (n_rows,)
            Confidence of each label.
        correct : array-like of shape (n_rows,), bool
            Whether it is right.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        bins : int, default=10
            Parts of as many rows each.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        sureness, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool)
        parts = [part for part in np.array_split(np.argsort(sureness, kind="stable"), bins) if part.size]
        means = [(sureness[part].mean(), right[part].mean(), part.size) for part in parts]
        return cls(*(zip(*means) if means else ((), (), ()))).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ReliabilityDisplay
            This display, drawn.
        """
        ax = self._begin(ax, (4.4, 4.4))
        ax.plot([0.0, 1.0], [0.0, 1.0], linestyle="--", color=_OTHERS)
        # The standard error of a share of `count` labels, by Agresti & Coull (1998): also of 0 and 1.
        share = (self.accuracy * self.count + 2.0) / (self.count + 4.0)
        error = np.sqrt(share * (1.0 - share) / (self.count + 4.0))
        low = np.clip(self.accuracy - np.minimum(share - error, self.accuracy), 0.0, 1.0)
        high = np.clip(np.maximum(share + error, self.accuracy) - self.accuracy, 0.0, 1.0)
        ax.errorbar(self.confidence, self.accuracy, yerr=(low, high), marker="o", color=_LINE, capsize=2.0)
        ax.set(xlabel="confidence", ylabel="share that is right", xlim=(0.0, 1.02), ylim=(0.0, 1.02), aspect="equal")
        return self


class LossCurveDisplay(_Display):
    """The course of a fit: the loss after each iteration of a network, the relative residual of the other methods.

    Parameters
    ----------
    values : array-like of shape (n_iter,)
        Loss or residual after each iteration.
    name : str, default="loss"
        What the values are.
    tol : float, default=None
        Where the iteration stops, drawn as a line.
    log : bool, default=False
        Whether the vertical axis is logarithmic.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on; only after drawing.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import UnfoldedGNNClassifier
    >>> from lapwing.display import LossCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> network = UnfoldedGNNClassifier(random_state=0).fit(X, y)
    >>> display = LossCurveDisplay.from_estimator(network)
    >>> display.ax_.get_ylabel(), len(display.values) == network.n_iter_ + 1
    ('loss', True)
    """

    def __init__(self, values: Any, *, name: str = "loss", tol: float | None = None, log: bool = False) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.name, self.tol, self.log = name, tol, log

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> LossCurveDisplay:
        """Draw the course of a fit.

        Parameters
        ----------
        estimator : classifier or regressor of lapwing
            Fitted, by a method that iterates.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        LossCurveDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the method did not iterate.
        """
        fitted = _expect(estimator, KeepsRows, cls)
        fitted._rows_of_fit()
        if hasattr(fitted, "loss_curve_"):
            return cls(fitted.loss_curve_).plot(ax=ax)
        curve = (fitted.report_["solve"] or {}).get("residual_curve") or []
        if not curve:
            raise ValueError(f"this {type(fitted).__name__} did not iterate: there is no curve")
        values = [np.nan if value is None else value for value in curve]
        return cls(values, name="relative residual", tol=getattr(fitted, "tol", None), log=True).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> LossCurveDisplay:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        LossCurveDisplay
            This display, drawn.
        """
        ax = self._begin(ax, (6.0, 3.6))
        first = 0 if self.name == "loss" else 1
        ax.plot(np.arange(first, first + len(self.values)), self.values, color=_LINE)
        if self.tol:
            ax.axhline(self.tol, linestyle="--", color=_OTHERS)
        ax.set(xlabel="iteration", ylabel=self.name, yscale="log" if self.log else "linear")
        return self


class CompareDisplay(_Display):
    """What each candidate of an automatic choice gets right of labels that were hidden from it, and its weight in the labels.

    Parameters
    ----------
    names : sequence of str
        The candidates.
    estimates : array-like of shape (n_candidates,)
        Share of hidden labels that each gets right.
    intervals : array-like of shape (n_candidates, 2), default=None
        Ends of the 90 % interval of each.
    weights : array-like of shape (n_candidates,), default=None
        Weight of each in the labels.
    expected : tuple of three floats, default=None
        Expected accuracy of all together, and the ends of its interval.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on; only after drawing.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import AutoLabeler
    >>> from lapwing.display import CompareDisplay
    >>> X, truth = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 10 == 0, truth, -1)
    >>> auto = AutoLabeler(random_state=0).fit(X, y)
    >>> display = CompareDisplay.from_estimator(auto)
    >>> set(display.names) == {row["name"] for row in auto.results_}
    True
    """

    def __init__(
        self, names: Any, estimates: Any, *, intervals: Any = None, weights: Any = None, expected: Any = None
    ) -> None:
        self.names = list(names)
        self.estimates = np.asarray(estimates, dtype=np.float64)
        self.intervals = None if intervals is None else np.asarray(intervals, dtype=np.float64)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.expected = expected

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> CompareDisplay:
        """Draw the candidates of a fitted :class:`~lapwing.AutoLabeler`.

        Parameters
        ----------
        estimator : AutoLabeler
            Fitted, with enough labels that candidates were compared.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CompareDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If no candidate was compared, since there were too few labels.
        """
        rows = getattr(_expect(estimator, WritesPage, cls), "results_", None)
        if rows is None:
            raise TypeError(f"CompareDisplay takes a fitted AutoLabeler, not {type(estimator).__name__}")
        rows = [row for row in rows if row.get("estimate") is not None]
        if not rows:
            raise ValueError("no candidate was compared: with fewer than 3 labels per class there is nothing to compare by")
        rows.sort(key=lambda row: (row["estimate"], row["weight"]))
        intervals = [row["interval"] for row in rows] if all(row.get("interval") for row in rows) else None
        display = cls(
            [row["name"] for row in rows],
            [row["estimate"] for row in rows],
            intervals=intervals,
            weights=[row["weight"] for row in rows],
            expected=estimator.expected_accuracy_,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> CompareDisplay:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CompareDisplay
            This display, drawn.
        """
        n = len(self.names)
        ax = self._begin(ax, (7.0, 1.2 + 0.36 * n))
        lines = np.arange(n)
        if self.expected is not None:
            value, low, high = self.expected
            ax.axvspan(low, high, color=_LINE, alpha=0.10, linewidth=0, label="expected accuracy, 90 % interval")
            ax.axvline(value, color=_LINE, linewidth=1.0, alpha=0.6)
        weights = np.ones(n) if self.weights is None else self.weights
        for line, estimate, weight in zip(lines, self.estimates, weights):
            color = _LINE if weight > 0 else _OTHERS
            if self.intervals is not None:
                ax.plot(self.intervals[line], [line, line], color=color, linewidth=1.6)
            ax.plot([estimate], [line], marker="o", color=color)
            if self.weights is not None:
                ax.annotate(
                    f"weight {100 * weight:.0f} %" if weight > 0 else "left out",
                    (1.01, float(line)), xycoords=("axes fraction", "data"), va="center", fontsize="small", color=color,
                )  # fmt: skip
        ax.set_yticks(lines, self.names)
        ax.set(xlabel="share of hidden labels that is right", ylim=(-0.6, n - 0.4))
        ax.grid(axis="x", alpha=0.3)
        if self.expected is not None:
            ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small")
        return self


def _expect(estimator: Any, kind: type, display: type) -> Any:
    """The estimator, if it is of the kind that the display takes."""
    if not isinstance(estimator, kind):
        wanted = "a classifier" if kind is WritesPage else "a classifier or regressor"
        raise TypeError(f"{display.__name__} takes {wanted} of lapwing, not {type(estimator).__name__}")
    return estimator


def _inferred(fitted: Any, y_true: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Confidence of the rows whose label was not given, and whether each is right if the truth is given."""
    rows = fitted._rows_of_fit()
    shown = ~rows.known & fitted.reached_
    if y_true is None:
        return fitted.confidence_[shown], None
    truth = np.asarray(y_true)
    if truth.shape != rows.known.shape:
        raise ValueError(f"y_true has shape {truth.shape}; expected one label per row of the fit, {rows.known.shape}")
    shown &= ~unlabeled_mask(truth, fitted.unlabeled)
    return fitted.confidence_[shown], fitted.transduction_[shown] == truth[shown]
