"""Harmonic label propagation as scikit-learn estimators."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _lapwing
from ._arguments import number
from ._base import GraphEstimator, Problem, Spreads
from ._classifier import SpreadingClassifier
from ._loop import LabelLoop
from ._parameters import documented, documented_like
from ._prior import StartsFromPrior, is_classifier
from ._regressor import SpreadingRegressor
from ._rows import each
from ._signatures import HarmonicClassifierParameters, HarmonicRegressorParameters
from .audit import ValueAudit

__all__ = ["HarmonicClassifier", "HarmonicRegressor"]


class HarmonicEstimator(GraphEstimator):
    """Common parts of the harmonic estimators."""

    _method = "harmonic"
    _keeps_graph = True

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        super()._keep(problem, fitted)
        self.score_radius_ = fitted["score_radius"]
        certificate = self.report_["parts"].get("certificate")
        self.n_uncertified_ = None if certificate is None else int(certificate["n_open"])


@documented
class HarmonicClassifier(
    HarmonicClassifierParameters, StartsFromPrior, LabelLoop, HarmonicEstimator, SpreadingClassifier
):
    """Classifier that spreads a few labels over the graph of all rows.

    The scores F (n, c) minimize, column by column,

        (1/Σcᵢ) Σᵢ cᵢ (fᵢ − yᵢ)²  +  γ fᵀ L f,

    the sums over the labeled rows, cᵢ the trust in their labels, y the one-hot labels, γ = `graph_reg`, L the Laplacian of the
    graph (Belkin et al. 2004). A row takes the class whose score is farthest above its level: the mean score over the rows of
    the component, or the share of the class among the labels, whichever fits the labels better when each is left out.
    ``form="stable"`` constrains scores to zero mean (Stable-HFS, Calandriello et al. 2015); ``clamp="hard"`` keeps the given
    labels exactly (Zhu et al. 2003).

    With a `prior`, shares p of the classes from another classifier, γκ Σᵢ dᵢ(fᵢ − pᵢ)² is added, dᵢ the degree of the row and
    κ = `prior_weight`: the graph corrects and smooths what that classifier says. ``HarmonicClassifier(prior=LogisticRegression())
    .fit(X, y, graph=A)`` is for graphs whose nodes have features.

    Warns
    -----
    UnreachedWarning
        If no label reaches some rows.
    ConvergenceWarning
        If the solver stopped at `max_iter`, or with labels undecided that are no ties.

    Notes
    -----
    The graph takes O(n²·d) time when searched exactly, much less when partitioned; the solve O(m·c) per iteration
    for m edges, c classes. Memory: 12 bytes per directed edge and 6·8·n·c for the solve. A fitted estimator keeps a
    reference to X, by which new points are labeled; do not change it in place.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, I. Koutis: Incremental spectral sparsification for large-scale graph-based
    semi-supervised learning, 2015, eq. 1.
    Q. Huang, H. He, A. Singh, S.-N. Lim, A. R. Benson: Combining label propagation and simple models out-performs graph
    neural networks, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import HarmonicClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1                     # a hundred labels for 1797 rows
    >>> clf = HarmonicClassifier().fit(X, y)
    >>> bool((clf.transduction_[100:] == truth[100:]).mean() > 0.9)
    True
    >>> clf.predict(X[:3]).tolist()
    [0, 1, 2]
    """

    certified_: Annotated[NDArray[np.bool_] | None, """ndarray of shape (n_samples,), bool, or None
        Whether the label equals that of the exact solution of this graph, whatever the solver; never so for ties and for rows that
        no label reaches. None without `certify`, and where labels of a sparsified graph are refined on all edges."""]
    n_uncertified_: Annotated[int | None, """int or None
        Rows that a label reaches and whose label is not certified."""]
    score_radius_: Annotated[NDArray[np.float64] | None, """ndarray of shape (n_samples,) or None
        Bound on the error that the solver leaves in the row's scores, infinite where none is known."""]

    _keeps_rows = True

    def _take_rows(self, problem: Problem, X: Any, y: Any, graph: Any) -> None:
        self._check_prior(X, graph)
        beside = graph is not None and is_classifier(self.prior)
        super()._take_rows(problem, None if beside else X, y, graph)

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        super()._keep(problem, fitted)
        self.certified_ = fitted["certified"]
        self._note_prior()

    @overload
    def predict(self, X: Any, return_certified: Literal[False] = ...) -> NDArray[Any]: ...
    @overload
    def predict(self, X: Any, return_certified: Literal[True]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]: ...
    @overload
    def predict(
        self, X: Any, return_certified: bool
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.bool_] | None]: ...
    @documented_like(Spreads.predict)
    def predict(
        self, X: Any, return_certified: bool = False
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Label new rows by the weighted mean of the scores of their nearest fitted rows; a prior is not asked again.

        Parameters
        ----------
        return_certified : bool, default=False
            Whether to also return which labels are certified to be those of the exact solution on the fit's graph.

        Returns
        -------
        labels : ndarray of shape (m,)
            A label for every row.
        certified : ndarray of shape (m,), bool, or None
            Only with `return_certified`; None without `certify`, and if the fit was given a graph.
        """

        def labels_of(rows: Any) -> Any:
            labeling = self._apply(rows)
            labels = self._decode(labeling)
            return (labels, labeling["certified"]) if return_certified else labels

        return each(labels_of, X)


@documented
class HarmonicRegressor(HarmonicRegressorParameters, HarmonicEstimator, SpreadingRegressor):
    """Regressor that spreads a few known values over the graph of all rows.

    The same harmonic function as :class:`HarmonicClassifier`, of one column of numbers: the values less their mean ȳ
    are spread, and ȳ is added back. ``form="auto"`` chooses form and `graph_reg` by the least squared error in
    cross-validation; the stable form with its default `graph_reg` stays unless another is better by more than half a standard
    error. With ``clamp="hard"`` it is the plain form.

    Notes
    -----
    Complexity, memory and warnings are those of :class:`HarmonicClassifier` with one class. The solution is smooth
    over the graph by construction; it suits few known values, and does not follow noise in many.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import HarmonicRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = np.full(101, np.nan)
    >>> y[[0, 50, 100]] = [0.0, 0.5, 1.0]
    >>> reg = HarmonicRegressor(n_neighbors=2, form="plain", clamp="hard").fit(X, y)
    >>> bool(abs(reg.transduction_ - X[:, 0]).max() < 0.02)
    True
    """

    score_radius_: Annotated[NDArray[np.float64] | None, """ndarray of shape (n_samples,) or None
        Bound on the solver's error in each value, not on the noise; the solve continues until it is below 1e-4 of the range of the
        given values. None without `certify`."""]
    n_uncertified_: Annotated[int | None, """int or None
        Rows whose bound is above that."""]

    def _smoother(self) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None, float, bool]:
        """Graph, values, weights, smoothness of the fit, and whether its form is stable."""
        rows = self._rows_of_fit()
        chosen = self.report_["chosen"]
        graph_reg = chosen.get("graph_reg", self.graph_reg)
        if self.clamp == "hard" or not np.isfinite(graph_reg):
            raise ValueError("leaving values out in closed form needs soft values and a finite graph_reg")
        trust = float(rows.known.sum()) if rows.weights is None else float(rows.weights[rows.known].sum())
        smoothness = graph_reg * trust * self.report_["graph"]["mean_degree"]
        return rows.graph, rows.values, rows.weights, smoothness, chosen.get("form", self.form) == "stable"

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
