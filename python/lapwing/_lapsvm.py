"""Laplacian SVM and Laplacian regularised least squares as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._arguments import auto_or_number, integer, number, text
from ._base import GraphEstimator, Source
from ._classifier import SpreadingClassifier, class_names
from ._control import Callback
from ._inputs import check_options, features_argument
from ._labels import ClassLabels, as_label_array, unlabeled_mask
from ._regressor import SpreadingRegressor

__all__ = ["LaplacianRidgeClassifier", "LaplacianRidgeRegressor", "LaplacianSVC"]

_Classifier = TypeVar("_Classifier", bound="KernelClassifier")


class KernelEstimator(GraphEstimator):
    """What the kernel machines on a graph share."""

    _takes_graph_as = "graph"

    _squares: bool
    """Whether the loss is squares."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_gram = self.kernel == "precomputed"
        tags.input_tags.sparse = not is_gram
        tags.input_tags.pairwise = is_gram
        tags.input_tags.positive_only = False
        return tags

    def _edge_bandwidth(self) -> Any:
        return self.graph_bandwidth

    def _kernel_source(self, X: Any, graph: Any) -> Source:
        """X, checked; the number of neighbours is one of a graph that is built."""
        options = self._graph_options()
        if self.affinity not in ("knn", "precomputed"):
            raise ValueError(f"affinity is {self.affinity!r}; expected one of knn, precomputed")
        if graph is None and self.affinity == "precomputed" and self.graph_reg != 0:
            raise ValueError("affinity is 'precomputed'; expected the graph as fit(X, y, graph=...)")
        if graph is None and self.kernel == "precomputed" and self.graph_reg != 0:
            raise ValueError(
                "kernel is 'precomputed', and no graph can be built from a Gram matrix; expected the graph of the rows as "
                "fit(K, y, graph=...), such as lapwing.graph.knn_graph(X), or graph_reg=0 for none"
            )
        if graph is not None or self.graph_reg == 0 or self.kernel == "precomputed":
            options = {**options, "n_neighbors": 1}
        return self._from_features(X, options)

    def _options(self) -> dict[str, Any]:
        every, memory = getattr(self, "check_every", "auto"), self.memory
        landmarks = self.n_landmarks
        if landmarks is not None and not isinstance(landmarks, str):
            landmarks = integer("n_landmarks", landmarks)
        for name in ("bias", "warm_start"):
            value = getattr(self, name, False)
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, not {type(value).__name__}")
        return {
            "squares": self._squares,
            "kernel": text("kernel", self.kernel),
            "bandwidth": auto_or_number("bandwidth", self.bandwidth),
            "degree": integer("degree", self.degree),
            "n_landmarks": landmarks,
            "ambient_reg": auto_or_number("ambient_reg", self.ambient_reg),
            "graph_reg": auto_or_number("graph_reg", self.graph_reg),
            "laplacian": text("laplacian", self.laplacian),
            "laplacian_power": integer("laplacian_power", self.laplacian_power),
            "bias": bool(self.bias),
            "solver": text("solver", self.solver),
            "stopping": text("stopping", getattr(self, "stopping", "gradient")),
            "stability_tol": number("stability_tol", getattr(self, "stability_tol", 0.015)),
            "check_every": None if every is None or every == "auto" else integer("check_every", every),
            "validation_share": number("validation_share", getattr(self, "validation_share", 0.2)),
            "tol": number("tol", self.tol),
            "max_iter": integer("max_iter", self.max_iter),
            "precision": text("precision", self.precision),
            "memory": None if memory is None or memory == "auto" else integer("memory", memory),
        }

    def _take_machine(self, fitted: dict[str, Any]) -> None:
        """Take over what labels new rows, and the report."""
        self._fitted_extension = fitted["extension"]
        self._keep_report(fitted)
        # scikit-learn counts from 1.
        self.n_iter_ = max(self.n_iter_, 1)
        part = self.report_["parts"]["lapsvm"]
        self.objective_ = np.asarray(part["objective"], dtype=np.float64)
        self._keep_coefficients()

    def _keep_coefficients(self) -> None:
        self.coefficients_ = self._fitted_extension.coefficients()
        self.bias_ = self._fitted_extension.bias()


