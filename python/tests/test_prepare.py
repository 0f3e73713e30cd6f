"""Tables as features, and labels for the rows of a table."""

import datetime
import json
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import lapwing
from lapwing import AutoLabeler, HarmonicClassifier, label_frame, load_model, save_model
from lapwing.graph import knn_graph
from lapwing.model_selection import cross_validate
from lapwing.prepare import TableEncoder

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "tests" / "tables"
RNG = np.random.default_rng(5)
N = 60
SIDE = np.arange(N) % 2
LABELS = [("small", "large")[side] if at < 12 else None for at, side in enumerate(SIDE)]


def mixed_table():
    """Every kind of column, with gaps."""
    width = pd.Series(SIDE * 30.0 + np.random.default_rng(1).normal(size=N)).mask(np.arange(N) % 7 == 0)
    return pd.DataFrame(
        {
            "width": width,
            "count": pd.array([None if at % 9 == 0 else int(at * 37 % 23) for at in range(N)], dtype="Int64"),
            "größe": np.where(SIDE == 1, "groß", "klein"),
            "city": pd.Categorical.from_codes(np.arange(N) % 3, ["Bern", "Graz", "Lyon"]),
            "member": SIDE == 0,
            "seen": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N) * 37, unit="h"),
            "id": [f"row-{at}" for at in range(N)],
        }
    )


FRAMES = {"pandas": lambda table: table, "polars": pl.from_pandas, "arrow": lambda table: pa.Table.from_pandas(table)}


def program():
    """The program, where a test may run it."""
    for folder in (os.environ.get("CARGO_TARGET_DIR"), ROOT / "target"):
        path = Path(folder or "missing") / "release" / "lapwing"
        if path.exists():
            return path
    pytest.skip("the program is not built")


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_features(kind):
    table = mixed_table()
    encoder = TableEncoder()
    features = encoder.fit_transform(FRAMES[kind](table))
    np.testing.assert_array_equal(features, TableEncoder().fit_transform(table))
    np.testing.assert_array_equal(features, encoder.transform(FRAMES[kind](table)))
    assert encoder.recipe_ == TableEncoder().fit(table).recipe_
    names = encoder.get_feature_names_out().tolist()
    assert names[:4] == ["width", "width_missing", "count", "count_missing"] and "größe_groß" in names
    assert features.shape == (N, len(names)) and np.isfinite(features).all()
    assert encoder.feature_names_in_.tolist() == table.columns.tolist() and encoder.n_features_in_ == 7
    assert [column["name"] for column in encoder.description_] == table.columns.tolist()
    assert encoder.description_[-1]["done"].startswith("left out: names the rows")
    assert encoder.scaling_.startswith("3 columns")


def test_rows_and_readers_of_arrow_are_tables():
    batch = pa.RecordBatch.from_pandas(mixed_table())
    expected = TableEncoder().fit_transform(mixed_table())
    for table in (batch, pa.Table.from_batches([batch]).to_reader(), OnlyArray(batch)):
        np.testing.assert_array_equal(TableEncoder().fit_transform(table), expected)


