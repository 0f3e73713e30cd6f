"""The classifier over a stream of edges against fits to the graph of the window."""

import numpy as np
import pytest

from lapwing import HarmonicClassifier, StreamingHarmonicClassifier
from lapwing.exceptions import UnreachedWarning

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnreachedWarning")

N = 400
TRUTH = np.arange(N) % 2
Y = np.where(np.arange(N) < 30, TRUTH, -1)


def edges(count, seed):
    rng = np.random.default_rng(seed)
    u, near = rng.integers(0, N, (2, count))
    same = rng.random(count) < 0.9
    return np.column_stack([u, near - near % 2 + np.where(same, TRUTH[u], 1 - TRUTH[u])])


def test_labels_are_nearly_those_of_a_fit_at_any_time():
    clf, fits = StreamingHarmonicClassifier(4000, random_state=0), 0
    for seed in range(60):
        clf.partial_fit(edges(200, seed), y=Y)
        part = clf.report_["parts"]["stream"]
        fits += part["is_fit"]
        assert part["n_edges_seen"] == clf.n_edges_seen_ == 200 * (seed + 1)
        assert part["n_edges_held"] == clf.n_edges_held_ == min(4000, 200 * (seed + 1))
        if seed % 10 == 9:
            fresh = HarmonicClassifier(affinity="precomputed", random_state=0).fit(clf.graph(), Y)
            assert (clf.transduction_ == fresh.transduction_).mean() > 0.98
            np.testing.assert_array_equal(clf.reached_, fresh.reached_)
            np.testing.assert_allclose(clf.label_distributions_.sum(axis=1), 1)
    assert fits < 12
    assert (clf.transduction_ == TRUTH).mean() > 0.95


def test_fit_forgets_and_labels_can_change():
    clf = StreamingHarmonicClassifier(4000, random_state=0).fit(edges(4000, 1), Y)
    first = clf.transduction_
    clf.partial_fit(edges(10, 2))
    assert not clf.report_["parts"]["stream"]["is_fit"]
    swapped = np.where(Y < 0, -1, 1 - Y)
    clf.partial_fit(np.empty((0, 2), dtype=int), y=swapped)
    assert clf.report_["parts"]["stream"]["is_fit"]
    assert (clf.transduction_ != first).mean() > 0.95
    np.testing.assert_array_equal(clf.fit(edges(4000, 1), Y).transduction_, first)
    assert clf.n_edges_seen_ == 4000


def test_weights_texts_and_abstaining():
    names = np.where(TRUTH == 0, "even", "odd").astype(object)
    names[30:] = None
    ends = edges(3000, 4)
    ends = ends[(ends != 399).all(axis=1)]
    clf = StreamingHarmonicClassifier(10_000, abstain=True).fit(ends, names, np.full(len(ends), 0.5))
    with pytest.warns(UnreachedWarning, match="no label reaches 1 row"):
        labels = clf.transduction_
    assert labels[399] is None and not clf.reached_[399] and np.isnan(clf.scores_[399]).all()
    assert (labels[:399] == np.where(TRUTH[:399] == 0, "even", "odd")).mean() > 0.95
    assert clf.graph().to_scipy().data.min() == 0.5


def test_wrong_input_is_named_and_adds_nothing():
    clf = StreamingHarmonicClassifier(100)
    with pytest.raises(ValueError, match="y is missing"):
        clf.partial_fit([(0, 1)])
    clf.partial_fit([(0, 1)], y=Y)
    with pytest.raises(ValueError, match="row 1 of the edges: node 400"):
        clf.partial_fit([(0, 1), (0, 400)])
    with pytest.raises(ValueError, match="scale all weights"):
        clf.partial_fit([(0, 1)], weights=[1e-200])
    assert clf.n_edges_seen_ == 1
    with pytest.raises(ValueError, match="window"):
        StreamingHarmonicClassifier(0).fit([(0, 1)], Y)
    with pytest.raises(ValueError, match="two classes"):
        StreamingHarmonicClassifier(10).fit([(0, 1)], np.where(np.arange(N) < 30, 0, -1))
