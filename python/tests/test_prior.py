"""Harmonic fits that start from a prior: shares, or a classifier of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicClassifier, HarmonicRegressor, SparseHarmonicClassifier

N = 240


@pytest.fixture
def nodes():
    """Features that are right about the class of most nodes, a graph that is, all classes, and the labels of a fifth."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 3
    X = np.eye(3)[truth] + rng.normal(0, 0.8, (N, 3))
    pairs = rng.integers(0, N, (6000, 2))
    joined = (truth[pairs[:, 0]] == truth[pairs[:, 1]]) | (rng.random(6000) < 0.3)
    pairs = pairs[joined & (pairs[:, 0] != pairs[:, 1])][:900]
    A = sp.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(N, N))
    A = sp.csr_array(((A + A.T) > 0).astype(float))
    y = np.array(["red", "green", "blue"])[truth].astype(object)
    hidden = rng.permutation(N)[: N * 4 // 5]
    shown = y.copy()
    shown[hidden] = None
    return X, A, y.astype(str), shown, hidden


def accuracy(labels, y, hidden):
    return (labels[hidden] == y[hidden]).mean()


def test_a_classifier_of_the_features_and_the_graph_are_better_than_either(nodes):
    X, A, y, shown, hidden = nodes
    prior = LogisticRegression()
    clf = HarmonicClassifier(prior=prior, random_state=0).fit(X, shown, graph=A)
    alone = clf.prior_.predict(X)
    by_graph = HarmonicClassifier(random_state=0).fit(None, shown, graph=A).transduction_
    best = max(accuracy(alone, y, hidden), accuracy(by_graph, y, hidden))
    assert accuracy(clf.transduction_, y, hidden) > best + 0.02
    assert clf.reached_.all() and clf.report_["n_unreached"] == 0
    assert not hasattr(prior, "classes_"), "the given classifier is cloned"
    assert clf.prior_.classes_.tolist() == clf.classes_.tolist() == ["blue", "green", "red"]
    assert clf.report_["phases"][0]["name"] == "prior"
    assert clf.n_features_in_ == N
    # New nodes are given by their edges to those of the fit.
    assert (clf.predict(A) == clf.transduction_).mean() > 0.8


def test_labeled_rows_get_shares_that_did_not_see_their_label(nodes):
    X, A, y, shown, _ = nodes
    # The nearest neighbor of a labeled row is the row itself, were its label seen.
    clf = HarmonicClassifier(prior=KNeighborsClassifier(1), random_state=7).fit(X, shown, graph=A)
    given = np.flatnonzero([label is not None for label in shown])
    shares = np.zeros((N, 3))
    shares[:] = KNeighborsClassifier(1).fit(X[given], y[given]).predict_proba(X)
    codes = np.searchsorted(clf.classes_, y[given])
    for seen, left in StratifiedKFold(5, shuffle=True, random_state=7).split(codes, codes):
        model = KNeighborsClassifier(1).fit(X[given[seen]], y[given[seen]])
        shares[given[left]] = model.predict_proba(X[given[left]])
    assert (shares[given].argmax(axis=1) != codes).any()
    same = HarmonicClassifier(prior=shares, random_state=7).fit(None, shown, graph=A)
    np.testing.assert_array_equal(clf.scores_, same.scores_)
    assert same.prior_ is None


def test_scores_solve_their_system(nodes):
    X, A, y, shown, _ = nodes
    shares = np.random.default_rng(1).dirichlet(np.ones(3), N)
    gamma, kappa = 0.01, 0.4
    options = {"graph_reg": gamma, "prior_weight": kappa, "decision": "argmax", "tol": 1e-12}
    clf = HarmonicClassifier(prior=shares, **options).fit(None, shown, graph=A)
    given = np.flatnonzero([label is not None for label in shown])
    degree = np.asarray(A.sum(axis=1)).ravel()
    pulls = kappa * np.where(degree > 0, degree, degree.mean())
    weights = np.zeros(N)
    weights[given] = 1 / (gamma * len(given))
    targets = np.zeros((N, 3))
    targets[given] = np.eye(3)[np.searchsorted(clf.classes_, y[given])]
    matrix = np.diag(degree + weights + pulls) - A.toarray()
    expected = np.linalg.solve(matrix, weights[:, None] * targets + pulls[:, None] * shares)
    np.testing.assert_allclose(clf.scores_, expected, atol=1e-9)


def test_features_alone_make_the_graph(nodes):
    X, _, y, shown, hidden = nodes
    clf = HarmonicClassifier(prior=GaussianNB(), random_state=0).fit(X, shown)
    assert accuracy(clf.transduction_, y, hidden) > 0.6
    assert clf.predict(X[:5]).shape == (5,)
    sparse = SparseHarmonicClassifier(prior=GaussianNB(), random_state=0).fit(X, shown)
    assert (sparse.transduction_ == clf.transduction_).mean() > 0.9


def test_columns_of_a_data_frame_are_the_classes(nodes):
    pandas = pytest.importorskip("pandas")
    X, A, _, shown, _ = nodes
    model = GaussianNB().fit(X, np.arange(N) % 3)
    shares = model.predict_proba(X)[:, [2, 1, 0]]
    by_order = HarmonicClassifier(prior=shares, random_state=0).fit(None, shown, graph=A)
    frame = pandas.DataFrame(shares, columns=["blue", "green", "red"])[["red", "blue", "green"]]
    by_name = HarmonicClassifier(prior=frame, random_state=0).fit(None, shown, graph=A)
    np.testing.assert_array_equal(by_name.scores_, by_order.scores_)
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    clf = HarmonicClassifier(prior=LogisticRegression(), random_state=0).fit(table, shown, graph=A)
    assert clf.prior_.feature_names_in_.tolist() == ["a", "b", "c"]


def test_the_prior_is_a_parameter(nodes):
    X, A, _, shown, _ = nodes
    clf = HarmonicClassifier(prior=make_pipeline(StandardScaler(), LogisticRegression()), random_state=0)
    clf.set_params(prior__logisticregression__C=0.5)
    assert clone(clf).get_params()["prior__logisticregression__C"] == 0.5
    fitted = clf.fit(sp.csr_array(X).toarray(), shown, graph=A)
    assert fitted.prior_[-1].C == 0.5
    # What the classifier leaves to chance has our seed.
    forest = HarmonicClassifier(prior=RandomForestClassifier(10), random_state=3)
    first, second = (clone(forest).fit(X, shown, graph=A).scores_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert HarmonicClassifier(prior=LogisticRegression(), affinity="precomputed").fit(X, shown, graph=A).reached_.all()


def test_few_labels_and_their_weights(nodes):
    X, A, y, shown, _ = nodes
    one_each = np.array([None] * N, dtype=object)
    one_each[:3] = y[:3]
    assert HarmonicClassifier(prior=GaussianNB()).fit(X, one_each, graph=A).reached_.all()
    two = one_each.copy()
    two[3:10] = y[3:10]
    weights = np.ones(N)
    weights[0] = 0.0
    clf = HarmonicClassifier(prior=LogisticRegression(), random_state=0).fit(X, two, weights, graph=A)
    assert clf.prior_.classes_.size == 3
    given = [label is not None for label in two]
    counted = np.array(given) & (weights > 0)
    expected = LogisticRegression(random_state=0).fit(X[counted], y[counted], weights[counted])
    np.testing.assert_allclose(clf.prior_.coef_, expected.coef_)


def test_what_is_no_prior_is_refused(nodes):
    X, A, _, shown, _ = nodes
    shares = np.full((N, 3), 1 / 3)

    def refused(prior, kind, match, X=None, graph=A, y=shown, **options):
        with pytest.raises(kind, match=match):
            HarmonicClassifier(prior=prior, **options).fit(X, y, graph=graph)

    refused(LogisticRegression, TypeError, r"give an instance, LogisticRegression\(\)", X)
    refused(RidgeClassifier(), TypeError, r"no predict_proba.*CalibratedClassifierCV\(RidgeClassifier\(\)\)", X)
    refused("linear", TypeError, "prior is text")
    refused(LogisticRegression(), ValueError, r"give them as X and the graph as fit\(X, y, graph=...\)")
    refused(LogisticRegression(), ValueError, "fitted to features", A, None, affinity="precomputed")
    refused(LogisticRegression(), ValueError, f"X has 9 rows; expected {N}", X[:9])
    refused(LogisticRegression(), ValueError, "soft labels", X, y=shares)
    refused(shares[:5], ValueError, "the prior has 5 rows and 3 columns")
    refused(shares[:, :2], ValueError, "expected 240 rows and 3 columns")
    refused(shares[:, 0], ValueError, r"prior has shape \(240,\)")
    refused(shares * 2, ValueError, "row 0 of the prior holds shares that sum to 2")
    refused(np.where(np.arange(N)[:, None] == 4, np.nan, shares), ValueError, "row 4 of the prior holds NaN")
    refused(shares, ValueError, "form is stable", form="stable")
    refused(shares, ValueError, "prior_weight is 0", prior_weight=0.0)
    with pytest.raises(TypeError, match="prior"):
        HarmonicRegressor(prior=shares)
    edges = sp.coo_array(A)
    stream = np.stack([edges.row, edges.col], axis=1)[edges.row < edges.col]
    with pytest.raises(ValueError, match="fitted to features"):
        SparseHarmonicClassifier(affinity="edges", prior=LogisticRegression(), edge_budget=10_000).fit(stream, shown)
    found = SparseHarmonicClassifier(affinity="edges", prior=shares, edge_budget=10_000, refinements=0).fit(stream, shown)
    assert found.reached_.all()
