"""Harmonic labels on sparsified graphs."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lapwing import HarmonicClassifier, SparseHarmonicClassifier, load_model, save_model
from lapwing.graph import StreamingSparsifier


@pytest.fixture(scope="module")
def blocks():
    """Edges and classes of three dense blocks that hang together by few edges, and one label of each."""
    rng = np.random.default_rng(0)
    pairs = np.array([(u, v) for u in range(300) for v in range(u) if u // 100 == v // 100 and rng.random() < 0.6])
    bridges = np.array([(5, 105), (120, 220), (50, 270)])
    edges = np.vstack([pairs, bridges])
    truth = np.arange(300) // 100
    y = np.full(300, -1)
    y[[10, 110, 210]] = [0, 1, 2]
    return edges, truth, y


def matrix(edges):
    weights = sp.coo_array((np.ones(len(edges)), edges.T), shape=(300, 300)).tocsr()
    return weights + weights.T


def test_a_matrix_a_file_and_an_iterable_give_the_same_labels(blocks, tmp_path):
    edges, truth, y = blocks
    path = tmp_path / "edges.npy"
    np.save(path, edges)
    options = {"edge_budget": 2400, "random_state": 3}
    clf = SparseHarmonicClassifier(affinity="precomputed", **options).fit(matrix(edges), y)
    of_file = SparseHarmonicClassifier(affinity="edges", **options).fit(path, y)
    portions = (edges[at : at + 1000] for at in range(0, len(edges), 1000))
    of_portions = SparseHarmonicClassifier(affinity="edges", **options).fit(portions, y)
    for fitted in (clf, of_file, of_portions):
        assert (fitted.transduction_ == truth).mean() > 0.97
        assert fitted.report_["parts"]["sparsify"]["n_edges"] == len(edges)
        assert fitted.report_["parts"]["sparsify"]["n_kept"] < 3500
    assert clf.report_["parts"]["refine"]["passes"] == 3
    assert "refine" not in of_portions.report_["parts"]
    exact = HarmonicClassifier(affinity="precomputed").fit(matrix(edges), y)
    error = np.abs(of_file.scores_ - exact.scores_).max() / np.abs(exact.scores_).max()
    assert error < 0.05
    once = SparseHarmonicClassifier(affinity="edges", refinements=0, **options).fit(path, y)
    assert np.abs(once.scores_ - exact.scores_).max() > np.abs(of_file.scores_ - exact.scores_).max()
    np.testing.assert_array_equal(once.scores_, of_portions.scores_)


def test_any_number_of_threads_gives_the_same_bits(blocks):
    edges, _, y = blocks
    fits = [
        SparseHarmonicClassifier(affinity="precomputed", edge_budget=2400, random_state=0, n_jobs=n).fit(matrix(edges), y)
        for n in (1, 2, 7)
    ]
    for fitted in fits[1:]:
        np.testing.assert_array_equal(fitted.scores_, fits[0].scores_)


def test_a_stream_can_be_asked_for_labels_at_any_time(blocks):
    edges, truth, y = blocks
    stream = StreamingSparsifier(300, edge_budget=2400, random_state=0)
    order = np.random.default_rng(1).permutation(len(edges))
    for portion in np.array_split(edges[order], 10):
        snapshot = stream.partial_fit(portion).snapshot()
        labels = HarmonicClassifier(affinity="precomputed").fit(snapshot, y).transduction_
    assert (labels == truth).mean() > 0.97


def test_models_are_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) + 4 * (np.arange(400) % 2)[:, None]
    y = np.where(np.arange(400) < 6, np.arange(400) % 2, -1)
    clf = SparseHarmonicClassifier(150, edge_budget=3000, random_state=0).fit(X, y)
    assert clf.report_["parts"]["sparsify"]["rounds"] > 0
    assert (clf.transduction_ == np.arange(400) % 2).mean() > 0.97
    save_model(clf, tmp_path / "m.lapwing")
    loaded = load_model(tmp_path / "m.lapwing")
    assert isinstance(loaded, SparseHarmonicClassifier)
    np.testing.assert_array_equal(loaded.predict_proba(X[:50]), clf.predict_proba(X[:50]))


def test_what_cannot_be_is_told(blocks, tmp_path):
    edges, _, y = blocks

    def message(X, **options):
        with pytest.raises((ValueError, TypeError)) as caught:
            SparseHarmonicClassifier(**{"affinity": "edges", "random_state": 0, **options}).fit(X, y)
        return str(caught.value)

    assert "memory is 1000000000; expected no value beside distortion" in message(iter([edges]), distortion=0.5, memory=10**9)
    assert "X must be the path" in message(7)
    assert "X has no edges" in message(iter([]))
    assert "refinements need edges that can be read again" in message(iter([edges]), refinements=2)
    assert "sampler is 'greedy'" in message(iter([edges]), sampler="greedy")
    assert "node 300 is out of range" in message(iter([np.array([[0, 300]])]))
    assert "edge_budget" in message(iter([edges]), edge_budget=0)
    assert clone(SparseHarmonicClassifier(memory=5)).get_params()["memory"] == 5


@pytest.mark.parametrize("given", [
    "pairs", "pair by pair", "arrays", "triples", "tuple", "frame", "frame with an index column", "polars", "Arrow", "array of triples",
    "edges and weights",
])
def test_edges_of_any_container(blocks, given):
    edges, _, y = blocks
    weights = np.where(edges[:, 0] % 7 == 0, 2.5, 1.0) if given not in ("pairs", "pair by pair", "arrays", "tuple") else None
    ends = pd.DataFrame(edges, columns=["To", "from"])
    named = ends if weights is None else ends.assign(weight=weights)
    triples = edges.tolist() if weights is None else list(zip(*edges.T.tolist(), weights.tolist(), strict=True))
    X = {
        "pairs": lambda: edges.tolist(),
        "pair by pair": lambda: (tuple(edge) for edge in edges.tolist()),
        "arrays": lambda: list(edges),
        "triples": lambda: triples,
        "tuple": lambda: tuple(map(tuple, edges.tolist())),
        "frame": lambda: named,
        "frame with an index column": lambda: named.reset_index(),
        "polars": lambda: pl.from_pandas(named),
        "Arrow": lambda: pa.Table.from_pandas(named),
        "array of triples": lambda: np.column_stack([edges, weights]),
        "edges and weights": lambda: (edges, weights),
    }[given]()
    options = {"affinity": "edges", "edge_budget": 3000, "random_state": 0}
    expected = SparseHarmonicClassifier(**options).fit(iter([(edges, weights)]), y)
    np.testing.assert_array_equal(SparseHarmonicClassifier(**options).fit(X, y).scores_, expected.scores_)


@pytest.mark.parametrize(
    ("X", "error", "text"),
    [
        (pd.DataFrame({"a": [0], "b": [1], "c": [1.0], "d": [2]}), ValueError, "columns a, b, c, d; expected two, or three"),
        (pd.DataFrame({"source": ["x"], "target": ["y"]}), TypeError, "column 'source' of edges must hold integers"),
        ([(0, 1), (1, 2, 0.5)], ValueError, "some edges have a weight and some have none"),
        (np.array([[0.5, 1.0, 1.0]]), TypeError, "edges must be integers"),
        (sp.csr_array((300, 300)), TypeError, "affinity='precomputed'"),
    ],
)
def test_edges_that_are_none_are_named(blocks, X, error, text):
    with pytest.raises(error, match=text):
        SparseHarmonicClassifier(affinity="edges", edge_budget=9).fit(X, blocks[2])
