"""The metric that is chosen for sparse rows, and the scaling that the program and later estimators share."""

import inspect
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

import lapwing
from lapwing import HarmonicClassifier, _lapwing, baselines, label_frame, load_model, save_model
from lapwing._control import run_control
from lapwing._inputs import features_argument
from lapwing.active import suggest
from lapwing.audit import audit
from lapwing.baselines import NearestLabelClassifier
from lapwing.graph import GraphLearner, kneighbors, knn_graph

ESTIMATORS = (HarmonicClassifier, NearestLabelClassifier)


def fit_scaling(X, standardize="auto", tfidf="off"):
    state, scaled, report = _lapwing.fit_scaling(
        features_argument(X if sp.issparse(X) else np.ascontiguousarray(X)), standardize, tfidf, run_control(None, None, 0, None)
    )
    return state, scaled, json.loads(report)


@pytest.fixture
def counts():
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(40, 0.2), 3)
    truth = np.arange(150) % 3
    return sp.csr_array(np.stack([rng.multinomial(12, topics[one]) for one in truth]).astype(np.float32)), truth


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_rows_are_compared_by_the_cosine(estimator, counts, tmp_path):
    X, truth = counts
    y = np.where(np.arange(150) < 15, truth, -1)
    clf = estimator().fit(X, y)
    assert clf.metric == "auto" and clf.report_["chosen"]["metric"] == "cosine"
    asked = estimator(metric="cosine").fit(X, y)
    np.testing.assert_array_equal(clf.scores_, asked.scores_)
    np.testing.assert_array_equal(clf.predict_proba(X[:40]), asked.predict_proba(X[:40]))
    assert "metric" not in asked.report_["chosen"]
    save_model(clf, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.metric == "cosine"
    np.testing.assert_array_equal(loaded.predict_proba(X[:40]), asked.predict_proba(X[:40]))
    dense = X.toarray()
    np.testing.assert_array_equal(
        estimator().fit(dense, y).scores_, estimator(metric="euclidean").fit(dense, y).scores_
    )


def test_rows_of_zeros_do_not_stop_a_fit_that_did_not_ask_for_the_cosine(counts):
    X, truth = counts
    X = sp.vstack([X, sp.csr_array((2, 40), dtype=np.float32)]).tocsr()
    y = np.where(np.arange(152) < 15, np.append(truth, [0, 0]), -1)
    with pytest.warns(UserWarning, match="2 of 152 rows hold only zeros"):
        clf = HarmonicClassifier().fit(X, y)
    assert clf.reached_.all() and np.isfinite(clf.predict_proba(X[-2:])).all()
    with pytest.raises(ValueError, match="only zeros"):
        HarmonicClassifier(metric="cosine").fit(X, y)


def test_graphs_and_searches_choose_the_same_metric(counts):
    X, _ = counts
    distances, indices = kneighbors(X, 5)
    assert distances.max() <= 2
    np.testing.assert_array_equal(indices, kneighbors(X, 5, metric="cosine")[1])
    assert (knn_graph(X, 5).to_scipy() != knn_graph(X, 5, metric="cosine").to_scipy()).nnz == 0
    auto, cosine = (GraphLearner(5, metric=metric).fit(X) for metric in ("auto", "cosine"))
    np.testing.assert_allclose(auto.transform(X[:9]).toarray(), cosine.transform(X[:9]).toarray())


def test_units_are_scaled_and_images_left():
    wine = load_wine().data
    state, scaled, report = fit_scaling(wine)
    # The range, but at most three times the width of the middle 98 %; the median deviation is 1.
    ordered = np.sort(wine, axis=0)
    widths = np.minimum(np.ptp(wine, axis=0), 3 * (ordered[-2] - ordered[1]))
    scales = widths * np.sort(wine.std(axis=0) / widths)[13 // 2]
    np.testing.assert_allclose(scaled, (wine - wine.mean(axis=0)) / scales, atol=1e-5)
    np.testing.assert_allclose(fit_scaling(wine, "on")[1], StandardScaler().fit_transform(wine), atol=1e-5)
    assert report["scaling"]["kind"] == "standardize" and report["scaling"]["ratio"] > 1000
    assert report["scaling"]["text"].startswith("13 columns to one width, because")
    np.testing.assert_allclose(json.loads(state)["Standardize"]["scale"], scales)
    for X in (load_digits().data, load_iris().data, load_digits().data.astype(np.uint8)):
        assert fit_scaling(X) == ('"None"', None, {"scaling": None, "warnings": []})
    assert fit_scaling(wine, "off")[1] is None
    with pytest.raises(ValueError, match="NaN"):
        fit_scaling(np.full((30, 2), np.nan))


def test_counts_are_weighed_as_scikit_learn_does(counts):
    X, _ = counts
    state, scaled, report = fit_scaling(X, tfidf="on")
    shape, indptr, indices, data = scaled
    X = X.astype(np.float64)
    expected = TfidfTransformer(sublinear_tf=True).fit(X)
    found = sp.csr_array((data, indices, indptr), shape=shape)
    np.testing.assert_allclose(found.toarray(), expected.transform(X).toarray(), atol=1e-6)
    np.testing.assert_allclose(json.loads(state)["Tfidf"]["idf"], expected.idf_)
    assert report["scaling"]["kind"] == "tfidf" and report["warnings"] == []
    assert [warning["kind"] for warning in fit_scaling(X)[2]["warnings"]] == ["unscaled-features"]


@pytest.fixture
def units():
    """Digits with a column in another unit, and a hundred labels."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    noise = np.random.default_rng(0).normal(0, 1e4, len(X))
    return np.column_stack([X, noise]), np.where(np.arange(600) < 100, truth, -1)


def told(fit):
    """The warnings of a kind that a fit gives, and the fitted estimator."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit()
    return [str(found.message) for found in caught if "spreads of columns" in str(found.message)], fitted


#: Scales of columns do not matter to these, or they make them alike.
ANY_SCALE = (lapwing.AutoLabeler, baselines.ForestClassifier, baselines.MajorityClassifier)
PUBLIC = [getattr(module, name) for module in (lapwing, baselines) for name in module.__all__]
ALL = [cls for cls in PUBLIC if inspect.isclass(cls) and hasattr(cls, "predict")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::lapwing.exceptions.UnreachedWarning")
@pytest.mark.parametrize("cls", ALL)
def test_every_estimator_says_that_a_column_decides(cls, units):
    X, y = units
    y = y if issubclass(cls, ClassifierMixin) else np.where(y < 0, np.nan, y)
    texts, fitted = told(lambda: cls(random_state=0).fit(X, y) if "random_state" in cls().get_params() else cls().fit(X, y))
    assert len(texts) == (cls not in ANY_SCALE)
    kinds = [found["kind"] for found in fitted.report_["warnings"]]
    assert kinds.count("unscaled-features") == len(texts)
    for text in texts:
        assert re.search(r"differ by up to [\d,]+ times, .* column 64 has the largest and decides .*StandardScaler.*TableEncoder", text)
    # Once: not by predictions, nor of scaled columns, nor where a graph says what is near.
    assert not told(lambda: fitted.predict(X[:9]))[0]
    assert not told(lambda: cls().fit(StandardScaler().fit_transform(X), y))[0]


def test_functions_and_learned_graphs_say_it_too(units):
    X, y = units
    for call in (lambda: audit(X, y), lambda: suggest(X, y, n=3), lambda: GraphLearner(5).fit(X)):
        texts, _ = told(call)
        assert len(texts) == 1 and "column 64" in texts[0]


def test_sparse_tables_are_looked_at_and_similarities_are_not(units):
    X, y = units
    assert len(told(lambda: HarmonicClassifier().fit(sp.csr_array(X), y))[0]) == 1
    gram = X @ X.T
    texts, _ = told(lambda: lapwing.LaplacianRidgeClassifier("precomputed", graph_reg=0).fit(gram, y))
    assert not texts
    whole = lapwing.UnfoldedGNNClassifier().fit(X, y, graph=knn_graph(X))
    assert "unscaled-features" in [found["kind"] for found in whole.report_["warnings"]]


def test_a_table_whose_scaling_was_decided_is_not_doubted_again(units):
    X, y = units
    table = pd.DataFrame(X).rename(columns=str).assign(y=y)
    for standardize in ("auto", "on", "off"):
        texts, labeled = told(lambda: label_frame(table, "y", method="harmonic", standardize=standardize))
        assert not texts, standardize


def test_doubtful_units_are_said_softly():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5)) * [1.0, 1.0, 30.0, 1.0, 1.0]
    texts, _ = told(lambda: HarmonicClassifier(5).fit(X, np.where(np.arange(60) < 6, np.arange(60) % 2, -1)))
    assert len(texts) == 1 and "column 2 has the largest; on such tables scaling may gain accuracy or cost it" in texts[0]


def test_counts_of_terms_are_said_in_python(counts):
    X, truth = counts
    with pytest.warns(UserWarning, match="counts of terms.*TfidfTransformer in Python"):
        HarmonicClassifier().fit(X, np.where(np.arange(150) < 15, truth, -1))
