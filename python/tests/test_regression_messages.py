"""Messages that name what the user wrote: the class that was called, the labels as given, what to pass instead."""

import copy
import inspect
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lapwing
from lapwing import (
    HarmonicClassifier,
    HarmonicRegressor,
    LaplacianRidgeClassifier,
    LaplacianRidgeRegressor,
    LaplacianSolver,
    LaplacianSVC,
    LowRankPropagationClassifier,
    SparseHarmonicClassifier,
    UnfoldedGNNClassifier,
    UnfoldedGNNRegressor,
    baselines,
)
from lapwing._model_file import classifiers
from lapwing.graph import Graph, GraphLearner, NeighborIndex, StreamingSparsifier, kneighbors, knn_graph

CLASSIFIERS = tuple(dict.fromkeys(classifiers().values()))
REGRESSORS = (HarmonicRegressor, LaplacianRidgeRegressor, UnfoldedGNNRegressor)
OTHERS = (GraphLearner, NeighborIndex, StreamingSparsifier, LaplacianSolver)


def test_every_estimator_is_looked_at():
    public = [getattr(module, name) for module in (lapwing, baselines) for name in module.__all__]
    estimators = {cls for cls in public if inspect.isclass(cls) and hasattr(cls, "predict")}
    assert estimators == set(CLASSIFIERS + REGRESSORS)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS + OTHERS)
def test_an_unknown_parameter_names_the_class_that_was_called(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__} has no parameter 'colour'; help\({cls.__name__}\) lists them"):
        cls(colour=1)
    known = list(inspect.signature(cls).parameters)[-1]
    with pytest.raises(TypeError, match=f"{cls.__name__} has no parameter '{known}s'; did you mean {known}"):
        cls(**{known + "s": 1})
    with pytest.raises(TypeError, match=f"{cls.__name__} was given 9 values without names, but takes .* by"):
        cls(*range(9))


def test_parameters_of_other_libraries_are_translated():
    for name, ours in [("C", r"ambient_reg\? \(a large C"), ("gamma", r"bandwidth\? \(gamma is"), ("seed", "random_state")]:
        with pytest.raises(TypeError, match=f"LaplacianSVC has no parameter '{name}'; did you mean {ours}"):
            LaplacianSVC(**{name: 1.0})
    with pytest.raises(TypeError, match=r"HarmonicClassifier has no parameter 'n_neighbours'; did you mean n_neighbors"):
        HarmonicClassifier(n_neighbours=5)


def test_the_check_of_parameters_is_no_hindrance():
    svc = LaplacianSVC("linear", graph_reg=0.5)
    copies = [clone(svc), copy.deepcopy(svc), pickle.loads(pickle.dumps(svc))]
    assert all(other.get_params() == svc.get_params() for other in copies)
    assert list(inspect.signature(LaplacianSVC).parameters)[:2] == ["kernel", "bandwidth"]

    class Own(HarmonicClassifier):
        def __init__(self, **options):
            super().__init__(**options)

    assert Own(n_neighbors=4).n_neighbors == 4


@pytest.fixture
def line():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]])
    return X, np.array([0, -1, -1, 1, -1, -1])


@pytest.mark.filterwarnings("ignore:n_neighbors is", "ignore:n_landmarks is", "ignore:no function varies")
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_single_class_is_called_by_its_name(line, cls):
    X, _ = line
    for label, said in [("spam", "'spam'"), (7, "7"), (True, "'True'"), (3.0, "3")]:
        y = np.array([label, None, None, label, None, None], dtype=object)
        with pytest.warns(UserWarning, match=f"all labels are of one class, {said}: every row will get it"):
            cls().fit(X, y)


def test_a_graph_as_features_says_what_to_give(line):
    X, y = line
    graph = knn_graph(X, 2)
    for cls in (HarmonicClassifier, HarmonicRegressor, SparseHarmonicClassifier, baselines.SimpleHarmonicClassifier):
        with pytest.raises(TypeError, match=rf"X is a lapwing Graph.*give {cls.__name__}\(affinity='precomputed'\)"):
            cls().fit(graph, y)
        assert cls(affinity="precomputed").fit(graph, y).transduction_.shape == (6,)
    for cls in (LaplacianSVC, LaplacianRidgeRegressor, UnfoldedGNNClassifier):
        with pytest.raises(TypeError, match=r"lapwing Graph.*give features as X and the graph as fit\(X, y, graph=...\)"):
            cls().fit(graph, y)
        assert cls().fit(X, y, graph=graph).transduction_.shape == (6,)
    with pytest.raises(TypeError, match="lapwing Graph.*LowRankPropagationClassifier takes no graph"):
        LowRankPropagationClassifier().fit(graph, y)
    for make in (GraphLearner().fit, NeighborIndex().fit, kneighbors, knn_graph):
        with pytest.raises(TypeError, match="X is a lapwing Graph"):
            make(graph)


def test_graphs_of_other_packages_are_made_matrices(line):
    X, y = line
    foreign = type("Graph", (), {"__module__": "networkx.classes.graph"})()
    match = r"X is a networkx Graph; make it a matrix by networkx.to_scipy_sparse_array\(X\), and "
    with pytest.raises(TypeError, match=match + r"give HarmonicClassifier\(affinity='precomputed'\)"):
        HarmonicClassifier().fit(foreign, y)
    with pytest.raises(TypeError, match=match + "give that"):
        HarmonicClassifier(affinity="precomputed").fit(foreign, y)
    with pytest.raises(TypeError, match=r"graph is a networkx Graph; make .*sparse_array\(graph\), and give that"):
        UnfoldedGNNClassifier().fit(X, y, graph=foreign)


