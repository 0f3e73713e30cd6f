"""Cross-validation and search that hide labels, and keep rows and graph."""


import numpy as np
import pytest
import scipy.sparse as sp
from datasets import hide
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, log_loss, make_scorer, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from lapwing import (
    HarmonicClassifier,
    HarmonicRegressor,
    LaplacianRidgeClassifier,
    LaplacianRidgeRegressor,
    LaplacianSVC,
    UnfoldedGNNClassifier,
    UnfoldedGNNRegressor,
)
from lapwing.baselines import NearestLabelClassifier
from lapwing.graph import kneighbors, knn_graph
from lapwing.metrics import labeled_scorer
from lapwing.model_selection import SemiSupervisedKFold, cross_validate

NETWORK = UnfoldedGNNClassifier(5.0, l2_reg=0.1, loss="mse")


def blobs(n=90, seed=0):
    """Three overlapping classes: features (n, 3), classes, and labels of which 21 are left."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + 2.0 * np.eye(3)[truth]
    return X, truth, hide(truth, per_class=7)


def folds_of(y, n_splits=3):
    """Folds by hand: training and test rows among the labeled ones."""
    labeled = np.flatnonzero(y >= 0)
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=0).split(labeled, y[labeled])
    return [(labeled[train], labeled[test]) for train, test in folds]


def graph_as(kind, X):
    if kind == "neighbors":
        distances, indices = kneighbors(X, 8)
        return indices, distances
    graph = knn_graph(X, 8)
    return graph.to_scipy() if kind == "scipy" else graph


@pytest.mark.parametrize("kind", ["none", "scipy", "Graph", "neighbors"])
@pytest.mark.parametrize("estimator", [
    HarmonicClassifier(8), LaplacianSVC(bandwidth=1.0, ambient_reg=0.01, graph_reg=0.1, n_neighbors=8), NETWORK,
], ids=lambda estimator: type(estimator).__name__)  # fmt: skip
def test_scores_are_those_of_hiding_labels_by_hand(estimator, kind):
    X, _, y = blobs()
    options = {} if kind == "none" else {"graph": graph_as(kind, X)}
    found = cross_validate(
        estimator, X, y, cv=3, scoring=["accuracy", "neg_log_loss"], return_predictions=True, return_indices=True,
        return_estimator=True, **options,
    )  # fmt: skip
    for at, (train, test) in enumerate(folds_of(y)):
        hidden = y.copy()
        hidden[test] = -1
        clf = clone(estimator).fit(X, hidden, **options)
        np.testing.assert_array_equal(found["indices"]["train"][at], train)
        np.testing.assert_array_equal(found["indices"]["test"][at], test)
        np.testing.assert_array_equal(found["predictions"][at], clf.transduction_[test])
        assert found["test_accuracy"][at] == accuracy_score(y[test], clf.transduction_[test])
        loss = log_loss(y[test], clf.label_distributions_[test], labels=[0, 1, 2])
        assert found["test_neg_log_loss"][at] == pytest.approx(-loss)
        np.testing.assert_array_equal(found["estimator"][at].label_distributions_, clf.label_distributions_)
    assert found["fit_time"].shape == found["score_time"].shape == (3,)
    assert len(np.unique(found["test_neg_log_loss"])) == 3


def test_a_graph_and_a_kernel_matrix_for_x_stay_whole():
    X, _, y = blobs()
    graph = knn_graph(X, 8)
    expected = cross_validate(HarmonicClassifier(8), X, y, cv=3, scoring="neg_log_loss")["test_score"]
    for fitted, options in ((graph.to_scipy(), {}), (graph, {}), (None, {"graph": graph})):
        clf = HarmonicClassifier(affinity="knn" if fitted is None else "precomputed")
        found = cross_validate(clf, fitted, y, cv=3, scoring="neg_log_loss", **options)["test_score"]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 2)
    for kind, regs in ((LaplacianSVC, {}), (LaplacianRidgeClassifier, {})):
        machine = kind(kernel="precomputed", ambient_reg=0.01, graph_reg=0.1, **regs)
        found = cross_validate(machine, gram, y, cv=3, scoring="neg_log_loss", graph=graph)["test_score"]
        for (_, test), score in zip(folds_of(y), found, strict=True):
            hidden = np.where(np.isin(np.arange(90), test), -1, y)
            shares = clone(machine).fit(gram, hidden, graph=graph).label_distributions_
            assert score == pytest.approx(-log_loss(y[test], shares[test], labels=[0, 1, 2]))
    values = np.where(y >= 0, X[:, 0], np.nan)
    ridge = LaplacianRidgeRegressor(kernel="precomputed", ambient_reg=0.01, graph_reg=0.1)
    assert cross_validate(ridge, gram, values, graph=graph)["test_score"].mean() > 0.3


@pytest.mark.parametrize("estimator", [HarmonicRegressor(8, random_state=0), UnfoldedGNNRegressor(0.1, l2_reg=0.1, random_state=0), Ridge()])
def test_values(estimator):
    X, _, y = blobs()
    # A value of -1 is a value.
    values = np.where(y >= 0, np.round(X[:, 0] * 2), np.nan)
    values[0] = -1.0
    folds = [(train, test) for train, test in SemiSupervisedKFold(4, task="regression").split(X, values)]
    scoring = ["r2", "neg_mean_squared_error"]
    found = cross_validate(estimator, X, values, cv=SemiSupervisedKFold(4), scoring=scoring)
    assert any(0 in test for _, test in folds)
    for (train, test), r2, mse in zip(folds, found["test_r2"], found["test_neg_mean_squared_error"], strict=True):
        if isinstance(estimator, Ridge):
            train = train[~np.isnan(values[train])]
            answers = clone(estimator).fit(X[train], values[train]).predict(X[test])
        else:
            hidden = values.copy()
            hidden[test] = np.nan
            answers = clone(estimator).fit(X, hidden).transduction_[test]
        assert r2 == pytest.approx(r2_score(values[test], answers))
        assert mse == pytest.approx(-mean_squared_error(values[test], answers))
    default = cross_validate(estimator, X, values, return_indices=True)
    assert len(default["test_score"]) == 5 and sorted(np.concatenate(default["indices"]["test"])) == list(
        np.flatnonzero(~np.isnan(values))
    )


def test_estimators_of_scikit_learn_are_fitted_to_the_labeled_rows():
    X, _, y = blobs()
    gram = X @ X.T
    cases = ((LogisticRegression(), X), (make_pipeline(StandardScaler(), LogisticRegression()), X), (SVC(kernel="precomputed"), gram))
    for clf, rows in cases:
        found = cross_validate(clf, rows, y, cv=3, scoring="f1_macro", fit_params={})["test_score"]
        for (train, test), score in zip(folds_of(y), found, strict=True):
            columns = train if rows is gram else slice(None)
            copy = clone(clf).fit(rows[train][:, columns], y[train])
            assert score == f1_score(y[test], copy.predict(rows[test][:, columns]), average="macro")
    weights = np.linspace(0.1, 5.0, 90)
    found = cross_validate(LogisticRegression(), X, y, cv=3, scoring="neg_log_loss", fit_params={"sample_weight": weights})
    for (train, test), score in zip(folds_of(y), found["test_score"], strict=True):
        copy = LogisticRegression().fit(X[train], y[train], weights[train])
        assert score == pytest.approx(-log_loss(y[test], copy.predict_proba(X[test])))


@pytest.mark.parametrize("estimator", [
    LabelSpreading(), SelfTrainingClassifier(LogisticRegression()), NearestLabelClassifier(),
    make_pipeline(StandardScaler(), HarmonicClassifier(8)), GridSearchCV(HarmonicClassifier(), {"n_neighbors": [8]}, cv=SemiSupervisedKFold(2)),
], ids=lambda estimator: type(estimator).__name__)  # fmt: skip
def test_others_that_use_unlabeled_rows(estimator):
    X, _, y = blobs()
    found = cross_validate(estimator, X, y, cv=3, scoring="accuracy", error_score="raise")
    marked = cross_validate(estimator, X, np.where(y < 0, np.nan, y), cv=3, scoring="accuracy", error_score="raise")
    for (_, test), score, same in zip(folds_of(y), found["test_score"], marked["test_score"], strict=True):
        copy = clone(estimator).fit(X, np.where(np.isin(np.arange(90), test), -1, y))
        final = copy[-1] if hasattr(copy, "steps") else copy
        has_shares = hasattr(final, "label_distributions_")
        answers = final.transduction_[test] if has_shares else copy.predict(X[test])
        assert score == same == accuracy_score(y[test], answers)


def test_pipelines_pass_the_graph_to_the_last_step():
    X, _, y = blobs()
    graph = knn_graph(X, 4)
    pipeline = make_pipeline(StandardScaler(), clone(NETWORK))
    found = cross_validate(pipeline, X, y, cv=3, graph=graph, scoring="neg_log_loss")["test_score"]
    expected = cross_validate(NETWORK, StandardScaler().fit_transform(X), y, cv=3, graph=graph, scoring="neg_log_loss")
    np.testing.assert_allclose(found, expected["test_score"], rtol=1e-9)


def labels_as(kind, y):
    names = np.array(["apple", "pear", "plum"])
    if kind == "shares":
        return np.eye(4)[y][:, :3]
    if kind in ("pandas", "polars"):
        package = pytest.importorskip(kind)
        return package.Series([None if code < 0 else str(names[code]) for code in y])
    return {
        "floats": np.where(y < 0, np.nan, y),
        "strings": np.where(y < 0, "", names[y]),
        "objects": np.array([None if code < 0 else code for code in y], dtype=object),
        "list": [None if code < 0 else str(names[code]) for code in y],
        "unsigned": np.where(y < 0, 9, y).astype(np.uint8),
        "with -1": np.where(y < 0, -9, y - 1),
        "column": y.reshape(-1, 1),
    }[kind]


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize(
    "kind", ["floats", "strings", "objects", "list", "pandas", "polars", "unsigned", "with -1", "column", "shares"]
)
def test_labels_of_every_kind(kind):
    X, _, y = blobs()
    marker = {"unsigned": 9, "with -1": -9}.get(kind)
    scoring = ["accuracy", "neg_log_loss", "f1_macro"]
    given = labels_as(kind, y)
    cases = ((HarmonicClassifier(8), HarmonicClassifier(8, unlabeled=marker), None), (LogisticRegression(), LogisticRegression(), marker))
    for plain, marked, unlabeled in cases:
        for cv in (3, SemiSupervisedKFold(3)):
            expected = cross_validate(plain, X, y, cv=cv, scoring=scoring, error_score="raise")
            found = cross_validate(marked, X, given, cv=cv, scoring=scoring, unlabeled=unlabeled, error_score="raise")
            for name in scoring:
                np.testing.assert_allclose(found[f"test_{name}"], expected[f"test_{name}"], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnreachedWarning")
@pytest.mark.parametrize("abstain", [False, True])
def test_rows_that_no_label_reaches_count_as_errors(abstain):
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    graph = sp.block_diag([pair, pair, pair], format="csr")
    y = np.array(["a", "a", "b", "b", "a", ""])
    clf = HarmonicClassifier(abstain=abstain)
    folds = [([0, 1, 2, 3], [4]), ([0, 2, 4], [1, 3])]
    scoring = ["accuracy", "neg_log_loss", "balanced_accuracy", "f1_macro"]
    found = cross_validate(clf, None, y, graph=graph, cv=folds, scoring=scoring, return_predictions=True)
    # The prior of the labels that are left is one half; "a" would be right.
    assert found["test_accuracy"].tolist() == [0.0, 1.0]
    assert found["test_f1_macro"].tolist() == [0.0, 1.0]
    assert found["test_neg_log_loss"][0] == pytest.approx(np.log(0.5))
    assert found["predictions"][0].tolist() == [None] and found["predictions"][1].tolist() == ["a", "b"]
    values = np.array([1.0, 1.0, 3.0, 3.0, 5.0, np.nan])
    reg = HarmonicRegressor(abstain=abstain)
    found = cross_validate(reg, None, values, graph=graph, cv=folds[:1], scoring="neg_mean_squared_error")
    assert found["test_score"].tolist() == [-9.0]


def test_classes_missing_from_a_fold():
    X, _, y = blobs()
    folds = [(np.flatnonzero(y == 0)[:4], np.flatnonzero(y == 0)[4:])]
    folds[0] = (np.concatenate([folds[0][0], np.flatnonzero(y == 1)]), folds[0][1])
    for clf in (HarmonicClassifier(8), LogisticRegression()):
        found = cross_validate(clf, X, y, cv=folds, scoring=["neg_log_loss", "accuracy"], error_score="raise")
        assert -1.5 < found["test_neg_log_loss"][0] < 0 < found["test_accuracy"][0]
        # Class 2 is tested, and no label of it is left.
        rest = [(folds[0][0], np.flatnonzero(y == 2))]
        found = cross_validate(clf, X, y, cv=rest, scoring=["neg_log_loss", "accuracy"], error_score="raise")
        assert found["test_accuracy"].tolist() == [0.0] and found["test_neg_log_loss"][0] < -30


def test_folds_come_from_many_things():
    X, _, y = blobs()
    labeled = set(np.flatnonzero(y >= 0))
    clf = NearestLabelClassifier()

    def tested(cv=None, **options):
        return cross_validate(clf, X, y, cv=cv, return_indices=True, **options)["indices"]["test"]

    assert len(tested()) == 5 and set(np.concatenate(tested())) == labeled
    few = np.where(np.isin(np.arange(90), np.flatnonzero(y == 2)[3:]), -1, y)
    assert len(cross_validate(clf, X, few)["test_score"]) == 3
    assert len(tested(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))) == 6
    groups = np.arange(90) // 9
    for test in tested(GroupKFold(3), groups=groups):
        assert not set(groups[test]) & set(groups[sorted(labeled - set(test))])
    # The rows of a split that are in neither part are hidden as well.
    split = ShuffleSplit(2, train_size=6, test_size=3, random_state=0)
    found = cross_validate(clf, X, y, cv=split, return_indices=True, return_estimator=True)
    for train, fitted in zip(found["indices"]["train"], found["estimator"], strict=True):
        assert len(train) == 6 and fitted.report_["n_labeled"] == 6
    whole = list(SemiSupervisedKFold(3).split(X, y))
    np.testing.assert_array_equal(np.concatenate(tested(whole)), np.concatenate(tested(SemiSupervisedKFold(3))))
    masks = [(~np.isin(np.arange(90), test), np.isin(np.arange(90), test)) for _, test in whole]
    np.testing.assert_array_equal(np.concatenate(tested(masks)), np.concatenate(tested(whole)))


def squared(fold, rows, y):
    shares = fold.predict_proba(rows)
    return {"brier": -((shares - (y[:, None] == fold.classes_)) ** 2).sum(1).mean(), "rows": len(rows)}


def test_scores_come_from_many_things():
    X, _, y = blobs()
    clf = HarmonicClassifier(8)
    accuracy = cross_validate(clf, X, y, cv=3)["test_score"]
    for scoring in ("accuracy", make_scorer(accuracy_score), labeled_scorer(), labeled_scorer(accuracy_score)):
        np.testing.assert_array_equal(cross_validate(clf, X, y, cv=3, scoring=scoring)["test_score"], accuracy)
    found = cross_validate(clf, X, y, cv=3, scoring={"right": "accuracy", "f1": make_scorer(f1_score, average="macro")})
    assert set(found) == {"fit_time", "score_time", "test_right", "test_f1"}
    found = cross_validate(clf, X, y, cv=3, scoring=squared)
    assert found["test_rows"].tolist() == [len(test) for _, test in folds_of(y)] and (found["test_brier"] < 0).all()
    with pytest.warns(UserWarning, match="scoring failed, and the score of this fold is set to -5"):
        found = cross_validate(clf, X, y, cv=3, scoring=["accuracy", "roc_auc"], error_score=-5)
    assert found["test_roc_auc"].tolist() == [-5] * 3 and (found["test_accuracy"] == accuracy).all()
    with pytest.raises(ValueError, match="multi_class must be in"):
        cross_validate(clf, X, y, cv=3, scoring="roc_auc", error_score="raise")
    assert (cross_validate(clf, X, y, cv=3, scoring="roc_auc_ovr")["test_score"] > 0.5).all()


def test_fits_that_fail():
    X, _, y = blobs()
    with pytest.raises(ValueError, match="all 3 fits failed(.|\n)*n_neighbors is 0"):
        cross_validate(HarmonicClassifier(0), X, y, cv=3)
    with pytest.raises(ValueError, match="^n_neighbors is 0"):
        cross_validate(HarmonicClassifier(0), X, y, cv=3, error_score="raise")
    # A fold with labels of one class only, which logistic regression refuses.
    folds = [*folds_of(y), (np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 0)[3:])]
    with pytest.warns(FitFailedWarning, match="1 of 4 fits failed, and their scores are set to nan"):
        found = cross_validate(LogisticRegression(), X, y, cv=folds, scoring=squared)
    assert np.isnan(found["test_brier"]).tolist() == np.isnan(found["test_rows"]).tolist() == [False] * 3 + [True]


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"y": None}, ValueError, "the target y is None"),
    ({"y": np.where(np.arange(90) < 1, 0, -1)}, ValueError, "y has 1 rows with a label; cross-validation needs at least 2"),
    ({"y": np.where(np.arange(90) < 5, 0, -1)}, ValueError, "all labels are of one class, .*0.*; cross-validation needs two classes"),
    ({"y": np.where(np.arange(90) < 3, np.arange(90), -1)}, ValueError, "every class has one label"),
    ({"cv": 8}, ValueError, "n_splits is 8, but no class has more than 7 labeled rows"),
    ({"cv": 2.5}, TypeError, "cv must be an integer, not float"),
    ({"cv": []}, ValueError, "cv has no folds"),
    ({"cv": [([0], [80])]}, ValueError, "fold 0 of cv tests row 80, which has no label"),
    ({"cv": [([0], [90])]}, ValueError, "fold 0 of cv has row 90; expected rows in 0..89"),
    ({"cv": [([0, 1], [1])]}, ValueError, "fold 0 of cv has row 1 in its training set and in its test set"),
    ({"cv": [([80], [1])]}, ValueError, "fold 0 of cv has no labeled row in its training set"),
    ({"cv": [3]}, TypeError, "fold 0 of cv is a int; expected a pair"),
    ({"cv": [([0.5], [1])]}, TypeError, "fold 0 of cv holds float64 of shape"),
    ({"estimator": HarmonicClassifier}, TypeError, "estimator must be a classifier or regressor .* not HarmonicClassifier"),
    ({"unlabeled": -9}, ValueError, r"unlabeled is -9, but that of HarmonicClassifier is None; give HarmonicClassifier\(unlabeled=-9\)"),
    ({"estimator": LabelSpreading(), "unlabeled": 7, "y": np.arange(90) % 3 - 1}, ValueError, "-1 is a class of y"),
    ({"error_score": "nan"}, ValueError, "error_score is 'nan'; expected 'raise' or a number"),
    ({"scoring": accuracy_score}, ValueError, "looks like it is a metric"),
    ({"estimator": LogisticRegression(), "graph": np.eye(90), "error_score": "raise"}, ValueError, "LogisticRegression takes no graph"),
    ({"estimator": LogisticRegression(), "X": np.ones((80, 2))}, ValueError, "inconsistent numbers of samples"),
    ({"fit_params": {"sample_weight": np.ones(3)}}, ValueError, "sample_weight has 3 values"),
])  # fmt: skip
def test_errors(options, error, text):
    X, _, y = blobs()
    given = {"estimator": HarmonicClassifier(8), "X": X, "y": y, **options}
    with pytest.raises(error, match=text):
        cross_validate(given.pop("estimator"), given.pop("X"), given.pop("y"), **given)


def test_rows_of_weight_zero_are_unlabeled():
    X, _, y = blobs()
    weights = np.where(np.arange(90) % 2, 1.0, 0.0)
    params = {"sample_weight": weights}
    tested = cross_validate(HarmonicClassifier(8), X, y, fit_params=params, return_indices=True)["indices"]["test"]
    assert sorted(np.concatenate(tested)) == [row for row in np.flatnonzero(y >= 0) if row % 2]
