"""Cross-validation and scores with rows that have no label."""

import pickle
import warnings

import numpy as np
import pytest
from datasets import hide
from sklearn.base import clone
from sklearn.metrics import f1_score, log_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicClassifier, HarmonicRegressor
from lapwing.metrics import accuracy_on_unlabeled, accuracy_score, labeled_scorer
from lapwing.model_selection import SemiSupervisedKFold


@pytest.mark.parametrize("marker", [-1, None])
def test_folds_test_labeled_rows_only(marker):
    y = np.array([0, 1, marker] * 20, dtype=object if marker is None else int)
    tested = []
    for train, test in SemiSupervisedKFold(4, shuffle=True, random_state=0).split(y.reshape(-1, 1), y):
        assert (train[1:] > train[:-1]).all() and not set(train) & set(test)
        assert set(range(2, 60, 3)) <= set(train)
        assert len(train) + len(test) == 60
        assert sorted(y[test]) == [0] * 5 + [1] * 5
        tested += list(test)
    assert sorted(tested) == [row for row in range(60) if row % 3 != 2]


def test_folds_of_numbers_and_too_few_labels():
    y = np.array([0.5, np.nan, 1.25, 2.5, np.nan])
    folds = list(SemiSupervisedKFold(3).split(y, y))
    assert [list(test) for _, test in folds] == [[0], [2], [3]]
    with pytest.raises(ValueError, match="at most the number of labeled rows, 3"):
        next(SemiSupervisedKFold(4).split(y, y))
    with pytest.raises(ValueError, match="needs y"):
        next(SemiSupervisedKFold(2).split(y))
    assert SemiSupervisedKFold(4).get_n_splits() == 4


@pytest.mark.parametrize("dtype", [float, object])
def test_a_value_of_minus_one_is_a_value(dtype):
    # Fractions say that these are values.
    y = np.array([0.5, np.nan, -1.0, 2.5, np.nan, -1.0], dtype=dtype)
    assert [list(test) for _, test in SemiSupervisedKFold(4).split(y, y)] == [[0], [2], [3], [5]]
    y = np.where([value == 0.5 for value in y], 3.0, y)
    y = np.where([value == 2.5 for value in y], 4.0, y).astype(dtype)
    whole = SemiSupervisedKFold(4, task="regression")
    assert [list(test) for _, test in whole.split(y, y)] == [[0], [2], [3], [5]]
    marked = SemiSupervisedKFold(2, task="regression", unlabeled=-1)
    assert [list(test) for _, test in marked.split(y, y)] == [[0], [3]]


def test_whole_values_are_not_stratified():
    # Folds that keep shares of 0 and 1 have one of each.
    y = np.array([0.0, 0.0, 1.0, 1.0, np.nan])
    tested = [list(test) for _, test in SemiSupervisedKFold(2, task="regression").split(y, y)]
    assert tested == [[0, 1], [2, 3]]
    assert [list(test) for _, test in SemiSupervisedKFold(2).split(y, y)] == [[0, 2], [1, 3]]
    assert [list(test) for _, test in SemiSupervisedKFold(2, stratify=False).split(y, y)] == [[0, 1], [2, 3]]
    counts = np.arange(8.0)
    with pytest.raises(ValueError, match="no class has more than 1 labeled rows.*task='regression' if y holds values"):
        next(SemiSupervisedKFold(2).split(counts, counts))
    assert len(list(SemiSupervisedKFold(2, task="regression").split(counts, counts))) == 2
    with pytest.raises(ValueError, match="stratify is True, but the values"):
        next(SemiSupervisedKFold(2, stratify=True, task="regression").split(counts, counts))
    with pytest.raises(ValueError, match="task is 'both'; expected one of auto, classification, regression"):
        next(SemiSupervisedKFold(2, task="both").split(counts, counts))
    with pytest.raises(ValueError, match="stratify is 'no'; expected True, False or 'auto'"):
        next(SemiSupervisedKFold(2, stratify="no").split(counts, counts))


@pytest.mark.parametrize("y", [
    np.array([0.0, 1.0, 0.0, 1.0, -1.0, -1.0, np.nan]),
    np.array([0, 1, 0, 1, -1, -1, None], dtype=object),
])
def test_minus_one_beside_another_marker_is_tested(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({}, {"task": "regression"}):
            assert sorted(row for _, test in SemiSupervisedKFold(2, **options).split(y, y) for row in test) == list(range(6))


@pytest.mark.parametrize("y", [np.array([0, 1, 0, 1, -1, -1, -2, -2]), np.array([0, 1, 0, 1, -1, -1, -2, -2.0])])
def test_a_doubtful_minus_one_is_not_dropped_in_silence(y):
    with pytest.warns(UserWarning, match="-1 as rows without a label; give task='regression'"):
        tested = [row for _, test in SemiSupervisedKFold(2).split(y, y) for row in test]
    assert not {4, 5} & set(tested)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"task": "classification"}, {"task": "regression"}, {"unlabeled": -9}):
            list(SemiSupervisedKFold(2, **options).split(y, y))
        plain = np.array([0, 1, 0, 1, -1, -1])
        list(SemiSupervisedKFold(2).split(plain, plain))


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
        cv=SemiSupervisedKFold(3),
        scoring=scoring,
        n_jobs=2,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert (search.best_estimator_.transduction_ == truth).mean() > 0.95
    assert search.predict(X[:5]).shape == (5,)


def test_grid_search_on_a_given_graph(moons):
    from lapwing.graph import knn_graph

    X, truth, _ = moons
    search = GridSearchCV(
        HarmonicClassifier(affinity="precomputed"), {"form": ["stable", "plain"]}, cv=SemiSupervisedKFold(3)
    ).fit(knn_graph(X, 10).to_scipy(), hide(truth, per_class=12))
    assert search.best_score_ > 0.9


def test_in_a_pipeline_and_for_regression(moons):
    X, truth, _ = moons
    y = hide(truth, per_class=15)
    pipeline = make_pipeline(StandardScaler(), HarmonicClassifier(10))
    assert cross_val_score(pipeline, X, y, cv=SemiSupervisedKFold(3)).mean() > 0.9
    values = np.where(y >= 0, X[:, 0], np.nan)
    scores = cross_val_score(HarmonicRegressor(10), X, values, cv=SemiSupervisedKFold(3, shuffle=True, random_state=0))
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
