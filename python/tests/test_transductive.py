"""Estimators over row numbers: scikit-learn's cross-validation and searches hide labels, and keep rows and graph."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from datasets import hide
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from lapwing import (
    HarmonicClassifier,
    HarmonicRegressor,
    LaplacianRidgeClassifier,
    LaplacianRidgeRegressor,
    LaplacianSVC,
    UnfoldedGNNClassifier,
    UnfoldedGNNRegressor,
)
from lapwing.graph import kneighbors, knn_graph
from lapwing.metrics import labeled_scorer
from lapwing.model_selection import SemiSupervisedKFold, Transductive, labeled_folds
from lapwing.model_selection import cross_validate as validated

NETWORK = UnfoldedGNNClassifier(5.0, l2_reg=0.1, loss="mse", random_state=0)
CV = StratifiedKFold(3, shuffle=True, random_state=0)


def blobs(n=90, seed=0):
    """Three overlapping classes: features (n, 3), classes, and labels of which 21 are left."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + 2.0 * np.eye(3)[truth]
    return X, truth, hide(truth, per_class=7)


def nodes(n=90, seed=0):
    """Three classes whose features say little and whose graph says much: features, classes, labels of 24 nodes, the graph."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + 0.7 * np.eye(3)[truth]
    graph = knn_graph(rng.normal(size=(n, 3)) + 4.0 * np.eye(3)[truth], 6)
    return X, truth, hide(truth, per_class=8), graph


def folds_of(y):
    """Folds by hand: training and test rows among the labeled ones."""
    labeled = np.flatnonzero(y >= 0)
    return [(labeled[train], labeled[test]) for train, test in CV.split(labeled, y[labeled])]


def graph_as(kind, X):
    if kind == "neighbors":
        distances, indices = kneighbors(X, 8)
        return indices, distances
    graph = knn_graph(X, 8)
    return graph.to_scipy() if kind == "scipy" else graph


def scores(model, y, scoring=None, **options):
    """Scores of the folds, by scikit-learn."""
    rows = np.flatnonzero(y >= 0)
    return cross_val_score(model, rows, y[rows], cv=CV, scoring=scoring, error_score="raise", **options)


@pytest.mark.parametrize("kind", ["none", "scipy", "Graph", "neighbors"])
@pytest.mark.parametrize("estimator", [
    HarmonicClassifier(8), LaplacianSVC(bandwidth=1.0, ambient_reg=0.01, graph_reg=0.1, n_neighbors=8), NETWORK,
], ids=lambda estimator: type(estimator).__name__)  # fmt: skip
def test_scores_are_those_of_hiding_labels_by_hand(estimator, kind):
    X, _, y = blobs()
    options = {} if kind == "none" else {"graph": graph_as(kind, X)}
    rows, model = np.flatnonzero(y >= 0), Transductive(estimator, X, **options)
    found = cross_validate(model, rows, y[rows], cv=CV, scoring=["accuracy", "neg_log_loss"], return_estimator=True)
    predicted = cross_val_predict(model, rows, y[rows], cv=CV)
    for at, (train, test) in enumerate(folds_of(y)):
        hidden = y.copy()
        hidden[test] = -1
        clf = clone(estimator).fit(X, hidden, **options)
        np.testing.assert_array_equal(predicted[np.isin(rows, test)], clf.transduction_[test])
        assert found["test_accuracy"][at] == accuracy_score(y[test], clf.transduction_[test])
        assert found["test_neg_log_loss"][at] == pytest.approx(-log_loss(y[test], clf.label_distributions_[test]))
        fitted = found["estimator"][at]
        np.testing.assert_array_equal(fitted.estimator_.label_distributions_, clf.label_distributions_)
        assert fitted.X is X and fitted.score(test, y[test]) == found["test_accuracy"][at]
    assert len(np.unique(found["test_neg_log_loss"])) == 3


@pytest.mark.parametrize("cv", [3, SemiSupervisedKFold(3, shuffle=True, random_state=0), CV, "pairs", "masks"])
def test_the_short_form_is_that_of_scikit_learn(cv):
    X, _, y = blobs()
    graph, rows, folds = knn_graph(X, 8).to_scipy(), np.flatnonzero(y >= 0), folds_of(y)
    if cv == "masks":
        folds = [(~np.isin(np.arange(90), test), np.isin(np.arange(90), test)) for _, test in folds]
    cv = folds if isinstance(cv, str) else cv
    weights, scoring = np.linspace(0.5, 2.0, 90), ["accuracy", "neg_log_loss"]
    options = {"scoring": scoring, "return_estimator": True, "return_indices": True}
    expected = cross_validate(
        Transductive(HarmonicClassifier(), None, graph=graph), rows, y[rows], cv=CV,
        params={"sample_weight": weights[rows]}, **options,
    )  # fmt: skip
    for given in ((HarmonicClassifier(), None, y, graph), (HarmonicClassifier(affinity="precomputed"), graph, y)):
        found = validated(*given, cv=cv, fit_params={"sample_weight": weights}, **options)
        assert set(found) == set(expected)
        for name in scoring:
            np.testing.assert_array_equal(found[f"test_{name}"], expected[f"test_{name}"])
        for at, (_, test) in enumerate(folds_of(y)):
            np.testing.assert_array_equal(found["indices"]["test"][at], test)
            shares = expected["estimator"][at].estimator_.label_distributions_
            np.testing.assert_array_equal(found["estimator"][at].label_distributions_, shares)


def test_the_short_form_finds_labels_and_folds():
    X, _, y = blobs()
    marked = LabelSpreading()
    same = [np.where(y < 0, None, y), np.where(y < 0, "", np.array(["a", "b", "c"])[y]), np.where(y < 0, np.nan, y - 1.0)]
    expected = validated(HarmonicClassifier(8), X, y)["test_score"]
    assert len(expected) == 5
    for labels in same:
        np.testing.assert_array_equal(validated(HarmonicClassifier(8), X, labels, error_score="raise")["test_score"], expected)
    np.testing.assert_array_equal(
        validated(marked, X, np.where(y < 0, 7, y), unlabeled=7)["test_score"], validated(marked, X, y)["test_score"]
    )
    few = np.where(np.isin(np.arange(90), np.flatnonzero(y == 2)[3:]), -1, y)
    assert len(validated(HarmonicClassifier(8), X, few)["test_score"]) == 3
    # A value of -1 is a value.
    values = np.where(y >= 0, y - 1.0, np.nan)
    tested = validated(HarmonicRegressor(8), X, values, cv=SemiSupervisedKFold(3), return_indices=True)["indices"]["test"]
    assert sorted(np.concatenate(tested)) == np.flatnonzero(y >= 0).tolist()
    with pytest.raises(ValueError, match="fold 0 of cv tests row 80, which has no label to compare with; leave it out"):
        validated(HarmonicClassifier(8), X, y, cv=[([0], [80])])
    with pytest.raises(ValueError, match="no row of y has a label"):
        validated(HarmonicClassifier(8), X, np.full(90, -1))
    with pytest.raises(TypeError, match="LogisticRegression does not say what it finds"):
        validated(LogisticRegression(), X, y, error_score="raise")


def test_a_graph_and_a_kernel_matrix_for_x_stay_whole():
    X, _, y = blobs()
    graph = knn_graph(X, 8)
    expected = scores(Transductive(HarmonicClassifier(8), X), y, "neg_log_loss")
    for fitted, options in ((graph.to_scipy(), {}), (graph, {}), (None, {"graph": graph})):
        clf = HarmonicClassifier(affinity="knn" if fitted is None else "precomputed")
        np.testing.assert_allclose(scores(Transductive(clf, fitted, **options), y, "neg_log_loss"), expected, rtol=1e-9)
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 2)
    for kind in (LaplacianSVC, LaplacianRidgeClassifier):
        machine = kind(kernel="precomputed", ambient_reg=0.01, graph_reg=0.1)
        found = scores(Transductive(machine, gram, graph=graph), y, "neg_log_loss")
        for (_, test), score in zip(folds_of(y), found, strict=True):
            hidden = np.where(np.isin(np.arange(90), test), -1, y)
            shares = clone(machine).fit(gram, hidden, graph=graph).label_distributions_
            assert score == pytest.approx(-log_loss(y[test], shares[test]))
    rows = np.flatnonzero(y >= 0)
    ridge = LaplacianRidgeRegressor(kernel="precomputed", ambient_reg=0.01, graph_reg=0.1)
    assert cross_val_score(Transductive(ridge, gram, graph=graph), rows, X[rows, 0], cv=KFold(3, shuffle=True, random_state=0)).mean() > 0.3


@pytest.mark.parametrize("estimator", [HarmonicRegressor(8, random_state=0), UnfoldedGNNRegressor(0.1, l2_reg=0.1, random_state=0)])
def test_values(estimator):
    X, _, y = blobs()
    # A value of -1 is a value.
    values, rows = np.round(X[:, 0] * 2), np.flatnonzero(y >= 0)
    values[rows[0]] = -1.0
    scoring, model = ["r2", "neg_mean_squared_error"], Transductive(estimator, X)
    found = cross_validate(model, rows, values[rows], cv=4, scoring=scoring, return_indices=True)
    assert is_regressor(model) and not hasattr(model, "predict_proba")
    for at, (train, test) in enumerate(zip(found["indices"]["train"], found["indices"]["test"], strict=True)):
        given = np.full(90, np.nan)
        given[rows[train]] = values[rows[train]]
        truth, answers = values[rows[test]], clone(estimator).fit(X, given).transduction_[rows[test]]
        assert found["test_r2"][at] == pytest.approx(r2_score(truth, answers))
        assert found["test_neg_mean_squared_error"][at] == pytest.approx(-mean_squared_error(truth, answers))


@pytest.mark.parametrize("estimator", [LabelSpreading(), make_pipeline(StandardScaler(), HarmonicClassifier(8))])
def test_others_that_say_what_they_find(estimator):
    X, _, y = blobs()
    for (_, test), score in zip(folds_of(y), scores(Transductive(estimator, X), y), strict=True):
        copy = clone(estimator).fit(X, np.where(np.isin(np.arange(90), test), -1, y))
        final = copy[-1] if hasattr(copy, "steps") else copy
        assert score == accuracy_score(y[test], final.transduction_[test])


def test_pipelines_pass_graph_and_weights_to_the_last_step():
    X, _, y = blobs()
    graph, rows = knn_graph(X, 4), np.flatnonzero(y >= 0)
    inner = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), clone(NETWORK)))
    scaled = Transductive(NETWORK, StandardScaler().fit_transform(X), graph=graph)
    found = scores(Transductive(inner, X, graph=graph), y, "neg_log_loss")
    np.testing.assert_allclose(found, scores(scaled, y, "neg_log_loss"), rtol=1e-9)
    weights = np.linspace(0.5, 2.0, 90)
    expected = clone(NETWORK).fit(scaled.X, y, weights, graph=graph).label_distributions_
    for model in (scaled, Transductive(inner, X, graph=graph)):
        model.fit(rows, y[rows], sample_weight=weights[rows])
        np.testing.assert_allclose(model.predict_proba(np.arange(90)), expected, rtol=1e-9)


def labels_as(kind, y):
    names = np.array(["apple", "pear", "plum"])
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).Series([str(names[code]) for code in y])
    return {
        "floats": y.astype(float),
        "strings": names[y],
        "objects": names[y].astype(object),
        "list": names[y].tolist(),
        "unsigned": y.astype(np.uint8),
        "with -1": y - 1,
    }[kind]


@pytest.mark.parametrize("kind", ["floats", "strings", "objects", "list", "pandas", "polars", "unsigned", "with -1"])
def test_labels_of_every_kind(kind):
    X, _, y = blobs()
    rows = np.flatnonzero(y >= 0)
    clf = HarmonicClassifier(8, unlabeled={"unsigned": 9, "with -1": -9}.get(kind))
    for scoring in ("accuracy", "neg_log_loss", "f1_macro"):
        found = cross_val_score(Transductive(clf, X), rows, labels_as(kind, y[rows]), cv=CV, scoring=scoring, error_score="raise")
        np.testing.assert_allclose(found, scores(Transductive(HarmonicClassifier(8), X), y, scoring), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnreachedWarning")
@pytest.mark.parametrize("abstain", [False, True])
def test_rows_that_no_label_reaches_get_what_is_most_frequent(abstain):
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    graph = sp.block_diag([pair, pair, pair], format="csr")
    model = Transductive(HarmonicClassifier(abstain=abstain), None, graph=graph).fit([0, 1, 2], ["a", "b", "b"])
    assert model.predict([5, 3, 4]).tolist() == ["b", "b", "b"]
    np.testing.assert_allclose(model.predict_proba([4]), [[1 / 3, 2 / 3]])
    reg = Transductive(HarmonicRegressor(abstain=abstain), None, graph=graph).fit([0, 1, 2], [1.0, 2.0, 6.0])
    assert reg.predict([4]).tolist() == [3.0]


def test_every_tool_takes_it():
    X, truth, y, graph = nodes()
    rows, grid = np.flatnonzero(y >= 0), {"estimator__graph_reg": [0.01, 1.0, 20.0]}
    model = Transductive(NETWORK, X, graph=graph)
    assert is_classifier(model) and hasattr(model, "predict_proba")
    expected = [
        np.mean(scores(clone(model).set_params(estimator__graph_reg=reg), y, "neg_log_loss")) for reg in grid["estimator__graph_reg"]
    ]
    search = GridSearchCV(model, grid, cv=CV, scoring="neg_log_loss", n_jobs=2).fit(rows, y[rows])
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_index_ == np.argmax(expected) > 0
    # The best one is fitted to all labels, on the rows that were given: no copy.
    reg = search.best_params_["estimator__graph_reg"]
    best, alone = search.best_estimator_, clone(NETWORK).set_params(graph_reg=reg).fit(X, y, graph=graph)
    np.testing.assert_array_equal(best.estimator_.transduction_, alone.transduction_)
    assert best.X is X and best.graph is graph
    np.testing.assert_array_equal(search.predict(np.arange(90)), alone.transduction_)
    np.testing.assert_array_equal(best.estimator_.predict(X, graph=graph), alone.predict(X, graph=graph))
    drawn = RandomizedSearchCV(model, grid, n_iter=2, cv=CV, random_state=0).fit(rows, y[rows])
    assert len(drawn.cv_results_["params"]) == 2
    halved = HalvingGridSearchCV(model, grid, cv=2, min_resources=12, random_state=0).fit(rows, y[rows])
    assert halved.best_params_["estimator__graph_reg"] in grid["estimator__graph_reg"]
    nested = cross_validate(GridSearchCV(model, grid, cv=2), rows, y[rows], cv=CV, return_estimator=True)
    assert nested["test_score"].min() > 0.3 and all(found.best_params_ for found in nested["estimator"])
    sizes, _, on_test = learning_curve(model, rows, y[rows], cv=CV, train_sizes=[6, 12], shuffle=True, random_state=0)
    assert sizes.tolist() == [6, 12] and on_test.shape == (2, 3)
    groups = np.arange(90) // 9
    assert len(cross_val_score(model, rows, y[rows], groups=groups[rows], cv=GroupKFold(3))) == 3
    shares = cross_val_predict(model, rows, y[rows], cv=CV, method="predict_proba")
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(scores(model, y, labeled_scorer()), scores(model, y))
    assert (scores(model, y, "roc_auc_ovr") > 0.5).all()


def test_copies_share_the_rows():
    X, _, y, graph = nodes()
    rows, model = np.flatnonzero(y >= 0), Transductive(NETWORK, X, graph=graph)
    copy = clone(model.fit(rows, y[rows]))
    assert copy.X is X and copy.graph is graph and copy.estimator is not NETWORK and not hasattr(copy, "estimator_")
    assert copy.get_params()["estimator__graph_reg"] == 5.0
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    with pytest.raises(TypeError, match="Transductive has no parameter 'Graph'; did you mean graph"):
        Transductive(NETWORK, X, Graph=graph)


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"rows": [0, 90]}, ValueError, "rows names row 90; expected rows from 0 to 89"),
    ({"rows": [1, 1]}, ValueError, "rows names row 1 twice"),
    ({"rows": [0.5, 1]}, TypeError, "rows must be a mask or row numbers"),
    ({"y": [0]}, ValueError, "y has 1 values; expected one for each of the 2 rows"),
    ({"y": [0, -1]}, ValueError, "y is -1 in row 4, which marks a row without a label; give the numbers and labels of the others"),
    ({"y": ["a", ""]}, ValueError, "y is '' in row 4"),
    ({"y": [0, 9], "estimator": HarmonicClassifier(unlabeled=9)}, ValueError, "y is 9 in row 4"),
    ({"y": [0.5, np.nan], "estimator": HarmonicRegressor()}, ValueError, "y is nan in row 4"),
    ({"sample_weight": [1.0]}, ValueError, "sample_weight has 1 values; expected one for each of the 2 rows"),
    ({"estimator": SelfTrainingClassifier(LogisticRegression())}, TypeError, "SelfTrainingClassifier does not say what it finds"),
    ({"estimator": LabelSpreading(), "y": [0, -1]}, ValueError, "y is -1 in row 4"),
    ({"estimator": HarmonicClassifier(0)}, ValueError, "^n_neighbors is 0"),
])  # fmt: skip
def test_errors(options, error, text):
    X, _, _ = blobs()
    given = {"estimator": HarmonicClassifier(8), "rows": [0, 4], "y": [0, 1], **options}
    model = Transductive(given.pop("estimator"), X)
    with pytest.raises(error, match=text):
        model.fit(given.pop("rows"), given.pop("y"), **given)


@pytest.mark.parametrize("estimator", [NETWORK, HarmonicClassifier(), LaplacianSVC()])
@pytest.mark.parametrize("as_scipy", [False, True])
def test_scikit_learns_search_says_what_to_use_for_graphs(estimator, as_scipy):
    X, _, y, graph = nodes()
    graph = graph.to_scipy() if as_scipy else graph
    search = GridSearchCV(estimator, {"n_neighbors": [5]}, cv=labeled_folds(y, 3))
    with pytest.raises(ValueError, match=r"give them lapwing.model_selection.Transductive\(estimator, X, graph=graph\)"):
        search.fit(X, y, graph=graph)
    with pytest.raises(ValueError, match="graph has 90 nodes, but [Xy] has 80 rows; expected a node for each row"):
        clone(estimator).fit(X[:80], y[:80], graph=graph)


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
