"""Unfolded graph networks as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._arguments import auto_or_number, integer, number, text
from ._base import GraphEstimator, Source, standardized
from ._classifier import SpreadingClassifier
from ._control import Callback
from ._inputs import features_argument
from ._regressor import SpreadingRegressor

__all__ = ["UnfoldedGNNClassifier", "UnfoldedGNNRegressor"]

_Classifier = TypeVar("_Classifier", bound="UnfoldedGNNClassifier")


class NetworkEstimator(GraphEstimator):
    """What the networks share."""

    _takes_graph_as = "graph"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A graph is given beside the features, not in their place.
        tags.input_tags.pairwise = False
        tags.input_tags.positive_only = False
        return tags

    def _network_source(self, X: Any, graph: Any) -> Source:
        """X, checked; the number of neighbours is one of a graph that is built."""
        options = self._graph_options()
        if self.affinity not in ("knn", "precomputed"):
            raise ValueError(f"affinity is {self.affinity!r}; expected one of knn, precomputed")
        if graph is None and self.affinity == "precomputed":
            raise ValueError("affinity is 'precomputed'; expected the graph as fit(X, y, graph=...)")
        return self._from_features(X, options if graph is None else {**options, "n_neighbors": 1})

    def _options(self) -> dict[str, Any]:
        if not isinstance(self.bias, (bool, np.bool_)):
            raise TypeError(f"bias must be True or False, not {type(self.bias).__name__}")
        if isinstance(self.steps, str) and self.steps != "exact":
            raise ValueError(f"steps is {self.steps!r}; expected a number of steps or 'exact'")
        sketch = self.sketch_size
        if isinstance(sketch, str) and sketch != "auto":
            raise ValueError(f"sketch_size is {sketch!r}; expected a number, 'auto' or None")
        return {
            "graph_reg": auto_or_number("graph_reg", self.graph_reg),
            "self_loop": number("self_loop", self.self_loop),
            "loss": text("loss", getattr(self, "loss", "mse")),
            "l2_reg": auto_or_number("l2_reg", self.l2_reg),
            "solver": text("solver", self.solver),
            "optimizer": text("optimizer", self.optimizer),
            "steps": None if self.steps == "exact" else integer("steps", self.steps),
            "step_size": auto_or_number("step_size", self.step_size),
            "hidden": None if self.hidden is None else integer("hidden", self.hidden),
            "attention": None if self.attention is None else number("attention", self.attention),
            "bias": bool(self.bias),
            "learning_rate": auto_or_number("learning_rate", self.learning_rate),
            "edges": auto_or_number("edges", self.edges),
            "sketch_size": sketch if sketch is None or isinstance(sketch, str) else integer("sketch_size", sketch),
            "tol": number("tol", self.tol),
            "max_iter": integer("max_iter", self.max_iter),
        }

    def _take_network(self, fitted: dict[str, Any]) -> None:
        """Take over what labels new rows, and the report."""
        self._fitted_extension = fitted["extension"]
        self._keep_report(fitted)
        # scikit-learn counts from 1.
        self.n_iter_ = max(self.n_iter_, 1)
        self.loss_curve_ = np.asarray(self.report_["parts"]["unfolded"]["loss"], dtype=np.float64)
        self._keep_layers()

    def _keep_layers(self) -> None:
        layers = self._fitted_extension.layers()
        self.graph_reg_ = self._fitted_extension.graph_reg()
        self.layer_weights_ = layers[0][0] if len(layers) == 1 else [weights for weights, _ in layers]
        biases = [np.zeros(weights.shape[1]) if bias is None else bias for weights, bias in layers]
        self.bias_ = biases[0] if len(layers) == 1 else biases

    def _scores_on(self, X: Any, graph: Any) -> NDArray[np.float64]:
        """Scores of new rows: by themselves and their neighbours, or as the nodes of a graph."""
        check_is_fitted(self)
        if graph is None:
            return self._extend_features(X, self._fitted_extension)
        new = self._features(X, reset=False)
        if self._standardizer is not None:
            new = standardized(new, *self._standardizer)
        control = self._control()
        adjacency = self._adjacency(graph, self._graph_options(), control)
        assert adjacency is not None
        return self._fitted_extension.extend_on(features_argument(new), adjacency, control)


class UnfoldedGNNClassifier(NetworkEstimator, SpreadingClassifier):
    """Node classifier whose hidden states minimise an energy, trained to the optimum of its loss (TWIRLS, HERTA).

    With λ = `graph_reg`, D the degrees plus `self_loop`, L̂ = D^(−1/2)·L·D^(−1/2) and H = I + λL̂,

        Z = H⁻¹(X·W + b),   min over W, b of Σ mᵤ·loss(zᵤ, yᵤ) + (ρ/2)·(‖W‖² + ‖b‖²)

    over the labelled rows (Yang et al. 2021; Yang, Yang, Hu & Dereziński). New rows are labelled through a graph of their own
    (``predict(X, graph=...)``), or joined to their neighbours among the rows of the fit.

    Parameters
    ----------
    graph_reg : float >= 0 or "auto", default="auto"
        λ, the weight of smoothness over the graph; 0 leaves a linear model of the features. "auto" takes the one of 1, 2, 5, 10 and
        20 that errs least on labels held out in five folds; 10 where a class has fewer than three labels, and 1 where there are
        too many labels to try (the report says so).
    loss : {"cross-entropy", "mse"}, default="cross-entropy"
        What is minimised; a sum over labelled rows, not a mean.
    l2_reg : float >= 0 or "auto", default="auto"
        ρ. "auto" takes 0.1 (cross-entropy) or 0.7 (mse) times the mean squared length of the labelled rows of H⁻¹X, less what
        they have of H⁻¹1: neither scale nor shifts of the features have a part in it.
    solver : {"auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"}, default="auto"
        How W is found: from features smoothed once, by iterations with a preconditioner from rough features, from a
        sparsified graph and a sketch as published ("herta-mixed": on that graph first, as far as it goes), or without one,
        or as published before. "auto" takes what is estimated to be fastest; the estimates are in the report.
    optimizer : {"auto", "cg", "l-bfgs", "gd", "adam"}, default="auto"
        What iterates in the solvers with a preconditioner; "auto" is "cg" for mse, "l-bfgs" for cross-entropy.
    steps : int or "exact", default="exact"
        So many steps of the unfolding Z ← Z − α(HZ − F) in the place of H⁻¹.
    step_size : float or "auto", default="auto"
        α, in (0, 2/(1 + 2λ)); "auto" is 1/(1 + λ).
    self_loop : float > 0, default=1.0
        What is added to every degree.
    hidden : int or None, default=None
        Units of a hidden layer with rectifiers before W; None is the linear model.
    attention : float in (0, 2) or None, default=None
        p of edges that are reweighted by ‖zᵤ/√dᵤ − zᵥ/√dᵥ‖^(p − 2), in two rounds.
    bias : bool, default=True
        Whether b is fitted.
    learning_rate : float > 0 or "auto", default="auto"
        Step of "gd" and "adam"; by rule for gradient descent, 0.05 for Adam.
    edges : float in (0, 1] or "auto", default="auto"
        Share of the edges that "herta" keeps; "auto" keeps 6n·(1 + λ/20) where that is less than half of them, else all.
    sketch_size : int, "auto" or None, default="auto"
        Rows of its sketch; "auto" takes 16 for each feature where that is less than half the labelled rows, None none.
    tol : float in (0, 1), default=1e-6
        Relative suboptimality (ℓ − ℓ*)/ℓ* at which training stops, as bounded or estimated; with a hidden layer it stops when ten
        steps together lower the loss by less than √tol of it.
    max_iter : int, default=1000
        Most iterations.
    n_neighbors, affinity, metric, weights, symmetrize, bandwidth, recall_target, zero_rows
        The graph that is built from X, as in :class:`HarmonicClassifier`; nothing of it matters where ``fit`` is given one, and
        ``affinity="precomputed"`` insists on that.
    decision : {"auto", "sizes"}, default="auto"
        Class of the largest score, or with offsets at which every class gets a size within bounds.
    class_prior, size_slack, labels_drawn
        As in :class:`lapwing.HarmonicClassifier`, for ``decision="sizes"``.
    unlabeled, n_jobs, random_state, verbose, callback
        As in :class:`HarmonicClassifier`.

    Attributes
    ----------
    layer_weights_ : ndarray of shape (n_features, n_classes)
        W; with a hidden layer a list of both.
    bias_ : ndarray of shape (n_classes,)
        b; with a hidden layer a list of both.
    graph_reg_ : float
        λ, as given or chosen.
    loss_curve_ : ndarray of shape (n_iter_ + 1,)
        Loss with penalty at W = 0 and after each iteration.
    scores_ : ndarray of shape (n_samples, n_classes)
        Z.
    transduction_, label_distributions_, confidence_, classes_, reached_, n_iter_, residual_, converged_, report_, \
