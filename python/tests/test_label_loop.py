"""Suggestions, audits, sets of classes, and labels and rows that are added to a fit."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from datasets import hide, two_islands
from sklearn.base import clone
from sklearn.datasets import load_digits

from lapwing import HarmonicClassifier, HarmonicRegressor, SparseHarmonicClassifier
from lapwing.active import Suggester, suggest
from lapwing.audit import audit
from lapwing.graph import knn_graph


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def graph(digits):
    return knn_graph(digits[0], random_state=0)


@pytest.fixture(scope="module")
def fitted(digits):
    X, truth = digits
    y = np.full(len(truth), -1)
    rows = np.random.default_rng(1).permutation(len(truth))[:100]
    y[rows] = truth[rows]
    return HarmonicClassifier(random_state=0).fit(X, y)


def test_a_loop_beats_random_rows(digits, graph):
    _, truth = digits
    suggester, y = Suggester(graph, random_state=0), np.full(len(truth), -1)
    random = np.random.default_rng(0).permutation(len(truth))
    for _ in range(5):
        rows, reasons = suggester.next(y, 10)
        assert (y[rows] < 0).all() and rows.dtype == np.int64 and reasons.shape == (10,)
        y[rows] = truth[rows]

    def accuracy(labels):
        return (HarmonicClassifier().fit(None, labels, graph=graph).transduction_ == truth).mean()

    drawn = np.full(len(truth), -1)
    drawn[random[:50]] = truth[random[:50]]
    assert accuracy(y) > 0.9 and accuracy(y) > accuracy(drawn)


def test_suggestions_take_features_graphs_and_labels_of_any_type(digits, graph):
    X, truth = digits
    rows, reasons = suggest(X, n=12, random_state=0)
    assert set(reasons) == {"cover"} and len(set(rows.tolist())) == 12
    same = [suggest(graph, n=12, random_state=0), suggest(None, n=12, graph=graph, random_state=0)]
    same.append(suggest(graph.to_scipy(), n=12, affinity="precomputed", random_state=0))
    assert all((found[0] == rows).all() for found in same)
    texts = np.array(["digit %d" % label for label in truth], dtype=object)
    texts[100:] = None
    batch = suggest(X, texts, 10, check=0.2, explore=0.3, random_state=0)
    found, report = batch.rows, batch.report
    assert (found >= 100).all() and report["parts"]["suggest"]["n_labeled"] == 100
    assert [str(guess)[:6] for guess in report["guesses"]] == ["digit "] * 10
    assert np.isfinite(report["confidence"]).all() and np.isnan(report["scores"][-2:]).all()
    assert suggest(X, texts, 10, check=0.2, explore=0.3, random_state=0)[1].tolist().count("far") == 3
    for jobs in (1, 2):
        again = suggest(X, texts, 10, check=0.2, explore=0.3, random_state=0, n_jobs=jobs)[0]
        assert (again == found).all()


def test_bad_requests_are_named(digits, graph):
    X, truth = digits
    y = np.where(np.arange(len(truth)) < 50, truth, -1)
    refused = [
        (dict(n=0), ValueError, "n is 0"),
        (dict(n=1.5), TypeError, "n must be an integer"),
        (dict(n=5000), ValueError, "number of rows without a label"),
        (dict(strategy="entropy"), ValueError, "cover"),
        (dict(check=0.7, explore=0.5), ValueError, "explore"),
        (dict(candidates=[3, 5000]), ValueError, "candidates names row 5000"),
        (dict(candidates=[3, 3]), ValueError, "names row 3 twice"),
        (dict(candidates=np.ones(3, bool)), ValueError, "mask of shape"),
        (dict(cost=np.zeros(len(truth))), ValueError, "cost"),
        (dict(cost=np.ones(3)), ValueError, "cost"),
        (dict(graph=sp.eye(3)), ValueError, "graph has 3 nodes"),
    ]
    for options, error, text in refused:
        with pytest.raises(error, match=text):
            suggest(X, y, **{"n": 5, **options})
    with pytest.raises(ValueError, match="needs no labels"):
        suggest(X, n=5, strategy="border")
    with pytest.raises(ValueError, match="y has 3 rows"):
        suggest(graph, [0, 1, -1], 5)


def test_wrong_labels_are_found(digits):
    X, truth = digits
    random = np.random.default_rng(2)
    wrong = random.permutation(len(truth))[:90]
    y = truth.copy()
    y[wrong] = (truth[wrong] + random.integers(1, 10, 90)) % 10
    found = audit(X, y)
    assert np.isin(found.ranked()[:80], wrong).mean() > 0.97
    assert np.isin(wrong, np.flatnonzero(found.flagged)).mean() > 0.8
    assert (found.proposed[wrong] == truth[wrong]).mean() > 0.9 and (found.given == y).all()
    assert found.confusion.sum() == len(y) and found.report_["n_flagged"] == found.flagged.sum()
    assert 0.85 < found.report_["foretold"] <= 1 and not found.report_["flags_are_doubtful"]
    frame = found.to_frame()
    assert frame.shape == (len(y), 10) and list(frame.columns)[:3] == ["given", "proposed", "quality"]
    names = np.array([f"digit {label}" for label in y], dtype=object)
    names[::2] = None
    texts = audit(X, names)
    assert texts.judged.sum() == (np.arange(len(y)) % 2).sum() and np.isnan(texts.quality[::2]).all()
    assert str(texts.report_["confused"][0]["classes"][0]).startswith("digit ")


def test_an_audit_prints_a_summary_and_writes_a_page(digits, tmp_path):
    X, truth = digits
    wrong = truth.copy()
    wrong[::100] = (truth[::100] + 1) % 10
    found = audit(X, wrong, random_state=0)
    lines = repr(found).splitlines()
    assert lines[0].startswith("labels predicted by the others") and f"{int(found.flagged.sum())}" in lines[1]
    found.report(tmp_path / "audit.html", title="Digits", row_names=[f"image-{row}" for row in range(len(X))])
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    first = found.ranked()[0]
    assert "<h1>Digits</h1>" in page and f"image-{first}<" in page and 'class="thumb"' in page
    with pytest.raises(ValueError, match=r"row_names has 3 names; expected one for each row"):
        found.report(tmp_path / "other.html", row_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="'a' "):
        found.report(tmp_path / "other.html", row_names=["a"] * len(X))
    kept = pickle.loads(pickle.dumps(found))
    assert "labels flagged" in repr(kept)
    with pytest.raises(ValueError, match="holds no rows"):
        kept.report(tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_duplicates_and_audits_without_features(digits, graph):
    X, truth = digits
    doubled = np.vstack([X, X[:20], X[20:40] + 0.01])
    y = np.concatenate([truth, (truth[:20] + 1) % 10, truth[20:40]])
    found = audit(doubled, y)
    copies = found.duplicate_group[len(X) :]
    assert (copies >= 0).all() and (copies == found.duplicate_group[:40]).all()
    assert found.contradicts[len(X) : len(X) + 20].all() and not found.contradicts[len(X) + 20 :].any()
    bare = audit(graph, truth)
    assert (bare.duplicate_group == -1).all() and np.isnan(bare.outlier_percentile).all()
    assert bare.report_["n_duplicate_rows"] is None


def test_audits_with_nothing_to_compare_are_refused(digits):
    X, truth = digits
    for y, text in (
        (np.where(truth == 3, 3, -1), "all labels are of one class"),
        (hide(truth, 1), "the only one of its class"),
        (np.full(len(truth), -1), "no row has a label"),
    ):
        with pytest.raises(ValueError, match=text):
            audit(X, y)


def test_a_fit_suggests_and_audits_itself(digits, fitted):
    X, truth = digits
    rows, reasons = fitted.suggest(10, check=0.2)
    assert reasons.tolist().count("check") == 2 and len(rows) == 10
    found = fitted.audit()
    assert found.judged.sum() <= 100 and found.report_["n_labeled"] == 100
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.predict(X[:9]) == fitted.predict(X[:9])).all()
    with pytest.raises(ValueError, match="holds no graph"):
        copy.suggest(3)


def test_leave_one_out_scores_are_those_of_fits_without_the_label(digits):
    X, truth = digits
    X, truth = X[:300], truth[:300]
    y = hide(truth, 4)
    graph = knn_graph(X, random_state=0)
    for options in (
        dict(form="plain", decision="argmax"),
        dict(form="plain", decision="row-mean"),
        dict(form="stable", decision="centered"),
    ):
        # A fixed γ·Σt, because leaving a label out must not change the smoothness.
        fit = HarmonicClassifier(graph_reg=0.05, certify="off", tol=1e-9, **options).fit(None, y, graph=graph)
        found = fit.leave_one_out_scores()
        labeled = np.flatnonzero(y >= 0)
        assert found.shape == (len(labeled), 10)
        for at in (0, 7, 23):
            without = y.copy()
            without[labeled[at]] = -1
            less = HarmonicClassifier(
                graph_reg=0.05 * len(labeled) / (len(labeled) - 1), certify="off", tol=1e-9, **options
            ).fit(None, without, graph=graph)
            np.testing.assert_allclose(found[at], less.scores_[labeled[at]], atol=2e-4)


def test_sets_hold_the_right_class(digits):
    X, truth = digits
    graph = knn_graph(X, random_state=0)
    covered, sizes = {"leave-one-out": [], "split": []}, {"leave-one-out": [], "split": []}
    for draw in range(5):
        y = np.full(len(truth), -1)
        rows = np.random.default_rng(draw).permutation(len(truth))[:120]
        y[rows] = truth[rows]
        fit = HarmonicClassifier(random_state=0).fit(None, y, graph=graph)
        for method in covered:
            sets, report = fit.predict_sets(0.9, method=method, return_report=True)
            hidden = y < 0
            covered[method].append(sets[np.arange(len(y)), np.searchsorted(fit.classes_, truth)][hidden].mean())
            sizes[method].append(sets[hidden].sum(axis=1).mean())
            assert sets.any(axis=1).all() and report["n_held_out"] >= 50 and report["calibration"] == "all labels"
    assert 0.86 < np.mean(covered["leave-one-out"]) <= 1 and 0.85 < np.mean(covered["split"]) <= 1
    assert np.mean(sizes["leave-one-out"]) <= np.mean(sizes["split"])


def test_sets_of_new_rows_classes_and_levels_that_cannot_be_reached(digits, fitted):
    X, _ = digits
    assert fitted.predict_sets(0.9, X[:7]).shape == (7, 10)
    assert fitted.predict_sets(0.9, X[:7], method="split").shape == (7, 10)
    assert fitted.predict_sets(0.8, X[:7], by_class=True).shape == (7, 10)
    with pytest.raises(ValueError, match="at least 999 labels"):
        fitted.predict_sets(0.999)
    with pytest.raises(ValueError, match=r"class 0 has \d+ held-out labels; by_class needs at least 99 of each class"):
        fitted.predict_sets(0.99, by_class=True)
    with pytest.raises(ValueError, match="level is 1"):
        fitted.predict_sets(1.0)
    with pytest.raises(ValueError, match="method"):
        fitted.predict_sets(method="folds")


def test_suggested_labels_are_no_sample(digits):
    X, truth = digits
    y = hide(truth, 3)
    fit = HarmonicClassifier(random_state=0).fit(X, y)
    rows, _, facts = fit.suggest(30, return_report=True)
    assert len(facts["scores"]) == 30
    fit.add_labels(rows, truth[rows])
    with pytest.warns(UserWarning, match="suggested, not drawn at random"):
        report = fit.predict_sets(return_report=True)[1]
    assert report["calibration"] == "suggested labels"
    rows, reasons = fit.suggest(40, check=0.5)
    fit.add_labels(rows, truth[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets, report = fit.predict_sets(return_report=True)
    assert report["calibration"] == "check labels" and report["n_held_out"] == 20 and sets.any(axis=1).all()


def test_added_labels_are_those_of_a_new_fit(digits):
    X, truth = digits
    y = hide(truth, 3)
    more = np.setdiff1d(np.arange(0, 200, 5), np.flatnonzero(y >= 0))
    whole = y.copy()
    whole[more] = truth[more]
    fresh = HarmonicClassifier(random_state=0).fit(X, whole)
    cold = HarmonicClassifier(random_state=0).fit(X, y).add_labels(more, truth[more], warm_start=False)
    assert np.array_equal(cold.scores_, fresh.scores_) and np.array_equal(cold.transduction_, fresh.transduction_)
    warm = HarmonicClassifier(random_state=0).fit(X, y).add_labels(more, truth[more])
    assert (warm.transduction_ == fresh.transduction_).mean() > 0.999
    assert (warm.predict(X[:20]) == fresh.predict(X[:20])).all()
    # A class that is new, and a label that is taken back.
    other = HarmonicClassifier().fit(X, np.where(truth == 7, -1, y))
    assert 7 not in other.classes_
    sevens = np.flatnonzero(truth == 7)[:5]
    other.add_labels(sevens, truth[sevens])
    assert 7 in other.classes_ and (other.transduction_[truth == 7] == 7).mean() > 0.8
    other.add_labels(sevens, [-1] * 5)
    assert 7 not in other.classes_
    with pytest.raises(ValueError, match="names row 9999"):
        other.add_labels([9999], [1])
    with pytest.raises(ValueError, match="one for each of the 2 rows"):
        other.add_labels([1, 2], [1])


def test_added_rows_are_labeled(digits):
    X, truth = digits
    y = hide(truth[:1500], 10)
    fit = HarmonicClassifier(random_state=0).fit(X[:1500], y)
    fit.add_rows(X[1500:])
    assert fit.transduction_.shape == (len(X),)
    whole = HarmonicClassifier(random_state=0).fit(X, np.concatenate([y, np.full(len(X) - 1500, -1)]))
    new = slice(1500, None)
    right, fresh = (fit.transduction_[new] == truth[new]).mean(), (whole.transduction_[new] == truth[new]).mean()
    assert right > fresh - 0.03
    rows, _ = fit.suggest(5)
    fit.add_labels(rows, truth[rows])
    assert fit.predict(X[:3]).shape == (3,)
    with pytest.raises(ValueError, match="built its graph from features"):
        HarmonicClassifier().fit(None, y, graph=knn_graph(X[:1500])).add_rows(X[1500:])


def test_rows_that_no_label_reaches():
    X = two_islands()
    y = np.full(60, -1)
    y[:30:3] = np.arange(10) % 2
    with pytest.warns(UserWarning):
        fit = HarmonicClassifier(5).fit(X, y)
    sets, report = fit.predict_sets(0.8, return_report=True)
    assert sets[30:].all() and report["n_unreached"] == 30
    rows, _, facts = suggest(X, y, 4, n_neighbors=5, return_report=True)
    assert facts["parts"]["suggest"]["share_unreached"] == 0.5
    assert (rows >= 30).any() and facts["parts"]["suggest"]["share_unreached_after"] == 0


def test_intervals_and_doubtful_values_of_a_regression(digits):
    X, _ = digits
    random = np.random.default_rng(0)
    truth = X @ random.normal(size=64) / 8 + random.normal(size=len(X)) * 0.3
    y = np.full(len(X), np.nan)
    rows = random.permutation(len(X))[:200]
    y[rows] = truth[rows]
    for options in ({}, {"form": "stable"}, {"form": "plain"}):
        fit = HarmonicRegressor(random_state=0, **options).fit(X, y)
        ends = fit.predict_interval(0.9)
        hidden = np.isnan(y)
        covered = ((ends[:, 0] <= truth) & (truth <= ends[:, 1]))[hidden].mean()
        assert ends.shape == (len(X), 2) and 0.85 < covered < 0.97
        assert ((ends[:, 0] <= fit.transduction_) & (fit.transduction_ <= ends[:, 1])).all()
    wrong = y.copy()
    wrong[rows[:5]] += 20
    found = HarmonicRegressor(random_state=0).fit(X, wrong).audit()
    assert set(found.ranked()[:5]) == set(rows[:5]) and np.isnan(found.quality[hidden]).all()
    assert found.report_["root_mean_square"] > found.report_["median_residual"]
    with pytest.raises(ValueError, match="at least 999 values"):
        fit.predict_interval(0.999)
    assert not hasattr(fit, "predict_sets")


def test_shares_of_a_batch_hold_over_all_batches(digits, graph):
    _, truth = digits
    y, reasons = np.where(np.arange(len(truth)) < 50, truth, -1), []
    for _ in range(20):
        rows, why = suggest(None, y, 1, graph=graph, check=0.1, random_state=0)
        y[rows] = truth[rows]
        reasons.append(why[0])
    assert reasons.count("check") == 2


def test_rows_that_were_only_looked_at_are_no_labels(digits):
    X, truth = digits
    rows = np.random.default_rng(3).permutation(len(truth))
    y = np.full(len(truth), -1)
    y[rows[:60]] = truth[rows[:60]]
    looked = HarmonicClassifier(random_state=0).fit(X, y)
    looked.suggest(20)
    plain = HarmonicClassifier(random_state=0).fit(X, y)
    for clf in (looked, plain):
        clf.add_labels(rows[60:90], truth[rows[60:90]])
    assert np.array_equal(looked.scores_, plain.scores_)
    assert looked.report_["chosen"] == plain.report_["chosen"]
    # Once they have labels, the report says that these are no sample.
    found, _ = looked.suggest(20)
    with pytest.warns(UserWarning, match="harder than other rows"):
        looked.add_labels(found, truth[found])
    assert looked.report_["chosen"]["labels_drawn"] == "balanced"


def test_a_sparse_fit_takes_labels_on_the_graph_it_kept(digits):
    X, truth = digits
    rows = np.random.default_rng(0).permutation(len(truth))
    clf = SparseHarmonicClassifier(60, edge_budget=30_000, refinements=0, random_state=0)
    y = [np.full(len(truth), -1) for _ in range(2)]
    for given, count in zip(y, (80, 120)):
        given[rows[:count]] = truth[rows[:count]]
    more = clone(clf).fit(X, y[0])
    kept = more.report_["parts"]["sparsify"]
    assert kept["n_kept"] < kept["n_edges"]
    more.add_labels(rows[80:120], truth[rows[80:120]], warm_start=False)
    assert np.array_equal(more.scores_, clone(clf).fit(X, y[1]).scores_)
    assert more.report_["parts"]["sparsify"] == kept
    assert more.predict_sets(method="split").shape == (len(truth), 10)


def test_sets_hold_out_every_label_of_many_rows():
    n, l = 70_000, 300
    rng = np.random.default_rng(0)
    truth = np.arange(n) * 3 // n
    pairs = np.concatenate([np.column_stack([np.arange(n - step), np.arange(step, n)]) for step in (1, 2, 3)])
    weights = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    rows, y = rng.permutation(n)[:l], np.full(n, -1)
    y[rows] = truth[rows]
    clf = HarmonicClassifier(affinity="precomputed", random_state=0).fit((weights + weights.T).tocsr(), y)
    sets, report = clf.predict_sets(return_report=True)
    assert report["n_held_out"] == l
    assert sets[np.arange(n), truth].mean() > 0.85
    by_class = clf.predict_sets(by_class=True)
    assert by_class.shape == (n, 3)
    every = HarmonicClassifier(affinity="precomputed", calibration="leave-one-out").fit((weights + weights.T).tocsr(), y)
    assert every.calibration_ == "leave-one-out" and every.expected_accuracy_ is not None


def test_reports_of_audits_are_json(digits):
    X, truth = digits
    y = np.where(np.arange(len(truth)) < 30, truth, -1)
    found = audit(X, y)
    assert json.loads(json.dumps(found.report_))["few_labels"]
    # A trust beside which no other counts: that label cannot be judged, the others can.
    weights = np.where(np.arange(len(truth)) == 0, 1e20, 1.0)
    weighted = audit(X, y, sample_weight=weights)
    assert not weighted.judged[0] and weighted.judged.sum() > 10 and np.isfinite(weighted.quality[weighted.judged]).all()


def test_split_sets_know_the_names_of_columns(digits):
    pandas = pytest.importorskip("pandas")
    X, truth = digits
    frame = pandas.DataFrame(X, columns=[f"pixel {i}" for i in range(X.shape[1])])
    y = np.where(np.arange(len(truth)) < 100, truth, -1)
    clf = HarmonicClassifier(random_state=0).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets = clf.predict_sets(X=frame[:50], method="split")
    assert sets.shape == (50, 10)


def test_minus_one_marks_rows_among_more_labels_unless_it_is_a_class():
    X = np.arange(16.0).reshape(8, 2)
    clf = HarmonicClassifier(3).fit(X, [0, 0, -1, -1, 1, 1, -1, -1]).add_labels([2, 3], [-1, None])
    assert clf.classes_.tolist() == [0, 1]
    with pytest.warns(UserWarning, match="-1 is used as a class"):
        suggest(X, [0, 0, -1, -1, 1, 1, None, None], n=1, n_neighbors=3)
