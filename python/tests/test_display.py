"""Pictures of fits, and the page of a fit."""

import html
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from lapwing import (
    AutoLabeler,
    HarmonicClassifier,
    HarmonicRegressor,
    LowRankPropagationClassifier,
    UnfoldedGNNClassifier,
)
from lapwing.graph import GraphLearner, knn_graph
from lapwing.prepare import TableEncoder

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt

from lapwing.display import CompareDisplay, ConfidenceDisplay, LabelMapDisplay, LossCurveDisplay, ReliabilityDisplay

X, TRUTH = load_digits(return_X_y=True)
Y = np.where(np.arange(len(X)) < 100, TRUTH, -1)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def harmonic():
    return HarmonicClassifier(random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def auto():
    return AutoLabeler(random_state=0).fit(X, Y)


def test_a_map_shows_every_row_once_with_its_label(harmonic):
    display = LabelMapDisplay.from_estimator(harmonic)
    assert display.points.shape == (len(X), 2) and np.isfinite(display.points).all()
    np.testing.assert_array_equal(display.rows, np.arange(len(X)))
    np.testing.assert_array_equal(display.labels, harmonic.transduction_)
    np.testing.assert_array_equal(display.given, Y >= 0)
    n_drawn = sum(len(marks.get_offsets()) for marks in display.ax_.collections)
    assert n_drawn == len(X)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [str(digit) for digit in range(10)]


def test_alike_rows_lie_together(harmonic):
    points = LabelMapDisplay.from_estimator(harmonic).points
    nearest = np.argsort(((points[:300, None] - points[None]) ** 2).sum(axis=2), axis=1)[:, 1:6]
    assert (TRUTH[nearest] == TRUTH[:300, None]).mean() > 0.9


def test_a_map_draws_on_the_axes_that_are_given(harmonic):
    _, ax = plt.subplots()
    display = LabelMapDisplay.from_estimator(harmonic, ax=ax, legend=False)
    assert display.ax_ is ax and display.figure_ is ax.figure and ax.get_legend() is None


def test_values_get_a_color_bar():
    values = np.where(np.arange(len(X)) < 100, TRUTH.astype(float), np.nan)
    display = LabelMapDisplay.from_estimator(HarmonicRegressor(random_state=0).fit(X, values))
    assert display.labels.dtype == float and len(display.figure_.axes) == 2


def test_a_graph_alone_and_rows_without_a_graph_have_maps():
    graph = knn_graph(X, 10)
    on_graph = HarmonicClassifier(affinity="precomputed", random_state=0).fit(graph, Y)
    assert "layout" in LabelMapDisplay.from_estimator(on_graph).axes_names[0]
    low_rank = LowRankPropagationClassifier(random_state=0).fit(X, Y)
    assert "component" in LabelMapDisplay.from_estimator(low_rank).axes_names[0]


def test_more_classes_than_colors_share_a_gray():
    display = LabelMapDisplay.from_estimator(HarmonicClassifier(random_state=0).fit(X, np.arange(len(X)) % 40))
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][-1] == "20 others"


