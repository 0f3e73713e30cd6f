"""The estimators against the dense twin."""

import dense_twin
import numpy as np
import pytest
import scipy.sparse as sp
from datasets import two_islands
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score

from lapwing import HarmonicClassifier, HarmonicRegressor
from lapwing.exceptions import UnreachedWarning
from lapwing.graph import Graph, kneighbors, knn_graph

FORMS = [("stable", "soft"), ("plain", "soft"), ("plain", "hard")]
#: CG stops at a relative residual of 1e-12; the systems here have condition numbers below 1e4.
EXACT = {"rtol": 0, "atol": 1e-8}


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = np.full(150, -1)
    y[:15] = np.arange(15) % 3
    return X, y


def auto_reg(form, weights, targets, trust):
    columns = targets.shape[1]
    stable = columns / (trust > 0).sum() if columns > 1 else 0.1
    return {"stable": stable, "plain": 0.01}[form] / weights.sum(axis=1).mean()


def one_hot(y):
    return np.eye(y.max() + 1)[np.maximum(y, 0)] * (y >= 0)[:, None]


def test_graph_is_that_of_the_twin(problem):
    X, _ = problem
    indices, distances = dense_twin.neighbors(X, 8)
    found_distances, found_indices = kneighbors(X, 8)
    np.testing.assert_array_equal(found_indices, indices)
    np.testing.assert_allclose(found_distances, distances, rtol=1e-6)
    expected = dense_twin.self_tuning(indices, found_distances.astype(np.float64))
    # Widths are kept in single precision; at a weight of exp(-x) that is a relative error of x times 6e-8.
    np.testing.assert_allclose(knn_graph(X, 8).to_scipy().toarray(), expected, rtol=3e-6)
    wider = dense_twin.self_tuning(indices, found_distances.astype(np.float64), h=1.5)
    np.testing.assert_allclose(knn_graph(X, 8, bandwidth=1.5).to_scipy().toarray(), wider, rtol=3e-6)


@pytest.mark.parametrize(("form", "clamp"), FORMS)
@pytest.mark.parametrize("trusted", [False, True])
def test_classifier_is_the_closed_form(problem, form, clamp, trusted):
    X, y = problem
    sample_weight = np.where(np.arange(150) % 4 == 0, 0.25, 2.0) if trusted else None
    trust = (y >= 0) * (1.0 if sample_weight is None else sample_weight)
    weights = knn_graph(X, 8).to_scipy().toarray()
    expected, mean = dense_twin.harmonic(
        weights, one_hot(y), trust, auto_reg(form, weights, one_hot(y), trust), form, clamp
    )
    clf = HarmonicClassifier(8, form=form, clamp=clamp, tol=1e-12).fit(X, y, sample_weight)
    np.testing.assert_allclose(clf.scores_, expected, **EXACT)
    centered = expected if form == "stable" else expected - mean
    np.testing.assert_array_equal(clf.transduction_, centered.argmax(axis=1))
    np.testing.assert_allclose(clf.label_distributions_.sum(axis=1), 1.0, rtol=1e-12)
    assert (clf.label_distributions_.argmax(axis=1) == clf.transduction_).all()
    np.testing.assert_array_equal(clf.confidence_, clf.label_distributions_.max(axis=1))
    assert clf.converged_ and clf.residual_ <= 1e-12 and clf.reached_.all()
    if form == "plain":
        np.testing.assert_allclose(clf.scores_.sum(axis=1), 1.0, **EXACT)


@pytest.mark.parametrize(("form", "clamp"), FORMS)
def test_regressor_is_the_closed_form(problem, form, clamp):
    X, y = problem
    values = np.where(y >= 0, X @ [1.0, 2.0, 0.0, -1.0] + 30.0, np.nan)
    weights = knn_graph(X, 8).to_scipy().toarray()
    targets, trust = np.nan_to_num(values)[:, None], (y >= 0) * 1.0
    graph_reg = auto_reg(form, weights, targets, trust)
    expected, mean = dense_twin.harmonic(weights, targets, trust, graph_reg, form, clamp)
    expected = expected[:, 0] + (mean[0] if form == "stable" else 0.0)
    reg = HarmonicRegressor(8, form=form, clamp=clamp, tol=1e-12).fit(X, values)
    np.testing.assert_allclose(reg.transduction_, expected, rtol=1e-8)
    np.testing.assert_array_equal(reg.scores_, reg.transduction_)
    marked = np.where(np.isnan(values), -999.0, values)
    same = HarmonicRegressor(8, form=form, clamp=clamp, tol=1e-12, unlabeled=-999.0).fit_predict(X, marked)
    np.testing.assert_array_equal(same, reg.transduction_)


