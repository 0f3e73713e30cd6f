"""Graphs learned from features: the weights under which the rows are smooth and no row is left alone."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _lapwing
from ._arguments import auto_or_number, graph_options, integer, number, text
from ._control import Callback, run_control
from ._graph import Graph
from ._inputs import check_options, features_argument
from ._kinds import features_of
from ._parameters import NamedParameters

#: Squared distances taken as they are; all others become the first.
_DISTANCE_TYPES = (np.float64, np.float32)


class GraphLearner(NamedParameters, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Graph learned from smooth features.

    For squared distances Z it minimises ‖W ∘ Z‖₁,₁ + f(W) over symmetric weights W ≥ 0 with empty diagonal (Kalofolias
    2016; Kalofolias & Perraudin 2019). Which pairs are joined is learned as well as how strongly: far fewer edges join
    different groups than in a nearest-neighbour graph of the same size.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours of each row that are wanted on average, in [1, n_samples − 2]. Decides the sparsity θ.
    model : {"log", "l2"}, default="log"
        f(W) = −1ᵀlog(W1) + ½‖W‖²_F, which gives every row a positive degree; or ½‖W1‖² + ½‖W‖²_F at total weight
        ‖W‖₁,₁ = n_samples, which makes degrees alike and may leave rows far from all others without edges. Both with θZ
        for Z: the papers' α and β are scale/θ and 1/(scale·θ), for "l2" the papers' α is 1/(2θ).
    support_factor : float ≥ 1 or None, default=3
        Pairs may carry weight if one row is among the `support_factor * n_neighbors` nearest of the other; None allows
        all pairs, for up to some ten thousand rows.
    sparsity : float > 0 or "auto", default="auto"
        θ; the larger, the sparser. "auto" follows from n_neighbors (eq. 17, the geometric middle of its interval).
    scale : float > 0, default=1.0
        δ that all weights are multiplied by.
    solver : {"auto", "newton", "primal-dual"}, default="auto"
        Newton's method on the dual, which "auto" takes, or the iteration of the papers.
    tol : float in (0, 1), default=1e-8
        Duality gap at which the solver stops, relative to n_samples ("log") or to 2‖w‖² + ‖d‖² ("l2").
    max_iter : int or "auto", default="auto"
        Most steps; "auto" is 100 for "newton" and 10,000 for "primal-dual".
    repair : bool, default=False
        Whether to look for pairs that were not allowed but would carry weight, and to learn again with them. The result is
        that of all pairs, as far as the neighbours found are the nearest ones, where `report_["n_uncertified"]` is 0.
    metric : {"euclidean", "cosine", "precomputed"}, default="euclidean"
        ‖x − y‖² or 2·(1 − cos); "precomputed" takes squared distances as X.
    method : {"auto", "exact", "partitions"}, default="auto"
    recall_target : float in (0, 1], default=0.95
    zero_rows : {"error", "allow"}, default="error"
        Neighbour search, as in :func:`lapwing.graph.kneighbors`.
    warm_start : bool, default=False
        Whether a fit starts from the solution of the one before, which saves steps where parameters or data changed a
        little. Needs the same number of rows.
    random_state : int, RandomState, Generator or None, default=None
        Seed of an approximate neighbour search.
    n_jobs : int or None, default=None
        Threads; None and -1 take every processor. Results are the same for any number.
    verbose, callback
        As in :func:`lapwing.graph.kneighbors`; the notes of the callback show the gap.

    Attributes
    ----------
    graph_ : Graph
        The learned graph.
    sparsity_ : float
        θ, also as ``theta_``.
    sparsity_bounds_ : tuple of float or None
        Interval of θ for `n_neighbors`; None where the sparsity was given.
    gap_ : float
        Relative duality gap: no weights have an objective lower by more.
    objective_ : float
        2θ·zᵀw − Σ log dᵢ + ‖w‖² over pairs ("log"), or 2θ·zᵀw + ‖w‖² + ½‖d‖² ("l2"), before the scale.
    saturated_ : float
        Share of rows all of whose allowed pairs carry weight. Where it is more than a few percent, raise `support_factor`.
    n_iter_ : int
        Steps of the solver.
    converged_ : bool
        Whether the gap reached `tol`.
    multipliers_ : ndarray of shape (n_samples + 1,)
        λ of each row, for "log" 1/degree before the scale, and last the level ν of "l2".
    report_ : dict
        All this and: seconds per phase (`phases`), allowed pairs (`n_allowed`), edges (`n_edges`), edges of a row on average
        (`mean_neighbors`), rows for which a pair that is not allowed could be missing (`n_uncertified`), pairs added by
        repairs (`n_repaired`), how θ was chosen (`chosen`), the neighbour search (`knn`).
    n_features_in_, feature_names_in_
        As scikit-learn has them; not where neighbours were given.

    Notes
    -----
    One neighbour search for `support_factor * n_neighbors` neighbours, then some ten to thirty passes over the allowed
    pairs, 20 bytes each.

    In a pipeline before an estimator with ``affinity="precomputed"`` the fit hands on the learned graph, and predictions
    the weights of new rows to the fitted ones, each new row solved by itself (Theorem 1).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing.graph import GraphLearner
    >>> learner = GraphLearner(n_neighbors=10).fit(load_digits().data)
    >>> learner.graph_
    Graph(n_samples=1797, n_edges=9254)
    >>> learner.gap_ < 1e-8, bool(learner.graph_.degree.min() > 0)
    (True, True)
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        model: str = "log",
        support_factor: float | None = 3.0,
        sparsity: Any = "auto",
        scale: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: Any = "auto",
        repair: bool = False,
        metric: str = "euclidean",
        method: str = "auto",
        recall_target: float = 0.95,
        zero_rows: str = "error",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.model = model
        self.support_factor = support_factor
        self.sparsity = sparsity
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.repair = repair
        self.metric = metric
        self.method = method
        self.recall_target = recall_target
        self.zero_rows = zero_rows
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None) -> GraphLearner:
        """Learn the graph among the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a pair of arrays
            Features; or ``(indices, sq_distances)``, both (n_samples, k), of a neighbour search among the rows: nearest
            first, the row itself left out, **squared** distances; or, with ``metric="precomputed"``, the squared distances
            (n_samples, n_samples). Neighbours that are given are the allowed ones, whatever `support_factor`.
        y : ignored
            Present because scikit-learn passes it.

        Returns
        -------
        GraphLearner
            This object.
        """
        control = run_control(self.n_jobs, self.random_state, self.verbose, self.callback)
        graph = self._graph_options()
        options = learn_options(
            support_factor=self.support_factor,
            sparsity=self.sparsity,
            scale=self.scale,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            repair=self.repair,
        )
        fit_X, index = None, None
        if isinstance(X, tuple):
            source: Any = table_arrays(X)
            # What an earlier fit knew of columns is no longer so.
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        elif self.metric == "precomputed":
            distances = validate_data(self, X, dtype=list(_DISTANCE_TYPES), order="C", ensure_min_samples=2)
            source = nearest_of(distances, self._n_allowed(len(distances)))
        else:
            fit_X = self._features(X, min_samples=2)
            index = _lapwing.NeighborIndex()
            source = features_argument(fit_X)
        start = self._start(source)
        parts, multipliers, report = _lapwing.learn_graph(source, graph, options, start, control)
        self.report_ = finite_or_inf(json.loads(report))
        self._fit_X, self._index, self._fit_model = fit_X, index, self.model
        self.graph_ = Graph._from_parts(parts, self.report_)
        chosen = self.report_["chosen"]
        self.sparsity_ = self.report_["sparsity"]
        self.sparsity_bounds_ = tuple(chosen["bounds"]) if chosen else None
        self.gap_, self.objective_ = self.report_["gap"], self.report_["objective"]
        self.saturated_, self.n_iter_ = self.report_["saturated"], self.report_["n_iter"]
        self.converged_, self.multipliers_ = self.report_["converged"], multipliers
        for warning in self.report_.pop("warnings"):
            category = ConvergenceWarning if warning.startswith("the solver stopped") else UserWarning
            warnings.warn(warning, category, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sp.csr_array:
        """Learn the graph among the rows of X and return its weights (n_samples, n_samples)."""
        return self.fit(X, y).graph_.to_scipy()

    def transform(self, X: Any) -> sp.csr_array:
        """Weights of new rows to the fitted ones, each new row solved by itself at the learned sparsity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), or a pair of arrays
            New rows; or ``(indices, sq_distances)`` of fitted rows, nearest first; or, with ``metric="precomputed"``,
            squared distances (n_queries, n_samples). A fitted row among them has itself for its nearest neighbour: the
            weights among the fitted rows are ``graph_``.

        Returns
        -------
        csr_array of shape (n_queries, n_samples)
        """
        check_is_fitted(self)
        n = self.graph_.n_samples
        if isinstance(X, tuple):
            indices, squared = table_arrays(X, n)
        elif self.metric == "precomputed":
            distances = check_array(X, dtype=list(_DISTANCE_TYPES), order="C")
            if distances.shape[1] != n:
                raise ValueError(f"X has {distances.shape[1]} columns; expected squared distances to {n} fitted rows")
            _refuse_unusable(distances)
            indices, squared = _smallest(distances, min(self._n_allowed_of_new(), n))
        elif self._fit_X is None:
            raise ValueError("the graph was learned from given neighbors; give those of the new rows")
        else:
            indices, squared = self._neighbors_of(X)
        weights = _lapwing.single_node_weights(
            np.ascontiguousarray(squared, np.float64), self._fit_model, self.sparsity_
        )
        rows = np.repeat(np.arange(len(indices)), indices.shape[1])
        new = sp.csr_array((self.scale * weights.ravel(), (rows, indices.ravel())), shape=(len(indices), n))
        new.eliminate_zeros()
        return new

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`: one for each fitted row."""
        check_is_fitted(self)
        return np.asarray([f"graphlearner{row}" for row in range(self.graph_.n_samples)], dtype=object)

    @property
    def theta_(self) -> float:
        """θ of the papers, which is ``sparsity_``."""
        check_is_fitted(self)
        return float(self.sparsity_)

    def _graph_options(self) -> dict[str, Any]:
        metric = text("metric", self.metric)
        return graph_options(
            n_neighbors=self.n_neighbors,
            metric="euclidean" if metric == "precomputed" else metric,
            weights=model_weights(self.model),
            method=self.method,
            recall_target=self.recall_target,
            zero_rows=self.zero_rows,
        )

    def _n_allowed_of_new(self) -> int:
        factor = 3.0 if self.support_factor in (None, math.inf) else number("support_factor", self.support_factor)
        k = integer("n_neighbors", self.n_neighbors)
        return max(math.ceil(factor * k), k + 1)

    def _n_allowed(self, n_samples: int) -> int:
        most = n_samples - 1
        return most if self.support_factor in (None, math.inf) else min(self._n_allowed_of_new(), most)

    def _start(self, source: Any) -> NDArray[np.float64] | None:
        before = getattr(self, "multipliers_", None) if self.warm_start else None
        if before is None or self._fit_model != self.model or not self.converged_:
            return None
        if isinstance(source, tuple):
            # Sparse features come as (shape, …), neighbours as arrays.
            n = source[0][0] if isinstance(source[0], tuple) else len(source[0])
        else:
            n = len(source)
        if len(before) != n + 1:
            raise ValueError(f"warm_start needs the {len(before) - 1} rows of the fit before; got {n}")
        return before

    def _features(self, X: Any, min_samples: int = 1, reset: bool = True) -> Any:
        def check() -> Any:
            return validate_data(self, X, reset=reset, **check_options(X, min_samples=min_samples))

        return features_of(X, check, "GraphLearner learns a graph from features")

    def _neighbors_of(self, X: Any) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        new = self._features(X, reset=False)
        k = min(self._n_allowed_of_new(), int(self._fit_X.shape[0]))
        options = {**self._graph_options(), "weights": "binary", "n_neighbors": k}
        control = run_control(self.n_jobs, self.random_state, self.verbose, self.callback)
        distances, indices = self._index.query(
            features_argument(self._fit_X), features_argument(new), options, control
        )
        wide = distances.astype(np.float64)
        return indices, 2 * wide.clip(0) if self.metric == "cosine" else wide**2