class KernelClassifier(KernelEstimator, SpreadingClassifier):
    """Base of the classifiers."""

    abstain = False
    """Every row is reached: a kernel machine has a value everywhere."""

    def __init__(
        self,
        kernel: Literal["rbf", "poly", "linear", "precomputed", "low-rank"] = "rbf",
        *,
        bandwidth: float | Literal["auto"] = "auto",
        degree: int = 3,
        n_landmarks: int | Literal["auto"] | None = "auto",
        ambient_reg: float | Literal["auto"] = "auto",
        graph_reg: float | Literal["auto"] = "auto",
        laplacian: Literal["normalized", "combinatorial"] = "normalized",
        laplacian_power: int = 1,
        bias: bool = False,
        solver: Literal["auto", "newton", "cg", "dual"] = "auto",
        stopping: Literal["stability", "validation", "mixed", "gradient"] = "stability",
        stability_tol: float = 0.015,
        check_every: int | Literal["auto"] = "auto",
        validation_share: float = 0.2,
        tol: float = 1e-8,
        max_iter: int = 10000,
        warm_start: bool = False,
        precision: Literal["auto", "single", "double"] = "auto",
        memory: int | Literal["auto"] = "auto",
        n_neighbors: int = 15,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        graph_bandwidth: float | Literal["auto"] = "auto",
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        decision: Literal["auto", "sizes"] = "auto",
        class_prior: Any = None,
        size_slack: float = 0.0,
        labels_drawn: Literal["auto", "random", "balanced"] = "auto",
        unlabeled: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.n_landmarks = n_landmarks
        self.ambient_reg = ambient_reg
        self.graph_reg = graph_reg
        self.laplacian = laplacian
        self.laplacian_power = laplacian_power
        self.bias = bias
        self.solver = solver
        self.stopping = stopping
        self.stability_tol = stability_tol
        self.check_every = check_every
        self.validation_share = validation_share
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.precision = precision
        self.memory = memory
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.weights = weights
        self.symmetrize = symmetrize
        self.graph_bandwidth = graph_bandwidth
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.decision = decision
        self.class_prior = class_prior
        self.size_slack = size_slack
        self.labels_drawn = labels_drawn
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self: _Classifier,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        graph: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> _Classifier:
        """Fit the machine, and label every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features; for ``kernel="precomputed"`` the Gram matrix (n, n), symmetric.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, with the marker in rows that have none; or soft labels: shares that sum to 1, rows of zeros
            unlabelled.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given label, at least 0, default 1. A row of weight 0 counts as unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            Symmetric weights, a :class:`lapwing.graph.Graph`, or ``(indices, distances)`` of a neighbour search; None builds
            the graph from X.
        validation : tuple (X, y), default=None
            Labelled rows by which conjugate gradients stop, for ``stopping="validation"`` and ``"mixed"``; for a precomputed
            kernel, their similarities to the rows of the fit. None holds back some of the labels.

        Returns
        -------
        self
        """
        self._require_y(y)
        control, options = self._control(), self._options()
        source = self._kernel_source(X, graph)
        weights = self._label_weights(sample_weight, source.n_samples)
        labels, argument = self._labels(y, source.n_samples, weights)
        adjacency = self._adjacency(graph, self._graph_options(), control)
        held = None if validation is None else self._held(validation, labels)
        fitted = _lapwing.fit_kernel_classifier(
            source.argument,
            argument,
            weights,
            adjacency,
            source.options,
            options,
            held,
            self._start(labels),
            control,
        )
        fitted = self._sized(fitted, argument, weights, control)
        self._take_machine(fitted)
        self._keep_labels(labels, fitted)
        self._warn()
        return self

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> NDArray[Any]:
        """Label every row of X; the same as ``fit(X, y).transduction_``."""
        return self.fit(X, y, sample_weight, **options).transduction_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x) + b of new rows: (m,) for two classes, above 0 for the second; else (m, n_classes), the largest decides."""
        check_is_fitted(self)
        scores = self._new_scores(X)
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def _held(self, validation: tuple[Any, Any], labels: ClassLabels) -> tuple[Any, Any]:
        """Validation rows and their classes, as the compiled part takes them."""
        if not isinstance(validation, tuple) or len(validation) != 2:
            raise TypeError("validation must be a tuple (X, y)")
        rows, y = validation
        self._require_y(y)
        checked = check_array(rows, input_name="validation rows", **check_options(rows))
        given = column_or_1d(as_label_array(y))
        if given.shape[0] != checked.shape[0]:
            raise ValueError(f"validation has {checked.shape[0]} rows, but {given.shape[0]} labels")
        known = {label: code for code, label in enumerate(labels.classes.tolist())}
        codes = np.full(given.shape[0], -1, dtype=np.int32)
        for row in np.flatnonzero(~unlabeled_mask(given, self.unlabeled)):
            label = given[row].item() if hasattr(given[row], "item") else given[row]
            if label not in known:
                raise ValueError(f"validation row {row} has label {label!r}, which no row of the fit has")
            codes[row] = known[label]
        return features_argument(checked), (codes, class_names(labels.classes))

    def _start(self, labels: ClassLabels) -> Any:
        """The machine of an earlier fit of the same classes, for a warm start."""
        if not self.warm_start or not hasattr(self, "_fitted_extension"):
            return None
        return self._fitted_extension if np.array_equal(self.classes_, labels.classes) else None

    def _new_scores(self, X: Any) -> NDArray[np.float64]:
        return self._extend_features(X, self._fitted_extension)

    def _extension(self) -> Any:
        return self._fitted_extension


class LaplacianSVC(KernelClassifier):
    """Laplacian support vector classifier, trained in the primal: a kernel machine that is smooth over a graph of all rows.

    One class against the rest, each minimises over f = K·α and a bias b (Melacci & Belkin 2011)

        ½·[Σᵢ cᵢ·max(0, 1 − yᵢ(fᵢ + b))² + γ_A·αᵀKα + γ_I·fᵀLᵖf],

    the sum over the labelled rows, cᵢ the trust in their labels, K the Gram matrix and L the Laplacian of the graph. New rows
    are labelled by the kernel alone: they need no graph.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "precomputed", "low-rank"}, default="rbf"
        exp(−|x − x′|²/(2σ²)), (xᵀx′)^degree, xᵀx′ (of features in single precision, where there are fewer columns than rows),
        X itself as the Gram matrix, symmetric and positive semidefinite, or the first by similarities to landmarks.
    bandwidth : float > 0 or "auto", default="auto"
        σ, in the unit of distances; "auto" is half the median distance of two rows.
    degree : int, default=3
        Degree of the polynomial kernel, from 1 to 100.
    n_landmarks : int, "auto" or None, default="auto"
        Landmarks of a low-rank (Nyström) kernel, in [1, 2048], for "rbf", "poly" and "low-rank". "auto" takes the kernel
        itself up to 30,000 rows and 500 landmarks beyond (with a warning), and 500 for "low-rank"; None takes the kernel
        itself for any number of rows.
    ambient_reg : float > 0 or "auto", default="auto"
        γ_A. "auto" chooses it by leaving one label out, among 1e-6, 1e-4, 1e-2, 0.1 and 1 times the mean of k(x, x), where
        every class has two labels; else 1e-4 times that mean. Not scaled by the number of labels or rows.
    graph_reg : float >= 0 or "auto", default="auto"
        γ_I. 0 leaves a support vector machine of the labelled rows. "auto" chooses it likewise, among 0.01, 0.1, 1, 10 and
        100 times labels / rows; else that ratio.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I − D^(−1/2)·W·D^(−1/2), or D − W.
    laplacian_power : int, default=1
        p, from 1 to 100; Lᵖ is applied p times and never formed.
    bias : bool, default=False
        Whether b is fitted, else 0.
    solver : {"auto", "newton", "cg", "dual"}, default="auto"
        Newton's method after one factorisation of a matrix (n, n), or of one of landmarks; preconditioned conjugate
        gradients with exact line search; or the dual, whose loss is the hinge instead of its square. "auto" takes Newton up
        to 3,000 rows and for landmarks, conjugate gradients elsewhere.
    stopping : {"stability", "validation", "mixed", "gradient"}, default="stability"
        What stops conjugate gradients: between two checks hardly an unlabelled row changes sides or its class and the objective
        falls by less than 2 %, the error on a validation set no longer falls, both, or the gradient vanishes. Each problem
        stops by itself.
    stability_tol : float in (0, 1), default=0.015
        Share of unlabelled rows that may change sides between checks of stable labels.
    check_every : int or "auto", default="auto"
        Iterations between checks; "auto" is √n / 2.
    validation_share : float in (0, 1), default=0.2
        Share of the labels of each class that is held back for validation where none is given to `fit`.
    tol : float in (0, 1), default=1e-8
        Gradient √(gᵀKg), relative to that of zero, that ends any iteration; the dual ends where no optimality condition is
        violated by more than √tol.
    max_iter : int, default=10000
        Most iterations of conjugate gradients.
    warm_start : bool, default=False
        Whether conjugate gradients start from the coefficients of the last fit, where those are of as many rows and the same
        classes.
    precision : {"auto", "single", "double"}, default="auto"
        What the Gram matrix is stored as; sums are in double precision. "auto" is double up to 4,096 rows, single beyond.
    memory : int or "auto", default="auto"
        Most bytes that the Gram matrix may take; above, it is made block by block in every iteration (with a warning). "auto"
        is half of what the machine has free.
    n_neighbors : int, default=15
        Neighbours of each row in the graph.
    affinity : {"knn", "precomputed"}, default="knn"
        Build the graph from X unless one is given to `fit`, or insist on one that is given.
    metric, weights, symmetrize, recall_target, zero_rows
        How the graph is built, as in :class:`lapwing.HarmonicClassifier`.
    graph_bandwidth : float > 0 or "auto", default="auto"
        Width of the graph's weights, as `bandwidth` there.
    decision : {"auto", "sizes"}, default="auto"
        Class of the largest score, or with offsets at which every class gets a size within bounds.
    class_prior, size_slack, labels_drawn
        As in :class:`lapwing.HarmonicClassifier`, for ``decision="sizes"``.
    unlabeled : object, default=None
        What marks a row without a label in y. None, NaN and pandas' NA always do; without a marker of your own, so
        does -1.
    n_jobs : int or None, default=None
        Threads; None and -1 take every processor. Results are the same, bit for bit, for any number.
    random_state : int, RandomState, Generator or None, default=None
        Seed of landmarks, of the rows `bandwidth` is found on, of labels that are held back and of the neighbour search; None
        draws one from NumPy's global generator.
    verbose : int or bool, default=0
        Whether to write the time of each phase to standard error.
    callback : callable or None, default=None
        Called with a dict of `phase`, `done`, `total`, `note` as the fit goes on; if it raises, the fit stops.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Label of every row of the fit.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the classes; rows are finite and sum to 1.
    scores_ : ndarray of shape (n_samples, n_classes)
        f + b of each class; −(f + b) and f + b for two.
    confidence_ : ndarray of shape (n_samples,)
        Share of the chosen class in the label distribution.
    classes_ : ndarray of shape (n_classes,)
        Distinct given labels, ascending; 0..c−1 for soft labels.
    coefficients_ : ndarray of shape (n_rows, n_problems)
        α of the rows that are kept: all of the fit, those with a coefficient where there is no graph, or the landmarks; the
        weights of the features for a linear kernel. One problem for two classes, else one for each class.
    bias_ : ndarray of shape (n_problems,)
        b.
    objective_ : ndarray of shape (n_problems,)
        Value of the objective; in the dual that with the hinge and without the ½.
    n_iter_, residual_, converged_ : int, float, bool
        Iterations of the slowest problem, largest relative gradient, whether every problem ended by its rule.
    reached_ : ndarray of shape (n_samples,), bool
        True everywhere: a kernel machine has a value for every row.
    report_ : dict
        The summary: rows, edges, seconds of each phase, peak bytes, everything "auto" chose, and the machine
        (``report_["parts"]["lapsvm"]``: storage, solver, objectives, iterations and error vectors of each problem).
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had string names for all.

    Warns
    -----
    ConvergenceWarning
        If a problem stopped at `max_iter`.
    UserWarning
        If landmarks stand for the kernel, or the Gram matrix does not fit its memory.

    Notes
    -----
    O(n²·d) time for the Gram matrix, of which half is stored: 4·n² bytes, 2·n² in single precision. Newton: ⅔·n³ once, for all
    classes, and 8·n² bytes. Conjugate gradients: n² for each iteration and class, some √n iterations. With k landmarks:
    O(n·k·(d + k)) and 4·n·k bytes. A fitted estimator keeps a copy of the rows it needs.

    References
    ----------
    S. Melacci, M. Belkin: Laplacian support vector machines trained in the primal, JMLR 12, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LaplacianSVC
    >>> X, truth = make_moons(300, noise=0.08, random_state=0)
    >>> y = np.full(300, -1)
    >>> given = [int(np.flatnonzero(truth == c)[0]) for c in (0, 1)]
    >>> y[given] = truth[given]
    >>> clf = LaplacianSVC(random_state=0).fit(X, y)
    >>> bool((clf.transduction_ == truth).mean() > 0.95)
    True
    >>> new, truth = make_moons(100, noise=0.08, random_state=1)
    >>> bool((clf.predict(new) == truth).mean() > 0.95)
    True
    """

    _method = "lapsvm"
    _squares = False


class LaplacianRidgeClassifier(KernelClassifier):
    """Laplacian regularised least-squares classifier: :class:`LaplacianSVC` with the loss (yᵢ − fᵢ − b)², y = ±1.

    Newton's method is one linear system, in closed form, for all classes (Sindhwani, Niyogi & Belkin 2005).

    Parameters
    ----------
    kernel, bandwidth, degree, n_landmarks, ambient_reg, graph_reg, laplacian, laplacian_power, bias
        As in :class:`LaplacianSVC`.
    solver : {"auto", "newton", "cg"}, default="auto"
        As there; "newton" is the closed form.
    stopping, stability_tol, check_every, validation_share, tol, max_iter, warm_start, precision, memory
        As in :class:`LaplacianSVC`.
    n_neighbors, affinity, metric, weights, symmetrize, graph_bandwidth, recall_target, zero_rows
        As in :class:`LaplacianSVC`.
    decision : {"auto", "sizes"}, default="auto"
        Class of the largest score, or with offsets at which every class gets a size within bounds.
    class_prior, size_slack, labels_drawn
        As in :class:`lapwing.HarmonicClassifier`, for ``decision="sizes"``.
    unlabeled, n_jobs, random_state, verbose, callback
        As in :class:`LaplacianSVC`.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, confidence_, classes_, coefficients_, bias_, objective_
        As in :class:`LaplacianSVC`.
    n_iter_, residual_, converged_, reached_, report_, n_features_in_, feature_names_in_
        As in :class:`LaplacianSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LaplacianRidgeClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1                     # a hundred labels for 1797 rows
    >>> clf = LaplacianRidgeClassifier(random_state=0).fit(X, y)
    >>> bool((clf.transduction_[100:] == truth[100:]).mean() > 0.9)
    True
    """

    _method = "laprls"
    _squares = True


class LaplacianRidgeRegressor(KernelEstimator, SpreadingRegressor):
    """Laplacian regularised least squares for values: kernel ridge regression that is smooth over a graph of all rows.

    The objective of :class:`LaplacianRidgeClassifier` with numbers for y. Without a bias, the mean of the given values is taken
    off before the fit and added back.

    Parameters
    ----------
    kernel, bandwidth, degree, n_landmarks, ambient_reg, graph_reg, laplacian, laplacian_power, bias
        As in :class:`LaplacianSVC`; what is "auto" is chosen by squared errors, from five values on.
    solver : {"auto", "newton", "cg"}, default="auto"
        In closed form, or by conjugate gradients until the gradient is `tol` of the start's.
    tol, max_iter, precision, memory
        As in :class:`LaplacianSVC`.
    n_neighbors, affinity, metric, weights, symmetrize, graph_bandwidth, recall_target, zero_rows
        As in :class:`LaplacianSVC`.
    unlabeled : float or None, default=None
        A number that marks rows without a value, besides NaN.
    n_jobs, random_state, verbose, callback
        As in :class:`LaplacianSVC`.

    Attributes
    ----------
    transduction_, scores_ : ndarray of shape (n_samples,)
        Value of every row of the fit.
    bias_ : ndarray of shape (1,)
        b, or the mean that was taken off.
    coefficients_, objective_, n_iter_, residual_, converged_, reached_, report_, n_features_in_, feature_names_in_
        As in :class:`LaplacianSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LaplacianRidgeRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = np.full(101, np.nan)
    >>> y[::10] = np.sin(3 * X[::10, 0])
    >>> reg = LaplacianRidgeRegressor(n_neighbors=2, random_state=0).fit(X, y)
    >>> bool(abs(reg.transduction_ - np.sin(3 * X[:, 0])).max() < 0.1)
    True
    """

    _squares = True

    def __init__(
        self,
        kernel: Literal["rbf", "poly", "linear", "precomputed", "low-rank"] = "rbf",
        *,
        bandwidth: float | Literal["auto"] = "auto",
        degree: int = 3,
        n_landmarks: int | Literal["auto"] | None = "auto",
        ambient_reg: float | Literal["auto"] = "auto",
        graph_reg: float | Literal["auto"] = "auto",
        laplacian: Literal["normalized", "combinatorial"] = "normalized",
        laplacian_power: int = 1,
        bias: bool = False,
        solver: Literal["auto", "newton", "cg"] = "auto",
        tol: float = 1e-8,
        max_iter: int = 10000,
        precision: Literal["auto", "single", "double"] = "auto",
        memory: int | Literal["auto"] = "auto",
        n_neighbors: int = 15,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        graph_bandwidth: float | Literal["auto"] = "auto",
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        unlabeled: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.n_landmarks = n_landmarks
        self.ambient_reg = ambient_reg
        self.graph_reg = graph_reg
        self.laplacian = laplacian
        self.laplacian_power = laplacian_power
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.precision = precision
        self.memory = memory
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.weights = weights
        self.symmetrize = symmetrize
        self.graph_bandwidth = graph_bandwidth
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> LaplacianRidgeRegressor:
        """Fit the machine, and find a value for every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As in :meth:`LaplacianSVC.fit`.
        y : array-like of shape (n_samples,)
            Values, NaN where unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given value, at least 0, default 1; 0 counts as unknown.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            As in :meth:`LaplacianSVC.fit`.

        Returns
        -------
        self
        """
        self._require_y(y)
        control, options = self._control(), self._options()
        source = self._kernel_source(X, graph)
        weights = self._label_weights(sample_weight, source.n_samples)
        values = self._known_values(y, source.n_samples, weights)
        adjacency = self._adjacency(graph, self._graph_options(), control)
        fitted = _lapwing.fit_kernel_regressor(
            source.argument, values, weights, adjacency, source.options, options, control
        )
        self._take_machine(fitted)
        self.scores_ = fitted["values"]
        self.transduction_ = self.scores_
        self._warn()
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Values (m,) of new rows, by the kernel alone.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; for ``kernel="precomputed"`` their similarities to the rows of the fit (m, n_samples).
        """
        check_is_fitted(self)
        return self._extend_features(X, self._fitted_extension).reshape(-1)
