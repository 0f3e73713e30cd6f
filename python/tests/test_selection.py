"""Cross-validation and scores with rows that have no label."""

import pickle
import warnings

import numpy as np
import pytest
from datasets import hide
from sklearn.base import clone
from sklearn.metrics import f1_score, log_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicClassifier, HarmonicRegressor
from lapwing.metrics import accuracy_on_unlabeled, accuracy_score, labeled_scorer
from lapwing.model_selection import SemiSupervisedKFold, labeled_folds


@pytest.mark.parametrize("marker", [-1, None])
def test_folds_test_labeled_rows_only(marker):
    y = np.array([0, 1, marker] * 20, dtype=object if marker is None else int)
    tested = []
    for train, test in labeled_folds(y, StratifiedKFold(4, shuffle=True, random_state=0)):
        assert (train[1:] > train[:-1]).all() and not set(train) & set(test)
        assert set(range(2, 60, 3)) <= set(train)
        assert len(train) + len(test) == 60
        assert sorted(y[test]) == [0] * 5 + [1] * 5
        tested += list(test)
    assert sorted(tested) == [row for row in range(60) if row % 3 != 2]


def held_by(y, cv, **options):
    return [test.tolist() for _, test in labeled_folds(y, cv, **options)]


def test_folds_of_numbers_and_too_few_labels():
    y = np.array([0.5, np.nan, 1.25, 2.5, np.nan])
    assert held_by(y, 3) == [[0], [2], [3]]
    with pytest.raises(ValueError, match="number of splits"):
        labeled_folds(y, 4)
    with pytest.raises(ValueError, match="no row of y has a label"):
        labeled_folds([-1, -1], 2)
    with pytest.raises(ValueError, match="task is 'both'; expected one of auto, classification, regression"):
        labeled_folds(y, 2, task="both")


def test_the_splitter_has_folds_of_labeled_rows():
    classes, values = np.array([0, 1, -1] * 8), np.array([3.0, -1.0, np.nan] * 8)
    shuffled = {"shuffle": True, "random_state": 0}
    for y, cv, options in (
        (classes, StratifiedKFold(4), {}), (classes, StratifiedKFold(4, **shuffled), shuffled),
        (classes, KFold(4), {"stratify": False}), (classes, StratifiedKFold(4), {"unlabeled": 0}),
        (values + 0.5, KFold(4), {}), (values, KFold(4), {"task": "regression"}),
    ):  # fmt: skip
        expected = labeled_folds(y, cv, task=options.get("task", "auto"), unlabeled=options.get("unlabeled"))
        found = list(SemiSupervisedKFold(4, **options).split(y, y))
        assert [[list(rows) for rows in fold] for fold in found] == [[list(rows) for rows in fold] for fold in expected]
    assert SemiSupervisedKFold(4).get_n_splits() == 4


@pytest.mark.parametrize(("options", "y", "text"), [
    ({}, None, "needs y to know which rows have a label"),
    ({}, np.array([0, 1, -1, 0]), "inconsistent numbers of samples"),
    ({"stratify": "no"}, np.array([0, 1, -1]), "stratify is 'no'; expected True, False or 'auto'"),
    ({"stratify": True}, np.array([0.5, 1.5, np.nan]), "stratify is True, but the values"),
    ({"task": "both"}, np.array([0, 1, -1]), "task is 'both'; expected one of auto, classification, regression"),
])  # fmt: skip
def test_errors_of_the_splitter(options, y, text):
    with pytest.raises(ValueError, match=text):
        next(SemiSupervisedKFold(2, **options).split(np.zeros(3), y))


@pytest.mark.parametrize("dtype", [float, object])
def test_a_value_of_minus_one_is_a_value(dtype):
    # Fractions say that these are values.
    y = np.array([0.5, np.nan, -1.0, 2.5, np.nan, -1.0], dtype=dtype)
    assert held_by(y, 4) == [[0], [2], [3], [5]]
    y = np.where([value == 0.5 for value in y], 3.0, y)
    y = np.where([value == 2.5 for value in y], 4.0, y).astype(dtype)
    assert held_by(y, 4, task="regression") == [[0], [2], [3], [5]]
    assert held_by(y, 2, task="regression", unlabeled=-1) == [[0], [3]]


def test_groups_stay_together_and_whole_values_are_not_stratified():
    # Folds that keep shares of 0 and 1 have one of each.
    y = np.array([0.0, 0.0, 1.0, 1.0, np.nan])
    assert held_by(y, 2, task="regression") == [[0, 1], [2, 3]]
    assert held_by(y, 2) == [[0, 2], [1, 3]]
    assert held_by(y, GroupKFold(2), groups=np.array([1, 2, 2, 1, 1])) in ([[0, 3], [1, 2]], [[1, 2], [0, 3]])


