"""Certified labels: equal to those of the exact solution of the graph, or undecided."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import HarmonicClassifier, HarmonicRegressor, load_model, save_model


def cliques(inner: float, bridge: float, m: int = 60) -> sp.csr_array:
    """Two cliques, the second of other weights, and a bridge between them."""
    weights = np.zeros((2 * m, 2 * m))
    weights[:m, :m], weights[m:, m:] = 1.0, inner
    weights[m - 1, 2 * m - 1] = weights[2 * m - 1, m - 1] = bridge
    np.fill_diagonal(weights, 0.0)
    return sp.csr_array(weights)


def ring(n: int) -> sp.csr_array:
    rows = np.arange(n)
    half = sp.coo_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n))
    return sp.csr_array(half + half.T)


@pytest.mark.parametrize(("form", "clamp"), [("plain", "soft"), ("plain", "hard"), ("stable", "soft")])
@pytest.mark.parametrize(("inner", "bridge"), [(1e-3, 1e-6), (1e-5, 1e-8), (1e-7, 1e-10)])
def test_regions_of_small_weights_are_certain_and_right(form: str, clamp: str, inner: float, bridge: float) -> None:
    y = np.full(120, -1)
    y[0], y[60] = 0, 1
    clf = HarmonicClassifier(affinity="precomputed", form=form, clamp=clamp, decision="argmax")
    clf.fit(cliques(inner, bridge), y)
    assert clf.certified_.all() and clf.n_uncertified_ == 0
    assert (clf.transduction_ == np.repeat([0, 1], 60)).all()
    assert np.isfinite(clf.score_radius_).all()


def test_ties_are_undecided_without_a_warning() -> None:
    y = np.full(40, -1)
    y[0], y[20] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = HarmonicClassifier(affinity="precomputed").fit(ring(40), y)
    assert np.flatnonzero(~clf.certified_).tolist() == [10, 30]
    assert clf.n_uncertified_ == clf.report_["parts"]["certificate"]["n_open"] == 2


def test_what_is_not_asked_for_is_not_there() -> None:
    y = np.full(40, -1)
    y[0], y[20] = 0, 1
    for options in ({"certify": False}, {"tol": 1e-3}):
        clf = HarmonicClassifier(affinity="precomputed", **options).fit(ring(40), y)
        assert clf.certified_ is None and clf.n_uncertified_ is None and clf.score_radius_ is None
    with pytest.raises(ValueError, match="certify"):
        HarmonicClassifier(affinity="precomputed", certify="sometimes").fit(ring(40), y)


def test_values_of_a_regression_have_a_radius() -> None:
    y = np.full(40, np.nan)
    y[0], y[20] = 0.0, 1.0
    reg = HarmonicRegressor(affinity="precomputed", form="plain", clamp="hard").fit(ring(40), y)
    exact = np.minimum(np.arange(40), 40 - np.arange(40)) / 20
    assert (np.abs(reg.transduction_ - exact) <= reg.score_radius_ + 1e-12).all()
    assert reg.score_radius_.max() <= 1e-4


def test_new_rows_are_certified_where_the_fit_was(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    X = centers[np.arange(300) % 3] + rng.normal(size=(300, 2))
    new = centers[np.arange(90) % 3] + rng.normal(size=(90, 2))
    y = np.where(np.arange(300) < 6, np.arange(300) % 3, -1)
    clf = HarmonicClassifier().fit(X, y)
    labels, certified = clf.predict(new, return_certified=True)
    exact = HarmonicClassifier(certify=False, tol=1e-13).fit(X, y)
    assert certified.mean() > 0.9
    assert (labels == exact.predict(new))[certified].all()
    assert exact.predict(new, return_certified=True)[1] is None
    save_model(clf, tmp_path / "m")
    kept = (load_model(tmp_path / "m"), pickle.loads(pickle.dumps(clf)))
    for other in kept:
        assert (other.predict(new, return_certified=True)[1] == certified).all()
