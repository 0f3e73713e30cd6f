"""Neighbors of new rows: right, the same for any number of threads, and clear about what they cannot do."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances

from lapwing import HarmonicClassifier
from lapwing.graph import NeighborIndex, kneighbors

METHODS = ["exact", "partitions"]


@pytest.fixture(scope="module")
def rows():
    """Fitted rows (3000, 8) and new ones (400, 8) of 20 clusters, whole numbers in 0..255 so that uint8 can hold them."""
    rng = np.random.default_rng(11)
    centers = rng.normal(128, 40, size=(20, 8))
    drawn = centers[rng.integers(20, size=3400)] + rng.normal(0, 12, size=(3400, 8))
    drawn = np.clip(drawn.round(), 1, 255)
    return drawn[:3000], drawn[3000:]


def brute_force(X, Q, k, metric="euclidean"):
    """Distances (m, n) and the k smallest, by NumPy in double precision."""
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    every = -Q @ X.T if metric == "inner-product" else pairwise_distances(Q, X, metric=metric)
    return every, np.sort(every, axis=1)[:, :k]


def recall(found, every, truth):
    """Share of the answers that are no farther than the true last neighbor."""
    near = np.take_along_axis(every, found.astype(np.int64), axis=1) <= truth[:, -1:] + 1e-6 * np.abs(truth[:, -1:])
    return near.mean()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner-product"])
@pytest.mark.parametrize("method", METHODS)
def test_answers_against_brute_force(rows, method, metric, dtype):
    X, Q = (part.astype(dtype) for part in rows)
    index = NeighborIndex(10, metric=metric, method=method, recall_target=0.95, random_state=0).fit(X)
    distances, indices = index.kneighbors(Q)
    assert (distances.dtype, indices.dtype) == (np.float32, np.int32)
    assert distances.shape == indices.shape == (400, 10)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 10 for row in indices.tolist())
    every, truth = brute_force(X, Q, 10, metric)
    atol = 1e-6 * np.abs(truth).max()
    np.testing.assert_allclose(distances, np.take_along_axis(every, indices.astype(np.int64), axis=1), 1e-6, atol)
    if method == "exact":
        assert index.recall_ == 1.0
        np.testing.assert_allclose(distances, truth, 1e-6, atol)
    else:
        assert 0.95 <= index.recall_ < 1.0
        assert abs(recall(indices, every, truth) - index.recall_) < 0.04


def test_report_tells_what_was_built(rows):
    X, _ = rows
    exact = NeighborIndex().fit(X)
    expected = {"method": "exact", "recall": 1.0, "recall_error": 0.0, "n_cells": 0, "n_probes": 0}
    assert exact.report_ == expected and exact.n_samples_fit_ == 3000
    cells = NeighborIndex(method="partitions", random_state=0).fit(X)
    assert cells.report_["method"] == "partitions" and cells.report_["recall"] == cells.recall_
    assert 1 <= cells.report_["n_probes"] < cells.report_["n_cells"]
    assert 0 < cells.report_["recall_error"] < 0.02
    few, many = (NeighborIndex(recall_target=target, method="partitions", random_state=0).fit(X) for target in (0.5, 0.9999))
    assert few.report_["n_probes"] < many.report_["n_probes"]


@pytest.mark.parametrize("method", METHODS)
def test_number_of_neighbors_may_be_another_one(rows, method):
    X, Q = rows
    index = NeighborIndex(10, method=method, random_state=0).fit(X)
    every, _ = brute_force(X, Q, 1)
    for k in (1, 40, 200, 3000):
        distances, indices = index.kneighbors(Q[:20], k)
        assert distances.shape == indices.shape == (20, k)
        assert recall(indices, every[:20], brute_force(X, Q[:20], k)[1]) > 0.9
    np.testing.assert_array_equal(np.sort(index.kneighbors(Q[:3], 3000, False)), [np.arange(3000)] * 3)


@pytest.mark.parametrize("method", METHODS)
def test_distances_may_be_left_out(rows, method):
    X, Q = rows
    index = NeighborIndex(method=method, random_state=0).fit(X)
    np.testing.assert_array_equal(index.kneighbors(Q, return_distance=False), index.kneighbors(Q)[1])


@pytest.mark.parametrize("method", METHODS)
def test_without_new_rows_the_fitted_ones_are_asked_for(rows, method):
    X, _ = rows
    index = NeighborIndex(5, method=method, random_state=3).fit(X)
    distances, indices = index.kneighbors()
    expected = kneighbors(X, 5, method=method, random_state=3)
    np.testing.assert_array_equal(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    *same, report = kneighbors(X, 5, method=method, random_state=3, return_report=True)
    np.testing.assert_array_equal(same, expected)
    assert report == expected.report
    assert (indices != np.arange(3000)[:, None]).all()
    # Handed in as new rows they find themselves, as far as their cells are visited.
    share = (index.kneighbors(X, 1)[0] == 0).mean()
    assert share == 1 if method == "exact" else share > 0.95


@pytest.mark.parametrize("method", METHODS)
def test_same_bits_for_any_number_of_threads(rows, method):
    X, Q = rows
    found = []
    for n_jobs in (1, 2, 7):
        index = NeighborIndex(method=method, random_state=0, n_jobs=n_jobs).fit(X)
        found.append((index.recall_, *(array.tobytes() for array in index.kneighbors(Q))))
    assert found[0] == found[1] == found[2]


def test_answers_do_not_depend_on_the_other_new_rows(rows):
    X, Q = rows
    index = NeighborIndex(method="partitions", random_state=0).fit(X)
    whole = index.kneighbors(Q)
    for at in (0, 63, 399):
        alone = index.kneighbors(Q[at : at + 1])
        assert all(one.tobytes() == all_[at : at + 1].tobytes() for one, all_ in zip(alone, whole, strict=True))


def test_seed_decides_the_cells(rows):
    X, Q = rows

    def search(random_state):
        index = NeighborIndex(method="partitions", recall_target=0.5, random_state=random_state).fit(X)
        return index.kneighbors(Q, return_distance=False)

    np.testing.assert_array_equal(search(7), search(7))
    assert (search(7) != search(8)).any()
    # Without one, every fit draws its own, and keeps it.
    index = NeighborIndex(method="partitions", recall_target=0.5).fit(X)
    np.testing.assert_array_equal(index.kneighbors(return_distance=False), index.kneighbors(return_distance=False))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows_are_searched_exactly(rows, metric):
    X, Q = (np.where(part > 128, part, 0) for part in rows)
    X[:, 0] = Q[:, 0] = 1
    index = NeighborIndex(5, metric=metric, method="partitions").fit(sp.csr_array(X))
    assert index.report_["method"] == "exact"
    distances = index.kneighbors(sp.csc_matrix(Q))[0]
    np.testing.assert_allclose(distances, brute_force(X, Q, 5, metric)[1], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="features has dense rows; expected sparse rows, as in the fit"):
        index.kneighbors(Q)


@pytest.mark.parametrize("method", METHODS)
def test_bad_questions_are_named(rows, method):
    X, Q = rows
    index = NeighborIndex(method=method)
    with pytest.raises(NotFittedError, match="not fitted"):
        index.kneighbors(Q)
    index.fit(X)
    with pytest.raises(ValueError, match="X has 7 features, but NeighborIndex is expecting 8"):
        index.kneighbors(Q[:, :7])
    with pytest.raises(ValueError, match="Expected 2D array"):
        index.kneighbors(Q[0])
    with pytest.raises(ValueError, match="0 sample"):
        index.kneighbors(Q[:0])
    bad = Q.copy()
    bad[17, 3] = np.nan
    with pytest.raises(ValueError, match=r"column 3 \(1 of \d+ rows, first NaN in row 17\)"):
        index.kneighbors(bad)
    with pytest.raises(ValueError, match="features has sparse rows; expected dense rows, as in the fit"):
        index.kneighbors(sp.csr_array(Q))
    with pytest.raises(ValueError, match="n_neighbors is 3001; expected at most the number of rows, which is 3000"):
        index.kneighbors(Q, 3001)
    with pytest.raises(ValueError, match="n_neighbors is 3000; expected below the number of rows"):
        index.kneighbors(n_neighbors=3000)
    with pytest.raises(ValueError, match="n_neighbors is 0; expected a whole number of at least 1"):
        index.kneighbors(Q, 0)
    with pytest.raises(TypeError, match="n_neighbors must be an integer, not float"):
        index.kneighbors(Q, 2.0)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors is 0; expected a whole number of at least 1"),
        ({"n_neighbors": "many"}, TypeError, "n_neighbors must be an integer"),
        ({"metric": "manhattan"}, ValueError, "expected one of auto, euclidean, cosine, inner-product"),
        ({"method": "tree"}, ValueError, "expected one of auto, exact, partitions"),
        ({"recall_target": 1.5}, ValueError, "recall_target is 1.5"),
        ({"zero_rows": "skip"}, ValueError, "expected one of error, allow"),
        ({"random_state": -1}, ValueError, "random_state is -1"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"callback": 3}, TypeError, "callback must be callable"),
    ],
)
def test_bad_parameters_are_named_by_the_fit(rows, params, error, text):
    with pytest.raises(error, match=text):
        NeighborIndex(**params).fit(rows[0])


@pytest.mark.parametrize("method", METHODS)
def test_bad_rows_are_named_by_the_fit(rows, method):
    bad, zeros = rows[0].copy(), rows[0].copy()
    bad[17, 3] = np.inf
    with pytest.raises(ValueError, match=r"column 3 \(1 of 3000 rows, first inf in row 17\)"):
        NeighborIndex(method=method).fit(bad)
    zeros[5:1000] = 0
    with pytest.raises(ValueError, match="row 5 of features holds only zeros"):
        NeighborIndex(metric="cosine", method=method).fit(zeros)
    allowed = NeighborIndex(3, metric="cosine", method=method, zero_rows="allow").fit(zeros)
    assert (allowed.kneighbors(zeros[5:6])[0] == 1).all()


def test_fewer_rows_than_neighbors(rows):
    X, Q = rows
    index = NeighborIndex().fit(X[:10])
    with pytest.raises(ValueError, match="n_neighbors is 15; expected at most the number of rows, which is 10"):
        index.kneighbors(Q)
    assert index.kneighbors(Q, 10)[1].shape == (400, 10)
    assert NeighborIndex(method="partitions").fit(X[:2]).kneighbors(Q, 2)[1].shape == (400, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_fitted_rows_are_not_copied(rows, dtype, tmp_path):
    X, Q = (part.astype(dtype) for part in rows)
    index = NeighborIndex(method="partitions", random_state=0).fit(X)
    assert np.shares_memory(index._fit_X, X)
    np.save(tmp_path / "X.npy", X)
    mapped = NeighborIndex(method="partitions", random_state=0).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert isinstance(mapped._fit_X, np.memmap) or isinstance(mapped._fit_X.base, np.memmap)
    np.testing.assert_array_equal(mapped.kneighbors(Q)[1], index.kneighbors(Q)[1])


@pytest.mark.parametrize("method", METHODS)
def test_pickle_keeps_the_answers_whatever_the_seed(rows, method):
    X, Q = rows
    index = NeighborIndex(method=method, recall_target=0.5).fit(X)
    again = pickle.loads(pickle.dumps(index))
    for one, other in zip(again.kneighbors(Q), index.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again.report_, again.get_params()) == (index.report_, index.get_params())
    twice = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(twice.kneighbors(Q)[1], index.kneighbors(Q)[1])
    with pytest.raises(NotFittedError):
        clone(index).kneighbors(Q)


def test_pickled_classifiers_keep_the_index_that_predictions_made():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(23_000, 200)).astype(np.float32)
    y = np.where(np.arange(len(X)) < 2000, (X[:, 0] > 0).astype(int), -1)
    clf = HarmonicClassifier(5, recall_target=0.3).fit(X, y)
    expected = clf.predict_proba(X[:50] + 1e-3)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X[:50] + 1e-3), expected)


def test_phases_are_told(rows, capsys):
    X, Q = rows
    events = []
    NeighborIndex(method="partitions", callback=events.append).fit(X).kneighbors(Q)
    assert [phase for phase in dict.fromkeys(event["phase"] for event in events)] == ["index", "query"]
    NeighborIndex(verbose=1).fit(X).kneighbors(Q)
    out, err = capsys.readouterr()
    assert out == "" and "[lapwing] query: " in err