@pytest.mark.parametrize("y", [
    np.array([0.0, 1.0, 0.0, 1.0, -1.0, -1.0, np.nan]),
    np.array([0, 1, 0, 1, -1, -1, None], dtype=object),
])
def test_minus_one_beside_another_marker_is_tested(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({}, {"task": "regression"}):
            assert sorted(sum(held_by(y, 2, **options), [])) == list(range(6))


@pytest.mark.parametrize("y", [np.array([0, 1, 0, 1, -1, -1, -2, -2]), np.array([0, 1, 0, 1, -1, -1, -2, -2.0])])
def test_a_doubtful_minus_one_is_not_dropped_in_silence(y):
    with pytest.warns(UserWarning, match="-1 as rows without a label; give task='regression'"):
        tested = sum(held_by(y, 2), [])
    assert not {4, 5} & set(tested)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"task": "classification"}, {"task": "regression"}, {"unlabeled": -9}):
            labeled_folds(y, 2, **options)
        labeled_folds(np.array([0, 1, 0, 1, -1, -1]), 2)


def test_scores_of_values_count_those_of_minus_one():
    X = np.arange(8.0).reshape(-1, 1)
    y = np.array([-1.0, 0.0, 1.0, 2.0, -1.0, 0.0, np.nan, np.nan])
    reg = HarmonicRegressor(2).fit(X, y)
    known = ~np.isnan(y)
    expected = -mean_squared_error(y[known], reg.predict(X)[known])
    scorer = labeled_scorer(mean_squared_error, greater_is_better=False)
    assert scorer(reg, X, y) == pytest.approx(expected)
    assert scorer(make_pipeline(StandardScaler(with_std=False), HarmonicRegressor(2)).fit(X, y), X, y) == pytest.approx(expected)
    marked = labeled_scorer(mean_squared_error, greater_is_better=False, unlabeled=-1)
    without = known & (y != -1)
    assert marked(reg, X, y) == pytest.approx(-mean_squared_error(y[without], reg.predict(X)[without]))


@pytest.mark.parametrize("scoring", [None, labeled_scorer(f1_score, average="macro")])
def test_grid_search(moons, scoring):
    X, truth, _ = moons
    y = hide(truth, per_class=12)
    search = GridSearchCV(
        HarmonicClassifier(),
        {"n_neighbors": [5, 10], "graph_reg": ["auto", 1e-3]},
        cv=labeled_folds(y, 3),
        scoring=scoring,
        n_jobs=2,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert (search.best_estimator_.transduction_ == truth).mean() > 0.95
    assert search.predict(X[:5]).shape == (5,)
    by_splitter = clone(search).set_params(cv=SemiSupervisedKFold(3)).fit(X, y)
    np.testing.assert_array_equal(by_splitter.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_grid_search_on_a_given_graph(moons):
    from lapwing.graph import knn_graph

    X, truth, _ = moons
    y = hide(truth, per_class=12)
    search = GridSearchCV(
        HarmonicClassifier(affinity="precomputed"), {"form": ["stable", "plain"]}, cv=labeled_folds(y, 3)
    ).fit(knn_graph(X, 10).to_scipy(), y)
    assert search.best_score_ > 0.9


def test_in_a_pipeline_and_for_regression(moons):
    X, truth, _ = moons
    y = hide(truth, per_class=15)
    pipeline = make_pipeline(StandardScaler(), HarmonicClassifier(10))
    assert cross_val_score(pipeline, X, y, cv=labeled_folds(y, 3)).mean() > 0.9
    values = np.where(y >= 0, X[:, 0], np.nan)
    scores = cross_val_score(HarmonicRegressor(10), X, values, cv=labeled_folds(values, KFold(3, shuffle=True, random_state=0)))
    assert scores.mean() > 0.3


def test_accuracy_counts_known_rows():
    assert accuracy_score([0, 1, -1, 1], [0, 1, 0, 0]) == pytest.approx(2 / 3)
    assert accuracy_score(["a", None, "b"], ["a", "b", None]) == 0.5
    assert accuracy_score([0, 1, 1], [0, 1, 0], sample_weight=[1, 1, 2]) == 0.5
    assert accuracy_on_unlabeled([0, 1, 1, -1], [0, 1, 0, 0], [0, -1, -1, -1]) == 0.5
    with pytest.raises(ValueError, match="no row with a known label"):
        accuracy_score([-1, -1], [0, 0])
    with pytest.raises(ValueError, match="y_pred has shape"):
        accuracy_score([0, 1], [0])


def test_scorer_skips_unknown_rows(moons):
    X, truth, y = moons
    clf = HarmonicClassifier(10).fit(X, y)
    partly = np.where(np.arange(len(truth)) % 2, truth, -1)
    scorer = pickle.loads(pickle.dumps(labeled_scorer()))
    assert scorer(clf, X, partly) == clf.score(X, partly) == np.mean(clf.predict(X)[1::2] == truth[1::2])
    loss = labeled_scorer(log_loss, response_method="predict_proba", greater_is_better=False)
    assert loss(clf, X, partly) == pytest.approx(-log_loss(truth[1::2], clf.predict_proba(X)[1::2]))


def test_clone_takes_parameters_only(moons):
    X, _, y = moons
    clf = HarmonicClassifier(10, callback=print, unlabeled=-1).fit(X, y)
    copy = clone(clf)
    assert copy.get_params() == clf.get_params() and not hasattr(copy, "classes_")
