"""How sure labels are, and how often labels of a confidence are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._display_base import COLORS, LINE, OTHERS, Display, expect, inferred
from ._pages import WritesPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ConfidenceDisplay(Display):
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
        confidence, correct = inferred(expect(estimator, WritesPage, cls), y_true)
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
            ax.hist(self.confidence, edges, color=LINE, rwidth=0.92)
        else:
            parts = [self.confidence[self.correct], self.confidence[~self.correct]]
            ax.hist(parts, edges, color=[LINE, COLORS[4]], label=["right", "wrong"], stacked=True, rwidth=0.92)
            ax.legend(frameon=False)
        ax.set(xlabel="confidence", ylabel="rows", xlim=(0.0, 1.0))
        return self


class ReliabilityDisplay(Display):
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
        fitted = expect(estimator, WritesPage, cls)
        if y_true is not None:
            confidence, correct = inferred(fitted, y_true)
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
        ax.plot([0.0, 1.0], [0.0, 1.0], linestyle="--", color=OTHERS)
        # The standard error of a share of `count` labels, by Agresti & Coull (1998): also of 0 and 1.
        share = (self.accuracy * self.count + 2.0) / (self.count + 4.0)
        error = np.sqrt(share * (1.0 - share) / (self.count + 4.0))
        low = np.clip(self.accuracy - np.minimum(share - error, self.accuracy), 0.0, 1.0)
        high = np.clip(np.maximum(share + error, self.accuracy) - self.accuracy, 0.0, 1.0)
        ax.errorbar(self.confidence, self.accuracy, yerr=(low, high), marker="o", color=LINE, capsize=2.0)
        ax.set(xlabel="confidence", ylabel="share that is right", xlim=(0.0, 1.02), ylim=(0.0, 1.02), aspect="equal")
        return self
