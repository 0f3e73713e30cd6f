"""Common parts of the estimators: from X to the compiled part's arguments, and fitted state."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from . import _lapwing
from ._arguments import choice
from ._containers import as_label_array
from ._control import Self, run_control
from ._graph import Graph
from ._inputs import CsrParts, csr_parts, features_argument, neighbor_arrays, widened
from ._kinds import READ_FIRST, checked_features, looks_like_a_graph, refuse_other_kinds
from ._parameters import NamedParameters, documented_like
from ._tables import rows_by_recipe
from ._warnings import scaling_warnings, warn, warn_of


@dataclass
class Problem:
    """The arguments of a fit of the compiled part."""

    method: str
    parameters: dict[str, Any]
    graph: dict[str, Any]
    """The parameters of the graph among them, under the names that the graph uses."""
    control: dict[str, Any]
    rows: dict[str, Any] = field(default_factory=lambda: {"features": None, "graph": None, "edges": None})
    n_samples: int = 0
    warnings: list[dict[str, str]] = field(default_factory=list)
    """What is to be said about the rows, beside the warnings of the fit."""


@dataclass
class FittedRows:
    """The rows of a fit. Arrays are those of the caller where the fit used them in place."""

    problem: Problem
    known: NDArray[np.bool_]
    """Rows whose label or value was given."""
    codes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Given class of each row, negative for none; empty for values."""
    labels: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Class of each row at the end; empty for values."""
    graph: Any = None
    """The graph of the rows, kept by the compiled part."""
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Given value of each row, NaN for none; empty for classes."""
    weights: NDArray[np.float64] | None = None
    """Trust in the values."""

    @property
    def features(self) -> Any:
        """The features, None if the fit had a graph alone."""
        return self.problem.rows["features"]

    def graph_of(self, report: dict[str, Any], control: dict[str, Any]) -> Any:
        """The graph of the fit: kept, given, or built again; None if the method has none."""
        if self.graph is None and self.problem.rows["graph"] is not None:
            self.graph = _lapwing.HeldGraph(self.problem.rows["graph"])
        if self.graph is None and report["graph"] is not None and self.features is not None:
            self.graph = _lapwing.HeldGraph.build(self.features, self.problem.graph, control)
        return self.graph


#: Advice where a graph does not fit the rows.
KEEPS_GRAPHS = (
    "scikit-learn's GridSearchCV and cross_validate divide X and cannot divide a graph: give them "
    "lapwing.model_selection.Transductive(estimator, X, graph=graph), which keeps both whole"
)


