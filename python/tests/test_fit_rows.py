"""Fits to a sample of the rows, which label all of them."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing
from lapwing import baselines

N = 6000


def clouds(n=N, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[np.arange(n), truth] += 5
    y = np.where(np.arange(n) < 60, truth, -1)
    return X, truth, y


@pytest.mark.parametrize(
    "kind",
    [lapwing.AutoLabeler, lapwing.HarmonicClassifier, lapwing.LaplacianSVC, lapwing.LowRankPropagationClassifier,
     lapwing.UnfoldedGNNClassifier, baselines.LinearClassifier, baselines.ForestClassifier],
)  # fmt: skip
def test_all_rows_are_labeled_by_a_fit_to_some(kind):
    X, truth, y = clouds()
    clf = kind(fit_rows=800, random_state=0).fit(X, y)
    part = clf.report_["parts"]["sample"]
    assert 600 < part["n_rows"] < 1000 and clf.report_["n_samples"] == N
    assert len(clf.transduction_) == N and (clf.transduction_ == truth)[60:].mean() > 0.95
    assert clf.label_distributions_.shape == (N, 3)
    assert clf.expected_accuracy_.low <= (clf.transduction_ == truth)[60:].mean()
    again = kind(fit_rows=800, random_state=0, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.scores_, clf.scores_)
    new, new_truth, _ = clouds(500, 1)
    assert (clf.predict(new) == new_truth).mean() > 0.95


def test_a_memory_map_is_fitted_as_an_array_is(tmp_path):
    X, _, y = clouds()
    np.save(tmp_path / "x.npy", X)
    clf = lapwing.HarmonicClassifier(fit_rows=500, random_state=0)
    held = clf.fit(X, y).transduction_
    np.testing.assert_array_equal(clf.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), y).transduction_, held)


def test_columns_of_other_units_are_scaled_by_the_sample():
    X, truth, y = clouds()
    X = X * np.array([1, 1, 1, 1, 1000], dtype=np.float32)
    clf = lapwing.AutoLabeler(fit_rows=800, random_state=0).fit(X, y)
    assert (clf.transduction_ == truth)[60:].mean() > 0.9
    assert (clf.predict(X[:500]) == truth[:500]).mean() > 0.9
    assert clf.report_["parts"]["scaling"]


def test_what_a_sample_cannot_be_is_refused():
    X, _, y = clouds(200)
    with pytest.raises(ValueError, match="fit_rows is 0"):
        lapwing.HarmonicClassifier(fit_rows=0).fit(X, y)
    with pytest.raises(TypeError, match="fit_rows must be an integer"):
        lapwing.HarmonicClassifier(fit_rows=1.5).fit(X, y)
    graph = lapwing.graph.knn_graph(X)
    with pytest.raises(ValueError, match="fit_rows is 50; expected none beside a graph"):
        lapwing.HarmonicClassifier(fit_rows=50).fit(None, y, graph=graph)


def test_labels_are_written_as_they_are_predicted(tmp_path):
    X, _, y = clouds()
    clf = lapwing.HarmonicClassifier(fit_rows=500, random_state=0).fit(X, y)
    np.save(tmp_path / "x.npy", X)
    labels = clf.predict(X)
    for rows, name in [(X, "a.npy"), (tmp_path / "x.npy", "b.npy"), (str(tmp_path / "x.npy"), "c.npy")]:
        report = clf.predict_to(rows, tmp_path / name)
        found = np.load(tmp_path / name)
        np.testing.assert_array_equal(found["label"], labels)
        assert report == {"n_samples": N, "n_unreached": 0, "warnings": []} and "certified" in found.dtype.names
    clf.predict_to(X, tmp_path / "p.csv", probabilities=True)
    assert (tmp_path / "p.csv").read_text().splitlines()[0].endswith("p_0,p_1,p_2")
    with pytest.raises(ValueError, match="keep needs X in a file"):
        clf.predict_to(X, tmp_path / "d.csv", keep=True)
    with pytest.raises(ValueError, match="5 features"):
        clf.predict_to(X[:, :3].copy(), tmp_path / "e.csv")
    assert not (tmp_path / "d.csv").exists() and not (tmp_path / "e.csv").exists()


def test_tables_are_labeled_beside_their_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pd = pytest.importorskip("pandas")
    X, _, y = clouds(900)
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = lapwing.HarmonicClassifier(random_state=0).fit(frame, y)
    (tmp_path / "parts").mkdir()
    for at in range(3):
        part = frame.assign(name="x").iloc[300 * at : 300 * at + 300]
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), tmp_path / "parts" / f"{at}.parquet")
    clf.predict_to(tmp_path / "parts", tmp_path / "out", keep=["name", "e"])
    found = [pq.read_table(tmp_path / "out" / f"{at}.parquet") for at in range(3)]
    assert found[0].column_names[:3] == ["name", "e", "label"]
    labels = np.concatenate([table["label"].to_numpy() for table in found])
    np.testing.assert_array_equal(labels, clf.predict(frame))


def table_of(folder, X, labels=None):
    """A table of the rows, in two Parquet files of a folder."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {name: X[:, at] for at, name in enumerate("abcde")}
    if labels is not None:
        columns["kind"] = labels
    table = pa.table(columns)
    (folder / "parts").mkdir()
    pq.write_table(table.slice(0, 2500), folder / "parts" / "0.parquet")
    pq.write_table(table.slice(2500), folder / "parts" / "1.parquet")
    return table


