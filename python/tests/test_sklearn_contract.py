"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapwing import (
    HarmonicClassifier,
    HarmonicRegressor,
    LaplacianRidgeClassifier,
    LaplacianRidgeRegressor,
    LaplacianSVC,
    LowRankPropagationClassifier,
    SparseHarmonicClassifier,
    UnfoldedGNNClassifier,
    UnfoldedGNNRegressor,
)
from lapwing.baselines import (
    EigenfunctionClassifier,
    ForestClassifier,
    LinearClassifier,
    MajorityClassifier,
    NearestLabelClassifier,
    SimpleHarmonicClassifier,
    SubsamplingHarmonicClassifier,
)
from lapwing.graph import GraphLearner, NeighborIndex
from lapwing.prepare import TableEncoder

_TRUST = "sample_weight is trust in a given label: a row of weight 0 stays in the graph, a repeated row changes it"
_MARKER = "the check takes -1 for a class; here it marks the rows without a label (passes with unlabeled=-2)"
_NAMES = "columns of new tables are found by their names, in any order"
_GRAPH = "fit_transform gives the learned graph, symmetric and without the row itself; transform weighs new rows"

ESTIMATORS = [
    HarmonicClassifier(),
    HarmonicClassifier(unlabeled=-2),
    HarmonicClassifier(form="plain", weights="gaussian", symmetrize="mean"),
    HarmonicRegressor(),
    HarmonicRegressor(form="plain", weights="binary", symmetrize="mutual"),
    SparseHarmonicClassifier(),
    SparseHarmonicClassifier(n_neighbors=40, edge_budget=100, sampler="auto", random_state=0),
    LowRankPropagationClassifier(),
    LowRankPropagationClassifier(n_landmarks=5, unlabeled=-2, random_state=0),
    LowRankPropagationClassifier(n_landmarks=20, factor="nystrom", random_state=0),
    LowRankPropagationClassifier(n_landmarks=20, factor="glnp", random_state=0),
    LaplacianSVC(),
    LaplacianSVC(bias=True, solver="cg", unlabeled=-2, random_state=0),
    LaplacianSVC("low-rank", n_landmarks=20, random_state=0),
    LaplacianSVC(graph_reg=0, solver="dual", unlabeled=-2, random_state=0),
    LaplacianRidgeClassifier(),
    LaplacianRidgeRegressor(),
    LaplacianRidgeRegressor(bias=True, solver="cg", random_state=0),
    UnfoldedGNNClassifier(),
    UnfoldedGNNClassifier(20.0, loss="mse", solver="herta", unlabeled=-2, random_state=0),
    UnfoldedGNNClassifier(hidden=8, attention=1.0, tol=1e-4, unlabeled=-2, random_state=0),
    UnfoldedGNNRegressor(),
    EigenfunctionClassifier(),
    NearestLabelClassifier(),
    ForestClassifier(20),
    LinearClassifier(),
    LinearClassifier(l2_reg=0.1, unlabeled=-2),
    MajorityClassifier(),
    SimpleHarmonicClassifier(),
    SubsamplingHarmonicClassifier(),
    NeighborIndex(),
    NeighborIndex(method="partitions"),
    GraphLearner(2, metric="euclidean"),
    GraphLearner(2, model="l2", repair=True),
    TableEncoder(),
]


def expected_failed_checks(estimator):
    if isinstance(estimator, NeighborIndex):
        return {}
    if isinstance(estimator, TableEncoder):
        return {"check_dataframe_column_names_consistency": _NAMES}
    if isinstance(estimator, GraphLearner):
        return {"check_transformer_general": _GRAPH, "check_transformer_data_not_an_array": _GRAPH}
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": _TRUST,
        "check_sample_weight_equivalence_on_sparse_data": _TRUST,
    }
    if is_classifier(estimator) and estimator.unlabeled is None:
        reasons["check_classifiers_classes"] = _MARKER
    return reasons


@pytest.mark.filterwarnings(
    "ignore:n_neighbors is:UserWarning",
    "ignore:n_landmarks is:UserWarning",
    r"ignore:\d+ landmarks are near no row:UserWarning",
    "ignore:all labels are of one class:UserWarning",
    "ignore:no function varies along any axis:UserWarning",
)
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failed_checks)
def test_estimator_follows_the_conventions(estimator, check):
    check(estimator)
