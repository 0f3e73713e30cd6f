"""Files that are written as private as they were, that are cut short while they are read, and names that would steer a terminal."""

import os
import stat
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from lapwing import HarmonicClassifier, LowRankPropagationClassifier, save_model
from lapwing._warnings import plain, warn_of
from lapwing.baselines import EigenfunctionClassifier
from lapwing.graph import Graph, knn_graph

STEERING = "a\x1b[2J\u202eb\x9b31m\x7f"


def rows(n=60_000, d=8):
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def some_labels(n):
    y = np.full(n, -1)
    y[:20] = np.arange(20) % 2
    return y


@pytest.mark.skipif(sys.platform != "linux", reason="the system keeps mapped files whole, or tells it otherwise")
@pytest.mark.parametrize("make", [HarmonicClassifier, LowRankPropagationClassifier, EigenfunctionClassifier])
def test_an_array_that_is_cut_short_is_named(make, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, rows())
    X = np.load(path, mmap_mode="r")

    def cut(event):
        if os.path.getsize(path) > 50_000:
            os.truncate(path, 50_000)

    with pytest.raises(OSError, match="rows.npy.*cut short"):
        make(callback=cut).fit(X, some_labels(len(X)))
    # A second look at the array is refused too: some of it is zeros now.
    with pytest.raises(OSError, match="rows.npy.*cut short"):
        make().fit(X, some_labels(len(X)))
    X = rows(300)
    assert make().fit(X, some_labels(300)).score(X, np.arange(300) % 2) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the system keeps mapped files whole, or tells it otherwise")
def test_a_model_that_is_cut_short_labels_as_before_or_is_named(tmp_path):
    script = f"""
import os, numpy as np, lapwing
X = np.random.default_rng(0).normal(size=(4000, 8)).astype(np.float32)
y = np.full(4000, -1); y[:20] = np.arange(20) % 2
path = {str(tmp_path / "m.lapwing")!r}
lapwing.save_model(lapwing.HarmonicClassifier().fit(X, y), path)
expected = lapwing.load_model(path).predict(X)
clf = lapwing.load_model(path)
os.truncate(path, 20_000)
try:
    # What was read before the cut is whole.
    print("the same" if (clf.predict(X) == expected).all() else "other labels")
except OSError as error:
    print(error)
try:
    lapwing.load_model(path)
except (OSError, ValueError) as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done
    first, second = done.stdout.splitlines()
    assert first == "the same" or ("m.lapwing" in first and "cut short" in first), done
    assert "m.lapwing" in second, done


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_what_replaces_a_private_file_is_private(tmp_path):
    X = rows(300)
    y = some_labels(300)
    clf = HarmonicClassifier().fit(X, y)
    graph = knn_graph(X, 5)
    for name, save in [("m.lapwing", lambda path: save_model(clf, path)), ("g.npz", graph.save), ("graph without ending", graph.save)]:
        path = tmp_path / name
        path.write_text("older")
        path.chmod(0o600)
        save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, name
        assert path.stat().st_size > 100
        path.unlink()
        save(path)
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask, name
    assert Graph.load(tmp_path / "g.npz").n_edges == graph.n_edges
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npz", "graph without ending", "m.lapwing"]


def test_no_name_steers_a_terminal():
    table = pd.DataFrame({f"x{STEERING}": [f"{STEERING}one", "two", "three"] * 20, "z": np.arange(60.0)})
    y = np.full(60, None, dtype=object)
    y[:6] = ["u", "v"] * 3
    with pytest.raises(ValueError, match="cells that are not numbers") as failed:
        HarmonicClassifier().fit(table, y)
    clf = HarmonicClassifier().fit(table[["z"]], y)
    assert not any(ord(c) < 32 or c in "\x7f\x9b\u202e" for c in str(failed.value).replace("\n", "")), repr(failed.value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of([{"kind": "other", "text": STEERING}])
    assert str(caught[0].message) == r"a\u{1b}[2J\u{202e}b\u{9b}31m\u{7f}" == plain(STEERING)
    with pytest.raises(OSError) as failed:
        save_model(clf, f"missing{STEERING}/m")
    assert "\x1b" not in str(failed.value)
