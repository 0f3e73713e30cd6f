"""The course of a fit, and the candidates of an automatic choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._display_base import LINE, OTHERS, Display, expect
from ._pages import KeepsRows, WritesPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LossCurveDisplay(Display):
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
        fitted = expect(estimator, KeepsRows, cls)
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
        ax.plot(np.arange(first, first + len(self.values)), self.values, color=LINE)
        if self.tol:
            ax.axhline(self.tol, linestyle="--", color=OTHERS)
        ax.set(xlabel="iteration", ylabel=self.name, yscale="log" if self.log else "linear")
        return self


class CompareDisplay(Display):
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
        rows = getattr(expect(estimator, WritesPage, cls), "results_", None)
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
            ax.axvspan(low, high, color=LINE, alpha=0.10, linewidth=0, label="expected accuracy, 90 % interval")
            ax.axvline(value, color=LINE, linewidth=1.0, alpha=0.6)
        weights = np.ones(n) if self.weights is None else self.weights
        for line, estimate, weight in zip(lines, self.estimates, weights):
            color = LINE if weight > 0 else OTHERS
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
