"""The baselines: against scikit-learn and dense twins, pickled, saved, on features and graphs of every kind."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from lapwing import HarmonicClassifier, load_model, save_model
from lapwing.baselines import (
    EigenfunctionClassifier,
    ForestClassifier,
    LinearClassifier,
    MajorityClassifier,
    NearestLabelClassifier,
    SimpleHarmonicClassifier,
    SubsamplingHarmonicClassifier,
)
from lapwing.graph import knn_graph
from lapwing.model_selection import labeled_folds

BASELINES = [
    EigenfunctionClassifier(n_eigenfunctions=8),
    ForestClassifier(random_state=0),
    LinearClassifier(),
    NearestLabelClassifier(),
    SimpleHarmonicClassifier(random_state=0),
    SubsamplingHarmonicClassifier(120, random_state=0),
]
FITTED = (
    "transduction_",
    "label_distributions_",
    "scores_",
    "confidence_",
    "classes_",
    "reached_",
    "n_iter_",
    "residual_",
    "converged_",
    "report_",
    "n_features_in_",
)
each = pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: type(baseline).__name__)


def blobs(n=400, n_labeled=20):
    X, truth = make_blobs(n, n_features=4, centers=3, cluster_std=1.0, random_state=3)
    return X, truth, np.where(np.arange(n) < n_labeled, truth, -1)


@each
def test_rows_get_the_label_of_their_blob(baseline):
    X, truth, y = blobs()
    clf = clone(baseline).fit(X, y)
    assert (clf.transduction_ == truth).mean() > 0.97
    assert all(hasattr(clf, name) for name in FITTED)
    assert clf.report_["method"] == clf._method and clf.converged_ and clf.reached_.all()
    assert clf.scores_.shape == clf.label_distributions_.shape == (400, 3)
    np.testing.assert_allclose(clf.label_distributions_.sum(axis=1), 1.0)
    assert clf.score(X, truth) > 0.97
    if not isinstance(clf, SimpleHarmonicClassifier):
        np.testing.assert_array_equal(clf.predict_proba(X), clf.label_distributions_)


@each
def test_sparse_rows_and_other_threads_give_the_same_labels(baseline):
    X, _, y = blobs()
    X = X.astype(np.float32)
    if "metric" in baseline.get_params():
        baseline = clone(baseline).set_params(metric="euclidean")
    dense = clone(baseline).fit(X, y)
    np.testing.assert_array_equal(clone(baseline).set_params(n_jobs=3).fit(X, y).scores_, dense.scores_)
    sparse = clone(baseline).fit(sp.csr_array(X), y)
    # Fits of the linear model to rows in another form end at other places within their tolerance.
    atol = 0.3 if isinstance(baseline, LinearClassifier) else 1e-3
    np.testing.assert_allclose(sparse.scores_, dense.scores_, atol=atol)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X[:9])), dense.predict(X[:9]))


@each
def test_pickled_and_saved_classifiers_predict_the_same(baseline, tmp_path):
    X, _, y = blobs()
    new = make_blobs(50, n_features=4, centers=3, random_state=4)[0]
    for rows, more in ((X, new), (sp.csr_array(X.astype(np.float32)), sp.csr_array(new.astype(np.float32)))):
        clf = clone(baseline).fit(rows, y)
        expected = clf.predict_proba(more)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(more), expected)
        path = tmp_path / "model.lapwing"
        save_model(clf, path)
        loaded = load_model(path)
        assert type(loaded) is type(clf)
        np.testing.assert_array_equal(loaded.predict_proba(more), expected)
        save_model(loaded, path)
        np.testing.assert_array_equal(load_model(path).predict(more), clf.predict(more))


def test_the_nearest_label_is_that_of_one_neighbor():
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(len(X)) % 20 == 0, truth, -1)
    for metric in ("euclidean", "cosine"):
        expected = KNeighborsClassifier(1, metric=metric, algorithm="brute").fit(X[y >= 0], y[y >= 0]).predict(X)
        found = NearestLabelClassifier(metric).fit(X, y).transduction_
        # Equal distances are rare here, and rounded differently.
        assert (found == expected).mean() > 0.999


def test_the_linear_model_is_that_of_scikit_learn():
    X, _, y = blobs()
    X, known = X + np.random.default_rng(0).normal(0, 4, X.shape), y >= 0
    for rows in (X, sp.csr_array(X.astype(np.float32))):
        clf = LinearClassifier(l2_reg=0.1).fit(rows, y)
        labeled = X[known] - X[known].mean(axis=0)
        scale = np.sqrt((labeled**2).sum(axis=1).mean())
        # The bias has the same penalty, so it is the coefficient of a column of ones.
        expected = LogisticRegression(C=10, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(
            np.column_stack([labeled / scale, np.ones(len(labeled))]), y[known]
        )
        whole = np.column_stack([(X - X[known].mean(axis=0)) / scale, np.ones(len(X))])
        np.testing.assert_allclose(softmax(clf.scores_, axis=1), expected.predict_proba(whole), atol=2e-2)
        np.testing.assert_allclose(X @ clf.coefficients_ + clf.bias_, clf.scores_, atol=1e-3)


def test_the_majority_class_has_its_share_of_the_labels():
    X, _, y = blobs()
    clf = MajorityClassifier().fit(X, y)
    counts = np.bincount(y[y >= 0])
    assert (clf.transduction_ == counts.argmax()).all()
    np.testing.assert_allclose(clf.confidence_, counts.max() / counts.sum())
    assert clf.score(X, blobs()[1]) < 0.5


def test_a_forest_is_as_good_as_that_of_scikit_learn():
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(len(X)) % 12 == 0, truth, -1)
    hidden = y < 0
    ours = ForestClassifier(random_state=0).fit(X, y)
    theirs = ExtraTreesClassifier(100, random_state=0).fit(X[~hidden], y[~hidden])
    accuracy = (ours.transduction_ == truth)[hidden].mean()
    assert accuracy > theirs.score(X[hidden], truth[hidden]) - 0.02
    # Confidence is fitted to labels that were held out.
    assert abs(ours.confidence_[hidden].mean() - accuracy) < 0.05


def test_all_rows_in_the_sample_make_the_harmonic_function():
    X, _, y = blobs()
    harmonic = HarmonicClassifier(certify=False).fit(X, y)
    for size in (None, 400):
        np.testing.assert_array_equal(SubsamplingHarmonicClassifier(size).fit(X, y).scores_, harmonic.scores_)
    with pytest.raises(ValueError, match="n_subsample is 19; expected at least 20"):
        SubsamplingHarmonicClassifier(19).fit(X, y)


def test_least_squares_on_eigenvectors_equal_those_of_numpy():
    X, _, y = blobs()
    graph = knn_graph(X, 10)
    clf = SimpleHarmonicClassifier(affinity="precomputed", n_eigenvectors=7).fit(graph.to_scipy(), y)
    weights = graph.to_scipy().toarray()
    known = y >= 0
    reached = clf.reached_
    weights = weights[np.ix_(reached, reached)]
    _, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    u = vectors[:, :7]
    alpha = np.linalg.lstsq(u[known[reached]], np.eye(3)[y[known]], rcond=1e-6)[0]
    np.testing.assert_allclose(clf.scores_[reached], u @ alpha, atol=1e-6)
    from_features = SimpleHarmonicClassifier(10, n_eigenvectors=7).fit(X, y)
    np.testing.assert_allclose(from_features.scores_, clf.scores_, atol=1e-6)
    with pytest.raises(ValueError, match="no features"):
        save_model(clf, "nowhere.lapwing")


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (EigenfunctionClassifier(0), "n_eigenfunctions is 0; expected a whole number of at least 1"),
        (SimpleHarmonicClassifier(n_eigenvectors=0), "n_eigenvectors is 0"),
        (SubsamplingHarmonicClassifier(0), "n_subsample is 0"),
        (ForestClassifier(0), "n_trees is 0"),
        (LinearClassifier(-1.0), "l2_reg is -1"),
        (NearestLabelClassifier("manhattan"), "metric is 'manhattan'; expected one of"),
    ],
)
def test_parameters_out_of_range_are_named(clf, message):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)


def test_a_grid_search_chooses_the_number_of_functions():
    X, truth, y = blobs(n_labeled=60)
    search = GridSearchCV(
        EigenfunctionClassifier(), {"n_eigenfunctions": [1, 8]}, cv=labeled_folds(y, 3)
    )
    search.fit(X, y)
    assert search.best_params_["n_eigenfunctions"] == 8
    assert (search.best_estimator_.transduction_ == truth).mean() > 0.97
