"""Graphs learned from features: weights under which the features are smooth and every row has neighbors."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _lapwing
from ._arguments import choice, integer, number
from ._control import Callback, run_control
from ._graph import Graph
from ._inputs import features_argument, neighbor_pair
from ._kinds import READ_FIRST, checked_features
from ._parameters import NamedParameters, documented, documented_by, documented_like
from ._signatures import LEARN_WEIGHTS_PARAMETERS, GraphLearnerParameters
from ._warnings import scaling_warnings, warn_of

#: The words of the library for weights that are learned by each model.
MODEL_WEIGHTS = {"log": "learned", "l2": "learned-l2"}
#: Parameters of learning, beside those of the neighbor search.
LEARN_NAMES = ("support_factor", "sparsity", "solver", "tol", "max_iter", "repair")
#: Squared distances taken as they are; all others become the first.
_DISTANCE_TYPES = (np.float64, np.float32)


@documented
class GraphLearner(
    GraphLearnerParameters, NamedParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator  # type: ignore[misc]
):
    """Graph learned from smooth features.

    For squared distances Z it minimizes ‖W ∘ Z‖₁,₁ + f(W) over symmetric weights W ≥ 0 with empty diagonal (Kalofolias
    2016; Kalofolias & Perraudin 2019). Which pairs are joined is learned as well as how strongly: far fewer edges join
    different groups than in a nearest-neighbor graph of the same size.

    Notes
    -----
    One neighbor search for `support_factor * n_neighbors` neighbors, then some ten to thirty passes over the allowed
    pairs, 20 bytes each.

    In a pipeline before an estimator with ``affinity="precomputed"``, a fit passes on the learned graph. A prediction
    passes on the weights of new rows to the fitted ones, each new row solved by itself (Theorem 1).

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

    graph_: Annotated[Graph, """Graph
        The learned graph."""]
    sparsity_: Annotated[float, """float
        θ."""]
    sparsity_bounds_: Annotated[tuple[float, float] | None, """tuple of float or None
        Interval of θ for `n_neighbors`; None if the sparsity was given."""]
    gap_: Annotated[float, """float
        Relative duality gap: no weights have an objective lower by more."""]
    objective_: Annotated[float, """float
        2θ·zᵀw − Σ log dᵢ + ‖w‖² over pairs ("log"), or 2θ·zᵀw + ‖w‖² + ½‖d‖² ("l2")."""]
    saturated_: Annotated[float, """float
        Share of rows whose allowed pairs all have weight. If it is more than a few percent, raise `support_factor`."""]
    n_iter_: Annotated[int, """int
        Steps of the solver."""]
    converged_: Annotated[bool, """bool
        Whether the gap reached `tol`."""]
    multipliers_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples + 1,)
        λ of each row, for "log" 1/degree, and last the level ν of "l2"."""]
    report_: Annotated[dict[str, Any], """dict
        All this and: seconds per phase (`phases`), allowed pairs (`n_allowed`), edges (`n_edges`), edges of a row on average
        (`mean_neighbors`), rows for which a pair that is not allowed could be missing (`n_uncertified`), pairs added by
        repairs (`n_repaired`), how θ was chosen (`chosen`), the neighbor search (`knn`)."""]
    n_features_in_: Annotated[int, """int
        Columns of X; only if neighbors were not given."""]
    feature_names_in_: Annotated[NDArray[np.object_], """ndarray of shape (`n_features_in_`,)
        Names of the columns; only if X had string names for all."""]

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
            Features; or ``(indices, sq_distances)``, both (n_samples, k), of a neighbor search among the rows: nearest
            first, the row itself left out, **squared** distances; or, with ``metric="precomputed"``, the squared distances
            (n_samples, n_samples). Neighbors that are given are the allowed ones, whatever `support_factor`.
        y : ignored
            Present because scikit-learn passes it.

        Returns
        -------
        GraphLearner
            This object.
        """
        control = run_control(self.n_jobs, self.random_state, self.verbose, self.callback)
        graph = self._graph_parameters()
        learned = {name: getattr(self, name) for name in LEARN_NAMES}
        if self._allows_all:
            learned["support_factor"] = None
        fit_X: Any = None
        index: Any = None
        doubts: list[dict[str, str]] = []
        if isinstance(X, tuple):
            source: Any = table_arrays(X)
            # Neighbor tables have no feature columns: attributes of an earlier fit are removed.
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        elif self.metric == "precomputed":
            distances = validate_data(self, X, dtype=list(_DISTANCE_TYPES), order="C", ensure_min_samples=2)
            others = len(distances) - 1
            source = nearest_of(distances, others if self._allows_all else min(self._n_allowed_of_new(), others))
        else:
            fit_X = self._features(X, min_samples=2)
            index = _lapwing.NeighborIndex()
            source = features_argument(fit_X)
            doubts = scaling_warnings(source, {**control, "callback": None})
        start = self._start(source)
        parts, multipliers, report = _lapwing.learn_graph(source, graph, learned, start, control)
        self.report_ = finite_or_inf(json.loads(report))
        self._fit_X, self._index, self._fit_model = fit_X, index, self.model
        self.graph_ = Graph._from_parts(parts, self.report_)
        chosen = self.report_["chosen"]
        self.sparsity_ = self.report_["sparsity"]
        self.sparsity_bounds_ = tuple(chosen["bounds"]) if chosen else None
        self.gap_, self.objective_ = self.report_["gap"], self.report_["objective"]
        self.saturated_, self.n_iter_ = self.report_["saturated"], self.report_["n_iter"]
        self.converged_, self.multipliers_ = self.report_["converged"], multipliers
        warn_of(self.report_.pop("warnings") + doubts)
        return self

    @documented_like(fit)
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sp.csr_array:
        """Learn the graph among the rows of X, and return its weights.

        Parameters
        ----------
        **fit_params
            Ignored.

        Returns
        -------
        csr_array of shape (n_samples, n_samples)
            Symmetric weights.
        """
        return self.fit(X, y).graph_.to_scipy()

    def transform(self, X: Any) -> sp.csr_array:
        """Weights of new rows to the fitted ones, each new row solved by itself at the learned sparsity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), or a pair of arrays
            New rows; or ``(indices, sq_distances)`` of fitted rows, nearest first; or, with ``metric="precomputed"``,
            squared distances (n_queries, n_samples). A fitted row among them has itself for its nearest neighbor: the
            weights among the fitted rows are ``graph_``.

        Returns
        -------
        csr_array of shape (n_queries, n_samples)
            Weights, at least 0.
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
        new = sp.csr_array((weights.ravel(), (rows, indices.ravel())), shape=(len(indices), n))
        new.eliminate_zeros()
        return new

    @property
    def _n_features_out(self) -> int:
        return self.graph_.n_samples

    def _graph_parameters(self) -> dict[str, Any]:
        return {
            "n_neighbors": self.n_neighbors,
            "metric": "euclidean" if self.metric == "precomputed" else self.metric,
            "weights": MODEL_WEIGHTS[choice("model", self.model, tuple(MODEL_WEIGHTS))],
            "knn_method": self.method,
            "recall_target": self.recall_target,
            "zero_rows": self.zero_rows,
        }

    def _n_allowed_of_new(self) -> int:
        factor = 3.0 if self._allows_all else number("support_factor", self.support_factor)
        k = integer("n_neighbors", self.n_neighbors)
        return max(math.ceil(factor * k), k + 1)

    @property
    def _allows_all(self) -> bool:
        return self.support_factor in (None, "none", math.inf)

    def _start(self, source: Any) -> NDArray[np.float64] | None:
        before: NDArray[np.float64] | None = getattr(self, "multipliers_", None) if self.warm_start else None
        if before is None or self._fit_model != self.model or not self.converged_:
            return None
        if isinstance(source, tuple):
            # Sparse features come as (shape, …), neighbors as arrays.
            n = source[0][0] if isinstance(source[0], tuple) else len(source[0])
        else:
            n = len(source)
        if len(before) != n + 1:
            raise ValueError(f"warm_start needs the {len(before) - 1} rows of the fit before; got {n}")
        return before

    def _features(self, X: Any, min_samples: int = 1, reset: bool = True) -> Any:
        return checked_features(self, X, "GraphLearner learns a graph from features", READ_FIRST, min_samples, reset)

    def _neighbors_of(self, X: Any) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        new = self._features(X, reset=False)
        k = min(self._n_allowed_of_new(), int(self._fit_X.shape[0]))
        options = {name: getattr(self, name) for name in ("metric", "method", "recall_target", "zero_rows")}
        control = run_control(self.n_jobs, self.random_state, self.verbose, self.callback)
        distances, indices = self._index.query(
            features_argument(self._fit_X), features_argument(new), {**options, "n_neighbors": k}, control
        )
        wide = distances.astype(np.float64)
        is_cosine = self.metric == "cosine" or (self.metric == "auto" and sp.issparse(self._fit_X))
        return indices, 2 * wide.clip(0) if is_cosine else wide**2


@documented_by(LEARN_WEIGHTS_PARAMETERS)
def learn_weights(
    edges: ArrayLike,
    sq_distances: ArrayLike,
    n_samples: int,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    model: Literal["log", "l2"] = "log",
    solver: Literal["auto", "newton", "primal-dual"] = "auto",
    tol: float = 1e-8,
    max_iter: int | Literal["auto"] = "auto",
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Weights of given pairs of rows under which features at these distances are smooth.

    The model of :class:`GraphLearner` on a support of the caller's. "log" minimizes 2zᵀw − α·Σ log dᵢ + β·‖w‖² over the pairs'
    weights w ≥ 0, where d are the degrees (Kalofolias & Perraudin 2019, eq. 3, each pair counted once in w); "l2"
    2zᵀw + (α/2)·(2‖w‖² + ‖d‖²) under 2·Σw = n_samples (eq. 4 with α/2 for its α).

    Returns
    -------
    weights : ndarray of shape (n_pairs,)
        In the order of `edges`; pairs without weight are exactly 0.
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
    options = {"solver": solver, "tol": tol, "max_iter": max_iter}
    choice("model", model, tuple(MODEL_WEIGHTS))
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
        np.ascontiguousarray(ends, np.uint32), squared, n, model, regularizers, options, multipliers, control
    )
    summary = finite_or_inf(json.loads(report))
    warn_of(summary.pop("warnings"))
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


def table_arrays(neighbors: tuple[Any, ...], n_samples: int | None = None) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Checks `(indices, sq_distances)`, both (m, k), of neighbors among `n_samples` rows (default m)."""
    indices, distances = neighbor_pair(neighbors, "sq_distances")
    squared = _distances(distances)
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
    # Rounding may order the distances of near duplicates either way.
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
