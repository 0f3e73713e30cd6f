"""Fits to Dask collections: the model and the labels of one array, wherever its rows lie."""

from __future__ import annotations

import doctest
import os
import pickle
import warnings

import numpy as np
import pytest

import lapwing
from test_fit_rows import clouds

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
from lapwing import dask as lapwing_dask  # noqa: E402

N = 6000


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture(scope="module")
def expected():
    X, truth, y = clouds()
    clf = lapwing.HarmonicClassifier(fit_rows=800, random_state=0).fit(X, y)
    return X, truth, y, clf.predict(X), clf.predict_proba(X)


def test_the_estimators_of_the_package_are_there():
    for name in lapwing_dask.__all__:
        kind = getattr(lapwing_dask, name)
        home = lapwing if hasattr(lapwing, name) else lapwing.baselines
        assert issubclass(kind, getattr(home, name))
        assert kind(fit_rows=5).get_params()["fit_rows"] == 5


@pytest.mark.parametrize("chunks", [6000, 1000, 613, ((0, 5000, 0, 1000),)])
def test_any_partitions_give_the_same_bits(chunks, expected):
    X, _, y, labels, shares = expected
    rows = da.from_array(X, chunks=(1000, 3)) if chunks == 1000 else da.from_array(X, chunks=(chunks, -1) if isinstance(chunks, int) else (chunks[0], -1))
    for given in (y, da.from_array(y, chunks=rows.chunks[0]), da.from_array(y, chunks=2700)):
        clf = lapwing_dask.HarmonicClassifier(fit_rows=800, random_state=0).fit(rows, given)
        found = clf.predict(rows)
        assert isinstance(found, da.Array) and found.dtype == labels.dtype and found.shape == (N,)
        np.testing.assert_array_equal(found.compute(), labels)
        np.testing.assert_array_equal(clf.predict_proba(rows).compute(), shares)
    np.testing.assert_array_equal(clf.predict(X), labels)
    assert clf.report_["n_samples"] == N and clf.expected_accuracy_.low < 1


@pytest.mark.parametrize("kind", ["AutoLabeler", "LaplacianSVC", "UnfoldedGNNClassifier", "ForestClassifier"])
def test_every_method_is_that_of_one_process(kind):
    X, _, y = clouds()
    ours, theirs = (getattr(home, kind, None) for home in (lapwing_dask, lapwing))
    theirs = theirs or getattr(lapwing.baselines, kind)
    labels = theirs(fit_rows=700, random_state=0).fit(X, y).predict(X)
    rows = da.from_array(X, chunks=(1700, -1))
    np.testing.assert_array_equal(ours(fit_rows=700, random_state=0).fit(rows, y).predict(rows).compute(), labels)


def test_data_frames_keep_their_index(expected):
    X, _, y, labels, shares = expected
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(N) + 7)
    names = np.array(["blue", "green", "red"], dtype=object)
    given = pd.Series([names[label] if label >= 0 else None for label in y], index=frame.index)
    rows = dd.from_pandas(frame, npartitions=5)
    clf = lapwing_dask.HarmonicClassifier(fit_rows=800, random_state=0).fit(rows, dd.from_pandas(given, npartitions=5))
    found = clf.predict(rows).compute()
    assert found.index.tolist() == frame.index.tolist() and clf.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(found.to_numpy(), names[labels])
    table = clf.predict_proba(rows).compute()
    assert table.columns.tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(table[names.tolist()].to_numpy(), shares)


def test_labels_may_lie_in_one_partition_or_be_all_of_it(expected):
    X, truth, _, _, _ = expected
    y = np.where((np.arange(N) >= 2000) & (np.arange(N) < 2060), truth, -1)
    labels = lapwing.HarmonicClassifier(fit_rows=800, random_state=0).fit(X, y).predict(X)
    rows = da.from_array(X, chunks=((2000, 60, 3940), -1))
    clf = lapwing_dask.HarmonicClassifier(fit_rows=800, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(clf.predict(rows).compute(), labels)


def test_what_is_wrong_is_named(expected):
    X, _, y, _, _ = expected
    clf = lapwing_dask.HarmonicClassifier(fit_rows=800, random_state=0)
    rows = da.from_array(X, chunks=(1000, -1))
    bad = X.copy()
    bad[4321, 2] = np.nan
    with pytest.raises(ValueError, match="nan in row 4321, column 2"):
        clf.fit(da.from_array(bad, chunks=(1000, -1)), y)
    with pytest.raises(ValueError, match="y has 5999 rows"):
        clf.fit(rows, da.from_array(y[1:], chunks=3000))
    with pytest.raises(ValueError, match="y has 5999 rows"):
        clf.fit(rows, y[1:])
    with pytest.raises(ValueError, match="in two ways"):
        clf.fit(rows, np.where(np.arange(N) == 99, np.nan, y))
    with pytest.raises(ValueError, match="label"):
        clf.fit(rows, np.full(N, -1))
    with pytest.raises(ValueError, match="prior needs rows in memory"):
        lapwing_dask.HarmonicClassifier(prior=np.full((N, 3), 1 / 3)).fit(rows, y)
    with pytest.raises(ValueError, match="affinity is 'precomputed'"):
        lapwing_dask.HarmonicClassifier(affinity="precomputed").fit(rows, y)
    with pytest.raises(ValueError, match="X and y alone"):
        clf.fit(rows, y, graph=np.eye(N))
    frame = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": ["x"] * N}), npartitions=3)
    with pytest.raises(ValueError, match="'b'"):
        clf.fit(frame, y)
    with pytest.raises(ValueError, match="3 features|3 columns"):
        clf.fit(rows, y).predict(rows[:, :3]).compute()


def test_rows_that_are_no_collection_are_those_of_the_package(expected, tmp_path):
    X, _, y, labels, _ = expected
    clf = lapwing_dask.HarmonicClassifier(fit_rows=800, random_state=0).fit(X, y)
    assert len(clf.transduction_) == N
    lapwing.save_model(clf, tmp_path / "model")
    np.testing.assert_array_equal(lapwing.load_model(tmp_path / "model").predict(X), labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(X), labels)


def test_processes_and_one_that_is_killed(expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    X, _, y, labels, shares = expected

    def dying(block, marker):
        """Ends its process at the first call."""
        try:
            open(marker, "x").close()
        except FileExistsError:
            return block
        os._exit(1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0)
        with cluster, distributed.Client(cluster), dask.config.set(scheduler=None):
            rows = da.from_array(X, chunks=(1000, -1))
            clf = lapwing_dask.HarmonicClassifier(fit_rows=800, random_state=0)
            fragile = rows.map_blocks(dying, marker=str(tmp_path / "fit"), meta=X[:0])
            np.testing.assert_array_equal(clf.fit(fragile, y).predict(rows).compute(), labels)
            fragile = rows.map_blocks(dying, marker=str(tmp_path / "predict"), meta=X[:0])
            np.testing.assert_array_equal(clf.predict_proba(fragile).compute(), shares)


def test_the_example_of_the_module_runs():
    assert doctest.testmod(lapwing_dask).failed == 0