def test_confidence_counts_rows_without_a_given_label(harmonic):
    _, ax = plt.subplots()
    display = ConfidenceDisplay.from_estimator(harmonic, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert len(display.confidence) == len(X) - 100 and display.correct is None
    told = ConfidenceDisplay.from_estimator(harmonic, y_true=np.where(np.arange(len(X)) < 1000, TRUTH, -1), bins=5)
    assert len(told.confidence) == 900 and sum(bar.get_height() for bar in told.ax_.patches) == 900
    assert told.correct.mean() == (harmonic.transduction_ == TRUTH)[100:1000].mean()


def test_reliability_is_that_of_held_out_labels_or_of_the_truth(harmonic):
    assert ReliabilityDisplay.from_estimator(harmonic).count.sum() == 100
    told = ReliabilityDisplay.from_estimator(harmonic, y_true=TRUTH)
    right = (told.accuracy * told.count).sum() / (len(X) - 100)
    assert right == pytest.approx((harmonic.transduction_ == TRUTH)[100:].mean())
    few = HarmonicClassifier(random_state=0).fit(X, np.where(np.arange(len(X)) < 2, TRUTH, -1))
    with pytest.raises(ValueError, match="held out no label, or too few"):
        ReliabilityDisplay.from_estimator(few)


def test_curves_of_networks_and_solvers(harmonic):
    network = UnfoldedGNNClassifier(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(LossCurveDisplay.from_estimator(network).values, network.loss_curve_)
    display = LossCurveDisplay.from_estimator(harmonic)
    assert display.ax_.get_ylabel() == "relative residual" and display.ax_.get_yscale() == "log" and len(display.values)


def test_candidates_are_sorted_by_what_they_get_right(auto):
    display = CompareDisplay.from_estimator(auto)
    tried = [row for row in auto.results_ if row["estimate"] is not None]
    assert len(display.names) == len(tried) == len(display.ax_.get_yticks()) > 2
    assert (np.diff(display.estimates) >= 0).all()
    assert display.expected == auto.expected_accuracy_


def test_wrong_estimators_are_refused(harmonic):
    with pytest.raises(TypeError, match="CompareDisplay takes a fitted AutoLabeler, not HarmonicClassifier"):
        CompareDisplay.from_estimator(harmonic)
    with pytest.raises(TypeError, match="ConfidenceDisplay takes a classifier of lapwing, not HarmonicRegressor"):
        ConfidenceDisplay.from_estimator(HarmonicRegressor())
    with pytest.raises(ValueError, match="y_true has 5 rows; expected one per row of the fit, 1797"):
        ConfidenceDisplay.from_estimator(harmonic, y_true=TRUTH[:5])
    with pytest.raises(TypeError, match="LabelMapDisplay takes a classifier or regressor of lapwing, not TableEncoder"):
        LabelMapDisplay.from_estimator(TableEncoder())
    with pytest.raises(Exception, match="not fitted"):
        LabelMapDisplay.from_estimator(HarmonicClassifier())


def test_the_page_says_what_was_done_and_what_to_do(auto, tmp_path):
    path = tmp_path / "page.html"
    shown = auto.report(path)
    page = path.read_text(encoding="utf-8")
    for heading in ["Rows in two dimensions", "Label these next", "Least certain rows", "Reliability", "To do it again"]:
        assert f"<h2>{heading}</h2>" in page
    assert "AutoLabeler(random_state=0).fit(X, y)" in page and "<svg class=\"thumb\"" in page
    assert "Most frequent errors" not in page
    assert not re.search(r"(src|href)=\"http", page) and "<script" not in page
    assert shown.html == page and html.escape(page) in shown._repr_html_()
    alone = shown["Reliability"].html
    assert "<h2>Reliability</h2>" in alone and alone.count("<figure") == 1 and len(alone) < len(page) / 10
    with pytest.raises(ValueError, match="no figure 'Loss'; its figures are Rows in two dimensions, .*Confidence, Reliability"):
        shown["Loss"]


def test_the_page_counts_errors_where_the_truth_is_known(harmonic, tmp_path):
    path = tmp_path / "page.html"
    harmonic.report(path, y_true=TRUTH, title="Digits <8 x 8>")
    page = path.read_text(encoding="utf-8")
    right = (harmonic.transduction_ == TRUTH)[100:].mean()
    assert f"{100 * right:.1f} %" in page and "Most frequent errors" in page and "Right and wrong labels" in page
    assert "<h1>Digits &lt;8 x 8&gt;</h1>" in page


def test_a_true_class_without_a_label_counts_as_an_error(tmp_path):
    given = np.where((np.arange(len(X)) < 100) & (TRUTH < 9), TRUTH, -1)
    clf = HarmonicClassifier(random_state=0).fit(X, given)
    clf.report(tmp_path / "page.html", y_true=TRUTH)
    right = (clf.transduction_ == TRUTH)[given < 0].mean()
    assert f"<dd>{100 * right:.1f} %</dd>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_longer_names_of_the_truth_are_other_classes(tmp_path):
    given = np.where(np.arange(len(X)) < 100, np.array(["even", "odd"])[TRUTH % 2], "")
    clf = HarmonicClassifier(random_state=0).fit(X, given)
    longer = np.where(np.arange(len(X)) < 1000, "evening", "even")
    clf.report(tmp_path / "page.html", y_true=longer)
    # Of the first 900 rows to label none is right.
    right = (clf.transduction_[1000:] == "even").sum() / (len(X) - 100)
    assert f"<dd>{100 * right:.1f} %</dd>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(TypeError, match="the classes of the fit are texts, but y_true holds numbers"):
        clf.report(tmp_path / "page.html", y_true=TRUTH)


def test_pages_of_text_classes_and_soft_labels(tmp_path):
    names = np.array(["zero", "one"] + ["more"] * 8)[TRUTH].astype(object)
    names[100:] = None
    HarmonicClassifier(random_state=0).fit(X, names).report(tmp_path / "texts.html", y_true=names)
    assert "zero" in (tmp_path / "texts.html").read_text(encoding="utf-8")
    shares = np.where(np.arange(len(X))[:, None] < 100, np.eye(10)[TRUTH], 0.0)
    HarmonicClassifier(random_state=0).fit(X, shares).report(tmp_path / "shares.html")


def test_pages_need_the_rows_of_the_fit(harmonic, tmp_path):
    copy = pickle.loads(pickle.dumps(harmonic))
    np.testing.assert_array_equal(copy.transduction_, harmonic.transduction_)
    with pytest.raises(ValueError, match="holds no rows: it comes from a file, a pickle or a copy; fit again"):
        copy.report(tmp_path / "page.html")
    with pytest.raises(ValueError, match="expected a name that ends in .html"):
        harmonic.report(tmp_path / "page.pdf")
    with pytest.raises(ValueError, match="y_true has 5 rows"):
        harmonic.report(tmp_path / "page.html", y_true=TRUTH[:5])
    with pytest.raises(OSError):
        harmonic.report(tmp_path / "nowhere" / "page.html")
    assert not list(tmp_path.iterdir())
    assert clone(harmonic)._fitted_rows is None


def test_notebooks_link_to_the_documentation():
    home = "https://lapwing-learn.github.io/lapwing/stable/reference/python/generated"
    assert f"{home}/lapwing.HarmonicClassifier.html" in HarmonicClassifier()._repr_html_()
    assert f"{home}/lapwing.graph.GraphLearner.html" in GraphLearner()._repr_html_()
    assert f"{home}/lapwing.prepare.TableEncoder.html" in TableEncoder()._repr_html_()
