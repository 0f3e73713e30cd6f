"""Model files, and what is said about broken ones."""

import errno

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import HarmonicClassifier, HarmonicRegressor, load_model, save_model
from lapwing.graph import knn_graph
from lapwing.prepare import TableEncoder

ROWS = np.random.default_rng(8).normal(size=(90, 3))
FEATURES = {
    "float32": ROWS.astype(np.float32),
    "float64": ROWS,
    "uint8": (ROWS * 20 + 100).astype(np.uint8),
    "sparse": sp.csr_array(np.where(ROWS > 0, ROWS, 0).astype(np.float32)),
    "frame": pd.DataFrame(ROWS, columns=["x", "y", "z"]),
}
LABELS = {
    "integers": np.where(np.arange(90) < 9, np.arange(90) % 3 * 10, -1),
    "texts": np.where(np.arange(90) < 9, np.take(["b", "ä", "c"], np.arange(90) % 3).astype(object), None),
}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("labels", LABELS)
def test_loaded_models_predict_the_same(features, labels, tmp_path):
    X, y = FEATURES[features], LABELS[labels]
    clf = HarmonicClassifier(7, form="plain", weights="gaussian").fit(X, y)
    save_model(clf, tmp_path / "model")
    again = load_model(tmp_path / "model")
    new = X[:40]
    np.testing.assert_array_equal(again.predict_proba(new), clf.predict_proba(new))
    np.testing.assert_array_equal(again.predict(new), clf.predict(new))
    np.testing.assert_array_equal(again.classes_, clf.classes_)
    np.testing.assert_array_equal(again.transduction_, clf.transduction_)
    assert again.n_neighbors == 7 and again.weights == "gaussian"
    assert list(getattr(again, "feature_names_in_", [])) == list(getattr(clf, "feature_names_in_", []))
    save_model(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_pipeline_with_its_encoder_is_one_model(tmp_path):
    sizes = np.tile([1.0, 2.0, 9.0, 8.0], 10) + np.random.default_rng(0).uniform(size=40)
    table = pd.DataFrame({"size": sizes, "color": ["red", "red", "blue", "blue"] * 10})
    y = ["a", None, "b", None] + [None] * 36
    pipeline = make_pipeline(TableEncoder(), HarmonicClassifier(n_neighbors=3)).fit(table, y)
    save_model(pipeline, tmp_path / "table.lapwing")
    new = pd.DataFrame({"color": ["blue", "red"], "size": [8.5, 1.5]})
    assert load_model(tmp_path / "table.lapwing").predict(new).tolist() == pipeline.predict(new).tolist() == ["b", "a"]
    with pytest.raises(TypeError, match="a TableEncoder and a classifier of lapwing, not of StandardScaler, HarmonicClassifier"):
        scaled = make_pipeline(StandardScaler(), HarmonicClassifier(n_neighbors=3)).fit(table[["size"]], y)
        save_model(scaled, tmp_path / "other.lapwing")


def test_what_cannot_be_saved(tmp_path):
    y = LABELS["integers"]
    with pytest.raises(TypeError, match="not HarmonicRegressor"):
        save_model(HarmonicRegressor(7).fit(ROWS, np.where(y < 0, np.nan, y)), tmp_path / "model")
    with pytest.raises(ValueError, match="precomputed graph"):
        save_model(HarmonicClassifier(affinity="precomputed").fit(knn_graph(ROWS, 7), y), tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted"):
        save_model(HarmonicClassifier(), tmp_path / "model")
    clf = HarmonicClassifier(7).fit(ROWS, y)
    with pytest.raises(FileNotFoundError) as caught:
        save_model(clf, tmp_path / "missing" / "model")
    assert caught.value.errno == errno.ENOENT and "missing" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_broken_files(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(FileNotFoundError) as caught:
        load_model(path)
    assert caught.value.errno == errno.ENOENT and caught.value.filename == str(path)
    path.write_text("row,label\n0,a\n")
    with pytest.raises(ValueError, match="model"):
        load_model(path)
    save_model(HarmonicClassifier(7).fit(ROWS, LABELS["integers"]), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="model"):
        load_model(path)
