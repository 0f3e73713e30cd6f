"""Simple classifiers that others are measured against.

>>> import numpy as np
>>> from sklearn.datasets import load_digits
>>> from lapwing import HarmonicClassifier
>>> from lapwing.baselines import NearestLabelClassifier
>>> X, truth = load_digits(return_X_y=True)
>>> y = truth.copy()
>>> y[50:] = -1
>>> right = {
...     type(clf).__name__: float((clf.fit(X, y).transduction_[50:] == truth[50:]).mean())
...     for clf in (NearestLabelClassifier(), HarmonicClassifier())
... }
>>> right["HarmonicClassifier"] > right["NearestLabelClassifier"] > 0.8
True
"""

from __future__ import annotations

from typing import Any, Literal

from . import _lapwing
from ._arguments import graph_options, integer, number
from ._base import Source
from ._classifier import FeatureClassifier, MethodClassifier
from ._control import Callback

__all__ = [
    "EigenfunctionClassifier",
    "NearestLabelClassifier",
    "SimpleHarmonicClassifier",
    "SubsamplingHarmonicClassifier",
]


class NearestLabelClassifier(FeatureClassifier):
    """Classifier that gives every row the label of the nearest labelled row.

    It knows nothing of the rows without a label: what other classifiers gain beyond it, they gain from those. Of
    equally near rows the first decides; a labelled row keeps its label.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "inner-product"}, default="euclidean"
        Distance between rows.
    unlabeled, abstain, zero_rows, n_jobs, random_state, verbose, callback
        As in :class:`lapwing.HarmonicClassifier`; nothing is random, and every row is reached.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, confidence_, classes_, reached_, report_
        As in :class:`lapwing.HarmonicClassifier`. The scores are the given labels themselves, one-hot or shares, so that
        the confidence of a plain label is 1 and says nothing.
    n_iter_, residual_, converged_ : int, float, bool
        0, 0 and True: nothing is iterated.
    n_features_in_, feature_names_in_
        As in :class:`lapwing.HarmonicClassifier`.

    Notes
    -----
    O(l·n·d) time for l labelled rows. A fitted estimator keeps a copy of these.

    Examples
    --------
    >>> from lapwing.baselines import NearestLabelClassifier
    >>> clf = NearestLabelClassifier().fit([[0.0], [0.4], [0.7], [1.0]], ["low", None, None, "high"])
    >>> clf.transduction_.tolist()
    ['low', 'low', 'high', 'high']
    """

    _method = "nearest-label"

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        unlabeled: Any = None,
        abstain: bool = False,
        zero_rows: Literal["error", "allow"] = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.metric = metric
        self.unlabeled = unlabeled
        self.abstain = abstain
        self.zero_rows = zero_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _graph_options(self) -> dict[str, Any]:
        return graph_options(n_neighbors=1, metric=self.metric, weights="binary", zero_rows=self.zero_rows)

    def _fitted(self, source: Source, problem: tuple[Any, ...], control: dict[str, Any]) -> dict[str, Any]:
        return _lapwing.fit_nearest_label(*problem, source.options, control)


