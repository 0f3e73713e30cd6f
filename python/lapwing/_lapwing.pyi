"""Compiled part of lapwing; the package's own modules are what to call."""

from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Extension",
    "HeldAudit",
    "HeldGraph",
    "NeighborIndex",
    "Solver",
    "Sparsifier",
    "Suggester",
    "apply_recipe",
    "apply_rule",
    "audit",
    "audit_regression",
    "build_info",
    "check_graph",
    "check_parameters",
    "components",
    "doubt_scaling",
    "effective_resistances",
    "extend",
    "fit_classifier",
    "fit_page",
    "fit_regressor",
    "fit_scaling",
    "fit_table",
    "jackknife_plus",
    "kneighbors",
    "knn_graph",
    "learn_graph",
    "learn_weights",
    "least_labels",
    "leave_one_out_scores",
    "load_model",
    "map_points",
    "parameters",
    "prediction_sets",
    "recipe_names",
    "save_graph",
    "save_model",
    "scale_features",
    "single_node_weights",
    "sparsify",
    "start_sparsifier",
    "usual_labels",
    "weigh_neighbors",
]

_Csr = tuple[tuple[int, int], NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]]
_Features = NDArray[np.float32] | NDArray[np.float64] | NDArray[np.uint8] | _Csr
_Labels = tuple[NDArray[np.int32], list[int] | list[str]] | NDArray[np.float64]
_Widths = NDArray[np.float32] | float | None

@final
class Solver:
    def __new__(
        cls,
        adjacency: _Csr,
        diagonal: NDArray[np.float64] | None,
        regularization: float | None,
        parameters: dict[str, Any],
        control: dict[str, Any],
    ) -> Solver: ...
    def solve(
        self, b: NDArray[np.float64], start: NDArray[np.float64] | None, control: dict[str, Any]
    ) -> tuple[NDArray[np.float64], dict[str, Any]]: ...
    def precondition(self, r: NDArray[np.float64], control: dict[str, Any]) -> NDArray[np.float64]: ...
    def facts(self) -> dict[str, Any]: ...

@final
class Sparsifier:
    def __new__(cls, state: bytes) -> Sparsifier: ...
    def add(
        self,
        edges: NDArray[np.uint32] | NDArray[np.int32] | NDArray[np.int64],
        weights: NDArray[np.float32] | NDArray[np.float64] | None,
        control: dict[str, Any],
    ) -> None: ...
    def snapshot(self, control: dict[str, Any]) -> _Csr: ...
    def result(self, control: dict[str, Any]) -> tuple[_Csr, str]: ...
    def report(self, control: dict[str, Any]) -> str: ...
    def counts(self) -> tuple[int, int]: ...

