"""What the estimators on a graph share: from X to the compiled part's arguments, and fitted state."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d, validate_data

from . import _lapwing
from ._arguments import auto_or_number, graph_options, integer, number, text
from ._control import run_control
from ._inputs import CsrParts, check_options, csr_parts, features_argument, neighbor_arrays
from ._kinds import READ_FIRST, features_of, looks_like_a_graph, refuse_other_kinds
from ._parameters import NamedParameters
from .exceptions import UnreachedWarning
from .graph import Graph


@dataclass(frozen=True)
class Source:
    """X of a fit, checked."""

    argument: Any
    """Features or graph as the compiled part takes them."""
    options: dict[str, Any]
    """How the graph is built, with the number of neighbours that fits the rows."""
    n_samples: int
    features: Any
    """What new points are compared with; None for a graph that was given."""


class GraphEstimator(NamedParameters, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that build or take an affinity graph."""

    _takes_graph_as: ClassVar[str] = "X"
    """Where a graph may be given: as X, as the argument graph of the fit, or nowhere ("")."""
    _file_advice: ClassVar[str] = READ_FIRST
    """What to do with the name of a file."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        is_graph = getattr(self, "affinity", "knn") == "precomputed"
        tags.input_tags.pairwise = is_graph
        tags.input_tags.positive_only = is_graph
        tags.target_tags.required = True
        return tags

    def _control(self, quiet: bool = False) -> dict[str, Any]:
        if quiet:
            return run_control(self.n_jobs, 0)
        return run_control(self.n_jobs, self.random_state, self.verbose, self.callback)

    def _harmonic_options(self, decision: Any) -> dict[str, Any]:
        return {
            "graph_reg": auto_or_number("graph_reg", self.graph_reg),
            "form": text("form", self.form),
            "clamp": text("clamp", self.clamp),
            "decision": text("decision", decision),
            **self._size_options(),
            "tol": number("tol", self.tol),
            "max_iter": integer("max_iter", self.max_iter),
            "certify": self._certify_option(),
        }

    def _size_options(self) -> dict[str, Any]:
        """What the sizes of classes are held to, where the estimator has any."""
        prior = getattr(self, "class_prior", None)
        return {
            "class_prior": None if prior is None else column_or_1d(np.asarray(prior, dtype=np.float64)).tolist(),
            "size_slack": number("size_slack", getattr(self, "size_slack", 0.0)),
            "labels_drawn": text("labels_drawn", getattr(self, "labels_drawn", "auto")),
        }

    def _certify_option(self) -> str:
        """Whether the solve goes on until labels are certain; only the harmonic estimators have that choice."""
        certify = getattr(self, "certify", False)
        return "off" if certify is False else text("certify", certify)

    def _keep_certificate(self, fitted: dict[str, Any]) -> None:
        """Take over the bounds on errors, where there are any."""
        self.score_radius_ = fitted["score_radius"]
        certificate = self.report_["parts"].get("certificate")
        self.n_uncertified_ = None if certificate is None else int(certificate["n_open"])

    def _edge_bandwidth(self) -> Any:
        """Width of the graph's weights."""
        return self.bandwidth

    def _graph_options(self) -> dict[str, Any]:
        return graph_options(
            n_neighbors=self.n_neighbors,
            metric=self.metric,
            weights=self.weights,
            symmetrize=self.symmetrize,
            bandwidth=self._edge_bandwidth(),
            recall_target=self.recall_target,
            zero_rows=self.zero_rows,
        )

    def _graph_source(self, X: Any, control: dict[str, Any]) -> Source:
        options = self._graph_options()
        if self.affinity == "knn":
            return self._from_features(X, options)
        if self.affinity != "precomputed":
            raise ValueError(f"affinity is {self.affinity!r}; expected one of knn, precomputed")
        parts = self._given_graph(X, options, control)
        return Source(parts, options, parts[0][0], None)

    def _from_features(self, X: Any, options: dict[str, Any]) -> Source:
        features = self._features(X, min_samples=2)
        self._doubt_features(features)
        n = int(features.shape[0])
        if options["n_neighbors"] >= n:
            warnings.warn(
                f"n_neighbors is {options['n_neighbors']}, but {n} samples have only {n - 1} neighbors each; "
                f"using {n - 1}",
                UserWarning,
                stacklevel=4,
            )
            options["n_neighbors"] = n - 1
        return Source(features_argument(features), options, n, features)

    def _features(self, X: Any, min_samples: int = 1, reset: bool = True) -> Any:
        """X as features, checked."""
        def check() -> Any:
            return validate_data(self, X, reset=reset, **check_options(X, min_samples=min_samples))

        return features_of(X, check, self._graph_advice(), self._file_advice)

    def _graph_advice(self) -> str:
        """What to do with a graph."""
        name = type(self).__name__
        if self._takes_graph_as == "X":
            return f"give {name}(affinity='precomputed') to take X as the graph"
        if self._takes_graph_as == "graph":
            return "give features as X and the graph as fit(X, y, graph=...)"
        return f"{name} takes no graph"

    def _doubt_features(self, features: Any) -> None:
        """Warn of features that are rather a graph, where one could be given in their place."""
        if self._takes_graph_as == "X" and looks_like_a_graph(features):
            warnings.warn(
                "X is square and symmetric with an empty diagonal, as graphs and distances are, and is taken as features; "
                f"give {type(self).__name__}(affinity='precomputed') to take it as the graph",
                UserWarning,
                stacklevel=5,
            )

    def _given_graph(self, X: Any, options: dict[str, Any], control: dict[str, Any]) -> CsrParts:
        if isinstance(X, tuple):
            indices, distances = neighbor_arrays(X)
            parts, _ = _lapwing.weigh_neighbors(indices, distances, options, {**control, "callback": None})
        elif isinstance(X, Graph):
            parts = csr_parts(X.to_scipy(), np.float64)
        else:
            refuse_other_kinds(X, "X", "give that", self._file_advice)
            matrix = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2
            )
            if matrix.shape[0] != matrix.shape[1]:
                raise ValueError(f"a precomputed affinity must be a square matrix; got shape {matrix.shape}")
            parts = csr_parts(matrix, np.float64)
            refuse_negative(parts)
        self.n_features_in_ = parts[0][1]
        return parts

    def _adjacency(self, graph: Any, options: dict[str, Any], control: dict[str, Any]) -> CsrParts | None:
        """A graph that was given beside features, as the compiled part takes it."""
        if graph is None:
            return None
        if isinstance(graph, tuple):
            indices, distances = neighbor_arrays(graph)
            parts: CsrParts
            parts, _ = _lapwing.weigh_neighbors(indices, distances, options, {**control, "callback": None})
            return parts
        if isinstance(graph, Graph):
            return csr_parts(graph.to_scipy(), np.float64)
        refuse_other_kinds(graph, "graph", "give that")
        matrix = check_array(
            graph, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name="graph"
        )
        parts = csr_parts(matrix, np.float64)
        refuse_negative(parts)
        return parts

    def _require_y(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")

    def _require_length(self, y: NDArray[Any], n_samples: int) -> None:
        if y.shape[0] != n_samples:
            raise ValueError(f"y has {y.shape[0]} rows; expected one per row of X, {n_samples}")

    def _label_weights(self, sample_weight: Any, n_samples: int) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        weights = column_or_1d(np.asarray(sample_weight, dtype=np.float64))
        if weights.shape[0] != n_samples:
            raise ValueError(f"sample_weight has {weights.shape[0]} values; expected one per row of X, {n_samples}")
        return np.ascontiguousarray(weights)

    def _keep(self, source: Source, fitted: dict[str, Any]) -> None:
        """Take over what every fit returns."""
        self._fit_X = source.features
        self._fit_options = source.options
        self._widths = fitted["widths"]
        self._index = _lapwing.NeighborIndex()
        self._errors: NDArray[np.float64] | None = fitted.get("errors")
        self._keep_report(fitted)

    def _keep_report(self, fitted: dict[str, Any]) -> None:
        """Take over what was found out on the way."""
        self._standardizer: tuple[list[float], list[float]] | None = None
        self.reached_ = fitted["reached"]
        self.report_ = json.loads(fitted["report"])
        solve = self.report_.get("solve") or {"n_iter": 0, "residual": 0.0, "converged": True}
        self.n_iter_ = int(solve["n_iter"])
        self.residual_ = math.nan if solve["residual"] is None else float(solve["residual"])
        self.converged_ = bool(solve["converged"])

    def _extend(
        self, X: Any, scores: NDArray[np.float64], reached: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Scores (m, c) of new rows, NaN where every fitted neighbour is unreached."""
        if self._fit_X is None:
            matrix = validate_data(
                self, X, reset=False, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
            )
            return weighted_mean(sp.csr_array(matrix), scores, reached)
        return self._extend_features(X, self._neighbor_extension(scores))

    def _neighbor_extension(self, scores: NDArray[np.float64]) -> dict[str, Any]:
        """What new rows are compared with: the rows of the fit."""
        return {
            "features": features_argument(self._fit_X),
            "widths": self._widths,
            "scores": scores,
            "errors": self._errors,
            "graph": self._fit_options,
            "index": self._index,
        }

    def _extend_features(self, X: Any, extension: Any) -> NDArray[np.float64]:
        """Scores (m, c) of new rows of features."""
        return _lapwing.extend(extension, self._new_features(X), self._control())[0]

    def _new_features(self, X: Any) -> Any:
        """New rows of features as the compiled part takes them."""
        new = self._features(X, reset=False)
        if self._standardizer is not None:
            new = standardized(new, *self._standardizer)
        return features_argument(new)

    def _warn(self) -> None:
        """One warning for each thing the caller should look at, with its counts."""
        for warning in self.report_["warnings"]:
            warnings.warn(warning, _warning_category(warning), stacklevel=3)


def _warning_category(warning: str) -> type[Warning]:
    if warning.startswith("no label reaches") or "have no evidence" in warning:
        return UnreachedWarning
    return ConvergenceWarning if warning.startswith("the solver stopped") else UserWarning


def refuse_negative(affinity: CsrParts) -> None:
    """Name the first negative weight, in the words scikit-learn uses for it."""
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


def standardized(X: Any, mean: list[float], scale: list[float]) -> NDArray[np.float32]:
    """(x − mean) / scale, the difference in double precision."""
    if sp.issparse(X):
        raise TypeError("this model standardizes its features, which sparse features cannot be; pass a dense array")
    out: NDArray[np.float32] = ((X.astype(np.float64) - mean) / scale).astype(np.float32)
    return out
