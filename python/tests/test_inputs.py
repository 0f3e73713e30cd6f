"""Features of every type and order, and what is said about bad ones."""

import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from datasets import rows_of
from sklearn.naive_bayes import GaussianNB

from lapwing import (
    AutoLabeler,
    HarmonicClassifier,
    HarmonicRegressor,
    LaplacianRidgeClassifier,
    LaplacianSolver,
    SparseHarmonicClassifier,
    UnfoldedGNNClassifier,
)
from lapwing.audit import audit
from lapwing.baselines import SimpleHarmonicClassifier
from lapwing.graph import Graph, kneighbors, knn_graph


@pytest.fixture
def problem():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 200, size=(80, 6)).astype(np.uint8)
    y = np.full(80, -1)
    y[:9] = np.arange(9) % 3
    return X, y


CONVERSIONS = {
    "uint8": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X.astype(np.float64),
    "float16": lambda X: X.astype(np.float16),
    "int64": lambda X: X.astype(np.int64),
    "uint16": lambda X: X.astype(np.uint16),
    "big-endian": lambda X: X.astype(">f8"),
    "fortran": lambda X: np.asfortranarray(X.astype(np.float64)),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X: X.tolist(),
    "csr": lambda X: sp.csr_array(X.astype(np.float64)),
    "csc": lambda X: sp.csc_matrix(X.astype(np.float32)),
    "unsorted": lambda X: unsorted(sp.csr_array(X.astype(np.float32))),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcdef")),
    "polars": lambda X: pl.DataFrame(X.astype(np.float64), schema=list("abcdef")),
}


def unsorted(matrix):
    """The same matrix with the columns of each row reversed, and one entry split in two."""
    coo = matrix.tocoo()
    rows, columns, data = coo.row[::-1], coo.col[::-1], coo.data[::-1].copy()
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    return sp.csr_array((data[order], columns[order], indptr), shape=matrix.shape)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_same_answer_for_every_type(problem, name):
    X, y = problem
    convert = CONVERSIONS[name]
    expected = HarmonicClassifier(6, metric="euclidean").fit(X, y)
    clf = HarmonicClassifier(6, metric="euclidean").fit(convert(X), y)
    # Distances may be summed in another order for another type; they are rounded to single precision.
    np.testing.assert_allclose(clf.scores_, expected.scores_, atol=1e-5)
    np.testing.assert_array_equal(clf.predict(convert(X)), expected.predict(X))
    if name != "polars":  # older releases of scikit-learn do not read their names
        assert hasattr(clf, "feature_names_in_") == (name == "pandas")


