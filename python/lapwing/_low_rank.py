"""Low-rank label propagation as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from . import _lapwing
from ._arguments import graph_options, integer, number, text
from ._base import Source
from ._classifier import FeatureClassifier
from ._control import Callback

__all__ = ["LowRankPropagationClassifier"]


class LowRankPropagationClassifier(FeatureClassifier):
    """Classifier that spreads labels over all pairs of rows, through similarities to a few landmarks.

    Local and global consistency (Zhou et al. 2003): f = α·S·f + (1−α)·f₀ with S = D^(−1/2)·W·D^(−1/2) and f₀ the given
    labels. The affinity W ≈ F·Fᵀ is never made: F (n, k) comes row by row from the landmarks, and the fixed point is found
    on matrices (k, k). One or two passes over the rows fit, one more labels them; nothing is held of a row but its result.

    Parameters
    ----------
    n_landmarks : int, default=100
        k, in [1, 65536]; accuracy rises with it. Above n_samples it is lowered to that, with a warning.
    factor : {"anchor", "nystrom", "glnp"}, default="anchor"
        Shares of the nearest landmarks (anchor graph, Liu et al. 2010), the Nyström approximation of a Gaussian kernel
        (Petegrosso et al. 2017), or global linear neighbourhoods (Tian & Kuang 2012): a factor learned from the rows so
        that each is a combination of the others. The last reads all rows once an iteration and holds 24·k bytes for each;
        do not center its features.
    landmarks : {"kmeans", "uniform"} or array-like of shape (n_landmarks, n_features), default="kmeans"
        Centers of k-means among a sample of max(20,000, 50·k) rows, rows drawn from it, or the landmarks themselves;
        then `n_landmarks` means nothing.
    n_nearest : int, default=3
        s, landmarks that each row is a mixture of, at least 1; 0 means all. For ``factor="anchor"``.
    bandwidth : float > 0, "auto", "median" or "knn:K", default="auto"
        σ of exp(−d²/(2σ²)), in the unit of distances. "auto" is half the mean distance of a row to its nearest landmark,
        0.7 of it where landmarks are rows; "median" the median distance of rows; "knn:K" half the mean distance to the
        K-th neighbour; all in the sample.
    alpha : float in [0, 1), default=0.9
        Share taken from the other rows. The 0.01 of Petegrosso et al. is for columns that are not balanced.
    balance : {"balanced", "raw", "prior"}, default="balanced"
        Whether the column of each class is divided by the sum of √degree of its labels, taken as it is, or divided and
        multiplied by `class_prior`. Balanced, a class gains nothing by having more labels.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Positive shares of the classes in the order of ``classes_``, adding up to 1: for ``balance="prior"``,
        ``decision="sizes"`` and rows without evidence; None takes the frequencies of the given labels.
    head : {"propagation", "regression"}, default="propagation"
        Spread the labels, or fit them by least squares on the shares of the landmarks, smooth over the graph (anchor
        graph regularisation; ``factor="anchor"`` only).
    graph_reg : float >= 0, default=0.01
        γ, weight of smoothness in the regression.
    select : {"auto", "off"}, default="auto"
        Where every class has two labels, 5-fold cross-validation tries α = 0.01, 0.5, 0.9 and 0.99, and for anchors
        also 3 and all landmarks, twice the width, and the regression. What is given stays unless another choice is
        better by more than a standard error. "off" takes what is given.
    solver : {"closed", "iterative"}, default="closed"
        In closed form, by the eigenvalues of a matrix (k, k), or by iteration on it; both agree to 1e-8.
    tol : float in (0, 1), default=1e-10
        Largest change, relative to the largest value, at which the iteration stops.
    max_iter : int, default=10000
        Most iterations.
    rcond : float in [1e-8, 1), default=1e-6
        Eigenvalues of the landmarks' kernel below this share of the largest are left out. For ``factor="nystrom"``.
    degree_policy : {"floor", "error"}, default="floor"
        Degrees of the Nyström factor can be tiny or negative: raise them to a thousandth of the mean, or name the first.
    glnp_solver : {"apgd", "mu", "apgd-paper"}, default="apgd"
        How ``factor="glnp"`` is learned: accelerated projected gradients; multiplicative updates, in a third of the
        memory; the accelerated gradients of Petegrosso et al., for comparison.
    glnp_start : {"kmeans", "uniform"}, default="kmeans"
        Where it starts: at the clusters of the landmarks, or uniform, which takes tens of iterations more.
    glnp_max_iter : int, default=100
        Most iterations.
    glnp_tol : float in [0, 1), default=1e-5
        Share of the rows' squared norm by which five iterations must lower the objective to go on.
    fit_rows : int or None, default=None
        Rows drawn to fit on, beside the labelled ones; None takes all. With a fixed number of landmarks scores soon stop
        to change as rows are added, and the rows are then read once.
    decision : {"auto", "sizes"}, default="auto"
        Class of the largest score, or with offsets at which every class gets a size within bounds.
    size_slack, labels_drawn
        As in :class:`lapwing.HarmonicClassifier`, for ``decision="sizes"``.
    unlabeled : object, default=None
        What marks a row without a label in y. None, NaN and pandas' NA always do; without a marker of your own, so
        does -1.
    abstain : bool, default=False
        Whether rows without evidence get the marker instead of the likeliest class of the prior.
    n_jobs : int or None, default=None
        Threads; None and -1 take every processor. Results are the same, bit for bit, for any number.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample, of k-means, of the folds and of `fit_rows`; None draws one from NumPy's global generator.
    verbose : int or bool, default=0
        Whether to write the time of each phase to standard error.
    callback : callable or None, default=None
        Called with a dict of `phase`, `done`, `total`, `note` as the fit goes on; if it raises, the fit stops.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Label of every row of the fit.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the classes; rows are finite and sum to 1. The prior in rows without evidence.
    scores_ : ndarray of shape (n_samples, n_classes)
        f, before any normalising; NaN in rows without evidence.
    confidence_ : ndarray of shape (n_samples,)
        Share of the chosen class in the label distribution.
    classes_ : ndarray of shape (n_classes,)
        Distinct given labels, ascending; 0..c−1 for soft labels.
    reached_ : ndarray of shape (n_samples,), bool
        Whether the row has evidence. A row has none if it is so far from all landmarks, or its own are so far from those
        of any label, that similarities are 0 in single precision.
    landmarks_ : ndarray of shape (n_landmarks, n_features) or None
        The landmarks, in the units of X; None for ``factor="glnp"``.
    bandwidth_ : float or None
        σ; None for ``factor="glnp"``.
    n_iter_, residual_, converged_ : int, float, bool
        Iterations, last relative change and whether it is below `tol`; 1, 0 and True in closed form.
    report_ : dict
        The summary: rows, seconds of each phase, passes over the rows, peak bytes, everything "auto" chose, and the
        factor (``report_["parts"]["low_rank"]``, and ``["glnp"]`` with the objective of each iteration).
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had string names for all.

    Warns
    -----
    UnreachedWarning
        If some rows have no evidence.
    ConvergenceWarning
        If the iteration stopped at `max_iter`.
    UserWarning
        If there are fewer rows than landmarks, or if degrees had to be raised or landmarks left out.

    Notes
    -----
    O(n·k·d) time for anchors of few landmarks, O(n·k·d + n·k²) for all landmarks and for Nyström, two passes then; O(k³)
    to solve. GLNP: O(n·k·(d + k)) an iteration. Memory: n·(16·c + 13) bytes for the results, the sample, and 4·k² bytes for each thread and 32 blocks. A
    memory-mapped float32 array in C order is read from its file and never held; sparse rows are made dense block by block.
    A fitted estimator keeps the landmarks and k·c coefficients, whatever n is, and scores new rows as rows of the fit; with
    ``factor="glnp"`` new rows are placed by non-negative least squares, which is a little less accurate.

    Classes that lie in each other's bends need the neighbourhoods of :class:`lapwing.HarmonicClassifier`, or many
    landmarks.

    References
    ----------
    R. Petegrosso, W. Zhang, Z. Li, Y. Saad, R. Kuang: Low-rank label propagation for semi-supervised learning with 100
    millions samples, 2017, arXiv 1702.08884.

    Z. Tian, R. Kuang: Global linear neighborhoods for efficient label propagation, 2012.

    W. Liu, J. He, S.-F. Chang: Large graph construction for scalable semi-supervised learning, 2010.

    D. Zhou, O. Bousquet, T. N. Lal, J. Weston, B. Schölkopf: Learning with local and global consistency, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LowRankPropagationClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1                     # a hundred labels for 1797 rows
    >>> clf = LowRankPropagationClassifier(200, random_state=0).fit(X, y)
    >>> bool((clf.transduction_[100:] == truth[100:]).mean() > 0.9)
    True
    >>> clf.landmarks_.shape
    (200, 64)
    >>> clf.predict(X[:3]).tolist()
    [0, 1, 2]
    """

    _method = "low-rank"

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        factor: Literal["anchor", "nystrom", "glnp"] = "anchor",
        landmarks: Literal["kmeans", "uniform"] | ArrayLike = "kmeans",
        n_nearest: int = 3,
        bandwidth: float | str = "auto",
        alpha: float = 0.9,
        balance: Literal["balanced", "raw", "prior"] = "balanced",
        class_prior: Any = None,
        head: Literal["propagation", "regression"] = "propagation",
        graph_reg: float = 0.01,
        select: Literal["auto", "off"] = "auto",
        solver: Literal["closed", "iterative"] = "closed",
        tol: float = 1e-10,
        max_iter: int = 10000,
        rcond: float = 1e-6,
        degree_policy: Literal["floor", "error"] = "floor",
        glnp_solver: Literal["apgd", "mu", "apgd-paper"] = "apgd",
        glnp_start: Literal["kmeans", "uniform"] = "kmeans",
        glnp_max_iter: int = 100,
        glnp_tol: float = 1e-5,
        fit_rows: int | None = None,
        decision: Literal["auto", "sizes"] = "auto",
        size_slack: float = 0.0,
        labels_drawn: Literal["auto", "random", "balanced"] = "auto",
        unlabeled: Any = None,
        abstain: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.factor = factor
        self.landmarks = landmarks
        self.n_nearest = n_nearest
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.balance = balance
        self.class_prior = class_prior
        self.head = head
        self.graph_reg = graph_reg
        self.select = select
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.rcond = rcond
        self.degree_policy = degree_policy
        self.glnp_solver = glnp_solver
        self.glnp_start = glnp_start
        self.glnp_max_iter = glnp_max_iter
        self.glnp_tol = glnp_tol
        self.fit_rows = fit_rows
        self.decision = decision
        self.size_slack = size_slack
        self.labels_drawn = labels_drawn
        self.unlabeled = unlabeled
        self.abstain = abstain
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _graph_options(self) -> dict[str, Any]:
        return graph_options(n_neighbors=1, metric="euclidean")

    def _fitted(self, source: Source, problem: tuple[Any, ...], control: dict[str, Any]) -> dict[str, Any]:
        landmarks = self._given_landmarks()
        return _lapwing.fit_low_rank(*problem, self._options(landmarks), landmarks, control)

    def _given_landmarks(self) -> NDArray[np.float64] | None:
        """Landmarks that were given; None where a rule finds them."""
        if self.landmarks is None or isinstance(self.landmarks, str):
            return None
        given: NDArray[np.float64] = check_array(
            self.landmarks, dtype=np.float64, order="C", ensure_all_finite=False, input_name="landmarks"
        )
        return given

    def _options(self, landmarks: NDArray[np.float64] | None) -> dict[str, Any]:
        prior = self.class_prior
        return {
            "n_landmarks": integer("n_landmarks", self.n_landmarks) if landmarks is None else len(landmarks),
            "factor": text("factor", self.factor),
            "landmarks": text("landmarks", self.landmarks) if landmarks is None else "kmeans",
            "n_nearest": integer("n_nearest", self.n_nearest),
            "bandwidth": self.bandwidth if isinstance(self.bandwidth, str) else number("bandwidth", self.bandwidth),
            "alpha": number("alpha", self.alpha),
            "balance": text("balance", self.balance),
            "class_prior": None if prior is None else column_or_1d(np.asarray(prior, dtype=np.float64)).tolist(),
            "head": text("head", self.head),
            "graph_reg": number("graph_reg", self.graph_reg),
            "select": text("select", self.select),
            "solver": text("solver", self.solver),
            "tol": number("tol", self.tol),
            "max_iter": integer("max_iter", self.max_iter),
            "rcond": number("rcond", self.rcond),
            "degree_policy": text("degree_policy", self.degree_policy),
            "glnp_solver": text("glnp_solver", self.glnp_solver),
            "glnp_start": text("glnp_start", self.glnp_start),
            "glnp_max_iter": integer("glnp_max_iter", self.glnp_max_iter),
            "glnp_tol": number("glnp_tol", self.glnp_tol),
            "fit_rows": None if self.fit_rows is None else integer("fit_rows", self.fit_rows),
        }

    def _take(self, source: Source, fitted: dict[str, Any]) -> None:
        super()._take(source, fitted)
        # scikit-learn counts from 1.
        self.n_iter_ = max(self.n_iter_, 1)
        self._keep_landmarks()

    def _keep_landmarks(self) -> None:
        """Take over the landmarks, in the units of X."""
        landmarks, self.bandwidth_ = self._fitted_extension.values(), self._fitted_extension.bandwidth()
        if landmarks is not None and self._standardizer is not None:
            mean, scale = self._standardizer
            landmarks = landmarks * scale + mean
        self.landmarks_: NDArray[np.float64] | None = landmarks
