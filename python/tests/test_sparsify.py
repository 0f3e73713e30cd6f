"""Sparsifiers and effective resistances against dense algebra, and streams in any portions."""

import pickle
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from lapwing import HarmonicClassifier
from lapwing._edges import edge_arrays
from lapwing.graph import Graph, StreamingSparsifier, effective_resistances, knn_graph, sparsify
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

SAMPLERS = ["streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"]


def dense_graph(n: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, size=(n, n))
    return np.triu(weights, 1) + np.triu(weights, 1).T


def edges_of(A, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Edges (m, 2) and weights (m), shuffled."""
    upper = sp.coo_array(sp.triu(sp.csr_array(A), 1))
    order = np.random.default_rng(seed).permutation(upper.nnz)
    return np.stack(upper.coords, axis=1)[order].astype(np.int64), upper.data[order]


def laplacian(A) -> np.ndarray:
    A = A.to_scipy().toarray() if isinstance(A, Graph) else np.asarray(A)
    return np.diag(A.sum(axis=1)) - A


def same(a: Graph, b: Graph) -> bool:
    a, b = a.to_scipy(), b.to_scipy()
    return all(np.array_equal(x, y) for x, y in [(a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data)])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_laplacians_are_right_in_the_mean(sampler):
    A = dense_graph(40)
    options = {"edge_budget": 200, "capacity": 450, "sampler": sampler, "n_projections": 8}
    graphs = [sparsify(A, random_state=seed, **options) for seed in range(60)]
    assert np.mean([graph.n_edges for graph in graphs]) < 0.6 * 780
    x = np.random.default_rng(1).normal(size=(40, 3))
    forms = np.array([np.einsum("ij,ij->j", x, laplacian(graph) @ x) for graph in graphs])
    exact = np.einsum("ij,ij->j", x, laplacian(A) @ x)
    z = (forms.mean(axis=0) - exact) / (forms.std(axis=0) / np.sqrt(len(graphs)))
    assert np.abs(z).max() < 4.5, z


def test_components_are_kept():
    A = np.zeros((130, 130))
    A[:60, :60] = A[60:120, 60:120] = 1.0
    A[0, 60] = A[60, 0] = 1e-3
    A[120, 121] = A[121, 120] = 1.0
    graph, report = sparsify(A, edge_budget=300, random_state=3, return_report=True)
    np.testing.assert_array_equal(graph.components(), Graph.from_scipy(A).components())
    assert graph.n_edges < 800 < report["n_edges"]
    assert report is graph.report and report["n_kept"] == graph.n_edges


def test_sources_agree(tmp_path):
    A = dense_graph(120)
    upper = sp.coo_array(sp.triu(sp.csr_array(A), 1))
    order = np.lexsort(upper.coords[::-1])
    rows = np.empty(upper.nnz, dtype=[("u", "<u4"), ("v", "<u4"), ("weight", "<f8")])
    rows["u"], rows["v"] = (ends[order] for ends in upper.coords)
    rows["weight"] = upper.data[order]
    np.save(tmp_path / "edges.npy", rows)
    options = {"edge_budget": 1000, "random_state": 5}
    expected = sparsify(A, **options)
    assert same(sparsify(sp.csr_matrix(A), **options), expected)
    assert same(sparsify(Graph.from_scipy(A), n_jobs=1, **options), expected)
    assert same(sparsify(tmp_path / "edges.npy", **options), expected)
    assert same(sparsify(str(tmp_path / "edges.npy"), n_samples=120, **options), expected)
    assert not same(sparsify(A, edge_budget=1000, random_state=6), expected)


def test_budgets():
    A = dense_graph(150)
    few, many = (sparsify(A, distortion=distortion, random_state=0) for distortion in (3.0, 1.5))
    assert few.n_edges < many.n_edges < 150 * 149 // 2
    assert sparsify(A, distortion=0.3, random_state=0).n_edges == 150 * 149 // 2
    assert same(sparsify(A, random_state=0), sparsify(A, distortion=0.5, random_state=0))
    assert sparsify(A, memory=2**20, random_state=0).report["capacity"] * 76 < 2**20


@pytest.mark.parametrize("sampler", ["streaming", "kelner-levin", "ridge"])
def test_portions_and_types_do_not_show(sampler):
    edges, weights = edges_of(dense_graph(100))
    options = {"edge_budget": 600, "capacity": 1400, "sampler": sampler, "random_state": 2}
    whole = StreamingSparsifier(100, **options).partial_fit(edges, weights)

    def portions():
        for first in range(0, len(edges), 333):
            yield edges[first : first + 333], weights[first : first + 333]

    parts = StreamingSparsifier(100, n_jobs=1, **options)
    for rows, values in portions():
        parts.partial_fit(rows, values)
    assert parts.n_edges_seen_ == len(edges) == whole.n_edges_seen_
    # Ridge holds a tree of blocks besides.
    assert 0 < parts.n_edges_held_ < (3000 if sampler == "ridge" else 1400)
    assert same(parts.snapshot(), whole.snapshot())
    assert same(parts.result(), whole.result())
    for dtype in (np.uint32, np.int32, np.uint64, np.int16, ">i4"):
        other = StreamingSparsifier(100, **options).partial_fit(np.asfortranarray(edges.astype(dtype)), list(weights))
        assert same(other.result(), whole.result()), dtype
    ones = [StreamingSparsifier(100, **options).partial_fit(edges, w) for w in (None, np.ones(len(edges), np.float32))]
    assert same(ones[0].result(), ones[1].result())
    assert same(sparsify_stream(edges, weights, options), whole.result())


def sparsify_stream(edges, weights, options) -> Graph:
    """The same by `sparsify`, whose order is that of the rows of a file."""
    import tempfile
    from pathlib import Path

    rows = np.column_stack([edges, weights])
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "edges.npy", rows)
        return sparsify(Path(folder) / "edges.npy", n_samples=100, **options)


def test_snapshots_do_not_disturb():
    edges, weights = edges_of(dense_graph(100))
    options = {"edge_budget": 600, "capacity": 1400, "random_state": 2}
    asked, quiet = (StreamingSparsifier(100, **options) for _ in range(2))
    for first in range(0, len(edges), 500):
        asked.partial_fit(edges[first : first + 500], weights[first : first + 500])
        quiet.partial_fit(edges[first : first + 500], weights[first : first + 500])
        if first == 500:
            exact = sp.coo_array((weights[:1000], tuple(edges[:1000].T)), shape=(100, 100))
            np.testing.assert_allclose(asked.snapshot().to_scipy().toarray(), (exact + exact.T).toarray())
        asked.snapshot(), asked.result(), asked.report_
    assert same(asked.result(), quiet.result())
    assert asked.result().n_edges < asked.snapshot().n_edges <= asked.n_edges_held_ < 1400
    assert asked.report_["rounds"] >= 2 and asked.report_["n_edges"] == len(edges)


def test_pickles_go_on_to_the_same_graph():
    edges, weights = edges_of(dense_graph(100))
    sparsifier = StreamingSparsifier(100, edge_budget=600, capacity=1400, random_state=2)
    sparsifier.partial_fit(edges[:2500], weights[:2500])
    other = pickle.loads(pickle.dumps(sparsifier))
    for each in (sparsifier, other):
        each.partial_fit(edges[2500:], weights[2500:])
    assert same(other.result(), sparsifier.result())
    assert same(other.fit(edges, weights).result(), sparsifier.result())
    fresh = clone(sparsifier)
    with pytest.raises(NotFittedError):
        fresh.snapshot()
    assert not hasattr(fresh, "n_edges_seen_")
    assert pickle.loads(pickle.dumps(fresh)).get_params() == sparsifier.get_params()


def test_bad_arguments_are_named():
    A = dense_graph(20)
    for options, message in [
        ({"distortion": 0.5, "memory": 10}, "memory is 10; expected no value beside distortion"),
        ({"distortion": -1.0}, "distortion is -1"),
        ({"edge_budget": 0}, "edge_budget is 0"),
        ({"edge_budget": -3}, "edge_budget is -3"),
        ({"edge_budget": 40, "capacity": 50}, "capacity is 50"),
        ({"n_projections": 0}, "n_projections is 0"),
        ({"sampler": "best"}, "kelner-levin"),
        ({"n_samples": 20}, "n_samples is for files"),
        ({"probes": np.ones((3, 2))}, "probes"),
        ({"probes": np.ones(20)}, "n_probes"),
    ]:
        with pytest.raises(ValueError, match=message):
            sparsify(A, **options)
    with pytest.raises(MemoryError):
        sparsify(A, memory=100)
    with pytest.raises(TypeError, match="edge_budget must be an integer"):
        sparsify(A, edge_budget=1.5)
    with pytest.raises(ValueError, match="mirror|symmetric"):
        sparsify(np.triu(A))
    with pytest.raises(FileNotFoundError):
        sparsify("nowhere.npy", n_samples=3)


def test_bad_edges_are_named_and_not_taken():
    sparsifier = StreamingSparsifier(5).partial_fit([(0, 1)])
    for edges, weights, message in [
        ([(0, 1), (1, 5)], None, "row 1 of the edges: node 5 is out of range; there are 5 nodes"),
        ([(0, 1), (-1, 2)], None, "row 1 of the edges: node -1 is out of range"),
        ([(0, 1), (1, 2)], [1.0, np.nan], "row 1 of the edges: weight NaN"),
        ([(0, 1), (1, 2)], [1.0, -2.0], "row 1 of the edges: weight -2"),
        ([(0, 1), (1, 2)], [1.0], r"weights has shape \(1,\)"),
        ([0, 1], None, r"edges has shape \(2,\)"),
        (np.array([[0, 2**63]], dtype=np.uint64), None, "edges holds 9223372036854775808"),
    ]:
        with pytest.raises(ValueError, match=message):
            sparsifier.partial_fit(edges, weights)
    with pytest.raises(TypeError, match="edges must be integers"):
        sparsifier.partial_fit([(0.0, 1.0)])
    assert sparsifier.partial_fit([]).n_edges_seen_ == 1
    with pytest.raises(ValueError, match="n_samples is -1"):
        StreamingSparsifier(-1).partial_fit([])


def test_callbacks_stop_the_stream_in_order():
    edges = np.random.default_rng(0).integers(0, 2000, size=(400_000, 2))
    options = {"edge_budget": 30_000, "random_state": 1}
    expected = StreamingSparsifier(2000, **options).partial_fit(edges).result()

    def stop(event):
        if event["done"] > 100_000:
            raise InterruptedError("enough")

    sparsifier = StreamingSparsifier(2000, callback=stop, **options)
    with pytest.raises(InterruptedError, match="enough"):
        sparsifier.partial_fit(edges)
    sparsifier.set_params(callback=None)
    seen = sparsifier.n_edges_seen_
    assert 0 < seen < len(edges)
    assert same(sparsifier.partial_fit(edges[seen:]).result(), expected)


def test_other_threads_run_meanwhile():
    edges = np.random.default_rng(0).integers(0, 2000, size=(400_000, 2))
    ticks = []

    def tick():
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    done = threading.Event()
    thread = threading.Thread(target=tick)
    thread.start()
    StreamingSparsifier(2000, edge_budget=30_000, random_state=1).partial_fit(edges)
    done.set()
    thread.join()
    assert len(ticks) > 3


def test_probes_show_what_became_of_a_cut():
    edges, weights = edges_of(dense_graph(100))
    side = np.where(np.arange(100) < 50, 1.0, -1.0)
    graph = sparsify(dense_graph(100), edge_budget=800, probes=side[:, None], random_state=0)
    form = side @ laplacian(graph) @ side / (side @ laplacian(dense_graph(100)) @ side)
    np.testing.assert_allclose(graph.report["probe_ratios"], [form, form])


def test_resistances_are_those_of_the_pseudoinverse():
    rng = np.random.default_rng(4)
    upper = sp.triu(sp.random_array((60, 60), density=0.1, rng=rng), 1)
    A = sp.csr_array(upper + upper.T)
    inverse = np.linalg.pinv(laplacian(A.toarray()), hermitian=True)
    diagonal = np.diag(inverse)
    expected = np.where(A.toarray() > 0, diagonal[:, None] + diagonal[None, :] - 2 * inverse, 0.0)
    found = effective_resistances(A)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-8)
    assert found.nnz == A.nnz
    projected = effective_resistances(Graph.from_scipy(A), method="projection", n_projections=900, random_state=0)
    np.testing.assert_array_equal(projected.indices, found.indices)
    assert abs((projected.data / found.data).mean() - 1) < 0.05
    assert np.abs(projected.data / found.data - 1).max() < 0.3
    again = effective_resistances(A, method="projection", n_projections=900, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(again.data, projected.data)
    n_components = len(set(Graph.from_scipy(A).components()))
    assert abs((sp.triu(A).multiply(found)).sum() - (60 - n_components)) < 1e-8
    with pytest.warns(ConvergenceWarning, match="the resistances are less exact than asked"):
        effective_resistances(A, method="projection", tol=1e-30)
    for options, message in [
        ({"method": "best"}, "method is 'best'"),
        ({"method": "projection", "n_projections": 0}, "n_projections is 0"),
        ({"method": "projection", "tol": 2.0}, "tol is 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            effective_resistances(A, **options)


def test_labels_spread_over_a_snapshot(moons):
    X, truth, y = moons
    whole = knn_graph(X, n_neighbors=60)
    edges, weights = edges_of(whole.to_scipy())
    sparsifier = StreamingSparsifier(len(X), edge_budget=8000, capacity=17_000, random_state=0)
    for rows, values in zip(np.array_split(edges, 7), np.array_split(weights, 7), strict=True):
        sparsifier.partial_fit(rows, values)
    sparse = sparsifier.snapshot()
    assert sparsifier.report_["rounds"] >= 1 or sparse.n_edges == whole.n_edges
    expected = HarmonicClassifier(affinity="precomputed").fit(whole, y).transduction_
    found = HarmonicClassifier(affinity="precomputed").fit(sparse, y).transduction_
    assert (found == expected).mean() > 0.95


def test_edges_of_tables_keep_their_weights_and_types():
    ends = {"source": [0, 1], "target": [1, 2]}
    unsigned = {"source": [0, 1], "target": np.array([1, 2], dtype=np.uint64)}
    for table in (pd.DataFrame(unsigned), pl.DataFrame(unsigned), pa.table(unsigned), pa.table(ends).to_reader()):
        found, weights = edge_arrays(table, None)
        assert found.tolist() == [[0, 1], [1, 2]] and weights is None
    # The only other column of numbers holds the weights, whatever its name is.
    assert edge_arrays(pd.DataFrame({**ends, "similarity": [0.5, 2.0]}), None)[1].tolist() == [0.5, 2.0]
    with pytest.warns(UserWarning, match="the columns 'kind' of edges are left out"):
        assert edge_arrays(pd.DataFrame({**ends, "kind": ["x", "y"]}), None)[1] is None
    with pytest.raises(ValueError, match="'a', 'b' besides the ends"):
        edge_arrays(pd.DataFrame({**ends, "a": [1, 2], "b": [3, 4]}), None)
    for empty in (pd.DataFrame(columns=["source", "target"]), pl.DataFrame({"source": [], "target": []})):
        assert edge_arrays(empty, None)[0].shape == (0, 2)
    with pytest.raises(ValueError, match="weights has 1 masked values"):
        edge_arrays([[0, 1], [1, 2]], np.ma.array([1.0, 5.0], mask=[False, True]))
    with pytest.raises(TypeError, match="LazyFrame"):
        edge_arrays(pl.DataFrame(ends).lazy(), None)