def test_unfit_names_are_noticed(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = HarmonicClassifier(6).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_arrays_are_borrowed(problem, dtype, tmp_path):
    X, y = problem
    X = X.astype(dtype)
    assert np.shares_memory(rows_of(HarmonicClassifier(6).fit(X, y)), X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    clf = HarmonicClassifier(6).fit(mapped, y)
    assert np.shares_memory(rows_of(clf), mapped)
    np.testing.assert_array_equal(clf.scores_, HarmonicClassifier(6).fit(X, y).scores_)


def test_too_many_neighbors_are_lowered_with_a_warning(problem):
    X, y = problem
    with pytest.warns(UserWarning, match="n_neighbors is 100, but each of 80 rows has only 79 neighbors; using 79"):
        clf = HarmonicClassifier(100).fit(X, y)
    np.testing.assert_array_equal(clf.scores_, HarmonicClassifier(79).fit(X, y).scores_)
    with pytest.raises(ValueError, match="n_neighbors is 80"):
        kneighbors(X, 80)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors is 0; expected"),
        ({"n_neighbors": -3}, ValueError, "n_neighbors is -3; expected"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors must be an integer, not float"),
        ({"metric": "manhattan"}, ValueError, "metric is 'manhattan'; expected one of auto, euclidean, cosine, inner-product"),
        ({"metric": None}, TypeError, "metric must be a string, not NoneType"),
        ({"weights": "heat"}, ValueError, "expected one of self-tuning, gaussian, cosine, binary"),
        ({"symmetrize": "both"}, ValueError, "expected one of union, mean, mutual"),
        ({"affinity": "rbf"}, ValueError, "expected one of knn, precomputed"),
        ({"form": "best"}, ValueError, "expected one of auto, stable, plain"),
        ({"clamp": "firm"}, ValueError, "expected one of soft, hard"),
        ({"form": "stable", "clamp": "hard"}, ValueError, "use form plain"),
        ({"decision": "vote"}, ValueError, "expected one of auto, centered, row-mean, argmax, mass, sizes"),
        ({"graph_reg": 0}, ValueError, "clamp the labels hard"),
        ({"graph_reg": "much"}, ValueError, "graph_reg is 'much'; expected a number above 0, inf, or auto"),
        ({"bandwidth": -1.0, "weights": "gaussian"}, ValueError, "bandwidth is -1"),
        ({"tol": 0.0}, ValueError, "tol is 0"),
        ({"tol": "small"}, TypeError, "tol must be a number, not str"),
        ({"max_iter": 0}, ValueError, "max_iter is 0; expected a whole number of at least 1"),
        ({"recall_target": 1.5}, ValueError, "recall_target is 1.5"),
        ({"class_prior": [0.5, 0.5, -1.0]}, ValueError, "class_prior is 0.5,0.5,-1; expected numbers above 0"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"n_jobs": 1.0}, TypeError, "n_jobs must be an integer or None, not float"),
        ({"random_state": -1}, ValueError, "random_state is -1"),
        ({"callback": 3}, TypeError, "callback must be callable, not int"),
    ],
)
def test_bad_parameters_are_named(problem, params, error, text):
    X, y = problem
    with pytest.raises(error, match=text):
        HarmonicClassifier(**{"n_neighbors": 6, **params}).fit(X, y)


def test_bad_values_are_named(problem):
    X, y = problem
    bad = X.astype(np.float64)
    bad[17, 3] = np.nan
    text = r"features: 1 column with missing or infinite values: column 3 \(1 of 80 rows, first NaN in row 17\)"
    with pytest.raises(ValueError, match=text):
        HarmonicClassifier(6).fit(bad, y)
    clf = HarmonicClassifier(6).fit(X, y)
    with pytest.raises(ValueError, match="row 17"):
        clf.predict(bad)
    with pytest.raises(ValueError, match="zeros"):
        HarmonicClassifier(6, metric="cosine").fit(np.where(np.arange(80)[:, None] == 5, 0, X), y)
    with pytest.raises(ValueError, match=r"the target of row 2 is not finite"):
        HarmonicRegressor(6).fit(X, [np.nan, 1.0, np.inf] + [0.0] * 77)
    with pytest.raises(ValueError, match="the weight of row 0 is -1"):
        HarmonicClassifier(6).fit(X, y, np.full(80, -1.0))
    with pytest.raises(ValueError, match="sample_weight has 3 values"):
        HarmonicClassifier(6).fit(X, y, [1.0, 1.0, 1.0])


def frames(columns):
    return [pd.DataFrame(columns), pl.DataFrame(columns)]


