"""The automatic choice."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.naive_bayes import GaussianNB

from lapwing import AutoLabeler, HarmonicClassifier, load_model, save_model

NAMES = ["harmonic", "harmonic-plain", "majority", "nearest-label", "linear", "forest", "laprls"]


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    y = truth.copy()
    y[60:] = -1
    return X, y, truth


@pytest.fixture(scope="module")
def fitted(digits):
    X, y, _ = digits
    return AutoLabeler(random_state=0).fit(X, y)


def test_candidates_are_weighed(digits, fitted):
    _, y, truth = digits
    assert [row["name"] for row in fitted.results_] == NAMES
    weights = np.array([row["weight"] for row in fitted.results_])
    assert weights.sum() == pytest.approx(1) and weights[NAMES.index("majority")] == 0
    assert all(0 <= row["estimate"] <= 1 and row["seconds"] >= 0 for row in fitted.results_)
    assert all(row["interval"][0] <= row["estimate"] <= row["interval"][1] for row in fitted.results_)
    assert (fitted.transduction_[y < 0] == truth[y < 0]).mean() > 0.85
    best = fitted.results_[int(weights.argmax())]
    assert fitted.best_estimator_._method == best["method"]
    value, low, high = fitted.expected_accuracy_
    assert 0 < low <= value <= high <= 1


def test_the_best_estimator_is_fitted(digits, fitted):
    X, _, _ = digits
    best = fitted.best_estimator_
    assert best.transduction_.shape == (600,)
    assert (best.predict(X[:5]) == fitted.predict(X[:5])).mean() > 0.5


def test_new_rows(digits, fitted, tmp_path):
    X, _, _ = digits
    assert (fitted.predict(X) == fitted.transduction_).mean() > 0.9
    np.testing.assert_allclose(fitted.predict_proba(X[:9]).sum(axis=1), 1)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X[:50]), fitted.predict(X[:50]))
    save_model(fitted, tmp_path / "auto.lapwing")
    np.testing.assert_array_equal(load_model(tmp_path / "auto.lapwing").predict(X[:50]), fitted.predict(X[:50]))


def test_few_labels_leave_the_default(digits):
    X, y, _ = digits
    few = y.copy()
    few[20:] = -1
    auto = AutoLabeler(random_state=0).fit(X, few)
    harmonic = HarmonicClassifier(random_state=0).fit(X, few)
    np.testing.assert_array_equal(auto.transduction_, harmonic.transduction_)
    assert [row["weight"] for row in auto.results_] == [1, 0, 0, 0, 0, 0, 0]
    assert all(row["estimate"] is None for row in auto.results_)


def test_the_same_seed_gives_the_same_bits(digits, fitted):
    X, y, _ = digits
    again = clone(fitted).set_params(n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.label_distributions_, fitted.label_distributions_)


def test_candidates_may_be_named(digits):
    X, y, _ = digits
    auto = AutoLabeler(candidates=["linear", "nearest-label"], random_state=0).fit(X, y)
    assert sorted(row["name"] for row in auto.results_) == ["linear", "nearest-label"]
    with pytest.raises(ValueError, match="candidates is 'tree'; expected one or more of"):
        AutoLabeler(candidates=["tree"]).fit(X, y)
    with pytest.raises(ValueError, match="budget is 0"):
        AutoLabeler(budget=0).fit(X, y)
    budgeted = AutoLabeler(budget=1e-9, random_state=0).fit(X, y)
    assert [row["weight"] for row in budgeted.results_] == [1, 0, 0, 0, 0, 0, 0]


def test_graphs_alone_and_beside_features(digits):
    X, _, _ = digits
    ring = sp.csr_array(np.roll(np.eye(300), 1, axis=1) + np.roll(np.eye(300), -1, axis=1))
    both = sp.block_diag([ring, ring], format="csr")
    labels = np.full(600, -1)
    labels[::20] = np.arange(0, 600, 20) >= 300
    alone = AutoLabeler(random_state=0).fit(None, labels, graph=both)
    assert [row["name"] for row in alone.results_] == ["harmonic", "harmonic-plain", "majority"]
    assert (alone.transduction_ == (np.arange(600) >= 300)).all()
    beside = AutoLabeler(random_state=0).fit(X, labels, graph=both)
    names = [row["name"] for row in beside.results_]
    assert {"majority", "nearest-label", "linear"} < set(names) and "unfolded-joined" in names


@pytest.mark.parametrize(("is_count", "is_beside", "is_weighed"), [(1, 1, 1), (1, 0, 1), (0, 1, 0), (0, 0, 1)])
def test_terms_are_weighed_unless_rows_only_hold_them_beside_a_graph(digits, is_count, is_beside, is_weighed):
    X, y, _ = digits
    counts = sp.csr_array(np.tile(X[:120], 10), dtype=np.float32)
    counts.data[:] = counts.data if is_count else 1.0
    ring = sp.csr_array(np.roll(np.eye(120), 1, axis=1) + np.roll(np.eye(120), -1, axis=1))
    fitted = AutoLabeler(random_state=0).fit(counts, y[:120], graph=ring if is_beside else None)
    assert (fitted.report_["parts"].get("scaling", {}).get("kind") == "tfidf") == bool(is_weighed)
    assert not any(warning["kind"] == "TermCountsWarning" for warning in fitted.report_["warnings"])


def test_a_prior_is_a_candidate(digits):
    X, y, _ = digits
    auto = AutoLabeler(prior=GaussianNB(), random_state=0).fit(X, y)
    assert {"harmonic-prior", "prior"} <= {row["name"] for row in auto.results_}
    assert hasattr(auto.prior_, "predict_proba")


def test_columns_in_different_units_are_scaled():
    X, truth = load_wine(return_X_y=True)
    y = np.where(np.arange(178) % 6 == 0, truth, -1)
    auto = AutoLabeler(random_state=0).fit(X, y)
    assert auto.report_["parts"]["scaling"]["kind"] == "standardize"
    assert (auto.predict(X) == truth).mean() > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = AutoLabeler(scaling="off", random_state=0).fit(X, y)
    assert "scaling" not in raw.report_["parts"]