class GraphEstimator(NamedParameters, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers and regressors."""

    reached_: Annotated[NDArray[np.bool_], """ndarray of shape (n_samples,), bool
        Whether a label or value reaches the row."""]
    n_iter_: Annotated[int, """int
        Iterations of the slowest column or problem; 0 or 1 where nothing is iterated."""]
    residual_: Annotated[float, """float
        Largest relative residual; 0 where nothing is iterated."""]
    converged_: Annotated[bool, """bool
        Whether all columns or problems reached `tol`; True where nothing is iterated."""]
    report_: Annotated[dict[str, Any], """dict
        The summary: rows, edges, components, unreached rows, seconds of each phase, peak bytes, everything "auto" chose."""]
    n_features_in_: Annotated[int, """int
        Columns of X; rows of the graph if a graph was given instead of features."""]
    feature_names_in_: Annotated[NDArray[np.object_], """ndarray of shape (`n_features_in_`,)
        Names of the columns; only if X had string names for all."""]

    _method: ClassVar[str]
    """Name of the method, as in model files."""
    _takes_graph_as: ClassVar[str] = "X"
    """How a graph may be given: instead of X, as the argument graph besides X, or not at all ("")."""
    _affinities: ClassVar[tuple[str, ...]] = ("knn", "precomputed")
    _takes_any_scale: ClassVar[bool] = False
    """Whether the scales of columns do not matter, or are made alike."""
    _keeps_graph: ClassVar[bool] = False
    """Whether the graph is kept for later calls on the rows of the fit."""
    _least_iterations: ClassVar[int] = 0
    """scikit-learn counts iterations from 1 for estimators with `max_iter`."""
    _file_advice: ClassVar[str] = READ_FIRST
    """Advice for the name of a file."""
    abstain = False
    """No choice if every row is reached."""
    _recipe: str | None = None
    """What a model file does with the columns of a table, as JSON."""
    _id: str | None = None
    """The column of a table that a model file knows as the names of rows."""
    _fitted_rows: FittedRows | None = None
    """The rows of the fit, for pages and pictures, and for later calls on them."""
    _model: _lapwing.Model
    """What labels new rows, kept by the compiled part."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        is_graph = self._takes_graph_as == "X" and self.affinity == "precomputed"
        tags.input_tags.pairwise = is_graph
        tags.input_tags.positive_only = is_graph
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # Rows, their graph, and what later calls on them need may be larger than all else together: they are not pickled.
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_fitted_rows", "_state")}

    def _rows_of_fit(self) -> FittedRows:
        check_is_fitted(self)
        if self._fitted_rows is None:
            raise ValueError(
                f"this {type(self).__name__} holds no rows: it comes from a file, a pickle or a copy; fit again"
            )
        return self._fitted_rows

    def _control(self, quiet: bool = False) -> dict[str, Any]:
        if quiet:
            return run_control(self.n_jobs, 0)
        return run_control(self.n_jobs, self.random_state, self.verbose, self.callback)

    def _parameters(self) -> dict[str, Any]:
        parameters = super()._parameters()
        prior = parameters.get("class_prior")
        if prior is not None and not isinstance(prior, str):
            parameters["class_prior"] = column_or_1d(np.asarray(prior, dtype=np.float64)).tolist()
        return parameters

    def _begin(self, X: Any, y: Any, graph: Any) -> Problem:
        """Check parameters, X and graph."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        problem = self._problem()
        self._take_rows(problem, X, y, graph)
        if graph is not None:
            refuse_other_size(problem, y)
        return problem

    def _problem(self, quiet: bool = False) -> Problem:
        """The problem without its rows: checked parameters."""
        parameters, control = self._parameters(), self._control(quiet)
        return Problem(self._method, parameters, _lapwing.check_parameters(self._method, parameters), control)

    def _take_rows(self, problem: Problem, X: Any, y: Any, graph: Any) -> None:
        """The rows of the fit: features, a graph, or both."""
        affinity = choice("affinity", getattr(self, "affinity", "knn"), self._affinities)
        if graph is not None and not self._takes_graph_as:
            raise ValueError(f"{type(self).__name__} takes no graph")
        if self._takes_graph_as == "X" and (affinity == "precomputed" or graph is not None):
            if graph is not None and affinity == "precomputed" and X is not None:
                raise ValueError("both X and graph hold a graph; give one of them, and None for X in the other's place")
            if graph is not None and X is not None:
                text = (
                    f"X is not used: {type(self).__name__} takes the graph in its place; give None for X, or take a method that uses "
                    "both, such as AutoLabeler, UnfoldedGNNClassifier or UnfoldedGNNRegressor"
                )
                problem.warnings.append({"kind": "not-as-given", "text": text})
            self._take_graph(problem, X if graph is None else graph, "X" if graph is None else "graph")
            return
        builds_graph = "n_neighbors" in problem.parameters and self._builds_graph(graph)
        self._take_features(problem, X, builds_graph)
        if graph is not None:
            problem.rows["graph"] = self._graph_parts(problem, graph, "graph")

    def _take_graph(self, problem: Problem, graph: Any, what: str) -> None:
        """The graph, given as the argument `what`, alone."""
        parts = self._graph_parts(problem, graph, what)
        problem.rows["graph"], problem.n_samples = parts, parts[0][0]
        self.n_features_in_ = parts[0][1]

    def _builds_graph(self, graph: Any) -> bool:
        """Whether a graph is built from the features."""
        if graph is None and getattr(self, "affinity", "knn") == "precomputed":
            raise ValueError("affinity is 'precomputed'; expected the graph as fit(X, y, graph=...)")
        return graph is None

    def _take_features(self, problem: Problem, X: Any, builds_graph: bool) -> None:
        features = self._features(X, min_samples=2)
        if self._takes_graph_as == "X" and looks_like_a_graph(features):
            warn(
                "X is square and symmetric with an empty diagonal, as graphs and distances are, and is taken as features; "
                f"give {type(self).__name__}(affinity='precomputed') to take it as the graph",
            )
        n = int(features.shape[0])
        if not builds_graph and "n_neighbors" in problem.parameters:
            # No graph is built, so the number of neighbors only has to be valid.
            problem.parameters["n_neighbors"] = 1
        problem.rows["features"], problem.n_samples = features_argument(features), n
        if not self._takes_any_scale and getattr(self, "kernel", None) != "precomputed":
            problem.warnings += scaling_warnings(problem.rows["features"], self._control(quiet=True))

    def _features(self, X: Any, min_samples: int = 1, reset: bool = True) -> Any:
        """X as features, checked."""
        name = type(self).__name__
        advice = {
            "X": f"give {name}(affinity='precomputed') to take X as the graph",
            "graph": "give features as X and the graph as fit(X, y, graph=...)",
            "": f"{name} takes no graph",
        }[self._takes_graph_as]
        return checked_features(self, X, advice, self._file_advice, min_samples, reset)

    def _graph_parts(self, problem: Problem, graph: Any, what: str) -> CsrParts:
        """A graph given as the argument `what`, in the form that the compiled part takes."""
        if isinstance(graph, tuple):
            indices, distances = neighbor_arrays(graph)
            weighed: CsrParts = _lapwing.weigh_neighbors(
                indices, distances, problem.graph, {**problem.control, "callback": None}
            )
            return weighed
        check = partial(validate_data, self, ensure_min_samples=2) if what == "X" else None
        return graph_parts(graph, what, self._file_advice, check, f"; {KEEPS_GRAPHS}" if what == "graph" else "")

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        """Store the common results of a fit."""
        self._recipe = self._id = None
        self._model = fitted["model"]
        self.reached_ = fitted["reached"]
        self.report_ = json.loads(fitted["report"])
        self.report_["warnings"] += problem.warnings
        solve = self.report_.get("solve") or {"n_iter": 0, "residual": 0.0, "converged": True}
        self.n_iter_ = max(int(solve["n_iter"]), self._least_iterations)
        self.residual_ = math.nan if solve["residual"] is None else float(solve["residual"])
        self.converged_ = bool(solve["converged"])
        self._keep_parts()

    def _keep_parts(self) -> None:
        """Store attributes that show parts of the model, after a fit or from a model file."""

    def _new_scores(self, X: Any, graph: Any = None) -> NDArray[np.float64]:
        """Scores (m, c) of new rows, or of the nodes of a graph; NaN without evidence."""
        check_is_fitted(self)
        if not self._model.takes_features:
            return self._weighted_mean(X)
        return self._model.scores(self._new_features(X), self._new_graph(graph), self._control())

    def _new_graph(self, graph: Any) -> CsrParts | None:
        """The graph of new rows, for methods that have a use for one."""
        return None if graph is None else self._graph_parts(self._problem(quiet=True), graph, "graph")

    def _weighted_mean(self, affinities: Any) -> NDArray[np.float64]:
        """Means of the scores of the rows of the fit, weighted by their affinities (m, n) to new rows."""
        matrix = validate_data(
            self, widened(affinities), reset=False, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
        )
        scores = self.scores_ if self.scores_.ndim == 2 else self.scores_.reshape(-1, 1)
        return weighted_mean(sp.csr_array(matrix), scores, self.reached_)

    def _prepare_by(self, recipe: str) -> None:
        """Prepare new rows, which are then those of tables, as this recipe of the columns of the fit says."""
        if self._model.takes_features:
            _, used, _ = _lapwing.recipe_names(recipe)
            self._recipe = recipe
            self.n_features_in_, self.feature_names_in_ = len(used), np.asarray(used, dtype=object)

    def _new_features(self, X: Any) -> Any:
        """Features of new rows, in the form that the compiled part takes."""
        if self._recipe is not None:
            prepared = rows_by_recipe(self._recipe, X, self._control(quiet=True))
            if prepared is not None:
                return prepared
        return features_argument(self._features(X, reset=False))

    def _warn(self) -> None:
        """One warning for each kind of problem, with its counts."""
        warn_of(self.report_["warnings"])


class Spreads:
    """Mixin of the estimators that find labels or values for the rows of the fit and for new rows.

    It stands before the mixins of scikit-learn, whose `score` counts rows without a label too.
    """

    _fit: Any
    _predicted: Any
    _score_of: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Find a label or value for every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features; or what `affinity` says. C-contiguous float32, float64 and uint8 arrays are used in place, all else is
            converted once. A classifier also reads rows in blocks, and keeps the model alone (`predict_to` labels the rows): from the name
            of a file, a folder or a pattern, or from batches of tables (an iterator of Arrow batches, a dataset or a reader of pyarrow).
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, with the marker in rows that have none; or for a regressor values, NaN or otherwise missing where unknown, and -1 is a
            value. In any container: list, array, masked array, series or column of pandas, polars or Arrow. Or soft labels, also as a
            sparse matrix: shares that sum to 1, rows of zeros unlabeled. Of rows read in blocks: also the name of the column of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Trust in each given label or value, at least 0, default 1. A row of weight 0 counts as unlabeled; it stays in the graph.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            The graph of the rows: symmetric weights, a :class:`lapwing.graph.Graph`, or ``(indices, distances)`` of a neighbor
            search; None builds the graph from X. Methods that need features beside a graph take both. For the others the
            graph stands for X, which may be None, and new rows are given by their affinities to those of the fit; only a
            classifier as `prior` is fitted to X then. Methods without a graph take none.

        Returns
        -------
        self
            The estimator, fitted.
        """
        return self._fit(X, y, sample_weight, graph)

    @documented_like(fit)
    def fit_predict(
        self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None, **options: Any
    ) -> NDArray[Any]:
        """Find a label or value for every row of X; the same as ``fit(X, y).transduction_``.

        Parameters
        ----------
        **options
            Further arguments of :meth:`fit`, if it takes some.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label or value for every row.
        """
        fitted: Any = self.fit(X, y, sample_weight, graph=graph, **options)
        return fitted.transduction_

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels or values of new rows, by the weighted mean of the scores of their nearest fitted rows, or as the class says.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows; if the fit was given a graph instead of features, their affinities to the fitted rows
            (m, n_samples). Batches of tables, which a classifier takes too, give an iterator of results.

        Returns
        -------
        ndarray of shape (m,)
            A label or value for every row.
        """
        return self._predicted(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or R² of values, of ``predict(X)`` over the rows of y that have a label or value.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            Rows, as for :meth:`predict`.
        y : array-like of shape (m,)
            Labels, with the marker in rows that have none; or values, NaN where unknown.
        sample_weight : array-like of shape (m,), default=None
            Weights of the rows; None for 1.

        Returns
        -------
        float
            The share of right labels, or R², at most 1.
        """
        return self._score_of(self.predict(X), y, sample_weight)


def refuse_other_size(problem: Problem, y: Any) -> None:
    """Raise an error unless a graph that was given has a node for each row of X and of y."""
    n_nodes, n_labels = problem.rows["graph"][0][0], len(as_label_array(y))
    for what, n_rows in (("X", problem.n_samples), ("y", n_labels)):
        if n_nodes != n_rows:
            raise ValueError(
                f"graph has {n_nodes} nodes, but {what} has {n_rows} rows; expected a node for each row. {KEEPS_GRAPHS}"
            )


def graph_parts(
    graph: Any, what: str, files: str = READ_FIRST, check: Callable[..., Any] | None = None, advice: str = ""
) -> CsrParts:
    """A graph given as the argument `what`, in the form that the compiled part takes. `check` is scikit-learn's check of a matrix, `files`
    the advice for the name of a file, and `advice` that for a matrix that is not square.
    """
    if isinstance(graph, Graph):
        return csr_parts(graph.to_scipy(), np.float64)
    refuse_other_kinds(graph, what, "give that", files)
    check = check or partial(check_array, input_name=what)
    matrix = check(widened(graph), accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a graph must be a square matrix; got shape {matrix.shape}{advice}")
    parts = csr_parts(matrix, np.float64)
    refuse_negative(parts)
    return parts


def refuse_negative(affinity: CsrParts) -> None:
    """Raise scikit-learn's error for negative weights, naming the first one."""
    _, indptr, indices, weights = affinity
    if (weights < 0).any():
        at = int(np.argmax(weights < 0))
        row = int(np.searchsorted(indptr, at, side="right")) - 1
        raise ValueError(
            "Negative values in data passed as precomputed affinity: "
            f"edge ({row}, {indices[at]}) has weight {weights[at]}"
        )


def weighted_mean(
    affinity: sp.csr_array, scores: NDArray[np.float64], reached: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Σⱼ wᵢⱼ fⱼ / Σⱼ wᵢⱼ over the reached rows; NaN for rows without any."""
    refuse_negative(csr_parts(affinity, np.float64))
    if not np.isfinite(affinity.data).all():
        raise ValueError("X holds affinities that are NaN or infinite; they must be finite and at least 0")
    sums = affinity @ np.where(reached[:, None], scores, 0.0)
    total = affinity @ reached.astype(np.float64)
    means: NDArray[np.float64] = np.full_like(sums, np.nan)
    np.divide(sums, total[:, None], out=means, where=total[:, None] > 0)
    return means