def test_bad_columns_of_frames_are_named_all_at_once(problem):
    _, y = problem
    columns = {f"x{at}": np.arange(80.0) for at in range(3)}
    dates = [datetime(2024, 1, 1 + row % 28) for row in range(80)]
    texts = {"id": [f"r{row}" for row in range(80)], **columns, "date": dates, "mixed": ["1"] * 79 + ["red"]}
    for frame, drop in zip(frames(texts), (r"X\.drop\(columns=\[", r"X\.drop\(\["), strict=True):
        fit = HarmonicClassifier(6).fit
        text = r"X: 3 columns with cells that are not numbers: 'id' \(80 of 80 rows, first 'r0' in row 0\), 'date' \("
        with pytest.raises(ValueError, match=text):
            fit(frame, y)
        text = r"'mixed' \(1 of 80 rows, first 'red' in row 79\); use .*label_frame, or leave them out: " + drop
        with pytest.raises(ValueError, match=text + r"\"id\", \"date\", \"mixed\"\]\)$"):
            fit(frame, y)
    for frame in frames({**columns, "x1": [np.nan] * 2 + [1.0] * 77 + [np.inf], "x3": [1.0] * 17 + [None] + [2.0] * 62}):
        with pytest.raises(ValueError, match=r"X: 2 columns .*'x1' \(3 of 80 rows, .* in row 0\), 'x3' \(1 of 80 rows"):
            HarmonicClassifier(6).fit(frame, y)
        with pytest.raises(ValueError, match=r"'x3' \(1 of 80 rows, first nan in row 17\); impute these, or leave them out"):
            knn_graph(frame, 6)
        fitted = HarmonicClassifier(6).fit(type(frame)({**columns, "x3": columns["x0"]}), y)
        with pytest.raises(ValueError, match="X: 2 columns with missing"):
            fitted.predict(frame)
    for frame in frames({**columns, "x1": [1e300] + [1.0] * 79}):
        with pytest.raises(ValueError, match=r"beyond single precision: 'x1' \(1 of 80 rows, first 1e\+300 in row 0\)"):
            HarmonicClassifier(6).fit(frame, y)


def test_frames_of_other_numbers_are_features(problem):
    X, y = problem
    expected = HarmonicClassifier(6).fit(X, y).scores_
    for dtype in ["Int64", "Float32", "category", object, "uint8", pd.SparseDtype("float64", 0.0)]:
        frame = pd.DataFrame(X, columns=list("abcdef")).astype(dtype)
        np.testing.assert_allclose(HarmonicClassifier(6, metric="euclidean").fit(frame, y).scores_, expected, atol=1e-5)
    missing = pd.DataFrame(X, columns=list("abcdef")).astype("Int64")
    missing.loc[3, "e"] = pd.NA
    with pytest.raises(ValueError, match=r"'e' \(1 of 80 rows, first nan in row 3\)"):
        HarmonicClassifier(6).fit(missing, y)


def test_digits_that_are_lost_are_not_lost_silently(problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"as the largest value of all \(column \d\); distances .* scale the features up"):
        HarmonicClassifier(6).fit(X * 1e-310, y)
    with pytest.warns(UserWarning, match="80 of 80 rows equal all their neighbors"):
        HarmonicClassifier(6).fit(X / 100 + 1e17, y)
    np.testing.assert_allclose(
        HarmonicClassifier(6).fit(X + 1e9, y).scores_, HarmonicClassifier(6).fit(X, y).scores_, atol=1e-5
    )


def test_bad_graphs_are_named(problem):
    _, y = problem
    fit = HarmonicClassifier(affinity="precomputed").fit
    W = sp.random(80, 80, density=0.1, random_state=0)
    W = sp.lil_matrix(W + W.T)
    one_sided, negative, infinite = W.copy(), W.copy(), W.copy()
    one_sided[3, 4] = 7.0
    with pytest.raises(ValueError, match=r"edge \(3, 4\) has weight 7 but \(4, 3\) has"):
        fit(one_sided, y)
    negative[3, 4] = negative[4, 3] = -2.0
    with pytest.raises(ValueError, match=r"edge \(3, 4\) has weight -2"):
        fit(negative, y)
    with pytest.raises(ValueError, match=r"edge \(3, 4\) has weight -2"):
        Graph.from_scipy(negative)
    infinite[3, 4] = infinite[4, 3] = np.inf
    with pytest.raises(ValueError, match=r"edge \(3, 4\) has weight inf"):
        fit(infinite, y)
    with pytest.raises(ValueError, match=r"square matrix; got shape \(80, 70\)"):
        fit(W[:, :70], y)


