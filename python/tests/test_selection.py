"""Cross-validation and scores with rows that have no label."""

import pickle

import numpy as np
import pytest
from datasets import hide
from sklearn.base import clone
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicClassifier, HarmonicRegressor
from lapwing.metrics import accuracy_on_unlabeled, accuracy_score, labeled_scorer
from lapwing.model_selection import SemiSupervisedKFold


@pytest.mark.parametrize("marker", [-1, None])
def test_folds_test_labelled_rows_only(marker):
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
    with pytest.raises(ValueError, match="at most the number of labelled rows, 3"):
        next(SemiSupervisedKFold(4).split(y, y))
    with pytest.raises(ValueError, match="needs y"):
        next(SemiSupervisedKFold(2).split(y))
    assert SemiSupervisedKFold(4).get_n_splits() == 4


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
