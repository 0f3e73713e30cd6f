"""Half-widths of the intervals around the values of a regression."""

import pickle

import numpy as np
import pytest
from datasets import two_islands
from sklearn.datasets import load_diabetes, make_swiss_roll
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicRegressor, LaplacianRidgeRegressor, UnfoldedGNNRegressor

REGRESSORS = (HarmonicRegressor, LaplacianRidgeRegressor, UnfoldedGNNRegressor)
#: Each class, with parameters that are chosen and with given ones.
FITS = [
    (HarmonicRegressor, {}),
    (HarmonicRegressor, {"form": "plain"}),
    (HarmonicRegressor, {"clamp": "hard"}),
    (LaplacianRidgeRegressor, {}),
    (LaplacianRidgeRegressor, {"ambient_reg": 1e-3, "graph_reg": 1e-2}),
    (LaplacianRidgeRegressor, {"graph_reg": 0.0}),
    (UnfoldedGNNRegressor, {}),
    (UnfoldedGNNRegressor, {"graph_reg": 2.0}),
]


def roll():
    """A Swiss roll whose outer half is noisy; features, values, whether a row is noisy."""
    X, t = make_swiss_roll(600, random_state=0)
    noisy = t > np.median(t)
    noise = np.random.default_rng(0).standard_normal(600)
    return X, t + np.where(noisy, 1.5, 0.1) * noise, noisy


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y, np.zeros(len(y), dtype=bool)


def hidden(y, n_known, seed=0):
    """y with all but `n_known` random values replaced by NaN."""
    known = np.random.default_rng(seed).permutation(len(y))[:n_known]
    out = np.full(len(y), np.nan)
    out[known] = y[known]
    return out


@pytest.mark.parametrize("data", [roll, diabetes])
@pytest.mark.parametrize(("cls", "options"), FITS)
def test_most_hidden_values_lie_within(cls, options, data):
    X, truth, _ = data()
    shares = []
    for seed in range(2):
        y = hidden(truth, 120, seed)
        reg = cls(random_state=0, **options).fit(X, y)
        widths = reg.uncertainty_
        assert widths.shape == (len(truth),) and widths.dtype == np.float64 and (widths > 0).all()
        rows = np.isnan(y)
        shares.append((abs(truth - reg.transduction_) <= widths)[rows].mean())
    assert 0.8 <= np.mean(shares) <= 0.99
    part = reg.report_["parts"]["uncertainty"]
    leaves_one_out = cls is LaplacianRidgeRegressor
    assert part == {"level": 0.9, "n_held_out": 120, "source": "leave-one-out" if leaves_one_out else "folds"}


@pytest.mark.parametrize("cls", [HarmonicRegressor, LaplacianRidgeRegressor])
def test_intervals_are_wider_where_noise_is_larger(cls):
    X, truth, noisy = roll()
    widths = cls(random_state=0).fit(X, hidden(truth, 200)).uncertainty_
    assert widths[noisy].mean() > 1.5 * widths[~noisy].mean()


def test_without_a_graph_all_intervals_have_one_width():
    X, truth, _ = diabetes()
    widths = LaplacianRidgeRegressor(graph_reg=0.0, random_state=0).fit(X, hidden(truth, 100)).uncertainty_
    assert np.ptp(widths) <= 1e-12 * widths[0]


@pytest.mark.parametrize("cls", REGRESSORS)
def test_few_values_tell_nothing(cls):
    X, truth, _ = diabetes()
    for n_known, is_told in [(5, False), (9, False), (10, True)]:
        reg = cls(random_state=0).fit(X, hidden(truth, n_known))
        assert (reg.uncertainty_ is not None) == is_told
        assert ("uncertainty" in reg.report_["parts"]) == is_told


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnreachedWarning")
@pytest.mark.parametrize("abstain", [False, True])
def test_rows_that_no_value_reaches_have_no_width(abstain):
    X = two_islands()
    y = np.where(np.arange(60) < 20, X[:, 0], np.nan)
    reg = HarmonicRegressor(5, abstain=abstain).fit(X, y)
    assert not reg.reached_[30:].any()
    assert np.isnan(reg.uncertainty_[30:]).all() and (reg.uncertainty_[:30] > 0).all()


@pytest.mark.parametrize(("cls", "options"), FITS)
def test_threads_change_no_bit_and_pickles_keep_it(cls, options):
    X, truth, _ = diabetes()
    y = hidden(truth, 60)
    fits = [cls(random_state=3, n_jobs=n, **options).fit(X, y) for n in (1, 2)]
    assert fits[0].uncertainty_.tobytes() == fits[1].uncertainty_.tobytes()
    assert pickle.loads(pickle.dumps(fits[0])).uncertainty_.tobytes() == fits[0].uncertainty_.tobytes()


def test_widths_have_the_unit_of_the_values():
    X, truth, _ = diabetes()
    y = hidden(truth, 80)
    small, large = (HarmonicRegressor(random_state=0).fit(X, y * unit).uncertainty_ for unit in (1.0, 1000.0))
    np.testing.assert_allclose(large, 1000.0 * small, rtol=1e-2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_hidden_layer_is_trained_again_for_its_errors():
    X, truth, _ = diabetes()
    shares = []
    for seed in range(3):
        y = hidden(truth, 60, seed)
        reg = UnfoldedGNNRegressor(2.0, hidden=8, max_iter=50, random_state=0).fit(X, y)
        shares.append((abs(truth - reg.transduction_) <= reg.uncertainty_)[np.isnan(y)].mean())
        assert reg.report_["parts"]["uncertainty"]["n_held_out"] == 60
    assert 0.8 <= np.mean(shares) <= 0.99