def test_bad_neighbors_are_named(problem):
    X, y = problem
    fit = HarmonicClassifier(affinity="precomputed").fit
    distances, indices = kneighbors(X, 6)
    with pytest.raises(TypeError, match="indices first; got float32"):
        fit((distances, indices), y)
    with pytest.raises(ValueError, match="must both be"):
        fit((indices, distances[:, :3]), y)
    with pytest.raises(ValueError, match="row 0 of the precomputed neighbors names a neighbor outside"):
        fit((np.where(indices == indices[0, 0], 80, indices), distances), y)
    with pytest.raises(ValueError, match="name no other row than the row itself"):
        fit((np.arange(80)[:, None], np.zeros((80, 1))), y)
    with pytest.raises(ValueError, match="distances has 1 masked values, first in row 3"):
        fit((indices, np.ma.array(distances, mask=np.eye(80, 6, k=-3)[:, :6] * (np.arange(80) == 3)[:, None])), y)
    with pytest.raises(ValueError, match="ascending"):
        fit((indices, distances[:, ::-1]), y)


def test_sparse_and_dense_rows_have_the_same_graph(problem):
    X, _ = problem
    dense = knn_graph(X.astype(np.float32), 6).to_scipy()
    sparse = knn_graph(sp.csr_array(X.astype(np.float32)), 6, metric="euclidean").to_scipy()
    np.testing.assert_allclose(sparse.toarray(), dense.toarray(), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32, np.uint64])
def test_neighbors_as_search_libraries_give_them(problem, dtype):
    X, y = problem
    distances, indices = kneighbors(X, 6)
    indices = indices.astype(dtype)
    fit = HarmonicClassifier(affinity="precomputed").fit
    expected = fit((indices, distances), y).scores_
    # Each row first, or where a twin took its place one neighbor more; and what was not found.
    own, zeros = np.arange(80, dtype=dtype)[:, None], np.zeros((80, 1), np.float32)
    more, more_indices = kneighbors(X, 7)
    with_itself = np.hstack([own, indices]), np.hstack([zeros, distances])
    with_itself[0][5], with_itself[1][5] = more_indices[5], more[5]
    none = np.full((80, 2), -1).astype(dtype)
    padded = np.hstack([indices, none]), np.hstack([distances, np.full((80, 2), np.inf, np.float32)])
    first = np.hstack([none, indices]), np.hstack([np.full((80, 2), 9.0, np.float32), distances])
    for neighbors in (with_itself, padded, first):
        np.testing.assert_array_equal(fit(neighbors, y).scores_, expected)
    # Lists of different lengths: as binary weights show.
    short = indices.copy()
    short[3, 2:] = np.array(-1).astype(dtype)
    W = np.zeros((80, 80))
    for row, found in enumerate(indices):
        W[row, found[: 2 if row == 3 else 6].astype(int)] = 1
    clf = HarmonicClassifier(affinity="precomputed", weights="binary", symmetrize="union")
    np.testing.assert_array_equal(
        clf.fit((short, distances), y).scores_, HarmonicClassifier(affinity="precomputed").fit(np.maximum(W, W.T), y).scores_
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, bool, np.float32, np.float64])
def test_duplicates_add_up_in_double_precision(dtype):
    rows = np.r_[np.zeros(300, int), np.ones(300, int), 1, 2]
    columns = np.r_[np.ones(300, int), np.zeros(300, int), 2, 1]
    coo = sp.coo_array((np.ones(602, dtype), (rows, columns)), shape=(3, 3))
    order = np.argsort(rows, kind="stable")
    csr = sp.csr_array((np.ones(602, dtype), columns[order], [0, 300, 601, 602]), shape=(3, 3))
    y = ["a", None, "b"]
    expected = HarmonicClassifier(affinity="precomputed").fit(np.array([[0, 300, 0], [300, 0, 1], [0, 1.0, 0]]), y).scores_
    for matrix in (coo, csr, csr.T, sp.coo_matrix(coo)):
        assert Graph.from_scipy(matrix).degree.tolist() == [300, 301, 1]
        np.testing.assert_array_equal(HarmonicClassifier(affinity="precomputed").fit(matrix, y).scores_, expected)
        np.testing.assert_array_equal(HarmonicClassifier().fit(None, y, graph=matrix).scores_, expected)
        assert LaplacianSolver(matrix).solve([1.0, -1.0, 0.0])[:2] @ [1, -1] == pytest.approx(1 / 300)
        as_features = kneighbors(matrix, 1, metric="euclidean")[0]
        np.testing.assert_allclose(as_features, kneighbors(np.array([[0, 300, 0], [300, 0, 1], [0, 1.0, 0]]), 1)[0])


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_format_of_sparse_matrices(problem, form, kind):
    X, y = problem
    made = getattr(sp, f"{form}_{kind}")(X.astype(np.float32))
    expected = HarmonicClassifier(6).fit(sp.csr_array(X.astype(np.float32)), y)
    found = HarmonicClassifier(6).fit(made, y)
    np.testing.assert_array_equal(found.scores_, expected.scores_)
    np.testing.assert_array_equal(found.predict(made), expected.predict(sp.csr_array(X)))
    W = knn_graph(X, 6).to_scipy()
    by_graph = HarmonicClassifier(affinity="precomputed").fit(getattr(sp, f"{form}_{kind}")(W), y)
    np.testing.assert_array_equal(by_graph.scores_, HarmonicClassifier(affinity="precomputed").fit(W, y).scores_)


