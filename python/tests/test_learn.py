"""Learned graphs: optimality, every way in, what they hand on, and what they refuse."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from lapwing import HarmonicClassifier, LaplacianSVC, SparseHarmonicClassifier, load_model, save_model
from lapwing.baselines import SimpleHarmonicClassifier, SubsamplingHarmonicClassifier
from lapwing.graph import GraphLearner, kneighbors, knn_graph, learn_weights
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(300, n_features=4, centers=3, cluster_std=1.5, random_state=2)
    known = np.where(np.arange(300) % 10 == 0, y, -1)
    return X, y, known


def full_table(X):
    Z = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    edges = np.argwhere(np.triu(np.ones_like(Z, dtype=bool), 1))
    return Z, edges, Z[edges[:, 0], edges[:, 1]]


def degrees(edges, weights, n):
    return np.bincount(edges.ravel(), weights=np.repeat(weights, 2), minlength=n)


def test_weights_meet_the_optimality_conditions():
    X = np.random.default_rng(0).normal(size=(80, 3))
    _, edges, z = full_table(X)
    alpha, beta = 0.7, 0.4
    weights, report = learn_weights(edges, z, 80, alpha=alpha, beta=beta, tol=1e-18)
    d = degrees(edges, weights, 80)
    wanted = np.maximum(0, (alpha * (1 / d[edges]).mean(axis=1) - z) / beta)
    np.testing.assert_allclose(weights, wanted, atol=1e-6 * weights.max())
    objective = 2 * z @ weights - alpha * np.log(d).sum() + beta * weights @ weights
    assert report["objective"] == pytest.approx(objective, rel=1e-9)
    assert 2 * z @ weights + 2 * beta * weights @ weights == pytest.approx(alpha * 80, rel=1e-6)
    a = 2.0
    weights, report = learn_weights(edges, z, 80, alpha=a, model="l2", tol=1e-18)
    d = degrees(edges, weights, 80)
    objective = 2 * z @ weights + a / 2 * (2 * weights @ weights + d @ d)
    assert report["objective"] == pytest.approx(objective, rel=1e-9)
    assert 2 * weights.sum() == pytest.approx(80, rel=1e-12)
    # Stationarity: 2z + 2aw + a(dᵢ + dⱼ) is the same for all pairs with weight, and no less for the others.
    gradient = 2 * z + 2 * a * weights + a * d[edges].sum(axis=1)
    level = gradient[weights > 0].mean()
    np.testing.assert_allclose(gradient[weights > 0], level, rtol=1e-6)
    assert (gradient[weights == 0] > level * (1 - 1e-6)).all()


def test_every_way_in_gives_the_same_graph(blobs):
    X, _, _ = blobs
    Z, edges, z = full_table(X)
    learner = GraphLearner(6, support_factor=None, tol=1e-13).fit(X)
    dense = learner.graph_.to_scipy().toarray()
    assert learner.gap_ < 1e-13 and learner.converged_ and learner.report_["n_uncertified"] == 0
    assert learner.sparsity_ == pytest.approx(np.sqrt(np.prod(learner.sparsity_bounds_)))
    given = GraphLearner(6, support_factor=None, metric="precomputed", tol=1e-13).fit(Z)
    np.testing.assert_allclose(given.graph_.to_scipy().toarray(), dense, atol=1e-5)
    distances, indices = kneighbors(X, 299)
    table = GraphLearner(6, tol=1e-13).fit((indices, distances.astype(float) ** 2))
    np.testing.assert_allclose(table.graph_.to_scipy().toarray(), dense, atol=1e-5)
    weights, _ = learn_weights(edges, given.sparsity_ * z, 300, tol=1e-13)
    pairs = given.graph_.to_scipy().toarray()[edges[:, 0], edges[:, 1]]
    np.testing.assert_allclose(pairs, weights, atol=1e-7)
    slow = GraphLearner(6, support_factor=None, solver="primal-dual", tol=1e-9).fit(X)
    assert slow.objective_ == pytest.approx(learner.objective_, rel=1e-7) and slow.n_iter_ > 10 * learner.n_iter_


def wrong_share(graph, y):
    """Share of the weight between different classes."""
    graph = graph.to_scipy().tocoo()
    return graph.data[y[graph.coords[0]] != y[graph.coords[1]]].sum() / graph.data.sum()


@pytest.mark.parametrize("model", ["log", "l2"])
def test_the_number_of_neighbors_is_about_what_was_asked_for(blobs, model):
    X, y, _ = blobs
    for k in [3, 8, 15]:
        learner = GraphLearner(k, model=model).fit(X)
        assert learner.report_["mean_neighbors"] == pytest.approx(k, rel=0.35)
    wrong = wrong_share(learner.graph_, y)
    assert wrong < wrong_share(knn_graph(X, 15, weights="binary"), y) if model == "log" else wrong < 0.05


def test_repair_reaches_the_full_model(blobs):
    X, _, _ = blobs
    theta = GraphLearner(6).fit(X).sparsity_
    full = GraphLearner(6, support_factor=None, sparsity=theta, tol=1e-13).fit(X).graph_.to_scipy()
    narrow = GraphLearner(6, support_factor=1, sparsity=theta, tol=1e-13).fit(X)
    repaired = GraphLearner(6, support_factor=1, sparsity=theta, repair=True, tol=1e-13).fit(X)
    assert narrow.report_["n_uncertified"] > 0 == repaired.report_["n_uncertified"]
    assert abs(repaired.graph_.to_scipy() - full).max() < 1e-6 < abs(narrow.graph_.to_scipy() - full).max()


def test_a_warm_start_saves_steps(blobs):
    X, _, _ = blobs
    learner = GraphLearner(6, warm_start=True).fit(X)
    steps = learner.n_iter_
    assert learner.fit(X).n_iter_ == 0 < steps
    with pytest.raises(ValueError, match="warm_start needs the 300 rows of the fit before; got 299"):
        learner.fit(X[1:])
    _, edges, z = full_table(X[:50])
    _, report = learn_weights(edges, z, 50)
    assert learn_weights(edges, z, 50, start=report["multipliers"])[1]["n_iter"] == 0


@pytest.mark.parametrize("weights", ["learned", "learned-l2"])
def test_every_method_takes_learned_weights(blobs, weights, tmp_path):
    X, y, known = blobs
    estimators = [
        HarmonicClassifier,
        SparseHarmonicClassifier,
        LaplacianSVC,
        SimpleHarmonicClassifier,
        SubsamplingHarmonicClassifier,
    ]
    for estimator in estimators:
        fitted = estimator(n_neighbors=8, weights=weights, random_state=0).fit(X, known)
        assert (fitted.transduction_ == y).mean() > 0.9, estimator
        new = X + 1e-3
        assert (fitted.predict(new) == y).mean() > 0.9, estimator
        save_model(fitted, tmp_path / "m.lapwing")
        np.testing.assert_array_equal(load_model(tmp_path / "m.lapwing").predict(new), fitted.predict(new))
    built = knn_graph(X, 8, weights=weights)
    model = "log" if weights == "learned" else "l2"
    assert abs(built.to_scipy() - GraphLearner(8, model=model).fit(X).graph_.to_scipy()).max() == 0
    distances, indices = kneighbors(X, 24)
    given = HarmonicClassifier(8, weights=weights, affinity="precomputed").fit((indices, distances), known)
    assert (given.transduction_ == y).mean() > 0.9


def test_a_pipeline_hands_on_the_graph_and_the_weights_of_new_rows(blobs):
    X, y, known = blobs
    learner = GraphLearner(15)
    pipeline = make_pipeline(StandardScaler(), learner, HarmonicClassifier(affinity="precomputed"))
    pipeline.fit(X, known)
    assert (pipeline[-1].transduction_ == y).mean() > 0.9
    assert (pipeline.predict(X + 1e-3) == y).mean() > 0.9
    weights = pipeline[1].transform(pipeline[0].transform(X[:20] + 0.5))
    assert weights.shape == (20, 300) and (weights.data > 0).all() and (np.diff(weights.indptr) > 0).all()
    # By itself, a row's weights are max(0, λ − θz) with λ = 1 / their sum.
    row = weights[[3]]
    z = ((pipeline[0].transform(X[3:4] + 0.5) - pipeline[0].transform(X)[row.indices]) ** 2).sum(axis=1)
    np.testing.assert_allclose(row.data, 1 / row.data.sum() - pipeline[1].sparsity_ * z, rtol=1e-4)
    assert len(learner.fit(X).get_feature_names_out()) == 300


def test_copies_and_pickles(blobs):
    X, _, _ = blobs
    learner = GraphLearner(5, model="l2").fit(X)
    again = pickle.loads(pickle.dumps(learner))
    assert abs(again.graph_.to_scipy() - learner.graph_.to_scipy()).max() == 0
    assert abs(again.transform(X[:9]) - learner.transform(X[:9])).max() == 0
    assert clone(learner).get_params() == learner.get_params()
    with pytest.raises(NotFittedError):
        clone(learner).transform(X)


def test_progress_tells_the_gap(blobs):
    events = []
    GraphLearner(5, callback=events.append).fit(blobs[0])
    assert any(event["phase"] == "learn" and "gap" in event["note"] for event in events)

    def stop(event):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        GraphLearner(5, callback=stop).fit(blobs[0])


def test_what_is_left_undone_is_told(blobs):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps of learning the graph"):
        learner = GraphLearner(5, max_iter=1, tol=1e-12).fit(blobs[0])
    assert not learner.converged_ and learner.gap_ > 1e-12
    X = np.repeat(np.arange(30.0), 10)[:, None] + np.tile(np.arange(10), 30)[:, None] * 1e-9
    with pytest.warns(UserWarning, match="use all pairs they are allowed"):
        GraphLearner(5, sparsity=1e-3).fit(X)


def test_odd_input_is_named(blobs):
    X, _, _ = blobs
    distances, indices = kneighbors(X, 10)
    squared = distances**2

    def text(call, kind=ValueError):
        with pytest.raises(kind) as caught:
            call()
        return str(caught.value)

    assert "n_neighbors is 299; expected at most 298" in text(lambda: GraphLearner(299).fit(X))
    assert "n_neighbors is 10" in text(lambda: GraphLearner(10).fit((indices, squared)))
    assert "model is 'exp'; expected one of log, l2" in text(lambda: GraphLearner(model="exp").fit(X))
    assert "support_factor is 0.5" in text(lambda: GraphLearner(support_factor=0.5).fit(X))
    assert "repair" in text(lambda: GraphLearner(5, repair=True).fit((indices, squared)))
    assert "repair must be True or False" in text(lambda: GraphLearner(repair="yes").fit(X), TypeError)
    assert "solver is 'gd'" in text(lambda: GraphLearner(solver="gd").fit(X))
    assert "inner-product" in text(lambda: GraphLearner(metric="inner-product").fit(X))
    assert "indices first" in text(lambda: GraphLearner(5).fit((squared, indices)), TypeError)
    assert "row 3" in text(lambda: GraphLearner(5).fit((indices, squared * np.where(np.arange(300) == 3, -1, 1)[:, None])))
    Z, edges, z = full_table(X[:20])
    Z[2, 3] += 1
    assert "not symmetric: (2, 3)" in text(lambda: GraphLearner(3, metric="precomputed").fit(Z))
    assert "edge (4, 4)" in text(lambda: learn_weights([[4, 4]], [1.0], 9))
    assert "row 1 of edges is (1, 9)" in text(lambda: learn_weights([[0, 1], [1, 9]], [1.0, 1.0], 9))
    assert "row 2 has no allowed pair" in text(lambda: learn_weights([[0, 1]], [1.0], 3))
    assert "stands twice" in text(lambda: learn_weights([[0, 1], [1, 0]], [1.0, 1.0], 2))
    assert "sq_distances has shape" in text(lambda: learn_weights([[0, 1]], [1.0, 2.0], 2))
    assert "alpha is 0" in text(lambda: learn_weights(edges, z, 20, alpha=0))
    assert "beta is 2" in text(lambda: learn_weights(edges, z, 20, beta=2, model="l2"))
    assert "must be integers" in text(lambda: learn_weights(edges * 1.0, z, 20), TypeError)
    learner = GraphLearner(5).fit((indices, squared))
    assert "give those of the new rows" in text(lambda: learner.transform(X))
    assert sp.issparse(learner.transform((indices[:4], squared[:4])))
