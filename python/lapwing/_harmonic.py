"""Harmonic label propagation as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._base import Source
from ._classifier import SpreadingClassifier
from ._control import Callback
from ._regressor import SpreadingRegressor

__all__ = ["HarmonicClassifier", "HarmonicRegressor"]


class HarmonicClassifier(SpreadingClassifier):
    """Classifier that spreads a few labels over the graph of all rows.

    The scores F (n, c) minimize, column by column,

        (1/Σcᵢ) Σᵢ cᵢ (fᵢ − yᵢ)²  +  γ fᵀ L f,

    the sums over the labeled rows, cᵢ the trust in their labels, y the one-hot labels, L the Laplacian of the graph
    (Belkin et al. 2004). A row takes the class whose score is farthest above its level: the mean score over the rows of the
    component, or the share of the class among the labels, whichever the labels themselves speak for when each is left
    out. ``form="stable"`` asks for scores of zero mean (Stable-HFS, Calandriello et al. 2015); ``clamp="hard"`` keeps
    the given labels exactly (Zhu et al. 2003).

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbours of each row in the graph, at least 1; above ``n_samples - 1`` it is lowered to that, with a warning.
    affinity : {"knn", "precomputed"}, default="knn"
        Build the graph from features, or take X as the graph: a symmetric matrix of weights (n, n), a
        :class:`lapwing.graph.Graph`, or a tuple ``(indices, distances)`` of a neighbour search, both (n, k).
    metric : {"euclidean", "cosine", "inner-product"}, default="euclidean"
        Distance between rows.
    weights : {"self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"}, default="self-tuning"
        exp(−d²/(h²σᵢσⱼ)) with σᵢ the distance to the last neighbour, exp(−d²/(2σ²)), max(0, 1 − d), 1, or learned with the
        edges, about `n_neighbors` a row (:class:`lapwing.graph.GraphLearner`); `symmetrize` has no part in learned ones.
    symmetrize : {"union", "mean", "mutual"}, default="mean"
        Edge if either row names the other (larger weight), (W + Wᵀ)/2, or only if both do (smaller weight).
    bandwidth : float > 0 or "auto", default="auto"
        σ of the Gaussian weights, in the unit of distances, "auto" being the median distance to the last neighbour; or
        h of the self-tuning ones, "auto" being 0.5. The others have none.
    graph_reg : float > 0 or "auto", default="auto"
        γ. ``inf`` drops the label term (f = L⁺ỹ, Poisson learning). "auto", in units of
        1 / mean weighted degree: form auto, max(0.01, m^(−3/2)) for m labels per class, and m^(−3) where labels look drawn
        at random; stable, 1/m, or 0.1 in regression; plain, 0.01.
    form : {"auto", "stable", "plain"}, default="auto"
        "auto" is the plain form with γ for the number of labels, and the decision left to the labels. "stable" has
        scores of zero mean in every component of the graph.
    clamp : {"soft", "hard"}, default="soft"
        Whether given labels are fitted, or kept exactly (plain form only).
    decision : {"auto", "centered", "row-mean", "argmax", "mass", "sizes"}, default="auto"
        Class of the largest score above the labeled mean ("centered"), above the mean over the rows of its component
        ("row-mean"), of the largest score, of the largest score after class mass normalization to `class_prior`
        ("mass", plain scores only), or so that every class gets a size within bounds ("sizes"). "auto", for form auto:
        "row-mean" unless "centered" gets clearly more of the labels right when each is left out (sign test), and class
        sizes within the 90 % intervals of the labels' shares where these look drawn at random; for other forms "centered".
    class_prior : array-like of shape (n_classes,) or None, default=None
        Positive shares of the classes in the order of ``classes_``, adding up to 1: the sizes for ``decision="sizes"`` and
        "mass", and the distribution of rows no label reaches. None takes the frequencies of the given labels; sizes are
        then held to their intervals, if labels were drawn at random. Known shares are worth 2 to 40 points of accuracy on
        uneven classes; with them labels are refined by a random walk under the sizes.
    size_slack : float in [0, 1), default=0.0
        How far a size may be from its share, as a share of the rows, for ``decision="sizes"`` with a `class_prior`.
    labels_drawn : {"auto", "random", "balanced"}, default="auto"
        Whether labeled rows were drawn at random, so that they tell the sizes of the classes, or about as many of every
        class. "auto" takes them as balanced if their counts are more even than 95 % of random draws from equal classes.
    tol : float in (0, 1), default=1e-6
        Relative residual at which a column counts as solved.
    max_iter : int, default=10000
        Most iterations of the solver.
    certify : {"auto", "first", False}, default="auto"
        Go on until every label is certain to be that of the exact solution of this graph, besides `tol` ("auto"; off for
        `tol` above 1e-4); stop as soon as it is ("first"); or neither.
    unlabeled : object, default=None
        What marks a row without a label in y. None, NaN and pandas' NA always do; without a marker of your own, so
        does -1.
    abstain : bool, default=False
        Whether rows that no label reaches get the marker instead of the likeliest class of the prior.
    recall_target : float in (0, 1], default=0.95
        Share of true neighbours the approximate neighbour search must find; small problems are searched exactly.
    zero_rows : {"error", "allow"}, default="error"
        Rows of zeros under the cosine metric: an error that names the first, or at distance 1 from every row.
    n_jobs : int or None, default=None
        Threads; None and -1 take every processor. Results are the same, bit for bit, for any number.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the approximate neighbor search, of approximate factors in the solver and, in regression, of the
        cross-validation of ``form="auto"``; None draws one from NumPy's global generator. Nothing else is random.
    verbose : int or bool, default=0
        Whether to write the time of each phase to standard error.
    callback : callable or None, default=None
        Called with a dict of `phase`, `done`, `total`, `note` as the fit goes on; if it raises, the fit stops.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Label of every row of the fit.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the classes; rows are finite and sum to 1. The prior in rows no label reaches.
    scores_ : ndarray of shape (n_samples, n_classes)
        F, before any normalising; NaN in rows no label reaches.
    confidence_ : ndarray of shape (n_samples,)
        Share of the chosen class in the label distribution.
    classes_ : ndarray of shape (n_classes,)
        Distinct given labels, ascending; 0..c−1 for soft labels.
    reached_ : ndarray of shape (n_samples,), bool
        Whether a label reaches the row through the graph.
    certified_ : ndarray of shape (n_samples,), bool, or None
        Whether the label equals that of the exact solution of this graph, whatever the solver; ties never do, and rows that no
        label reaches. None without `certify`.
    n_uncertified_ : int or None
        Rows that a label reaches and whose label is not certified.
    score_radius_ : ndarray of shape (n_samples,) or None
        Bound on the error that the solver leaves in the row's scores, infinite where none is known.
    n_iter_, residual_, converged_ : int, float, bool
        Iterations of the slowest column, largest relative residual, whether all columns reached `tol`.
    report_ : dict
        The summary: rows, edges, components, unreached rows, seconds of each phase, peak bytes, everything "auto"
        chose.
    n_features_in_ : int
        Columns of X; rows of the graph for ``affinity="precomputed"``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had string names for all.

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
    reference to X, which labels new points; do not change it in place.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, I. Koutis: Semi-supervised learning with spectral graph sparsification,
    2015, eq. 1.

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

    _method = "harmonic"
    _decides_sizes = True

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        bandwidth: float | Literal["auto"] = "auto",
        graph_reg: float | Literal["auto"] = "auto",
        form: Literal["stable", "plain", "auto"] = "auto",
        clamp: Literal["soft", "hard"] = "soft",
        decision: Literal["auto", "centered", "row-mean", "argmax", "mass", "sizes"] = "auto",
        class_prior: Any = None,
        size_slack: float = 0.0,
        labels_drawn: Literal["auto", "random", "balanced"] = "auto",
        tol: float = 1e-6,
        max_iter: int = 10000,
        certify: Literal["auto", "first", False] = "auto",
        unlabeled: Any = None,
        abstain: bool = False,
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.weights = weights
        self.symmetrize = symmetrize
        self.bandwidth = bandwidth
        self.graph_reg = graph_reg
        self.form = form
        self.clamp = clamp
        self.decision = decision
        self.class_prior = class_prior
        self.size_slack = size_slack
        self.labels_drawn = labels_drawn
        self.tol = tol
        self.max_iter = max_iter
        self.certify = certify
        self.unlabeled = unlabeled
        self.abstain = abstain
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HarmonicClassifier:
        """Label every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features; the graph for ``affinity="precomputed"``. C-contiguous float32, float64 and uint8 arrays are
            used in place, all else is converted once.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, with the marker in rows that have none; or soft labels: shares that sum to 1, rows of zeros
            unlabelled.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given label, at least 0, default 1. A row of weight 0 counts as unlabelled; it stays in
            the graph.

        Returns
        -------
        self
        """
        self._require_y(y)
        control = self._control()
        source = self._classifier_source(X, y, control)
        weights = self._label_weights(sample_weight, source.n_samples)
        labels, argument = self._labels(y, source.n_samples, weights)
        problem = (source.argument, argument, weights, source.options)
        fitted = _lapwing.fit_classifier(
            *problem, self._harmonic_options(self.decision), self._sparse_options(), control
        )
        self._keep(source, fitted)
        self._keep_labels(labels, fitted)
        self.certified_ = fitted["certified"]
        self._keep_certificate(fitted)
        self._warn()
        return self

    def predict(self, X: Any, return_certified: bool = False) -> Any:
        """Label new rows by the weighted mean of the scores of their nearest fitted rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; for ``affinity="precomputed"`` their affinities to the fitted rows (m, n_samples).
        return_certified : bool, default=False
            Whether to say as well which labels are those that the exact solution of the fit's graph gives.

        Returns
        -------
        labels : ndarray of shape (m,)
        certified : ndarray of shape (m,), bool, or None
            Only with `return_certified`; None without `certify`, and for ``affinity="precomputed"``.
        """
        labeling = self._apply(X)
        labels = self._decode(labeling)
        return (labels, labeling["certified"]) if return_certified else labels

    def _apply(self, X: Any) -> dict[str, Any]:
        check_is_fitted(self)
        scores, errors = self._extend_with_errors(X)
        return _lapwing.apply_rule(scores, errors, self._rule, self._control(quiet=True))

    def _extend_with_errors(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Scores (m, c) of new rows, and what their standings may be off by (m)."""
        if self._fit_X is None:
            return self._new_scores(X), None
        return _lapwing.extend(self._neighbor_extension(self.scores_), self._new_features(X), self._control())

    def _classifier_source(self, X: Any, y: Any, control: dict[str, Any]) -> Source:
        """X, checked."""
        return self._graph_source(X, control)

    def _sparse_options(self) -> dict[str, Any] | None:
        """How the graph is made sparser; None to solve on the graph itself."""
        return None


class HarmonicRegressor(SpreadingRegressor):
    """Regressor that spreads a few known values over the graph of all rows.

    The same harmonic function as :class:`HarmonicClassifier`, of one column of numbers: the values less their mean ȳ
    are spread, and ȳ is added back.

    Parameters
    ----------
    n_neighbors, affinity, metric, weights, symmetrize, bandwidth, graph_reg, clamp, tol, max_iter, certify
        As in :class:`HarmonicClassifier`.
    form : {"auto", "stable", "plain"}, default="auto"
        "auto" chooses the form, and `graph_reg` where that is "auto", by cross-validation over the known values (5 at
        least): the least squared error, and the stable form with its default `graph_reg` unless another is better by
        more than half a standard error. With ``clamp="hard"`` it is plain.
    unlabeled : float or None, default=None
        A number that marks rows without a value, besides NaN.
    abstain : bool, default=False
        Whether rows that no value reaches get NaN instead of the weighted mean of the given values.
    recall_target, zero_rows, n_jobs, random_state, verbose, callback
        As in :class:`HarmonicClassifier`.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Value of every row of the fit.
    scores_ : ndarray of shape (n_samples,)
        The harmonic function, on the scale of y; NaN in rows no value reaches.
    score_radius_ : ndarray of shape (n_samples,) or None
        Bound on the solver's error in each value, not on the noise; the solve goes on until it is below 1e-4 of the range of the
        given values. None without `certify`.
    reached_, n_iter_, residual_, converged_, report_, n_features_in_, feature_names_in_
        As in :class:`HarmonicClassifier`.

    Notes
    -----
    Complexity, memory and warnings are those of :class:`HarmonicClassifier` with one class. The solution is smooth
    over the graph by construction; it is made for few known values, and does not follow noise in many.

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

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        bandwidth: float | Literal["auto"] = "auto",
        graph_reg: float | Literal["auto"] = "auto",
        form: Literal["auto", "stable", "plain"] = "auto",
        clamp: Literal["soft", "hard"] = "soft",
        tol: float = 1e-6,
        max_iter: int = 10000,
        certify: Literal["auto", "first", False] = "auto",
        unlabeled: float | None = None,
        abstain: bool = False,
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.weights = weights
        self.symmetrize = symmetrize
        self.bandwidth = bandwidth
        self.graph_reg = graph_reg
        self.form = form
        self.clamp = clamp
        self.tol = tol
        self.max_iter = max_iter
        self.certify = certify
        self.unlabeled = unlabeled
        self.abstain = abstain
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HarmonicRegressor:
        """Find a value for every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As in :meth:`HarmonicClassifier.fit`.
        y : array-like of shape (n_samples,)
            Values, NaN where unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given value, at least 0, default 1; 0 counts as unknown.

        Returns
        -------
        self
        """
        self._require_y(y)
        control = self._control()
        source = self._graph_source(X, control)
        weights = self._label_weights(sample_weight, source.n_samples)
        values = self._known_values(y, source.n_samples, weights)
        options = self._harmonic_options("auto")
        fitted = _lapwing.fit_regressor(source.argument, values, weights, source.options, options, control)
        self._keep(source, fitted)
        self._mean = fitted["mean"]
        self.scores_ = fitted["values"]
        self.transduction_ = self._filled(self.scores_)
        self._keep_certificate(fitted)
        self._warn()
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Values (m,) of new rows: the weighted mean over their nearest fitted rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; for ``affinity="precomputed"`` their affinities to the fitted rows (m, n_samples).
        """
        check_is_fitted(self)
        return self._filled(self._extend(X, self.scores_.reshape(-1, 1), self.reached_).reshape(-1))

    def _filled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self.abstain else np.where(np.isnan(values), self._mean, values)