def learn_weights(
    edges: Any,
    sq_distances: Any,
    n_samples: int,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    model: str = "log",
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: Any = "auto",
    start: Any = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Weights of given pairs of rows under which features at these distances are smooth.

    The model of :class:`GraphLearner` on a support of the caller's. "log" minimises 2zᵀw − α·Σ log dᵢ + β·‖w‖² over the pairs'
    weights w ≥ 0, where d are the degrees (Kalofolias & Perraudin 2019, eq. 3, each pair counted once in w); "l2"
    2zᵀw + (α/2)·(2‖w‖² + ‖d‖²) under 2·Σw = n_samples (eq. 4 with α/2 for its α).

    Parameters
    ----------
    edges : array-like of int of shape (n_pairs, 2)
        Pairs that may carry weight, each once, either way round. For "log" every row needs one.
    sq_distances : array-like of shape (n_pairs,)
        **Squared** distances, finite and at least 0; zero is allowed. Single precision is kept, all else becomes double.
    n_samples : int
        Number of rows.
    alpha, beta : float > 0, default=1.0
        α and β of "log"; α of "l2", where beta stays 1. Multiplying z by θ and leaving both at 1 is
        ``GraphLearner(sparsity=θ)``.
    model : {"log", "l2"}, default="log"
    solver : {"auto", "newton", "primal-dual"}, default="auto"
    tol : float in (0, 1), default=1e-8
    max_iter : int or "auto", default="auto"
        As in :class:`GraphLearner`.
    start : array-like of shape (n_samples + 1,) or None, default=None
        Multipliers of a similar problem, from its report; Newton then needs fewer steps.
    n_jobs, verbose, callback
        As in :func:`kneighbors`.

    Returns
    -------
    weights : ndarray of shape (n_pairs,)
        In the order of `edges`; those that carry no weight are exactly 0.
    report : dict
        `objective`, relative duality `gap`, `n_iter`, `n_products` of the curvature in Newton's systems, `converged`,
        `multipliers`, `seconds`.

    Examples
    --------
    Two rows: w = (−z + √(z² + 4αβ)) / 2β.

    >>> from lapwing.graph import learn_weights
    >>> weights, report = learn_weights([[0, 1]], [1.5], 2)
    >>> round(float(weights[0]), 6)
    0.5
    """
    control = run_control(n_jobs, 0, verbose, callback)
    options = learn_options(solver=solver, tol=tol, max_iter=max_iter)
    ends = np.asarray(edges)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"edges has shape {ends.shape}; expected (n_pairs, 2)")
    if ends.dtype.kind not in "iu":
        raise TypeError(f"edges must be integers, not {ends.dtype}")
    n = integer("n_samples", n_samples)
    if ends.size and (ends.min() < 0 or ends.max() >= n):
        outside = ((ends < 0) | (ends >= n)).any(axis=1)
        row = int(np.argmax(outside))
        raise ValueError(f"row {row} of edges is {tuple(ends[row].tolist())}; expected rows in 0..{n - 1}")
    squared = _distances(sq_distances)
    if squared.ndim != 1 or len(squared) != len(ends):
        raise ValueError(f"sq_distances has shape {squared.shape}; expected ({len(ends)},), one for each pair")
    multipliers = None if start is None else np.ascontiguousarray(start, np.float64)
    regularizers = (number("alpha", alpha), number("beta", beta))
    weights, multipliers, report = _lapwing.learn_weights(
        np.ascontiguousarray(ends, np.uint32), squared, n, text("model", model), regularizers, options, multipliers, control
    )
    summary = finite_or_inf(json.loads(report))
    for warning in summary.pop("warnings"):
        warnings.warn(warning, ConvergenceWarning, stacklevel=2)
    seconds = sum(phase["seconds"] for phase in summary["phases"])
    names = ["model", "solver", "objective", "gap", "n_iter", "n_products", "converged", "n_edges"]
    return weights, {**{name: summary[name] for name in names}, "multipliers": multipliers, "seconds": seconds}


def finite_or_inf(report: dict[str, Any]) -> dict[str, Any]:
    """The report with numbers that JSON does not have: gap, objective and the upper end of θ may be infinite."""
    for name in ("gap", "objective"):
        report[name] = math.inf if report[name] is None else report[name]
    if report["chosen"]:
        report["chosen"]["bounds"] = [math.inf if end is None else end for end in report["chosen"]["bounds"]]
    return report


def model_weights(model: Any) -> str:
    """The word for weights learned by a model."""
    words = {"log": "learned", "l2": "learned-l2"}
    if text("model", model) not in words:
        raise ValueError(f"model is '{model}'; expected one of {', '.join(words)}")
    return words[model]


def learn_options(
    *,
    support_factor: Any = None,
    sparsity: Any = "auto",
    scale: Any = 1.0,
    solver: Any = "auto",
    tol: Any = 1e-8,
    max_iter: Any = "auto",
    repair: Any = False,
) -> dict[str, Any]:
    """Parameters of learning in the form the compiled part takes them."""
    is_auto = max_iter is None or (isinstance(max_iter, str) and max_iter == "auto")
    if not isinstance(repair, (bool, np.bool_)):
        raise TypeError(f"repair must be True or False, not {type(repair).__name__}")
    return {
        "support_factor": None if support_factor in (None, math.inf) else number("support_factor", support_factor),
        "sparsity": auto_or_number("sparsity", sparsity),
        "scale": number("scale", scale),
        "solver": text("solver", solver),
        "tol": number("tol", tol),
        "max_iter": None if is_auto else integer("max_iter", max_iter),
        "repair": bool(repair),
    }


def table_arrays(neighbors: tuple[Any, ...], n_samples: int | None = None) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Checks `(indices, sq_distances)`, both (m, k), of neighbours among `n_samples` rows (m, unless others are meant)."""
    if len(neighbors) != 2:
        raise ValueError(f"neighbors are (indices, sq_distances); got {len(neighbors)} arrays")
    indices, squared = np.asarray(neighbors[0]), _distances(neighbors[1])
    if indices.dtype.kind not in "iu":
        raise TypeError(f"neighbors are (indices, sq_distances), indices first; got {indices.dtype} indices")
    if indices.ndim != 2 or indices.shape != squared.shape:
        shapes = f"indices {indices.shape} and squared distances {squared.shape}"
        raise ValueError(f"{shapes} must both be (n_samples, n_neighbors)")
    n = len(indices) if n_samples is None else n_samples
    outside = ((indices < 0) | (indices >= n)).any(axis=1)
    if outside.any():
        raise ValueError(f"row {int(np.argmax(outside))} of the neighbors names a neighbor outside 0..{n - 1}")
    if n_samples is not None:
        wrong = ~np.isfinite(squared).all(axis=1) | (squared < 0).any(axis=1) | (np.diff(squared) < 0).any(axis=1)
        if wrong.any():
            raise ValueError(f"row {int(np.argmax(wrong))} of sq_distances is not finite, at least 0 and ascending")
    return np.ascontiguousarray(indices, np.uint32), squared


def nearest_of(distances: NDArray[Any], k: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """The `k` nearest others of each row of squared distances (n, n), nearest first."""
    n = len(distances)
    if distances.shape != (n, n):
        raise ValueError(f"X has shape {distances.shape}; expected squared distances between all rows")
    _refuse_unusable(distances)
    # Near duplicates may be rounded to distances of any sign of difference.
    unequal = np.abs(distances - distances.T) > 1e-6 * distances.max(axis=1, keepdims=True)
    if unequal.any():
        i, j = np.argwhere(unequal)[0].tolist()
        raise ValueError(f"X is not symmetric: ({i}, {j}) holds {distances[i, j]} and ({j}, {i}) {distances[j, i]}")
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    return _smallest(others, k)


def _refuse_unusable(distances: NDArray[Any]) -> None:
    if (distances < 0).any():
        i, j = np.argwhere(distances < 0)[0].tolist()
        raise ValueError(f"X holds the squared distance {distances[i, j]} at ({i}, {j}); expected none below 0")


def _smallest(distances: NDArray[Any], k: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Columns and values of the `k` smallest of each row, ascending, ties by column."""
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order.astype(np.uint32), np.ascontiguousarray(np.take_along_axis(distances, order, axis=1))


def _distances(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"squared distances must be numbers, not {array.dtype}")
    kept = array.dtype if array.dtype in _DISTANCE_TYPES else np.float64
    return np.ascontiguousarray(array, kept)
