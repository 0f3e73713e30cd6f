"""Tables as features."""

import datetime
import json
import pickle
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from frames import FRAMES, LABELS, N, RNG, SIDE, TABLES, mixed_table, program
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from lapwing import HarmonicClassifier, label_frame, load_model
from lapwing.model_selection import Transductive
from lapwing.prepare import TableEncoder


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
    with pytest.raises(ValueError, match="X: no column tells rows apart: each is empty or constant, or names or counts the rows"):
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
    with pytest.warns(UserWarning, match="column 'city': 4 cells hold a level that the fit did not have, first 'Oslo'") as caught:
        encoder.transform(new)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="column 'größe'|column 'member'"):
        encoder.transform(table.iloc[:4].assign(member=pd.array([None, True, False, True], dtype="boolean")))
    with pytest.raises(ValueError, match="X: no column 'width'; did you mean 'widht'"):
        encoder.transform(table.rename(columns={"width": "widht"}))
    with pytest.raises(ValueError, match="X: 1 column with cells of another kind than in the fit: 'width'"):
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
    rows = np.flatnonzero([label is not None for label in LABELS])
    assert cross_val_score(Transductive(clone(labeler), table), rows, np.array(LABELS)[rows], cv=3).mean() == 1.0
    assert clone(TableEncoder("off", n_jobs=1)).get_params() == {"standardize": "off", "n_jobs": 1, "read_as": None}


def test_columns_are_read_as_they_are_asked_for():
    table = pd.DataFrame({"zip": [1067, 4109, 1067, 9111] * 5, "day": ["03.04.2024", "05.06.2024"] * 10, "x": np.arange(20.0) ** 2})
    encoder = TableEncoder(read_as={"zip": "text", "day": "month-first"})
    names = encoder.fit(table).get_feature_names_out().tolist()
    assert names[:3] == ["zip_1067", "zip_4109", "zip_9111"]
    plain = TableEncoder().fit(table).get_feature_names_out().tolist()
    assert plain[0] == "zip"
    month = encoder.set_params(standardize="off").fit_transform(table)[:, names.index("day_month")]
    assert len(set(month.tolist())) == 2 and clone(encoder).fit(table).recipe_ == encoder.recipe_
    assert (encoder.transform(table.iloc[:2]) == encoder.transform(table)[:2]).all()
    labeled, model = label_frame(table.assign(y=["a", None] * 10), "y", read_as={"zip": "text"}, return_estimator=True)
    assert labeled["label"].notna().all() and "read_as={'zip': 'text'}" in model._call
    with pytest.raises(ValueError, match=r"read_as\['zip'\] is 'word'; expected one of number, text"):
        TableEncoder(read_as={"zip": "word"}).fit(table)
    with pytest.raises(ValueError, match="'zap'"):
        TableEncoder(read_as={"zap": "text"}).fit(table)
    with pytest.raises(TypeError, match="read_as must be a dict"):
        TableEncoder(read_as=["zip"]).fit(table)


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
