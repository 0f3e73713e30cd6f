"""The transductive search, and graphs with scikit-learn's own."""

import pickle

import numpy as np
import pytest
from datasets import hide
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, r2_score
from sklearn.model_selection import GridSearchCV, ParameterSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicClassifier, HarmonicRegressor, LaplacianSVC, UnfoldedGNNClassifier, UnfoldedGNNRegressor
from lapwing.graph import Graph, knn_graph
from lapwing.model_selection import SemiSupervisedKFold, TransductiveSearchCV, cross_validate

NETWORK = UnfoldedGNNClassifier(l2_reg=0.1, loss="mse", random_state=0)


def nodes(n=90, seed=0):
    """Three classes whose features say little and whose graph says much: features, classes, labels of 24 nodes, the graph."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + 0.7 * np.eye(3)[truth]
    graph = knn_graph(rng.normal(size=(n, 3)) + 4.0 * np.eye(3)[truth], 6)
    return X, truth, hide(truth, per_class=8), graph


@pytest.mark.parametrize("as_scipy", [False, True])
def test_the_weight_of_a_graph_is_searched(as_scipy):
    X, truth, y, graph = nodes()
    graph = graph.to_scipy() if as_scipy else graph
    grid = {"graph_reg": [0.01, 1.0, 20.0]}
    search = TransductiveSearchCV(NETWORK, grid, cv=4, scoring="neg_log_loss").fit(X, y, graph=graph)
    expected = [
        cross_validate(clone(NETWORK).set_params(graph_reg=reg), X, y, graph=graph, cv=4, scoring="neg_log_loss")["test_score"]
        for reg in grid["graph_reg"]
    ]
    results = search.cv_results_
    for fold in range(4):
        np.testing.assert_allclose(results[f"split{fold}_test_score"], [scores[fold] for scores in expected])
    means = np.mean(expected, axis=1)
    np.testing.assert_allclose(results["mean_test_score"], means)
    np.testing.assert_allclose(results["std_test_score"], np.std(expected, axis=1))
    assert results["rank_test_score"].tolist() == [1 + int((means > mean).sum()) for mean in means]
    assert results["param_graph_reg"].tolist() == grid["graph_reg"] and results["params"][2] == {"graph_reg": 20.0}
    assert search.best_index_ == np.argmax(means) > 0 and search.best_score_ == pytest.approx(means.max())
    assert search.best_params_ == {"graph_reg": grid["graph_reg"][search.best_index_]}
    best = clone(NETWORK).set_params(**search.best_params_).fit(X, y, graph=graph)
    np.testing.assert_array_equal(search.transduction_, best.transduction_)
    np.testing.assert_array_equal(search.label_distributions_, best.label_distributions_)
    assert search.graph_reg_ == best.graph_reg_ and search.n_splits_ == 4 and search.refit_time_ > 0
    np.testing.assert_array_equal(search.predict(X, graph=graph), best.predict(X, graph=graph))
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))


def test_the_table_has_the_names_of_scikit_learn():
    X, _, y, _ = nodes()
    grid = [{"n_neighbors": [5, 8]}, {"graph_reg": ["auto", 0.1], "n_neighbors": [5]}]
    scoring = ["accuracy", "f1_macro"]
    theirs = GridSearchCV(HarmonicClassifier(), grid, cv=SemiSupervisedKFold(3), scoring=scoring, refit="f1_macro").fit(X, y)
    ours = TransductiveSearchCV(HarmonicClassifier(), grid, cv=3, scoring=scoring, refit="f1_macro").fit(X, y)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for name in ("param_n_neighbors", "param_graph_reg"):
        mine, other = ours.cv_results_[name], theirs.cv_results_[name]
        assert mine.dtype == other.dtype and mine.mask.tolist() == other.mask.tolist()
        assert mine.tolist() == other.tolist()
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert {name for name in vars(theirs) if name.endswith("_")} - {"scorer_"} <= {*dir(ours), "n_features_in_"}
    assert ours.multimetric_ and set(ours.scorer_) == set(scoring)


def test_what_decides():
    X, _, y, graph = nodes()
    grid = {"n_neighbors": [3, 8]}
    scoring = {"right": "accuracy", "f1": "f1_macro"}
    with pytest.raises(ValueError, match="refit is True; expected the score that decides, one of right, f1, or False"):
        TransductiveSearchCV(HarmonicClassifier(), grid, cv=2, scoring=scoring).fit(X, y)
    last = TransductiveSearchCV(HarmonicClassifier(), grid, cv=2, scoring=scoring, refit=lambda results: 1).fit(X, y)
    assert last.best_params_ == {"n_neighbors": 8} and not hasattr(last, "best_score_")
    with pytest.raises(ValueError, match="refit returned 2; expected the number of a candidate, below 2"):
        TransductiveSearchCV(HarmonicClassifier(), grid, cv=2, refit=lambda results: 2).fit(X, y)
    without = TransductiveSearchCV(HarmonicClassifier(), grid, cv=2, refit=False).fit(X, y)
    assert without.best_params_ in ({"n_neighbors": 3}, {"n_neighbors": 8}) and not hasattr(without, "transduction_")
    with pytest.raises(AttributeError, match="refit is False"):
        without.predict(X)
    with pytest.raises(ValueError, match="Invalid parameter 'k'"):
        TransductiveSearchCV(HarmonicClassifier(), {"k": [3]}).fit(X, y)
    with pytest.warns(UserWarning, match=r"fits failed|not finite"):
        bad = TransductiveSearchCV(HarmonicClassifier(), {"n_neighbors": [0, 8]}, cv=2).fit(X, y)
    assert bad.best_params_ == {"n_neighbors": 8} and bad.cv_results_["rank_test_score"].tolist() == [2, 1]


def test_candidates_may_be_drawn():
    X, _, y, _ = nodes()
    grid = {"n_neighbors": list(range(3, 20))}
    search = TransductiveSearchCV(HarmonicClassifier(), grid, n_iter=3, random_state=1, cv=2).fit(X, y)
    assert search.cv_results_["params"] == list(ParameterSampler(grid, 3, random_state=1))
    parallel = clone(search).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_it_is_an_estimator():
    X, truth, y, graph = nodes()
    search = TransductiveSearchCV(NETWORK, {"graph_reg": [1.0, 20.0]}, cv=2)
    assert is_classifier(search) and not is_regressor(search) and hasattr(search, "decision_function")
    assert not hasattr(search, "transduction_") and not hasattr(search, "n_features_in_")
    found = search.fit_predict(X, y, graph=graph)
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.transduction_, found)
    assert copy.classes_.tolist() == [0, 1, 2] and copy.n_features_in_ == 3
    assert not hasattr(clone(search), "cv_results_") and "UnfoldedGNN" in repr(search)
    with pytest.raises(TypeError, match="TransductiveSearchCV has no parameter 'grid'"):
        TransductiveSearchCV(LaplacianSVC(), grid={})
    nested = cross_validate(search, X, y, graph=graph, cv=2, error_score="raise", return_estimator=True)
    assert nested["test_score"].min() > 0.3 and all(fitted.best_params_ for fitted in nested["estimator"])


def test_in_and_around_pipelines_and_for_others():
    X, truth, y, graph = nodes()
    pipeline = make_pipeline(StandardScaler(), clone(NETWORK))
    search = TransductiveSearchCV(pipeline, {"unfoldedgnnclassifier__graph_reg": [0.01, 20.0]}, cv=3).fit(X, y, graph=graph)
    assert search.transduction_.shape == (90,) and search.best_params_ == {"unfoldedgnnclassifier__graph_reg": 20.0}
    logistic = TransductiveSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    known = y >= 0
    expected = LogisticRegression(C=logistic.best_params_["C"]).fit(X[known], y[known])
    np.testing.assert_allclose(logistic.predict_proba(X), expected.predict_proba(X))
    values = np.where(known, X[:, 0], np.nan)
    smooth = TransductiveSearchCV(HarmonicRegressor(), {"n_neighbors": [3, 8]}, cv=3).fit(X, values)
    assert smooth.best_score_ == smooth.cv_results_["mean_test_score"].max() and smooth.transduction_.shape == (90,)


def test_scores_take_the_graph():
    X, truth, y, graph = nodes()
    clf = clone(NETWORK).set_params(graph_reg=20.0).fit(X, y, graph=graph)
    assert clf.score(X, truth, graph=graph) == (clf.transduction_ == truth).mean() > clf.score(X, truth)
    partly = np.where(np.arange(90) % 2, truth, -1)
    assert clf.score(X, partly, graph=graph) == (clf.transduction_ == truth)[1::2].mean()
    values = np.where(y >= 0, truth + 0.5, np.nan)
    reg = UnfoldedGNNRegressor(20.0, l2_reg=0.1).fit(X, values, graph=graph)
    assert reg.score(X, truth + 0.5, graph=graph) == pytest.approx(r2_score(truth + 0.5, reg.transduction_))
    assert reg.score(X, truth + 0.5) != reg.score(X, truth + 0.5, graph=graph)
    for scoring in (None, "f1_macro", {"f": "f1_macro", "a": "accuracy"}):
        refit = "f" if isinstance(scoring, dict) else True
        search = TransductiveSearchCV(NETWORK, {"graph_reg": [20.0]}, cv=2, scoring=scoring, refit=refit).fit(X, y, graph=graph)
        answers = search.predict(X, graph=graph)[1::2]
        expected = (answers == truth[1::2]).mean() if scoring is None else f1_score(truth[1::2], answers, average="macro")
        assert search.score(X, partly, graph=graph) == pytest.approx(expected) != search.score(X, partly)


@pytest.mark.parametrize("estimator", [NETWORK, HarmonicClassifier(), LaplacianSVC()])
@pytest.mark.parametrize("as_scipy", [False, True])
def test_scikit_learns_search_says_what_to_use_for_graphs(estimator, as_scipy):
    X, _, y, graph = nodes()
    graph: Graph = graph.to_scipy() if as_scipy else graph
    search = GridSearchCV(estimator, {"n_neighbors": [5]}, cv=SemiSupervisedKFold(3))
    with pytest.raises(ValueError, match="use TransductiveSearchCV and cross_validate of lapwing.model_selection"):
        search.fit(X, y, graph=graph)
    with pytest.raises(ValueError, match="graph has 90 nodes, but [Xy] has 80 rows; expected a node for each row"):
        clone(estimator).fit(X[:80], y[:80], graph=graph)
