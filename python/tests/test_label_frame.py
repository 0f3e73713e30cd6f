"""Labels for the rows of a table, and models that take tables."""

import re
import subprocess
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frames import FRAMES, LABELS, N, RNG, SIDE, TABLES, mixed_table, program

import lapwing
from lapwing import AutoLabeler, HarmonicClassifier, label_frame, load_model, save_model
from lapwing.graph import knn_graph
from lapwing.prepare import TableEncoder


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_of_a_real_table_find_their_label(kind):
    table = pd.read_csv(TABLES / "messy.csv")
    truth = pd.read_csv(TABLES / "truth" / "messy.csv")["label"].to_numpy()
    frame = FRAMES[kind](table)
    labeled = label_frame(frame, "y")
    assert type(labeled) is type(frame)
    labels, confidence, reached = (np.asarray(labeled[name]) for name in ("label", "confidence", "reached"))
    hidden = table["y"].isna().to_numpy()
    assert (labels == truth)[hidden].mean() >= 0.85
    assert (labels[~hidden] == table["y"][~hidden]).all()
    assert confidence.dtype == np.float64 and (confidence > 1 / 3).all() and reached.all()


def test_duckdb_relations():
    duckdb = pytest.importorskip("duckdb")
    table = pd.read_csv(TABLES / "messy.csv")
    relation = duckdb.from_df(table)
    assert TableEncoder().fit(relation).n_features_in_ == len(table.columns)
    labeled = label_frame(duckdb.from_df(table), "y")
    assert isinstance(labeled, pa.Table) and labeled.column_names[-3:] == ["label", "confidence", "reached"]