@pytest.mark.parametrize("kind", [lapwing.AutoLabeler, lapwing.HarmonicClassifier, lapwing.LowRankPropagationClassifier])
def test_a_file_is_fitted_as_its_rows_are(kind, tmp_path):
    X, truth, y = clouds()
    np.save(tmp_path / "x.npy", X)
    clf = kind(fit_rows=800, random_state=0)
    held = clf.fit(X, y).predict(X)
    accuracy = clf.expected_accuracy_
    clf.fit(tmp_path / "x.npy", y)
    np.testing.assert_array_equal(clf.predict(X), held)
    assert clf.expected_accuracy_ == accuracy and clf.n_features_in_ == 5 and clf.report_["n_samples"] == N
    assert not hasattr(clf, "transduction_") and not hasattr(clf, "reached_")
    lapwing.save_model(clf, tmp_path / "model")
    np.testing.assert_array_equal(lapwing.load_model(tmp_path / "model").predict(X), held)


def test_labels_are_a_column_of_the_file(tmp_path):
    X, truth, y = clouds()
    names = np.array(["red", "green", "blue"], dtype=object)
    labels = [names[label] if label >= 0 else None for label in y]
    table_of(tmp_path, X, labels)
    clf = lapwing.HarmonicClassifier(fit_rows=800, random_state=0).fit(tmp_path / "parts", "kind")
    assert clf.classes_.tolist() == ["blue", "green", "red"] and clf.feature_names_in_.tolist() == list("abcde")
    report = clf.predict_to(tmp_path / "parts", tmp_path / "labels.csv")
    assert report["n_samples"] == N
    found = [line.split(",")[1] for line in (tmp_path / "labels.csv").read_text().splitlines()[1:]]
    assert (np.array(found) == names[truth]).mean() > 0.95
    with pytest.raises(ValueError, match="sort"):
        lapwing.HarmonicClassifier().fit(tmp_path / "parts", "sort")


def test_batches_are_fitted_and_labeled_one_by_one(tmp_path):
    X, truth, y = clouds()
    table = table_of(tmp_path, X, [int(label) if label >= 0 else None for label in y])
    dataset = pytest.importorskip("pyarrow.dataset").dataset(tmp_path / "parts")
    fitted = lapwing.HarmonicClassifier(fit_rows=800, random_state=0).fit(tmp_path / "parts", "kind")
    rows = table.drop_columns("kind")
    labels = fitted.predict(rows)
    for given in (dataset, dataset.scanner(), iter(table.to_batches(1000)), table.to_reader(700)):
        clf = lapwing.HarmonicClassifier(fit_rows=800, random_state=0).fit(given, "kind")
        np.testing.assert_array_equal(clf.predict(rows), labels)
    parts = clf.predict(iter(rows.to_batches(1000)))
    assert not isinstance(parts, np.ndarray)
    np.testing.assert_array_equal(np.concatenate(list(parts)), labels)
    shares = np.concatenate(list(clf.predict_proba(iter(rows.to_batches(1000)))))
    np.testing.assert_array_equal(shares, clf.predict_proba(rows))
    labels, certified = zip(*clf.predict(iter(rows.to_batches(1000)), return_certified=True), strict=True)
    assert len(certified) == len(labels) > 1
    with pytest.raises(ValueError, match="no batches"):
        clf.fit(iter([]), "kind")
    others = table.rename_columns([*"uvwxy", "kind"])
    with pytest.raises(ValueError, match="expected those of the first"):
        clf.fit(iter([*table.to_batches(), *others.to_batches()]), "kind")


def test_what_blocks_cannot_have_is_refused(tmp_path):
    X, _, y = clouds(300)
    np.save(tmp_path / "x.npy", X)
    path = tmp_path / "x.npy"
    clf = lapwing.HarmonicClassifier()
    with pytest.raises(ValueError, match="graph needs rows in memory"):
        clf.fit(path, y, graph=np.eye(300))
    with pytest.raises(ValueError, match="prior needs rows in memory"):
        lapwing.HarmonicClassifier(prior=np.full((300, 3), 1 / 3)).fit(path, y)
    with pytest.raises(ValueError, match="y is None"):
        clf.fit(path, None)
    with pytest.raises(ValueError, match="299 rows, as there are labels"):
        clf.fit(path, y[1:])
    with pytest.raises(OSError, match="nothing.npy"):
        clf.fit(tmp_path / "nothing.npy", y)
    clf.fit(path, y)
    with pytest.raises(TypeError, match="predict_to"):
        clf.predict(path)
    with pytest.raises(TypeError, match="not data"):
        lapwing.HarmonicRegressor().fit(path, y)


def test_a_plan_comes_before_the_fit(tmp_path):
    X, _, y = clouds()
    np.save(tmp_path / "x.npy", X)
    clf = lapwing.HarmonicClassifier()
    plan = clf.plan(X, y)
    assert plan["fit_rows"] is None and plan["plan"]["n_samples"] == N and plan["available_bytes"] > 0
    assert clf.plan(tmp_path / "x.npy", y)["plan"]["peak_bytes"] == plan["plan"]["peak_bytes"]
    huge = clf.plan((10**9, 32))
    assert huge["plan"]["peak_bytes"] > 1e11 and 5_000 <= huge["fit_rows"] <= 300_000
    part = lapwing.HarmonicClassifier(fit_rows=100_000).plan((10**9, 32))
    assert part["fit_rows"] == 100_000 and part["plan"]["peak_bytes"] < 4e9