class SubsamplingHarmonicClassifier(FeatureClassifier):
    """Harmonic classifier on a sample of the rows; the others take the answer of the nearest of these.

    The sample holds all labelled rows, and of the others each with the same chance.

    Parameters
    ----------
    n_subsample : int or None, default=None
        Rows in the graph, at least the labelled ones; above n_samples it means all. None takes the larger of 2000 and
        four times the labelled rows.
    n_neighbors, metric, weights, symmetrize, bandwidth, graph_reg, form, clamp, decision, class_prior, size_slack, labels_drawn, tol, max_iter
        As in :class:`lapwing.HarmonicClassifier`.
    unlabeled, abstain, recall_target, zero_rows, n_jobs, verbose, callback
        As in :class:`lapwing.HarmonicClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample, and of what is random in :class:`lapwing.HarmonicClassifier`.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, confidence_, classes_, reached_, n_iter_, residual_, converged_, report_
        As in :class:`lapwing.HarmonicClassifier`, for all rows.
    n_features_in_, feature_names_in_
        As in :class:`lapwing.HarmonicClassifier`.

    Notes
    -----
    The time of :class:`lapwing.HarmonicClassifier` for s rows, and O(s·n·d). A fitted estimator keeps a copy of the
    sample; new rows take the answer of the nearest row in it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing.baselines import SubsamplingHarmonicClassifier
    >>> X, truth = make_moons(5000, noise=0.05, random_state=0)
    >>> y = np.where(np.arange(5000) < 10, truth, -1)
    >>> clf = SubsamplingHarmonicClassifier(500, random_state=0).fit(X, y)
    >>> bool((clf.transduction_ == truth).mean() > 0.9)
    True
    """

    _method = "subsampling"

    def __init__(
        self,
        n_subsample: int | None = None,
        *,
        n_neighbors: int = 15,
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
        unlabeled: Any = None,
        abstain: bool = False,
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_subsample = n_subsample
        self.n_neighbors = n_neighbors
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
        self.unlabeled = unlabeled
        self.abstain = abstain
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _fitted(self, source: Source, problem: tuple[Any, ...], control: dict[str, Any]) -> dict[str, Any]:
        size = None if self.n_subsample is None else integer("n_subsample", self.n_subsample)
        options = self._harmonic_options("auto" if self.decision == "sizes" else self.decision)
        return _lapwing.fit_subsampling(*problem, source.options, options, size, control)


class SimpleHarmonicClassifier(MethodClassifier):
    """Classifier by least squares on the smoothest eigenvectors of the graph of all rows (Ji et al. 2012).

    Parameters
    ----------
    n_neighbors, affinity, metric, weights, symmetrize, bandwidth
        As in :class:`lapwing.HarmonicClassifier`.
    n_eigenvectors : int or None, default=None
        Eigenvectors, those of eigenvalue 0 included: at least one for each component of the graph that holds a label.
        None takes the least of l/2, 3·√l and 100 for l labelled rows, but at least one for each class.
    tol : float in (0, 1), default=1e-8
        Residual ‖Lu − λu‖ / λ of each eigenvector.
    max_iter : int, default=1000
        Most steps of the search for eigenvectors.
    decision : {"auto", "sizes"}, default="auto"
        Class of the largest score, or with offsets at which every class gets a size within bounds.
    class_prior, size_slack, labels_drawn
        As in :class:`lapwing.HarmonicClassifier`, for ``decision="sizes"``.
    unlabeled, abstain, recall_target, zero_rows, n_jobs, random_state, verbose, callback
        As in :class:`lapwing.HarmonicClassifier`; the search for eigenvectors starts at random too.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, confidence_, classes_, reached_, report_
        As in :class:`lapwing.HarmonicClassifier`. The largest score decides.
    n_iter_, residual_, converged_ : int, float, bool
        Steps of the search for eigenvectors, largest residual, whether all reached `tol`.
    n_features_in_, feature_names_in_
        As in :class:`lapwing.HarmonicClassifier`.

    References
    ----------
    M. Ji, T. Yang, B. Lin, R. Jin, J. Han: A simple algorithm for semi-supervised learning with improved generalization
    error bound, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.baselines import SimpleHarmonicClassifier
    >>> ring = np.roll(np.eye(12), 1, axis=1)
    >>> ring[5, 6] = ring[11, 0] = 0.1          # two halves, weakly tied
    >>> y = ["left"] + [None] * 10 + ["right"]
    >>> SimpleHarmonicClassifier(affinity="precomputed").fit(ring + ring.T, y).transduction_[[5, 6]].tolist()
    ['left', 'right']
    """

    _method = "simple-harmonic"

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        bandwidth: float | Literal["auto"] = "auto",
        n_eigenvectors: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        decision: Literal["auto", "sizes"] = "auto",
        class_prior: Any = None,
        size_slack: float = 0.0,
        labels_drawn: Literal["auto", "random", "balanced"] = "auto",
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
        self.n_eigenvectors = n_eigenvectors
        self.tol = tol
        self.max_iter = max_iter
        self.decision = decision
        self.class_prior = class_prior
        self.size_slack = size_slack
        self.labels_drawn = labels_drawn
        self.unlabeled = unlabeled
        self.abstain = abstain
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _source(self, X: Any, control: dict[str, Any]) -> Source:
        return self._graph_source(X, control)

    def _fitted(self, source: Source, problem: tuple[Any, ...], control: dict[str, Any]) -> dict[str, Any]:
        size = None if self.n_eigenvectors is None else integer("n_eigenvectors", self.n_eigenvectors)
        tol, max_iter = number("tol", self.tol), integer("max_iter", self.max_iter)
        return _lapwing.fit_simple_harmonic(*problem, source.options, size, tol, max_iter, control)


class EigenfunctionClassifier(FeatureClassifier):
    """Classifier by least squares on smooth functions of the principal axes (EigFun; Fergus et al. 2009).

    Each axis is cut into bins; on their histogram lie functions that vary where few rows are. The smoothest of all
    axes are fitted to the labels. No graph of the rows is needed, and what is kept does not grow with their number; but
    clusters that no single axis tells apart stay together.

    Parameters
    ----------
    n_eigenfunctions : int, default=64
        Functions; fewer where there are not so many.
    n_components : int or None, default=None
        Principal axes; None takes all, and 64 of more.
    n_bins : int, default=50
        Bins along an axis, at least 2; a tenth of the rows if that is less.
    relative_bandwidth : float > 0, default=0.2
        Width of the kernel between bins, in units of their mean distance.
    density_floor : float > 0, default=0.1
        What is added to the share of every bin.
    clip : float in [0, 50), default=2.5
        Percent of the rows that are clipped at either end of an axis.
    fit_weight : float > 0, default=100
        Weight of the given labels against smoothness.
    constant : bool, default=True
        Whether a constant is fitted too.
    decision : {"auto", "sizes"}, default="auto"
        Class of the largest score, or with offsets at which every class gets a size within bounds.
    class_prior, size_slack, labels_drawn
        As in :class:`lapwing.HarmonicClassifier`, for ``decision="sizes"``.
    unlabeled, abstain, n_jobs, random_state, verbose, callback
        As in :class:`lapwing.HarmonicClassifier`; axes of sparse rows, and of more than 1024 columns, are found from a
        random start, nothing else is random. Every row is reached.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, confidence_, classes_, reached_, report_
        As in :class:`lapwing.HarmonicClassifier`. The largest score decides.
    n_iter_, residual_, converged_ : int, float, bool
        0, 0 and True: nothing is iterated.
    n_features_in_, feature_names_in_
        As in :class:`lapwing.HarmonicClassifier`.

    References
    ----------
    R. Fergus, Y. Weiss, A. Torralba: Semi-supervised learning in gigantic image collections, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing.baselines import EigenfunctionClassifier
    >>> X, truth = make_blobs(1000, centers=[[-4, 0], [4, 0]], random_state=0)
    >>> y = np.full(1000, -1)
    >>> given = [int(np.flatnonzero(truth == c)[0]) for c in (0, 1)]
    >>> y[given] = truth[given]
    >>> clf = EigenfunctionClassifier(n_eigenfunctions=1).fit(X, y)
    >>> bool((clf.transduction_ == truth).mean() > 0.98)
    True
    """

    _method = "eigenfunction"

    def __init__(
        self,
        n_eigenfunctions: int = 64,
        *,
        n_components: int | None = None,
        n_bins: int = 50,
        relative_bandwidth: float = 0.2,
        density_floor: float = 0.1,
        clip: float = 2.5,
        fit_weight: float = 100.0,
        constant: bool = True,
        decision: Literal["auto", "sizes"] = "auto",
        class_prior: Any = None,
        size_slack: float = 0.0,
        labels_drawn: Literal["auto", "random", "balanced"] = "auto",
        unlabeled: Any = None,
        abstain: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_eigenfunctions = n_eigenfunctions
        self.n_components = n_components
        self.n_bins = n_bins
        self.relative_bandwidth = relative_bandwidth
        self.density_floor = density_floor
        self.clip = clip
        self.fit_weight = fit_weight
        self.constant = constant
        self.decision = decision
        self.class_prior = class_prior
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
        components = None if self.n_components is None else integer("n_components", self.n_components)
        options = {
            "n_eigenfunctions": integer("n_eigenfunctions", self.n_eigenfunctions),
            "n_components": components,
            "n_bins": integer("n_bins", self.n_bins),
            "relative_bandwidth": number("relative_bandwidth", self.relative_bandwidth),
            "density_floor": number("density_floor", self.density_floor),
            "clip": number("clip", self.clip),
            "fit_weight": number("fit_weight", self.fit_weight),
            "constant": bool(self.constant),
        }
        return _lapwing.fit_eigenfunction(*problem, options, control)