TARGETS = {
    "texts": pd.Series(LABELS),
    "integers": pd.Series([7 if at < 12 and side else 3 if at < 12 else -1 for at, side in enumerate(SIDE)]),
    "whole numbers with gaps": pd.Series([float(side) if at < 12 else np.nan for at, side in enumerate(SIDE)]),
    "nullable integers": pd.Series(pd.array([int(side) if at < 12 else None for at, side in enumerate(SIDE)], dtype="Int32")),
    "booleans": pd.Series(pd.array([bool(side) if at < 12 else None for at, side in enumerate(SIDE)], dtype="boolean")),
    "categories": pd.Series(pd.Categorical(LABELS, ["large", "small", "unused"])),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("target", TARGETS)
def test_labels_keep_their_type(kind, target):
    table = mixed_table().assign(is_=TARGETS[target].to_numpy() if target == "integers" else TARGETS[target])
    frame = FRAMES[kind](table)
    labeled = label_frame(frame, "is_", method="harmonic")
    expected = dict(zip(SIDE[:2], table["is_"][:2], strict=True))
    assert list(labeled["label"].to_pandas() if kind == "arrow" else labeled["label"]) == [expected[side] for side in SIDE]
    if kind == "pandas" and target == "whole numbers with gaps":
        assert labeled["label"].dtype == np.int64
    elif kind == "arrow":
        assert labeled.schema.field("label").type == frame.schema.field("is_").type
    else:
        assert labeled["label"].dtype == frame["is_"].dtype


def test_frames_stay_as_they_are():
    table = mixed_table().assign(is_=LABELS).set_index(pd.Index(range(500, 500 + N), name="key"))
    before = table.copy()
    labeled = label_frame(table, "is_", method="harmonic", names=("guess", "sure", "near"))
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(labeled[table.columns], before)
    assert labeled.columns[-3:].tolist() == ["guess", "sure", "near"]


def test_ways_to_label_a_frame(capsys):
    table = mixed_table().assign(is_=LABELS)
    expected = label_frame(table, "is_", method="harmonic")
    own = label_frame(table, "is_", estimator=HarmonicClassifier(random_state=0))
    pd.testing.assert_frame_equal(own, expected)
    named = label_frame(table, "is_", method="nystrom", columns=["width", "id"])
    assert set(named["label"]) == {"small", "large"}
    graph = knn_graph(np.column_stack([SIDE, np.arange(N) / N]).astype(float), n_neighbors=5)
    for method in ("harmonic", "auto", "unfolded-gnn"):
        assert (label_frame(table, "is_", method=method, graph=graph)["label"] == np.where(SIDE, "large", "small")).all()
    alone = label_frame(table[["is_"]], "is_", graph=graph)
    assert (alone["label"] == np.where(SIDE, "large", "small")).all()
    capsys.readouterr()
    label_frame(table, "is_", verbose=1)
    told = capsys.readouterr().err
    assert "[lapwing] member: true or false" in told and "[lapwing] expected accuracy" in told
    label_frame(table, "is_")
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_labeled():
    table = mixed_table().assign(species=LABELS)
    with pytest.raises(ValueError, match="df: no column 'specie'; did you mean 'species'. The columns are: width, count"):
        label_frame(table, "specie")
    with pytest.raises(ValueError, match=r"df has a column 'width' already; give names="):
        label_frame(table, "species", names=("width", "a", "b"))
    with pytest.raises(ValueError, match="three different names"):
        label_frame(table, "species", names="label")
    with pytest.raises(ValueError, match="columns holds 'species', the target"):
        label_frame(table, "species", columns=["width", "species"])
    with pytest.raises(ValueError, match="df: no column 'widht'; did you mean 'width'"):
        label_frame(table, "species", columns=["widht"])
    with pytest.raises(ValueError, match="column 'species': "):
        label_frame(table.assign(species=None), "species")
    with pytest.raises(ValueError, match="column 'width': Unknown label type: continuous"):
        label_frame(table, "width")
    with pytest.raises(TypeError, match="df is a list; expected a data frame"):
        label_frame([[1, 2]], "species")
    with pytest.raises(TypeError, match="df is a Series, one column"):
        label_frame(table["species"], "species")
    with pytest.raises(TypeError, match="df is a LazyFrame"):
        label_frame(pl.from_pandas(table).lazy(), "species")
    with pytest.raises(ValueError, match="method is 'best'; expected one of auto, harmonic"):
        label_frame(table, "species", method="best")
    with pytest.raises(TypeError, match="estimator is a TableEncoder; expected a classifier of lapwing"):
        label_frame(table, "species", estimator=TableEncoder())


def test_rows_that_no_label_reaches_may_have_none():
    x = np.r_[np.arange(10.0), 1e6 + np.arange(10.0)]
    table = pd.DataFrame({"x": x, "z": x / 2, "is_": [1, 2] + [None] * 18})
    with pytest.warns(lapwing.exceptions.UnreachedWarning):
        labeled = label_frame(table, "is_", estimator=HarmonicClassifier(n_neighbors=3, abstain=True))
    assert labeled["label"].isna().tolist() == (~labeled["reached"]).tolist() == [False] * 10 + [True] * 10


def model_of(table, tmp_path):
    """A model that the program fits to a table."""
    table.to_parquet(tmp_path / "table.parquet")
    call = [program(), "label", tmp_path / "table.parquet", "--label-column", "is_", "--method", "harmonic", "--quiet"]
    subprocess.run([*call, "-o", tmp_path / "out.csv", "--model", tmp_path / "model"], check=True, capture_output=True)
    return load_model(tmp_path / "model")


def test_models_with_a_recipe_take_tables(tmp_path):
    table = mixed_table().assign(is_=LABELS)
    model = model_of(table, tmp_path)
    expected = pd.read_csv(tmp_path / "out.csv")["label"].to_numpy()
    for frame in (table, pl.from_pandas(table), pa.Table.from_pandas(table), table[table.columns[::-1]]):
        assert (model.predict(frame) == expected).all()
    assert "id" not in model.feature_names_in_ and model.n_features_in_ == 6
    with pytest.raises(TypeError, match="X is a ndarray, but the model was fitted on a table .* with the columns 'width', 'count'"):
        model.predict(np.zeros((2, 6)))
    with pytest.raises(ValueError, match="X: no column 'city'"):
        model.predict(table.drop(columns="city"))
    with pytest.warns(UserWarning, match="first 'Oslo'") as caught:
        model.predict(table.iloc[:2].assign(city="Oslo"))
    assert caught[0].filename == __file__
    save_model(model, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    model.fit(table[["width"]].fillna(0), LABELS)
    assert model.predict(np.zeros((1, 1))).shape == (1,)


def test_models_of_plain_numbers_take_arrays(tmp_path):
    X = RNG.normal(size=(N, 2)) + 4 * SIDE[:, None]
    model = model_of(pd.DataFrame(X, columns=["a", "b"]).assign(is_=LABELS), tmp_path)
    with pytest.warns(UserWarning, match="valid feature names"):
        by_place = model.predict(X)
    assert (model.predict(pd.DataFrame({"b": X[:, 1], "a": X[:, 0], "c": "x"})) == by_place).all()
    with pytest.raises(ValueError, match="X has 3 features, but HarmonicClassifier is expecting 2"):
        model.predict(np.zeros((2, 3)))


def test_automatic_labels_need_no_scaling_twice():
    table = mixed_table()
    features = TableEncoder().fit_transform(table)
    auto = AutoLabeler(scaling="off", random_state=0).fit(features, LABELS)
    assert (auto.transduction_ == label_frame(table.assign(is_=LABELS), "is_")["label"].to_numpy()).all()


def test_targets_that_are_no_classes():
    table = mixed_table()
    for dates in (pd.to_datetime(pd.Series(["2020-01-01", "2021-01-01"] * (N // 2))), pd.Series(pd.to_timedelta(np.arange(N), "D"))):
        with pytest.raises(ValueError, match=r"column 'y': Unknown label type: dates; .*\(astype\(str\)"):
            label_frame(table.assign(y=dates), "y")
    with pytest.raises(TypeError, match=r"columns is 'side'; expected a list of names, as \['side'\]"):
        label_frame(table.assign(y=LABELS), "y", columns="side")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_large_whole_numbers_stay_apart(kind):
    given = [2**60 + 1 + int(side) if at < 12 else None for at, side in enumerate(SIDE)]
    table = mixed_table().assign(y=pd.Series(given, dtype="Int64"))
    labeled = label_frame(pl.from_pandas(table) if kind == "polars" else table, "y")
    assert set(labeled["label"].to_list()) == {2**60 + 1, 2**60 + 2}


def test_columns_of_nothing_in_polars():
    frame = pl.DataFrame({"x": np.arange(30.0) % 7, "z": np.arange(30.0) % 5, "n": [None] * 30})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["x", "z"]


@pytest.mark.parametrize("kind", FRAMES)
def test_the_classifier_of_a_table_labels_other_tables(kind, tmp_path):
    table = pd.read_csv(TABLES / "messy.csv")
    labeled, model = label_frame(FRAMES[kind](table), "y", return_estimator=True)
    assert model.expected_accuracy_ is not None
    new = FRAMES[kind](table.drop(columns="y").iloc[:40])
    found = model.predict(new)
    assert (found == np.asarray(labeled["label"])[:40]).mean() >= 0.9
    save_model(model, tmp_path / "model.lapwing")
    loaded = load_model(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(loaded.predict(new), found)
    model.report(tmp_path / "page.html", row_names=[f"row-{row}" for row in range(len(table))])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Label these next" in page and "Accuracy by class, on held-out labels" in page and "row-7" in page
    # What the page says of a row is what the table says.
    least = re.search(r"<h2>Least certain rows</h2>.*?<td>row-(\d+)</td><td>(\w+) ([\d.]+)", page, re.DOTALL)
    row, label, share = int(least[1]), least[2], float(least[3])
    assert str(np.asarray(labeled["label"])[row]) == label
    assert abs(float(np.asarray(labeled["confidence"])[row]) - share) < 1e-3
    assert "label_frame(df, &#39;y&#39;, random_state=0)" in page or "label_frame(df, 'y', random_state=0)" in page


@pytest.mark.parametrize("kind", FRAMES)
def test_numbers_that_are_written_with_commas_and_signs(kind):
    rng = np.random.default_rng(0)
    slope, is_steep = rng.uniform(0, 40, 200).round(2), np.arange(200) % 2 == 0
    slope[is_steep] += 60
    cells = [f"{value:.2f} %".replace(".", ",") for value in slope]
    table = pd.DataFrame({"slope": cells, "noise": rng.normal(size=200)})
    encoder = TableEncoder(standardize="off").fit(FRAMES[kind](table))
    assert encoder.description_[0]["kind"] == "number"
    np.testing.assert_allclose(encoder.transform(FRAMES[kind](table))[:, 0], slope, rtol=1e-6)
    # The mark of the fit decides where the cells of new rows do not tell it.
    new = pd.DataFrame({"slope": ["1,234 %", "12 %"], "noise": [0.0, 0.0]})
    np.testing.assert_allclose(encoder.transform(FRAMES[kind](new))[:, 0], [1.234, 12.0], rtol=1e-6)
    with pytest.raises(ValueError, match="cells of another kind than in the fit: 'slope'.*write them as the fit had them"):
        encoder.transform(FRAMES[kind](pd.DataFrame({"slope": ["steep", "flat"], "noise": [0.0, 0.0]})))


SPELLINGS = {
    "case": (["yes", "YES", "yes ", "yes"], ["no", "No", "no", "no"]),
    "a point": (["<=50K", "<=50K.", "<=50K", "<=50K"], [">50K.", ">50K.", ">50K", ">50K."]),
    "decimals": (["1", "1.0", "1", "1"], ["0.0", "0.0", "0", "0.0"]),
    "letters": (["caf\u00e9", "cafe\u0301", "caf\u00e9", "caf\u00e9"], ["the\u0301", "th\u00e9", "th\u00e9", "th\u00e9"]),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_a_class_are_one_in_the_usual_one(kind, spelling):
    ways = SPELLINGS[spelling]
    given = [ways[side][at // 2 % 4] if at < 16 else None for at, side in enumerate(SIDE)]
    table = mixed_table().assign(is_=given)
    with pytest.warns(UserWarning, match="labels are written in several ways: .* count as one class"):
        labeled, model = label_frame(FRAMES[kind](table), "is_", method="harmonic", return_estimator=True)
    usual = [max(words, key=words.count) for words in ways]
    found = labeled["label"].to_pylist() if kind == "arrow" else labeled["label"].tolist() if kind == "pandas" else labeled["label"].to_list()
    assert found == [usual[side] for side in SIDE]
    assert sorted(model.classes_) == sorted(usual)


def test_classes_of_single_letters_and_numbers_stay_apart():
    table = mixed_table().assign(is_=[("a", "A")[side] if at < 12 else None for at, side in enumerate(SIDE)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(label_frame(table, "is_", method="harmonic")["label"]) == {"a", "A"}
        table["is_"] = [float(side) if at < 12 else None for at, side in enumerate(SIDE)]
        assert set(label_frame(table, "is_", method="harmonic")["label"]) == {0, 1}


def test_a_column_that_is_known_after_the_label_is_named():
    draws = np.random.default_rng(3)
    table = pd.DataFrame({"a": draws.normal(size=80), "b": draws.choice(list("uvw"), 80)})
    table["is_"] = [f"k{x}" for x in draws.integers(3, size=80)]
    table["closed"] = table["is_"].map({"k0": "x", "k1": "y", "k2": "z"})
    table.loc[::2, "is_"] = None
    with pytest.warns(UserWarning, match="column 'closed' alone tells the label of each of 40 labeled rows"):
        label_frame(table, "is_", method="harmonic")