def test_regressor_chooses_its_form():
    X, truth = load_diabetes(return_X_y=True)
    y = np.full(len(truth), np.nan)
    drawn = np.random.default_rng(0).permutation(len(truth))
    y[drawn[:60]] = truth[drawn[:60]]
    chosen = HarmonicRegressor(random_state=0).fit(X, y)
    stable = HarmonicRegressor(form="stable").fit(X, y)
    r2 = [r2_score(truth[drawn[60:]], reg.transduction_[drawn[60:]]) for reg in (chosen, stable)]
    assert r2[0] > r2[1] + 0.1
    table = chosen.report_["chosen"]["cross_validation"]
    assert len(table) == 6
    assert min(row["loss"] for row in table) < table[0]["loss"]
    again = HarmonicRegressor(random_state=0, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.transduction_, chosen.transduction_)


def test_no_label_term_is_the_pseudo_inverse(problem):
    X, y = problem
    weights = knn_graph(X, 8).to_scipy().toarray()
    laplacian = np.diag(weights.sum(axis=1)) - weights
    Y = one_hot(y)
    centered = np.where((y >= 0)[:, None], Y - Y[y >= 0].mean(axis=0), 0.0)
    clf = HarmonicClassifier(8, graph_reg=np.inf, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(clf.scores_, np.linalg.pinv(laplacian, hermitian=True) @ centered, **EXACT)
    assert clf.report_["chosen"].keys() >= {"temperature"}


def test_given_graphs_give_the_same_answer(problem):
    X, y = problem
    built = HarmonicClassifier(8).fit(X, y)
    graph = knn_graph(X, 8)
    distances, indices = kneighbors(X, 8)
    weights = graph.to_scipy()
    for given in (graph, weights, sp.coo_matrix(weights), weights.toarray(), (indices, distances)):
        clf = HarmonicClassifier(8, affinity="precomputed").fit(given, y)
        np.testing.assert_array_equal(clf.scores_, built.scores_)
        assert clf.n_features_in_ == 150


def test_new_rows_of_a_given_graph_get_the_weighted_mean(problem):
    X, y = problem
    clf = HarmonicClassifier(affinity="precomputed").fit(knn_graph(X, 8), y)
    affinities = np.zeros((3, 150))
    affinities[0, [3, 70]] = 1.0, 3.0
    affinities[1, 5] = 0.5
    for given in (affinities, sp.csr_matrix(affinities)):
        np.testing.assert_array_equal(clf.predict(given)[1:2], clf.transduction_[5:6])
        np.testing.assert_allclose(clf.predict_proba(given)[1], clf.label_distributions_[5], rtol=1e-12)
        np.testing.assert_allclose(clf.predict_proba(given)[2], [1 / 3] * 3, rtol=1e-12)
    values = np.where(y >= 0, X[:, 0], np.nan)
    reg = HarmonicRegressor(affinity="precomputed").fit(knn_graph(X, 8), values)
    expected = (reg.transduction_[3] + 3 * reg.transduction_[70]) / 4
    np.testing.assert_allclose(reg.predict(affinities)[0], expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"edge \(0, 3\) has weight -1"):
        clf.predict(-affinities)


def test_two_labels_per_moon_are_enough(moons):
    X, truth, y = moons
    clf = HarmonicClassifier(n_neighbors=10).fit(X, y)
    assert (clf.transduction_ == truth).mean() > 0.97
    assert clf.score(X + 0.001, truth) > 0.97
    assert clf.predict_proba(X[:7]).shape == (7, 2)
    np.testing.assert_array_equal(HarmonicClassifier(n_neighbors=10).fit_predict(X, y), clf.transduction_)


def test_new_rows_follow_their_neighbors(problem):
    X, y = problem
    clf = HarmonicClassifier(5, tol=1e-12).fit(X, y)
    rng = np.random.default_rng(2)
    new = rng.normal(size=(20, 4))
    distances = np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2))
    nearest = np.argsort(distances, axis=1)[:, :5]
    d = np.take_along_axis(distances, nearest, axis=1)
    width = kneighbors(X, 5)[0][:, -1].astype(np.float64)
    w = np.exp(-(d**2) / (0.25 * d[:, -1:] * width[nearest]))
    scores = np.einsum("mk,mkc->mc", w, clf.scores_[nearest]) / w.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(clf.predict(new), scores.argmax(axis=1))
    values = np.where(y >= 0, X[:, 0], np.nan)
    reg = HarmonicRegressor(5, tol=1e-12).fit(X, values)
    expected = (w * reg.transduction_[nearest]).sum(axis=1) / w.sum(axis=1)
    # Distances are rounded to single precision.
    np.testing.assert_allclose(reg.predict(new), expected, rtol=1e-5, atol=1e-6)


def test_soft_labels(problem):
    X, y = problem
    hard = HarmonicClassifier(8, tol=1e-12).fit(X, y)
    soft = HarmonicClassifier(8, tol=1e-12).fit(X, one_hot(y))
    np.testing.assert_array_equal(soft.scores_, hard.scores_)
    np.testing.assert_array_equal(soft.classes_, [0, 1, 2])
    shares = one_hot(y)
    shares[0] = 0.2, 0.3, 0.5
    shares[y < 0] = np.nan
    weights = knn_graph(X, 8).to_scipy().toarray()
    targets, trust = np.nan_to_num(shares), (y >= 0) * 1.0
    expected, _ = dense_twin.harmonic(weights, targets, trust, auto_reg("stable", weights, targets, trust))
    stable = HarmonicClassifier(8, form="stable", tol=1e-12).fit(X, shares)
    np.testing.assert_allclose(stable.scores_, expected, **EXACT)
    shares[1] = 0.9, 0.9, 0.0
    with pytest.raises(ValueError, match="row 1 of soft labels"):
        HarmonicClassifier(8).fit(X, shares)