n_features_in_, feature_names_in_
        As in :class:`HarmonicClassifier`; `residual_` is the estimated suboptimality, and every row is reached.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lapwing import UnfoldedGNNClassifier
    >>> ring = sp.csr_array(np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1))
    >>> A = sp.block_diag([ring, ring], format="csr")
    >>> X = np.where((np.arange(20) < 10) == (np.arange(20) % 5 != 3), 1.0, -1.0).reshape(-1, 1)
    >>> y = np.full(20, -1)
    >>> y[0], y[10] = 0, 1
    >>> clf = UnfoldedGNNClassifier(graph_reg=5).fit(X, y, graph=A)
    >>> clf.transduction_.tolist() == [0] * 10 + [1] * 10
    True
    """

    _method = "unfolded-gnn"
    abstain = False
    """Every row is reached: a network has a score everywhere."""

    def __init__(
        self,
        graph_reg: float | Literal["auto"] = "auto",
        *,
        loss: Literal["cross-entropy", "mse"] = "cross-entropy",
        l2_reg: float | Literal["auto"] = "auto",
        solver: Literal["auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"] = "auto",
        optimizer: Literal["auto", "cg", "l-bfgs", "gd", "adam"] = "auto",
        steps: int | Literal["exact"] = "exact",
        step_size: float | Literal["auto"] = "auto",
        self_loop: float = 1.0,
        hidden: int | None = None,
        attention: float | None = None,
        bias: bool = True,
        learning_rate: float | Literal["auto"] = "auto",
        edges: float | Literal["auto"] = "auto",
        sketch_size: int | Literal["auto"] | None = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_neighbors: int = 15,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        bandwidth: float | Literal["auto"] = "auto",
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
        self.graph_reg = graph_reg
        self.loss = loss
        self.l2_reg = l2_reg
        self.solver = solver
        self.optimizer = optimizer
        self.steps = steps
        self.step_size = step_size
        self.self_loop = self_loop
        self.hidden = hidden
        self.attention = attention
        self.bias = bias
        self.learning_rate = learning_rate
        self.edges = edges
        self.sketch_size = sketch_size
        self.tol = tol
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.weights = weights
        self.symmetrize = symmetrize
        self.bandwidth = bandwidth
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
        self: _Classifier, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None
    ) -> _Classifier:
        """Train the network, and label every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, with the marker in rows that have none; or soft labels: shares that sum to 1, rows of zeros
            unlabelled.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given label, at least 0, default 1. A row of weight 0 counts as unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            Symmetric weights, a :class:`lapwing.graph.Graph`, or ``(indices, distances)`` of a neighbour search; None builds
            the graph from X.

        Returns
        -------
        self
        """
        self._require_y(y)
        control, options = self._control(), self._options()
        source = self._network_source(X, graph)
        weights = self._label_weights(sample_weight, source.n_samples)
        labels, argument = self._labels(y, source.n_samples, weights)
        adjacency = self._adjacency(graph, self._graph_options(), control)
        fitted = _lapwing.fit_network_classifier(
            source.argument, argument, weights, adjacency, source.options, options, control
        )
        fitted = self._sized(fitted, argument, weights, control)
        self._take_network(fitted)
        self._keep_labels(labels, fitted)
        self._warn()
        return self

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> NDArray[Any]:
        """Label every row of X; the same as ``fit(X, y).transduction_``."""
        return self.fit(X, y, sample_weight, **options).transduction_

    def predict(self, X: Any, *, graph: Any = None) -> NDArray[Any]:
        """Label rows that the fit has not seen.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows, perhaps with those of the fit among them.
        graph : sparse matrix of shape (m, m), Graph or tuple, default=None
            A graph of these rows: W stays, and the system of the whole graph is solved. None joins each row to its neighbours
            among the rows of the fit, whose states stay as they are; where the fit was given a graph, there are none, and a
            row has its features alone.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._decode(self._applied(X, graph))

    def predict_proba(self, X: Any, *, graph: Any = None) -> NDArray[np.float64]:
        """Shares of the classes (m, n_classes) for rows as in :meth:`predict`; rows sum to 1."""
        shares: NDArray[np.float64] = self._applied(X, graph)["label_distributions"]
        return shares

    def decision_function(self, X: Any, *, graph: Any = None) -> NDArray[np.float64]:
        """Scores of new rows: (m,) for two classes, above 0 for the second; else (m, n_classes), the largest decides."""
        scores = self._scores_on(X, graph)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _applied(self, X: Any, graph: Any) -> dict[str, Any]:
        scores = self._scores_on(X, graph)
        return _lapwing.apply_rule(scores, None, self._rule, self._control(quiet=True))

    def _new_scores(self, X: Any) -> NDArray[np.float64]:
        return self._scores_on(X, None)

    def _extension(self) -> Any:
        return self._fitted_extension