def test_a_matrix_that_looks_like_a_graph_is_doubted(line):
    X, y = line
    rng = np.random.default_rng(0)
    sparse = knn_graph(X, 2).to_scipy()
    for matrix in (sparse, sparse.toarray()):
        with pytest.warns(UserWarning, match="taken as features; give HarmonicClassifier.affinity='precomputed'"):
            HarmonicClassifier(2).fit(matrix, y)
    square = rng.normal(size=(6, 6))
    HarmonicClassifier(2).fit(square, y)
    HarmonicClassifier(2).fit(square + square.T, y)
    HarmonicClassifier(2, affinity="precomputed").fit(sparse, y)
    LaplacianSVC(n_neighbors=2, random_state=0).fit(sparse, y)


@pytest.mark.parametrize("X, said", [
    ({"a": [1.0, 2.0]}, r"X is a dict;.*pandas.DataFrame\(X\)"),
    (None, "X is None; expected an array"),
    ({1.0, 2.0}, "X is a set, which has no order"),
])
def test_what_is_no_matrix_is_named(X, said):
    for cls in (HarmonicClassifier, LowRankPropagationClassifier, LaplacianSVC, UnfoldedGNNClassifier):
        with pytest.raises(TypeError, match=said):
            cls().fit(X, [0, 1])
    fitted = HarmonicClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=said):
        fitted.predict(X)


@pytest.mark.parametrize("X", ["digits.csv", Path("digits.csv")])
def test_files_that_are_not_there_are_named(X):
    for cls in (HarmonicClassifier, LowRankPropagationClassifier, LaplacianSVC, UnfoldedGNNClassifier):
        with pytest.raises(FileNotFoundError, match="digits.csv"):
            cls().fit(X, [0, 1])
    fitted = HarmonicClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="'digits.csv'; predict_to"):
        fitted.predict(X)


def test_a_file_of_edges_has_an_affinity_of_its_own():
    with pytest.raises(TypeError, match="give SparseHarmonicClassifier.affinity='edges'"):
        SparseHarmonicClassifier().fit("edges.csv", [0, 1])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_text_are_all_named(frame):
    X = frame({"width": [1.0, 2.0, 3.0], "species": [None, "setosa", "virginica"], "city": ["1", "Rome", "Oslo"]})
    cells = r"'species' \(2 of 3 rows, first 'setosa' in row 1\), 'city' \(2 of 3 rows, first 'Rome' in row 1\)"
    expected = r"2 columns with cells that are not numbers: " + cells + r"; use .*TableEncoder in a pipeline, or .*label_frame, or leave them out: X\.drop\("
    for fit in (HarmonicClassifier(1).fit, LaplacianSVC(n_neighbors=1).fit, LowRankPropagationClassifier(2).fit):
        with pytest.raises(ValueError, match=expected):
            fit(X, [0, 1, -1])
    fitted = HarmonicClassifier(1).fit(frame({"width": [1.0, 2.0, 4.0]}), [0, 1, -1])
    with pytest.raises(ValueError, match=r"not numbers: 'width' \(1 of 1 rows, first 'wide' in row 0\)"):
        fitted.predict(frame({"width": ["wide"]}))


@pytest.mark.parametrize("cls", [LaplacianSVC, LaplacianRidgeClassifier, LaplacianRidgeRegressor])
def test_a_gram_matrix_needs_its_graph(line, cls):
    X, y = line
    K = np.exp(-0.5 * (X - X.T) ** 2)
    match = r"kernel is 'precomputed'.*fit\(K, y, graph=...\), such as lapwing.graph.knn_graph\(X\), or graph_reg=0 for none"
    with pytest.raises(ValueError, match=match):
        cls("precomputed").fit(K, y)
    assert cls("precomputed").fit(K, y, graph=knn_graph(X, 2)).transduction_.shape == (6,)
    assert cls("precomputed", graph_reg=0).fit(K, y).transduction_.shape == (6,)


@pytest.mark.filterwarnings("ignore:all labels are of one class")
def test_rows_out_of_reach_are_advised_by_what_can_be_changed(line):
    X, y = line
    y = np.where(y == 1, -1, y)
    with pytest.warns(lapwing.exceptions.UnreachedWarning, match="raise the number of neighbors"):
        HarmonicClassifier(2).fit(X, y)
    graph = Graph.from_scipy(sp.csr_array(np.kron(np.eye(2), 1 - np.eye(3))))
    with pytest.warns(lapwing.exceptions.UnreachedWarning, match="give a graph with edges between them and the labeled rows"):
        HarmonicClassifier(affinity="precomputed").fit(graph, y)


@pytest.mark.filterwarnings("ignore:n_landmarks is")
@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_every_report_has_its_peak(cls):
    X = np.arange(40.0).reshape(-1, 1)
    y = np.where(np.arange(40) % 4 == 0, np.arange(40) // 20, -1)
    report = cls().fit(X, y).report_
    assert report["peak_bytes"] > 0 and report["phases"] and report["n_samples"] == 40