def test_a_label_of_weight_zero_is_no_label(problem):
    X, y = problem
    sample_weight = np.ones(150)
    sample_weight[[0, 3]] = 0.0
    without = y.copy()
    without[[0, 3]] = -1
    weighted = HarmonicClassifier(8).fit(X, y, sample_weight)
    np.testing.assert_array_equal(weighted.scores_, HarmonicClassifier(8).fit(X, without).scores_)
    only_two = HarmonicClassifier(8).fit(X, y, np.where(y == 2, 0.0, 1.0))
    np.testing.assert_array_equal(only_two.classes_, [0, 1])


def test_unreached_rows():
    X = two_islands()
    y = np.full(60, -1)
    y[:6] = [0, 0, 0, 0, 1, 1]
    with pytest.warns(UnreachedWarning, match="no label reaches 30 rows in 1 component"):
        clf = HarmonicClassifier(5).fit(X, y)
    np.testing.assert_array_equal(clf.reached_, np.arange(60) < 30)
    assert np.isnan(clf.scores_[30:]).all() and np.isfinite(clf.scores_[:30]).all()
    np.testing.assert_allclose(clf.label_distributions_[30:], [[4 / 6, 2 / 6]] * 30)
    assert (clf.transduction_[30:] == 0).all()
    assert clf.report_["n_unreached"] == 30
    with pytest.warns(UnreachedWarning):
        clf = HarmonicClassifier(5, abstain=True, class_prior=[0.25, 0.75]).fit(X, y)
    assert (clf.transduction_[30:] == -1).all() and (clf.transduction_[:30] >= 0).all()
    np.testing.assert_allclose(clf.label_distributions_[40], [0.25, 0.75])
    np.testing.assert_array_equal(clf.predict(X[[0, 50]]) == -1, [False, True])
    np.testing.assert_allclose(clf.predict_proba(X[50:51])[0], [0.25, 0.75])


def test_unreached_values():
    X = two_islands()
    y = np.full(60, np.nan)
    y[:2] = 10.0, 20.0
    with pytest.warns(UnreachedWarning):
        reg = HarmonicRegressor(5).fit(X, y, np.where(np.arange(60) == 0, 3.0, 1.0))
    np.testing.assert_allclose(reg.transduction_[30:], 12.5)
    assert np.isnan(reg.scores_[30:]).all()
    np.testing.assert_allclose(reg.predict(X[40:41]), 12.5)
    with pytest.warns(UnreachedWarning):
        reg = HarmonicRegressor(5, abstain=True).fit(X, y)
    assert np.isnan(reg.transduction_[30:]).all() and np.isnan(reg.predict(X[40:41])).all()


def test_stopping_short_is_a_warning():
    from sklearn.exceptions import ConvergenceWarning

    # The complete factor of this graph is too large, so that one iteration is not enough.
    X = np.random.default_rng(0).normal(size=(1500, 20))
    y = np.where(np.arange(1500) < 20, np.arange(1500) % 2, -1)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        clf = HarmonicClassifier(8, max_iter=1, tol=1e-14).fit(X, y)
    assert not clf.converged_ and clf.n_iter_ == 1 and clf.residual_ > 1e-14


def test_mass_decision_needs_the_prior(problem):
    X, y = problem
    prior = [0.6, 0.3, 0.1]
    clf = HarmonicClassifier(8, decision="mass", form="plain", class_prior=prior, graph_reg=1e-3).fit(X, y)
    scaled = clf.scores_ * np.array(prior) / clf.scores_.sum(axis=0)
    np.testing.assert_array_equal(clf.transduction_, scaled.argmax(axis=1))
    with pytest.raises(ValueError, match="class_prior"):
        HarmonicClassifier(8, class_prior=[0.5, 0.5]).fit(X, y)


def test_graph_survives_a_file(problem, tmp_path):
    X, _ = problem
    graph = knn_graph(X, 8)
    graph.save(tmp_path / "graph.npz")
    again = Graph.load(tmp_path / "graph.npz")
    assert (again.to_scipy() != graph.to_scipy()).nnz == 0
    np.testing.assert_allclose(again.degree, graph.to_scipy().sum(axis=1))
    assert (graph.n_samples, graph.n_edges) == (150, graph.to_scipy().nnz // 2)
    with pytest.raises(FileNotFoundError):
        graph.save(tmp_path / "missing" / "graph.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.npz"]


def test_components():
    graph = knn_graph(two_islands(), 5)
    np.testing.assert_array_equal(graph.components(), np.repeat([0, 1], 30))
