"""Low-rank propagation: its parameters, landmarks, models, rows of every kind and number."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from datasets import rule_of
from dense_twin import low_rank
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from lapwing import LowRankPropagationClassifier, load_model, save_model
from lapwing.exceptions import UnreachedWarning
from lapwing.model_selection import labeled_folds

#: Factors of landmarks, and all.
LANDMARK_FACTORS = ["anchor", "nystrom"]
FACTORS = [*LANDMARK_FACTORS, "glnp"]


def blobs(n=600, n_labeled=30):
    X, truth = make_blobs(n, n_features=4, centers=3, cluster_std=1.0, random_state=3)
    return X, truth, np.where(np.arange(n) < n_labeled, truth, -1)


def estimator(**params):
    return LowRankPropagationClassifier(**{"n_landmarks": 20, "random_state": 0, **params})


@pytest.mark.parametrize("factor", LANDMARK_FACTORS)
def test_rows_get_the_label_of_their_blob(factor):
    X, truth, y = blobs()
    clf = estimator(factor=factor).fit(X, y)
    assert (clf.transduction_ == truth).mean() > 0.97
    assert clf.scores_.shape == clf.label_distributions_.shape == (600, 3)
    np.testing.assert_allclose(clf.label_distributions_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.confidence_, clf.label_distributions_.max(axis=1))
    assert clf.reached_.all() and clf.converged_ and clf.n_iter_ == 1 and clf.score(X, truth) > 0.97
    assert clf.report_["method"] == "low-rank" and clf.report_["parts"]["low_rank"]["n_landmarks"] == 20
    assert clf.landmarks_.shape == (20, 4) and clf.bandwidth_ == clf.report_["chosen"]["bandwidth"]
    # Rows without a label are scored as new rows are.
    np.testing.assert_array_equal(clf.predict_proba(X[30:]), clf.label_distributions_[30:])
    np.testing.assert_array_equal(estimator(factor=factor).fit_predict(X, y), clf.transduction_)
    landmarks, extent = clf.landmarks_, np.abs(X).max(axis=0)
    assert (np.abs(landmarks) <= extent).all() and np.abs(landmarks).max() > 0.3 * extent.max()


@pytest.mark.parametrize("balance", ["balanced", "raw", "prior"])
@pytest.mark.parametrize("factor", LANDMARK_FACTORS)
def test_scores_are_those_of_the_dense_system(factor, balance):
    X, _, y = blobs(200, 9)
    trust = np.where(np.arange(200) % 2, 1.0, 0.5)
    options = {"factor": factor, "balance": balance, "class_prior": [0.5, 0.3, 0.2], "alpha": 0.8, "n_nearest": 5}
    clf = estimator(**options, landmarks=X[20:40], bandwidth=2.5, select="off").fit(X, y, trust)
    np.testing.assert_allclose(clf.landmarks_, X[20:40], atol=1e-6)
    assert clf.bandwidth_ == 2.5
    expected = low_rank(X, X[20:40], 2.5, y, trust * (y >= 0), **options)
    # Similarities are rounded to single precision, and divided by eigenvalues down to 1e-6 of the largest.
    np.testing.assert_allclose(clf.scores_, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("factor", FACTORS)
def test_any_number_of_threads_gives_the_same_bits(factor):
    X, _, y = blobs(5000)
    fits = [estimator(factor=factor, n_jobs=n).fit(X, y) for n in (1, 2, 7)]
    for other in fits[1:]:
        assert other.scores_.tobytes() == fits[0].scores_.tobytes()
        assert other.predict_proba(X[:99]).tobytes() == fits[0].predict_proba(X[:99]).tobytes()


@pytest.mark.parametrize("factor", FACTORS)
def test_a_memory_mapped_file_is_read_where_it_is(factor, tmp_path):
    X, _, y = blobs()
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    clf = estimator(factor=factor)
    assert np.shares_memory(clf._begin(mapped, y, None).rows["features"], mapped)
    np.testing.assert_array_equal(clf.fit(mapped, y).scores_, estimator(factor=factor).fit(X, y).scores_)
    np.testing.assert_array_equal(clf.predict(mapped), clf.predict(X))
    # Nothing of the length of the rows is kept beside the results.
    assert not any(getattr(value, "base", None) is mapped for value in vars(clf).values())
    assert len(pickle.dumps(clf._model)) < 5000


def test_bytes_and_sparse_rows_have_the_labels_of_the_same_numbers():
    X, _, y = blobs()
    X = (X * 8 + 128).clip(0, 255).astype(np.uint8)
    X[X < 90] = 0
    expected = estimator().fit(X.astype(np.float64), y)
    for rows in (X, X.astype(np.float32), sp.csr_array(X.astype(np.float32)), sp.csc_matrix(X.astype(np.float64))):
        clf = estimator().fit(rows, y)
        np.testing.assert_allclose(clf.scores_, expected.scores_, atol=1e-5 * np.abs(expected.scores_).max())
        np.testing.assert_array_equal(clf.predict(rows[:50]), expected.predict(X[:50].astype(np.float64)))


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("names", [[3, 7, 9], ["a", "b", "c"]])
def test_pickled_copied_and_saved_classifiers_predict_the_same(factor, names, tmp_path):
    X, _, y = blobs()
    y = np.where(y < 0, -1 if names[0] == 3 else None, np.take(np.array(names, dtype=object), y))
    y = y.astype(int) if names[0] == 3 else y
    new = make_blobs(50, n_features=4, centers=3, random_state=4)[0]
    clf = estimator(factor=factor).fit(X, y)
    expected = clf.predict_proba(new)
    for other in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        np.testing.assert_array_equal(other.predict_proba(new), expected)
        np.testing.assert_array_equal(other.transduction_, clf.transduction_)
    save_model(clf, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is LowRankPropagationClassifier
    assert (loaded.factor, loaded.n_landmarks) == (factor, 20)
    assert loaded.bandwidth == ("auto" if factor == "glnp" else clf.bandwidth_)
    assert factor != "anchor" or loaded.n_nearest == clf.report_["chosen"]["n_nearest"]
    np.testing.assert_array_equal(loaded.predict_proba(new), expected)
    assert (loaded.landmarks_ is None) == (factor == "glnp") == (clf.landmarks_ is None)
    if factor != "glnp":
        np.testing.assert_array_equal(loaded.landmarks_, clf.landmarks_)
    np.testing.assert_array_equal(loaded.predict(new), clf.predict(new))
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert (tmp_path / "model").stat().st_size < 5000


def test_a_learned_factor_labels_rows_and_new_rows():
    X, truth, y = blobs()
    X = X - X.min() + 1.0
    clf = estimator(factor="glnp").fit(X, y)
    assert (clf.transduction_ == truth).mean() > 0.9 and clf.score(X, truth) > 0.85
    assert clf.landmarks_ is None and clf.bandwidth_ is None
    learned = clf.report_["parts"]["glnp"]
    assert len(learned["objective"]) == learned["n_iter"] + 1 and (np.diff(learned["objective"]) <= 0).all()
    with pytest.warns(ConvergenceWarning, match="learning the factor stopped after 2 iterations, before it had converged"):
        short = estimator(factor="glnp", glnp_max_iter=2, glnp_tol=0.0).fit(X, y)
    assert learned["converged"] and short.report_["parts"]["glnp"]["n_iter"] == 2
    for other in ({"glnp_solver": "mu"}, {"glnp_start": "uniform"}, {"landmarks": X[:20]}):
        assert np.abs(estimator(factor="glnp", **other).fit(X, y).scores_ - clf.scores_).max() > 1e-6


def test_landmarks_of_ones_own_stay_as_they_are():
    X, truth, y = blobs()
    own = [X[truth == c].mean(axis=0).tolist() for c in range(3)]
    clf = estimator(landmarks=own, n_landmarks=0).fit(X, y)
    np.testing.assert_allclose(clf.landmarks_, own, atol=1e-6)
    assert (clf.transduction_ == truth).mean() > 0.97
    assert clone(clf).get_params()["landmarks"] == own
    with pytest.raises(ValueError, match="landmarks has 3 columns; expected 4 columns, as the features"):
        estimator(landmarks=[[1.0, 2.0, 3.0]]).fit(X, y)


def test_parameters_change_what_they_should():
    X, truth, y = blobs(2000)
    base = {"select": "off"}
    clf = estimator(**base).fit(X, y)
    for params in (
        {"landmarks": "uniform"},
        {"bandwidth": 2.0},
        {"n_nearest": 0},
        {"alpha": 0.5},
        {"balance": "raw"},
        {"head": "regression"},
        {"fit_rows": 500},
        {"random_state": 1},
    ):
        other = estimator(**{**base, **params}).fit(X, y)
        assert np.abs(other.scores_ - clf.scores_).max() > 1e-3 * np.abs(clf.scores_).max(), params
        assert (other.transduction_ == truth).mean() > 0.9, params
    iterated = estimator(**base, solver="iterative").fit(X, y)
    np.testing.assert_allclose(iterated.scores_, clf.scores_, atol=1e-8 * np.abs(clf.scores_).max())
    assert iterated.n_iter_ > 10 and iterated.residual_ <= 1e-10
    assert 400 < estimator(**base, fit_rows=500).fit(X, y).report_["parts"]["sample"]["n_rows"] < 700
    assert "cross_validation" in estimator().fit(X, y).report_["chosen"]


def test_more_landmarks_than_rows_are_lowered_with_a_warning():
    X, truth, y = blobs(90, 12)
    with pytest.warns(UserWarning, match="n_landmarks is 100, but there are only 90 rows; using 90"):
        clf = LowRankPropagationClassifier(random_state=0).fit(X, y)
    assert clf.report_["chosen"]["n_landmarks"] == 90 and clf.landmarks_.shape == (90, 4)
    assert (clf.transduction_ == truth).mean() > 0.9 and clf.reached_.all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(estimator(n_landmarks=90).fit(X, y).scores_, clf.scores_)


def test_what_the_report_warns_of_is_a_warning():
    X, _, y = blobs()
    with pytest.warns(ConvergenceWarning, match="stopped after 10000 iterations.*take solver closed"):
        clf = estimator(solver="iterative", alpha=0.9999, select="off").fit(X, y)
    assert not clf.converged_ and clf.n_iter_ == 10_000 and clf.residual_ > 1e-14
    far = X.copy()
    far[599] += 1e5
    outlier = {"factor": "nystrom", "landmarks": "uniform", "bandwidth": 2.0, "select": "off"}
    with pytest.warns(UnreachedWarning, match="1 of 600 rows have no evidence"):
        clf = estimator(**outlier, abstain=True).fit(far, y)
    assert clf.transduction_[599] == -1 and not clf.reached_[599] and np.isnan(clf.scores_[599]).all()
    np.testing.assert_allclose(clf.label_distributions_[599], rule_of(clf)["prior"])


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"n_landmarks": 0}, ValueError, "n_landmarks is 0; expected a whole number of at least 1 and at most 65,536"),
        ({"n_landmarks": 2.5}, TypeError, "n_landmarks must be an integer, not float"),
        ({"factor": "svd"}, ValueError, "factor is 'svd'; expected one of anchor, nystrom, glnp"),
        ({"factor": None}, TypeError, "factor must be a string, not NoneType"),
        ({"landmarks": "grid"}, ValueError, "landmarks is 'grid'; expected one of kmeans, uniform"),
        ({"landmarks": None}, TypeError, "landmarks must be a string, not NoneType"),
        ({"n_nearest": -1}, ValueError, "n_nearest is -1; expected a whole number of at least 0"),
        ({"bandwidth": "wide"}, ValueError, "bandwidth is 'wide'; expected a number above 0, or auto"),
        ({"bandwidth": 0.0}, ValueError, "bandwidth is 0"),
        ({"alpha": 1.0}, ValueError, "alpha is 1; expected a number of at least 0 and below 1"),
        ({"balance": "even"}, ValueError, "balance is 'even'; expected one of balanced, raw, prior"),
        ({"class_prior": [0.5, 0.5]}, ValueError, "class_prior"),
        ({"head": "lasso"}, ValueError, "expected one of propagation, regression"),
        ({"head": "regression", "factor": "nystrom"}, ValueError, "head is regression"),
        ({"select": "on"}, ValueError, "expected one of auto, off"),
        ({"solver": "cg"}, ValueError, "expected one of closed, iterative"),
        ({"glnp_solver": "sgd"}, ValueError, "expected one of apgd, mu, apgd-paper"),
        ({"glnp_start": "zero"}, ValueError, "expected one of kmeans, uniform"),
        ({"glnp_max_iter": -1}, ValueError, "glnp_max_iter is -1"),
        ({"glnp_tol": 1.0}, ValueError, "glnp_tol is 1"),
        ({"fit_rows": 0}, ValueError, "fit_rows is 0"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
    ],
)
def test_bad_parameters_are_named(params, error, text):
    X, _, y = blobs()
    with pytest.raises(error, match=text):
        estimator(**params).fit(X, y)


def test_bad_values_are_named():
    X, _, y = blobs()
    bad = X.copy()
    bad[17, 3] = np.nan
    clf = estimator().fit(X, y)
    for call in (lambda: estimator().fit(bad, y), lambda: clf.predict(bad)):
        with pytest.raises(ValueError, match=r"column 3 \(1 of \d+ rows, first NaN in row 17\)"):
            call()
    with pytest.raises(ValueError, match="landmarks|row 1"):
        estimator(landmarks=bad[16:19]).fit(X, y)


def test_a_grid_search_chooses_the_number_of_landmarks():
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(len(X)) < 200, truth, -1)
    search = GridSearchCV(estimator(), {"n_landmarks": [5, 200]}, cv=labeled_folds(y, 3)).fit(X, y)
    assert search.best_params_["n_landmarks"] == 200
    assert (search.best_estimator_.transduction_[200:] == truth[200:]).mean() > 0.85


def test_parameters_stand_in_their_order():
    names = list(LowRankPropagationClassifier.__init__.__kwdefaults__)
    assert names[:6] == ["factor", "landmarks", "n_nearest", "bandwidth", "alpha", "balance"]
    assert set(LowRankPropagationClassifier().get_params()) == {"n_landmarks", *names}


def test_progress_and_interruption():
    X, _, y = blobs(3000)
    phases = []
    estimator(callback=lambda event: phases.append(event["phase"])).fit(X, y)
    assert list(dict.fromkeys(phases)) == ["landmarks", "select", "sums", "solve", "apply"]

    def stop(event):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        estimator(callback=stop).fit(X, y)
