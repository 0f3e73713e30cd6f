"""Harmonic label propagation as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ._attributes import Certified
from ._base import GraphEstimator, Problem
from ._classifier import SpreadingClassifier
from ._loop import LabelLoop
from ._parameters import documented
from ._prior import StartsFromPrior, is_classifier
from ._regressor import SpreadingRegressor
from ._signatures import HarmonicClassifierParameters, HarmonicRegressorParameters
from ._value_loop import ValueLoop

__all__ = ["HarmonicClassifier", "HarmonicRegressor"]


class HarmonicEstimator(GraphEstimator):
    """Common parts of the harmonic estimators."""

    _method = "harmonic"

    def _keep(self, problem: Problem, fitted: dict[str, Any], scores: NDArray[np.float64]) -> None:
        super()._keep(problem, fitted, scores)
        self.score_radius_ = fitted["score_radius"]
        certificate = self.report_["parts"].get("certificate")
        self.n_uncertified_ = None if certificate is None else int(certificate["n_open"])


@documented
class HarmonicClassifier(
    HarmonicClassifierParameters, StartsFromPrior, LabelLoop, Certified, HarmonicEstimator, SpreadingClassifier
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

    Parameters
    ----------

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

    def _take_rows(self, problem: Problem, X: Any, y: Any, graph: Any) -> None:
        self._check_prior(X, graph)
        beside = graph is not None and is_classifier(self.prior)
        super()._take_rows(problem, None if beside else X, y, graph)

    def _keep(self, problem: Problem, fitted: dict[str, Any], scores: NDArray[np.float64]) -> None:
        super()._keep(problem, fitted, scores)
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
    def predict(
        self, X: Any, return_certified: bool = False
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Label new rows by the weighted mean of the scores of their nearest fitted rows; a prior is not asked again.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; if the fit was given a graph instead of features, their affinities to the fitted rows
            (m, n_samples).
        return_certified : bool, default=False
            Whether to also return which labels are certified to be those of the exact solution on the fit's graph.

        Returns
        -------
        labels : ndarray of shape (m,)
            A label for every row.
        certified : ndarray of shape (m,), bool, or None
            Only with `return_certified`; None without `certify`, and if the fit was given a graph.
        """
        labeling = self._apply(X)
        labels = self._decode(labeling)
        return (labels, labeling["certified"]) if return_certified else labels


@documented
class HarmonicRegressor(HarmonicRegressorParameters, ValueLoop, HarmonicEstimator, SpreadingRegressor):
    """Regressor that spreads a few known values over the graph of all rows.

    The same harmonic function as :class:`HarmonicClassifier`, of one column of numbers: the values less their mean ȳ
    are spread, and ȳ is added back. ``form="auto"`` chooses form and `graph_reg` by the least squared error in
    cross-validation; the stable form with its default `graph_reg` stays unless another is better by more than half a standard
    error. With ``clamp="hard"`` it is the plain form.

    Parameters
    ----------

    Attributes
    ----------
    score_radius_ : ndarray of shape (n_samples,) or None
        Bound on the solver's error in each value, not on the noise; the solve continues until it is below 1e-4 of the range of the
        given values. None without `certify`.
    n_uncertified_ : int or None
        Rows whose bound is above that.

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

    score_radius_: NDArray[np.float64] | None
    n_uncertified_: int | None