class OnlyArray:
    """A table of one batch without a stream."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def test_small_and_large_pieces_give_the_same_recipe():
    n = 40_000
    table = pa.table({"x": RNG.normal(size=n), "word": RNG.choice(["red", "green", "blue"], n)})
    pieces = pa.concat_tables([table.slice(0, 0), table.slice(0, 3), table.slice(3, 500), table.slice(503)])
    one, many = TableEncoder(), TableEncoder(n_jobs=2)
    np.testing.assert_array_equal(one.fit_transform(table), many.fit_transform(pieces))
    assert one.recipe_ == many.recipe_


def test_pandas_without_pyarrow_is_copied(monkeypatch):
    table = mixed_table().assign(utc=pd.date_range("2024-01-01", periods=N, freq="h", tz="UTC"), tall=SIDE.astype(np.int8))
    expected = TableEncoder().fit(table)

    def missing(self, requested_schema=None):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd.DataFrame, "__arrow_c_stream__", missing)
    assert TableEncoder().fit(table).recipe_ == expected.recipe_
    np.testing.assert_array_equal(TableEncoder().fit_transform(table), expected.transform(table))


def test_the_index_of_pandas_is_no_column():
    table = mixed_table().set_index(pd.Index([f"n{at}" for at in range(N)], name="person"))
    assert "person" not in TableEncoder().fit(table).feature_names_in_
    by_two = mixed_table().set_index(["city", "member"])
    assert TableEncoder().fit(by_two).n_features_in_ == 5


def test_arrays_have_numbered_columns():
    X = RNG.normal(size=(N, 3)).astype(np.float32)
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"] and not hasattr(encoder, "feature_names_in_")
    assert encoder.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    assert encoder.transform(X).dtype == np.float32 and encoder.transform(X.astype(float)).dtype == np.float32
    X[3, 1] = np.nan
    assert TableEncoder().fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x1_missing", "x2"]
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 3"):
        encoder.transform(X[:, :2])
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame(X[:2], columns=list("abc"))), encoder.transform(X[:2]))
    with pytest.raises(ValueError, match="X has 2 columns; expected 3 columns"):
        encoder.transform(pd.DataFrame(X[:2, :2]))


def test_arrays_of_objects():
    X = np.array([[1, "a", True, None], [2.5, "b", False, "x"], [None, None, True, 3]] * 4, dtype=object)
    encoder = TableEncoder().fit(X)
    assert [column["kind"] for column in encoder.description_] == ["number", "text", "boolean", "text"]
    with pytest.raises(TypeError, match="column 'x0' holds a dict"):
        encoder.transform(np.array([[{}, "a", True, None]], dtype=object))


def test_labels_decide_on_scaling_where_numbers_do_not():
    quiet = SIDE + (np.arange(N) * 7 % 30) / 300
    loud = 1.2 * np.random.default_rng(0).permutation(N)
    table = pd.DataFrame({"quiet": quiet, "loud": loud})
    with pytest.warns(UserWarning, match="spreads differ"):
        assert TableEncoder().fit(table).scaling_ is None
    for y in (SIDE, SIDE.astype(float), SIDE.astype(str), SIDE.reshape(-1, 1)):
        assert "labels are then those of the nearest other" in TableEncoder().fit(table, y).scaling_
    with pytest.raises(ValueError, match="y has 59 rows; expected one for each row of the table, 60"):
        TableEncoder().fit(table, SIDE[1:])
    assert TableEncoder("on").fit(table).scaling_.endswith("as asked")
    with pytest.raises(ValueError, match="standardize is 'yes'; expected one of auto, on, off"):
        TableEncoder("yes").fit(table)


def test_what_is_no_table():
    table = mixed_table()
    for X in (table["width"], pl.from_pandas(table)["width"]):
        with pytest.raises(TypeError, match=r"X is a Series, one column; expected a table: X\.to_frame\(\) makes one"):
            TableEncoder().fit(X)
    with pytest.raises(TypeError, match="ChunkedArray, one column"):
        TableEncoder().fit(pa.table({"a": [1, 2]})["a"])
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*X\.collect\(\)"):
        TableEncoder().fit(pl.from_pandas(table).lazy())
    with pytest.raises(TypeError, match="X is a str, not data"):
        TableEncoder().fit("table.csv")
    with pytest.raises(TypeError, match="X is a dict"):
        TableEncoder().fit({"a": [1, 2]})
    with pytest.raises(ValueError, match="no rows"):
        TableEncoder().fit(table.iloc[:0])
    with pytest.raises(ValueError, match="no columns"):
        TableEncoder().fit(table.loc[:, []])
    with pytest.raises(ValueError, match="X: no column tells rows apart: every one is empty, constant, or names the rows$"):
        TableEncoder().fit(table[["id"]])
    with pytest.raises(NotFittedError):
        TableEncoder().transform(table)


def test_broken_streams_are_errors():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), failing()).__arrow_c_stream__()

    def failing():
        yield pa.record_batch({"a": [1, 2]})
        raise RuntimeError("the line went dead")

    class Other:
        def __arrow_c_stream__(self, requested_schema=None):
            return 5

    with pytest.raises(ValueError, match="the line went dead"):
        TableEncoder().fit(Broken())
    with pytest.raises(TypeError):
        TableEncoder().fit(Other())


def test_names_that_come_twice_or_are_no_texts():
    X = np.column_stack([RNG.normal(size=(N, 2)), RNG.integers(0, 5, N)])
    twice = TableEncoder().fit(pd.DataFrame(X, columns=["a", "a", "b"]))
    assert twice.get_feature_names_out().tolist() == ["a", "a.1", "b"]
    numbered = TableEncoder().fit(pd.DataFrame(X))
    assert numbered.get_feature_names_out().tolist() == ["0", "1", "2"] and not hasattr(numbered, "feature_names_in_")
    assert numbered.transform(pd.DataFrame(X)).shape == (N, 3)


def test_cells_that_arrow_refuses_become_texts():
    table = pd.DataFrame({"mixed": pd.Series([1, "one", None, 2.5] * 15, dtype=object), "x": RNG.normal(size=N)})
    encoder = TableEncoder().fit(table)
    assert encoder.description_[0]["kind"] == "text" and list(table["mixed"][:3]) == [1, "one", None]
    assert encoder.transform(table).shape == (N, 5)


def test_dates_with_zones_and_gaps():
    zoned = pd.date_range("2024-03-01", periods=N, freq="13h", tz="Europe/Zurich")
    table = pd.DataFrame({"at": zoned, "day": pd.Series(zoned.date).mask(np.arange(N) == 3), "x": RNG.normal(size=N)})
    encoder = TableEncoder().fit(table)
    assert [column["kind"] for column in encoder.description_] == ["date", "date", "number"]
    assert "day_missing" in encoder.get_feature_names_out()
    polars = TableEncoder().fit(pl.DataFrame({"at": pl.Series(zoned), "day": [datetime.date(2024, 1, 1 + at % 28) for at in range(N)]}))
    assert [column["kind"] for column in polars.description_] == ["date", "date"]


def test_new_rows_that_are_unlike_the_fit():
    table = mixed_table()
    encoder = TableEncoder().fit(table)
    new = table.iloc[:4].assign(city="Oslo")
    with pytest.warns(UserWarning, match="column 'city': 4 cells have a level that the fit did not have, first 'Oslo'") as caught:
        encoder.transform(new)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="column 'größe'|column 'member'"):
        encoder.transform(table.iloc[:4].assign(member=pd.array([None, True, False, True], dtype="boolean")))
    with pytest.raises(ValueError, match="X: no column 'width'; did you mean 'widht'"):
        encoder.transform(table.rename(columns={"width": "widht"}))
    with pytest.raises(ValueError, match="X: 1 column with cells that are no numbers: 'width'"):
        encoder.transform(table.assign(width="wide"))
    other_order = table[table.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(encoder.transform(other_order), encoder.transform(table))
    np.testing.assert_array_equal(encoder.transform(table.drop(columns="id")), encoder.transform(table))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_output_in_a_container(container):
    table = mixed_table().set_index(pd.RangeIndex(100, 100 + N))
    encoder = TableEncoder().set_output(transform=container)
    for features in (encoder.fit_transform(table), encoder.transform(table)):
        assert list(features.columns) == encoder.get_feature_names_out().tolist()
    if container == "pandas":
        assert features.index.tolist() == table.index.tolist()


def texts(n=400):
    pick = np.random.default_rng(0)
    return pl.DataFrame({"text": [" ".join(f"word{at}" for at in pick.integers(0, 3000, 12)) for _ in range(n)]})


def test_long_texts_are_sparse():
    encoder = TableEncoder()
    features = encoder.fit_transform(texts())
    assert sp.issparse(features) and features.format == "csr" and features.dtype == np.float32
    assert features.shape == (400, len(encoder.get_feature_names_out()))
    np.testing.assert_array_equal(features.toarray(), encoder.transform(texts()).toarray())
    with pytest.raises(ValueError, match="sparse"):
        TableEncoder().set_output(transform="pandas").fit_transform(texts())


def test_pipelines_copies_and_pickles():
    table = mixed_table()
    labeler = make_pipeline(TableEncoder(), HarmonicClassifier(n_neighbors=5)).fit(table, LABELS)
    assert (labeler[-1].transduction_ == np.where(SIDE == 1, "large", "small")).all()
    assert (labeler.predict(table[::-1]) == labeler.predict(table)[::-1]).all()
    again = pickle.loads(pickle.dumps(labeler))
    assert (again.predict(table) == labeler.predict(table)).all()
    found = cross_validate(clone(labeler), table, LABELS, cv=3)
    assert found["test_score"].mean() == 1.0
    assert clone(TableEncoder("off", n_jobs=1)).get_params() == {"standardize": "off", "n_jobs": 1}


def test_classifiers_say_where_columns_become_numbers():
    with pytest.raises(ValueError, match=r"use lapwing\.prepare\.TableEncoder in a pipeline, or lapwing\.label_frame, or leave them out"):
        HarmonicClassifier().fit(mixed_table(), LABELS)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_and_frames_have_the_same_recipe(ending, tmp_path):
    table = pd.read_csv(TABLES / "messy.csv")
    path = tmp_path / f"table.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    call = [program(), "label", path, "--label-column", "y", "-o", tmp_path / "out.csv", "--model", tmp_path / "model", "--quiet"]
    subprocess.run(call, check=True, capture_output=True)
    model = load_model(tmp_path / "model")
    encoder = TableEncoder().fit(table.drop(columns="y"), table["y"])
    assert encoder.recipe_ == json.loads(model._recipe)
    labels = label_frame(table, "y")["label"]
    assert (labels.to_numpy() == pd.read_csv(tmp_path / "out.csv")["label"].to_numpy()).all()


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
    assert confidence.dtype == np.float64 and (confidence > 0.4).all() and reached.all()


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
