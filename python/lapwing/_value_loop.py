"""What to do with the values of a fitted harmonic regressor: intervals, and values that are probably wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._arguments import number
from ._regressor import SpreadingRegressor

__all__ = ["ValueAudit", "ValueLoop"]


@dataclass
class ValueAudit:
    """What an audit of the values of a regression found, for every row.

    Attributes
    ----------
    proposed : ndarray of shape (n_samples,)
        Value of each known row by a fit without it; NaN elsewhere.
    residual : ndarray of shape (n_samples,)
        Given value minus that.
    quality : ndarray of shape (n_samples,)
        Share of the known values that are at least as doubtful: small for the most doubtful ones. A value is doubtful if its residual is
        large beside those nearby: divided by the root of their mean size.
    report_ : dict
        `root_mean_square` and `median_residual` of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import HarmonicRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = X[:, 0].copy()
    >>> y[70] = 0.2                      # a wrong value
    >>> found = HarmonicRegressor(n_neighbors=4, graph_reg=0.1, form="plain").fit(X, y).audit()
    >>> found.ranked()[0].item(), found.proposed[70].round(1).item()
    (70, 0.7)
    """

    proposed: NDArray[np.float64]
    residual: NDArray[np.float64]
    quality: NDArray[np.float64]
    report_: dict[str, Any] = field(repr=False)

    def ranked(self) -> NDArray[np.int64]:
        """Find the known rows, the most doubtful value first.

        Returns
        -------
        ndarray of shape (n_known,), int64
            Numbers of rows.
        """
        known = np.flatnonzero(~np.isnan(self.quality))
        return known[np.argsort(self.quality[known], kind="stable")]


class ValueLoop(SpreadingRegressor):
    """Mixin of the harmonic regressor."""

    form: Any
    graph_reg: Any
    clamp: Any

    _keeps_graph: ClassVar[bool] = True
    _known: tuple[Any, NDArray[np.float64], NDArray[np.float64] | None] | None = None

    def _keep_values(self, graph: Any, values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> None:
        self._known = None if graph is None else (graph, values, weights)

    def _smoother(self) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None, float, bool]:
        """Graph, values, weights, smoothness of the fit, and whether its form is stable."""
        check_is_fitted(self)
        if self._known is None:
            raise ValueError(f"this {type(self).__name__} holds no graph: it comes from a file, a pickle or a copy; fit again")
        graph, values, weights = self._known
        chosen = self.report_["chosen"]
        graph_reg = chosen.get("graph_reg", self.graph_reg)
        if self.clamp == "hard" or not np.isfinite(graph_reg):
            raise ValueError("leaving values out in closed form needs soft values and a finite graph_reg")
        known = ~np.isnan(values)
        trust = float(known.sum()) if weights is None else float(weights[known].sum())
        smoothness = graph_reg * trust * self.report_["graph"]["mean_degree"]
        return graph, values, weights, smoothness, chosen.get("form", self.form) == "stable"

    def predict_interval(self, level: float = 0.9) -> NDArray[np.float64]:
        """Intervals around the values of the rows of the fit, by the jackknife+ (Barber et al. 2021).

        Parameters
        ----------
        level : float in (0, 1), default=0.9
            Share of the rows whose value is to lie within. It needs 1/(1 − level) − 1 known values: 9 for 0.9. The guarantee, for rows that
            are drawn like the known ones, is 2·level − 1; measured coverage is near the level.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; NaN in rows that no value reaches.

        Notes
        -----
        A solve of a column for each known value, and 4 bytes for each row and known value; beyond 33 million of these, the
        jackknife takes the place of the jackknife+. `uncertainty_` is cheaper, and wider where errors are larger.
        """
        number("level", level)
        graph, values, weights, smoothness, is_stable = self._smoother()
        lower, upper, _ = _lapwing.jackknife_plus(
            graph, values, weights, smoothness, is_stable, level, self._control()
        )
        return np.column_stack([lower, upper])

    def audit(self) -> ValueAudit:
        """Known values that are probably wrong, by their residuals from fits without them.

        Returns
        -------
        ValueAudit
            What was found, for every row.
        """
        graph, values, weights, smoothness, is_stable = self._smoother()
        found = _lapwing.audit_regression(graph, values, weights, smoothness, is_stable, self._control())
        report = json.loads(found.pop("report"))
        return ValueAudit(report_=report | report["parts"].pop("audit"), **found)