def start_sparsifier(
    n_samples: int, parameters: dict[str, Any], probes: NDArray[np.float64] | None, control: dict[str, Any]
) -> Sparsifier: ...
def sparsify(
    source: _Csr | tuple[str | PathLike[str], int | None],
    parameters: dict[str, Any],
    probes: NDArray[np.float64] | None,
    control: dict[str, Any],
) -> tuple[_Csr, str]: ...
def effective_resistances(
    adjacency: _Csr, projection: tuple[int, float] | None, control: dict[str, Any]
) -> tuple[NDArray[np.float64], str]: ...
def kneighbors(
    features: _Features, parameters: dict[str, Any], control: dict[str, Any]
) -> tuple[NDArray[np.float32], NDArray[np.uint32], str]: ...
def knn_graph(
    features: _Features, parameters: dict[str, Any], control: dict[str, Any]
) -> tuple[_Csr, _Widths, str]: ...
def weigh_neighbors(
    indices: NDArray[np.uint32], distances: NDArray[np.float32], parameters: dict[str, Any], control: dict[str, Any]
) -> tuple[_Csr, _Widths]: ...
def learn_graph(
    source: _Features | tuple[NDArray[np.uint32], NDArray[Any]],
    graph: dict[str, Any],
    parameters: dict[str, Any],
    start: NDArray[np.float64] | None,
    control: dict[str, Any],
) -> tuple[_Csr, NDArray[np.float64], str]: ...
def learn_weights(
    edges: NDArray[np.uint32],
    squared: NDArray[Any],
    n_samples: int,
    model: str,
    regularizers: tuple[float, float],
    parameters: dict[str, Any],
    start: NDArray[np.float64] | None,
    control: dict[str, Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]: ...
def single_node_weights(squared: NDArray[np.float64], model: str, sparsity: float) -> NDArray[np.float64]: ...
@final
class HeldGraph:
    def __new__(cls, adjacency: _Csr | HeldGraph) -> HeldGraph: ...
    @staticmethod
    def build(features: _Features, parameters: dict[str, Any], control: dict[str, Any]) -> HeldGraph: ...
    def with_rows(
        self, old: _Features, new: _Features, parameters: dict[str, Any], control: dict[str, Any]
    ) -> HeldGraph: ...
    def parts(self) -> _Csr: ...
    @property
    def n_samples(self) -> int: ...

@final
class Suggester:
    def __new__(cls, graph: _Csr | HeldGraph, control: dict[str, Any]) -> Suggester: ...
    def next(
        self,
        labels: _Labels | None,
        weights: NDArray[np.float64] | None,
        wanted: dict[str, Any],
        parameters: dict[str, Any],
        warm_start: bool,
        control: dict[str, Any],
    ) -> dict[str, Any]: ...
    def distance_from_labels(self, labels: _Labels, control: dict[str, Any]) -> NDArray[np.float64]: ...

@final
class HeldAudit:
    def summary(self, names: list[int] | list[str]) -> str: ...
    def page(
        self,
        path: str | PathLike[str],
        title: str,
        names: list[int] | list[str],
        given: NDArray[np.int32],
        features: _Features | None,
        rows: list[str] | None,
    ) -> None: ...

def audit(
    graph: _Csr | HeldGraph,
    features: _Features | None,
    graph_parameters: dict[str, Any],
    labels: _Labels,
    weights: NDArray[np.float64] | None,
    parameters: dict[str, Any],
    control: dict[str, Any],
) -> dict[str, Any]: ...
def audit_regression(
    graph: _Csr | HeldGraph,
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    smoothness: float,
    is_stable: bool,
    control: dict[str, Any],
) -> dict[str, Any]: ...
def jackknife_plus(
    graph: _Csr | HeldGraph,
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    smoothness: float,
    is_stable: bool,
    level: float,
    control: dict[str, Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]: ...
def leave_one_out_scores(
    graph: _Csr | HeldGraph,
    labels: _Labels,
    weights: NDArray[np.float64] | None,
    smoothness: float,
    centering: str,
    control: dict[str, Any],
) -> NDArray[np.float64]: ...
def least_labels(level: float) -> int: ...
def prediction_sets(
    classes: NDArray[np.uint32],
    held_out: NDArray[np.float64],
    shares: NDArray[np.float64],
    reached: NDArray[np.bool_],
    parameters: dict[str, Any],
) -> tuple[NDArray[np.bool_], str]: ...
def check_graph(adjacency: _Csr) -> tuple[_Csr, NDArray[np.float64]]: ...
def components(adjacency: _Csr) -> NDArray[np.uint32]: ...
def save_graph(path: str, adjacency: _Csr) -> None: ...
def fit_classifier(
    method: str,
    parameters: dict[str, Any],
    rows: dict[str, Any],
    labels: _Labels,
    label_weights: NDArray[np.float64] | None,
    extras: dict[str, Any],
    control: dict[str, Any],
) -> dict[str, Any]: ...
def fit_regressor(
    method: str,
    parameters: dict[str, Any],
    rows: dict[str, Any],
    values: NDArray[np.float64],
    label_weights: NDArray[np.float64] | None,
    extras: dict[str, Any],
    control: dict[str, Any],
) -> dict[str, Any]: ...
def check_parameters(method: str, parameters: dict[str, Any]) -> dict[str, Any]: ...
def parameters(of: str) -> list[dict[str, Any]]: ...
@final
class Extension:
    def __new__(cls, state: bytes) -> Extension: ...
    def settings(self) -> str: ...
    def has(self, name: str) -> bool: ...
    def array(self, name: str) -> NDArray[Any]: ...
    def extend_on(self, new: _Features, adjacency: _Csr, control: dict[str, Any]) -> NDArray[np.float64]: ...

def extend(
    fitted: dict[str, Any] | Extension,
    new: _Features,
    control: dict[str, Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]: ...
def apply_rule(
    scores: NDArray[np.float64],
    errors: NDArray[np.float64] | None,
    rule: dict[str, Any],
    control: dict[str, Any],
) -> dict[str, Any]: ...
@final
class NeighborIndex:
    def __new__(
        cls, cells: tuple[NDArray[np.uint32], NDArray[np.uint64], int, float, float] | None = None
    ) -> NeighborIndex: ...
    def build(
        self, features: _Features, parameters: dict[str, Any], control: dict[str, Any]
    ) -> tuple[int, int, float, float] | None: ...
    def query(
        self, features: _Features, new: _Features, parameters: dict[str, Any], control: dict[str, Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.uint32]]: ...

def fit_scaling(
    features: _Features, standardize: str, tfidf: str, control: dict[str, Any]
) -> tuple[dict[str, NDArray[np.float64]] | None, Any, str]: ...
def doubt_scaling(features: _Features, control: dict[str, Any]) -> str: ...
def scale_features(features: _Features, state: dict[str, NDArray[np.float64]], control: dict[str, Any]) -> Any: ...
def fit_table(
    table: Any,
    titles: dict[str, Any],
    options: dict[str, Any],
    labels: NDArray[np.int32] | None,
    control: dict[str, Any],
) -> tuple[Any, str, str, str]: ...
def apply_recipe(
    table: Any,
    titles: dict[str, Any],
    recipe: str,
    columns: list[str] | None,
    control: dict[str, Any],
) -> tuple[Any, str]: ...
def recipe_names(recipe: str) -> tuple[list[str], list[str], bool]: ...
def usual_labels(texts: list[str], counts: list[int]) -> tuple[list[int], str]: ...
def save_model(path: str | PathLike[str], model: dict[str, Any], control: dict[str, Any]) -> None: ...
def load_model(path: str | PathLike[str]) -> dict[str, Any]: ...
def build_info() -> dict[str, Any]: ...
def fit_page(
    path: str | PathLike[str],
    texts: dict[str, Any],
    rows: dict[str, Any],
    features: _Features | None,
    graph: _Csr | HeldGraph | None,
    tol: float,
    control: dict[str, Any],
) -> None: ...
def map_points(
    features: _Features | None,
    graph: _Csr | HeldGraph | None,
    preferred: NDArray[np.uint32],
    control: dict[str, Any],
) -> dict[str, Any] | None: ...