class UnfoldedGNNRegressor(NetworkEstimator, SpreadingRegressor):
    """Node regressor whose hidden states minimise an energy: :class:`UnfoldedGNNClassifier` with squares for its loss.

    The mean of the given values is taken off before the fit and added back to Z.

    Parameters
    ----------
    graph_reg, l2_reg, solver, optimizer, steps, step_size, self_loop, hidden, attention, bias, learning_rate, edges, \
sketch_size, tol, max_iter
        As in :class:`UnfoldedGNNClassifier` with ``loss="mse"``.
    n_neighbors, affinity, metric, weights, symmetrize, bandwidth, recall_target, zero_rows
        As in :class:`UnfoldedGNNClassifier`.
    unlabeled : float or None, default=None
        A number that marks rows without a value, besides NaN.
    n_jobs, random_state, verbose, callback
        As in :class:`UnfoldedGNNClassifier`.

    Attributes
    ----------
    transduction_, scores_ : ndarray of shape (n_samples,)
        Value of every row of the fit.
    layer_weights_, bias_, graph_reg_, loss_curve_, n_iter_, residual_, converged_, reached_, report_, n_features_in_, \
feature_names_in_
        As in :class:`UnfoldedGNNClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import UnfoldedGNNRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = np.full(101, np.nan)
    >>> y[::10] = 2 * X[::10, 0] + 5
    >>> reg = UnfoldedGNNRegressor(0.1, n_neighbors=4, l2_reg=1e-4).fit(X, y)
    >>> bool(abs(reg.transduction_ - (2 * X[:, 0] + 5)).max() < 0.1)
    True
    """

    def __init__(
        self,
        graph_reg: float | Literal["auto"] = "auto",
        *,
        l2_reg: float | Literal["auto"] = "auto",
        solver: Literal["auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"] = "auto",
        optimizer: Literal["auto", "cg", "l-bfgs", "gd", "adam"] = "auto",
        steps: int | Literal["exact"] = "exact",
        step_size: float | Literal["auto"] = "auto",
        self_loop: float = 1.0,
        hidden: int | None = None,
        attention: float | None = None,
        bias: bool = True,
        learning_rate: float | Literal["auto"] = "auto",
        edges: float | Literal["auto"] = "auto",
        sketch_size: int | Literal["auto"] | None = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_neighbors: int = 15,
        affinity: Literal["knn", "precomputed"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        bandwidth: float | Literal["auto"] = "auto",
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        unlabeled: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.graph_reg = graph_reg
        self.l2_reg = l2_reg
        self.solver = solver
        self.optimizer = optimizer
        self.steps = steps
        self.step_size = step_size
        self.self_loop = self_loop
        self.hidden = hidden
        self.attention = attention
        self.bias = bias
        self.learning_rate = learning_rate
        self.edges = edges
        self.sketch_size = sketch_size
        self.tol = tol
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.weights = weights
        self.symmetrize = symmetrize
        self.bandwidth = bandwidth
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> UnfoldedGNNRegressor:
        """Train the network, and find a value for every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Values, NaN where unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given value, at least 0, default 1; 0 counts as unknown.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            As in :meth:`UnfoldedGNNClassifier.fit`.

        Returns
        -------
        self
        """
        self._require_y(y)
        control, options = self._control(), self._options()
        source = self._network_source(X, graph)
        weights = self._label_weights(sample_weight, source.n_samples)
        values = self._known_values(y, source.n_samples, weights)
        adjacency = self._adjacency(graph, self._graph_options(), control)
        fitted = _lapwing.fit_network_regressor(
            source.argument, values, weights, adjacency, source.options, options, control
        )
        self._take_network(fitted)
        self.scores_ = fitted["values"]
        self.transduction_ = self.scores_
        self._warn()
        return self

    def predict(self, X: Any, *, graph: Any = None) -> NDArray[np.float64]:
        """Values (m,) of rows that the fit has not seen, as :meth:`UnfoldedGNNClassifier.predict`."""
        return self._scores_on(X, graph).reshape(-1)