def test_what_is_under_a_mask_is_no_feature(problem):
    X, y = problem
    mask = np.zeros(X.shape, bool)
    mask[17, 3] = True
    masked = np.ma.array(X, mask=mask)
    text = r"X has 1 masked values, first in row 17; expected none: impute them, or give X.filled"
    for call in (HarmonicClassifier(6).fit, HarmonicRegressor(6).fit, lambda X, y: knn_graph(X, 6), lambda X, y: audit(X, y)):
        with pytest.raises(ValueError, match=text):
            call(masked, y)
    fitted = HarmonicClassifier(6).fit(np.ma.array(X, mask=False), y)
    with pytest.raises(ValueError, match=text):
        fitted.predict(masked)
    with pytest.raises(ValueError, match="sample_weight has 1 masked values, first in row 2"):
        HarmonicClassifier(6).fit(X, y, np.ma.array(np.ones(80), mask=np.arange(80) == 2))


def test_features_beside_a_graph_that_takes_their_place_are_named(problem):
    X, y = problem
    W = knn_graph(X, 6)
    values = np.where(y < 0, np.nan, y)
    for estimator, labels in [
        (HarmonicClassifier(), y),
        (HarmonicClassifier(prior=np.full((80, 3), 1 / 3)), y),
        (SparseHarmonicClassifier(), y),
        (SimpleHarmonicClassifier(), y),
        (HarmonicRegressor(), values),
    ]:
        with pytest.warns(UserWarning, match=f"X is not used: {type(estimator).__name__} takes the graph in its place; give None"):
            estimator.fit(X, labels, graph=W)
        assert [found["kind"] for found in estimator.report_["warnings"]].count("not-as-given") == 1
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="X is not used")
            estimator.fit(None, labels, graph=W)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="X is not used")
        for estimator in (HarmonicClassifier(prior=GaussianNB()), UnfoldedGNNClassifier(), LaplacianRidgeClassifier(), AutoLabeler()):
            estimator.set_params(random_state=0).fit(X, y, graph=W)


def test_weights_out_of_range_say_what_to_do(problem):
    X, y = problem
    with pytest.raises(ValueError, match="the weight of row 0 is 1e-300; .*divide all by the largest"):
        HarmonicClassifier(6).fit(X, y, np.full(80, 1e-300))
