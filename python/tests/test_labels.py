"""Labels of every type, and their markers."""

import json
import uuid
import warnings
from collections import deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from datasets import two_islands

from lapwing import HarmonicClassifier, label_frame, load_model, save_model
from lapwing._containers import as_label_array
from lapwing._labels import class_labels, label_warnings, unlabeled_mask
from lapwing.baselines import NearestLabelClassifier
from lapwing.exceptions import UnreachedWarning
from lapwing.metrics import accuracy_on_unlabeled, accuracy_score
from lapwing.model_selection import Transductive

#: What the readers of the program are tested by, too.
CASES = Path(__file__).parents[2] / "tests" / "golden" / "labels.json"

X = np.arange(12, dtype=np.float64).reshape(-1, 1)
KNOWN = {0: "a", 5: "b", 11: "a"}


def with_labels(fill, names=("a", "b")):
    to_name = dict(zip(("a", "b"), names, strict=True))
    return [to_name[KNOWN[row]] if row in KNOWN else fill for row in range(12)]


@pytest.mark.parametrize(
    "y",
    [
        with_labels(None),
        with_labels(np.nan),
        np.array(with_labels(None), dtype=object),
        pd.Series(with_labels(None)),
        pd.Series(with_labels(None), dtype="string"),
        pd.Series(with_labels(None), dtype="category"),
        pl.Series(with_labels(None)),
    ],
    ids=["list", "nan", "object", "pandas", "pandas-string", "category", "polars"],
)
def test_text_labels(y):
    clf = HarmonicClassifier(3).fit(X, y)
    assert list(clf.classes_) == ["a", "b"]
    assert [clf.transduction_[row] for row in KNOWN] == list(KNOWN.values())
    assert clf.predict([[4.9]])[0] == "b"
    assert clf.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (with_labels(-1, (3, 7)), [3, 7]),
        (np.array(with_labels(-1, (3, 7)), dtype=np.int8), [3, 7]),
        (with_labels(np.nan, (3, 7)), [3, 7]),
        (with_labels(None, (3, 7)), [3, 7]),
        (with_labels(None, (False, True)), [False, True]),
        (pd.Series(with_labels(None, (3, 7)), dtype="Int64"), [3, 7]),
        (pl.Series(with_labels(None, (3, 7))), [3, 7]),
    ],
    ids=["-1", "int8", "nan", "none", "bool", "Int64", "polars"],
)
def test_number_labels(y, classes):
    clf = HarmonicClassifier(3).fit(X, y)
    np.testing.assert_array_equal(clf.classes_, classes)
    assert [clf.transduction_[row] for row in KNOWN] == [dict(a=classes[0], b=classes[1])[k] for k in KNOWN.values()]



def test_a_text_that_may_be_a_marker_is_a_class_with_a_warning():
    X = np.arange(40.0).reshape(-1, 1)
    y = np.array(["a", "b", *["?"] * 38], dtype=object)
    text = r"'\?' is used as a class; if it marks rows without a label, pass unlabeled='\?'"
    with pytest.warns(UserWarning, match=text):
        clf = NearestLabelClassifier().fit(X, y)
    assert clf.report_["warnings"][-1]["kind"] == "not-as-given"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = NearestLabelClassifier(unlabeled="?").fit(X, y)
    assert clf.classes_.tolist() == ["a", "b"]


def test_markers_of_ones_own():
    clf = HarmonicClassifier(3, unlabeled="?").fit(X, with_labels("?"))
    assert list(clf.classes_) == ["a", "b"]
    clf = HarmonicClassifier(3, unlabeled=0).fit(X, with_labels(0, (-1, 1)))
    assert list(clf.classes_) == [-1, 1]


@pytest.mark.parametrize(
    ("labels", "unlabeled", "expected"),
    [
        (["a", None, "b"], None, None),
        (["a", None, "b"], "?", None),
        (["a", "?", "b"], "?", "?"),
        ([4, -1, 5], None, -1),
        ([4, 99, 5], 99, 99),
        ([True, None, False], None, None),
        (np.array([4, -1, 5], dtype=np.float32), None, np.nan),
    ],
)
def test_abstaining_gives_the_marker(labels, unlabeled, expected):
    fill = labels[1]
    y = [labels[0], labels[2]] + [fill] * 58
    with pytest.warns(UnreachedWarning):
        clf = HarmonicClassifier(3, unlabeled=unlabeled, abstain=True).fit(two_islands(), y)
    if isinstance(expected, float):
        assert np.isnan(clf.transduction_[30:].astype(float)).all()
    elif unlabeled == "?" and fill is None:
        assert set(clf.transduction_[30:]) == {"?"}
    else:
        assert set(clf.transduction_[30:]) == {expected}
    assert set(clf.transduction_[:30]) == {labels[0], labels[2]}


def test_mask_compares_like_with_like():
    np.testing.assert_array_equal(unlabeled_mask(["-1", "b", "c", "-1.0"]), [True, False, False, True])
    np.testing.assert_array_equal(unlabeled_mask(["-1", "b", ""], 7), [False, False, True])
    np.testing.assert_array_equal(unlabeled_mask(np.array([b"NA", b"b", b""])), [False, False, True])
    np.testing.assert_array_equal(unlabeled_mask(["None", "b", "NaT"]), [True, False, True])
    np.testing.assert_array_equal(unlabeled_mask(["None", "b", "nan"], classes=np.array(["None", "b"])), [False, False, True])
    np.testing.assert_array_equal(unlabeled_mask([True, False], 1), [False, False])
    np.testing.assert_array_equal(unlabeled_mask([-1.0, 0.0, 2.0]), [True, False, False])
    np.testing.assert_array_equal(unlabeled_mask(["a", None, pd.NA, -1, 1], "a"), [True, True, True, False, False])
    np.testing.assert_array_equal(unlabeled_mask([-1, pd.NaT, np.datetime64("NaT"), np.ma.masked, Decimal("NaN")], -1), [True] * 5)
    np.testing.assert_array_equal(unlabeled_mask([-1, 3, 4], np.nan), [False] * 3)


@pytest.mark.parametrize("case", json.loads(CASES.read_text()), ids=lambda case: "|".join(case["texts"]))
@pytest.mark.parametrize("convert", [list, np.array, pd.Series, lambda texts: np.array(texts, dtype=object)])
def test_texts_are_read_as_the_program_reads_them(case, convert):
    texts, unlabeled = convert(case["texts"]), case.get("unlabeled")
    found = class_labels(texts, unlabeled)
    given = [None if code < 0 else str(found.classes[code]).strip() for code in found.codes]
    assert given == case.get("in_files", case["labels"])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "string"])
def test_missing_labels_of_pandas_are_none(dtype):
    known = {"string": ("3", "7")}.get(dtype, (3, 7))
    y = pd.Series(with_labels(pd.NA, known), dtype=dtype)
    assert unlabeled_mask(y).sum() == 9
    assert list(HarmonicClassifier(3).fit(X, y).classes_) == list(known)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([0.5] * 12, "continuous"),
        (with_labels(1.5, ("a", "b")), "a mixture of float, str"),
        ([-1] * 12, "no row has a label"),
        ([None] * 12, "no row has a label"),
        ([0, 1] * 7, "y has 14 rows; expected one per row of X, 12"),
        (np.full((12, 2), 0.7), "row 0 of soft labels"),
    ],
)
def test_unusable_labels(y, text):
    with pytest.raises(ValueError, match=text):
        HarmonicClassifier(3).fit(X, y)


def test_one_class_is_a_warning():
    y = np.full(12, -1)
    y[3] = 8
    with pytest.warns(UserWarning, match="one class"):
        clf = HarmonicClassifier(3).fit(X, y)
    assert set(clf.transduction_) == {8}


def categories(values):
    return pd.Categorical(values, categories=sorted({value for value in values if value is not None}, reverse=True))


def masked(values):
    filled = [values[0] if value is None else value for value in values]
    return np.ma.array(np.array(filled, np.uint64 if is_beyond(values) else None), mask=[value is None for value in values])


def is_beyond(values):
    return any(isinstance(value, int) and value >= 2**63 for value in values)


def arrow(values):
    return pa.array(values, type=pa.uint64() if is_beyond(values) else None)


def nullable(values):
    dtypes = {str: "string", bool: "boolean", int: "UInt64" if is_beyond(values) else "Int64"}
    return pd.array(values, dtype=dtypes[type(values[0])])


LARGE = 2**60
#: Containers of labels, made of cells that are None where there is no label.
CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "deque": deque,
    "NaN in a list": lambda values: [np.nan if value is None else value for value in values],
    "masked cells of a list": lambda values: [np.ma.masked if value is None else value for value in values],
    "NA in a list": lambda values: [pd.NA if value is None else value for value in values],
    "NaT in a list": lambda values: [pd.NaT if value is None else value for value in values],
    "empty texts in a list": lambda values: ["" if value is None else value for value in values],
    "scalars of Arrow": lambda values: list(arrow(values)),
    "array of objects": lambda values: np.array(values, dtype=object),
    "masked array": masked,
    "series of objects": lambda values: pd.Series(values, dtype=object),
    "nullable series": lambda values: pd.Series(nullable(values)),
    "Arrow-backed series": lambda values: pd.Series(pd.arrays.ArrowExtensionArray(arrow(values))),
    "index": lambda values: pd.Index(values, dtype=object),
    "array of pandas": nullable,
    "categories": categories,
    "series of categories": lambda values: pd.Series(categories(values)),
    "column of a frame": lambda values: pd.DataFrame({"y": categories(values)}),
    "nullable column of a frame": lambda values: pd.DataFrame({"y": nullable(values)}),
    "polars": lambda values: pl.Series(values),
    "column of polars": lambda values: pl.DataFrame({"y": values}),
    "Arrow": arrow,
    "pieces of Arrow": lambda values: pa.chunked_array([arrow(values)[:2], arrow(values)[2:]]),
    "dictionary of Arrow": lambda values: arrow(values).dictionary_encode(),
    "column of Arrow": lambda values: pa.table({"y": arrow(values)}),
}
VALUES = {
    "texts": ["b", "a", "c"],
    "texts of numbers": ["07", "7", "+7"],
    "numbers": [3, 7, 5],
    "large numbers": [LARGE + 1, LARGE + 2, 5],
    "numbers beyond 63 bits": [2**63 + 1, 2**63 + 2, 5],
    "truth values": [True, False, True],
    "-1": [-1, 0, 1],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_has_the_same_labels(container, values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = CONTAINERS[container]([values[0], None, values[1], values[2], None, values[0]])
        found = class_labels(made)
    assert found.classes.tolist() == sorted(set(values))
    given = [None if code < 0 else found.classes.tolist()[code] for code in found.codes]
    assert given == [values[0], None, values[1], values[2], None, values[0]]
    if container != "NaN in a list":
        assert {type(label) for label in found.classes.tolist()} == {type(values[0])}
    assert bool(label_warnings(found.classes, None)) == (-1 in values)


@pytest.mark.parametrize("convert", [list, np.array, pd.Series, pl.Series, pa.array, pd.Categorical, masked, categories])
@pytest.mark.parametrize(("marker", "values"), [(-1, [3, 7, 5]), ("-1", ["a", "b", "c"]), ("NA", ["a", "b", "c"]), ("", ["a", "b", "c"])])
def test_markers_among_labels_of_one_type(convert, marker, values):
    found = class_labels(convert([values[0], marker, *values[1:]]))
    assert found.classes.tolist() == sorted(values) and (found.codes < 0).tolist() == [False, True, False, False]


def test_other_types_of_labels():
    identifiers = [uuid.UUID(int=value) for value in (5, 3)]
    for given, expected in [
        ([Decimal(2**60 + 1), None, Decimal(3), Decimal("NaN")], [3, 2**60 + 1]),
        ([Fraction(4, 2), None, 3], [2, 3]),
        ([2**100 + 1, None, 2**100 + 2], [2**100 + 1, 2**100 + 2]),
        ([-1, 2**63 + 1, 2**63 + 2], [2**63 + 1, 2**63 + 2]),
        ([1.0, 2**60 + 1, None], [1, 2**60 + 1]),
        ([True, float("nan"), False], [False, True]),
        ([*identifiers, None], sorted(identifiers)),
        ([b"cat", b"", b"d\xc3\xb6g"], ["cat", "d\xf6g"]),
        (np.array([b"cat", b"", b"dog"]), ["cat", "dog"]),
        (pl.Series([2**100 + 1, None, 2**100 + 2], dtype=pl.Int128), [2**100 + 1, 2**100 + 2]),
        (pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"])), ["a", "b"]),
        (pd.Series(pd.arrays.SparseArray([1, 0, 2])), [0, 1, 2]),
        ({"x": 3, "y": 4}.values(), [3, 4]),
    ]:
        assert class_labels(given).classes.tolist() == expected, given


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (pd.Series(pd.to_datetime(["2020-01-01", None])), "dates"),
        ([pd.Timestamp("2020-01-01"), None], "dates"),
        (np.array([1, 2], dtype="timedelta64[s]"), "dates"),
        (pl.Series([1, None]).cast(pl.Date), "dates"),
        ([True, 2, None], "a mixture of bool, int"),
        ([b"\xff", b"a"], "no text in UTF-8"),
        (pd.cut([1, 2, 3], 2), r"Interval; .*\[str\(label\) for label in y\]"),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), r"y\['name'\]"),
    ],
)
def test_labels_that_are_no_classes_say_what_to_give(y, text):
    with pytest.raises(ValueError, match=text):
        class_labels(y)


@pytest.mark.parametrize("y", ["abc", {"row": 3}, {3, 4}, pl.LazyFrame({"y": [1]})])
def test_what_has_no_order_of_rows_is_refused(y):
    with pytest.raises(TypeError, match=f"y is a {type(y).__name__}"):
        as_label_array(y)


@pytest.mark.parametrize("convert", [np.array, pd.Series, lambda y: pd.Series(y).astype("Int64"), lambda y: [None if v != v else int(v) for v in y]])
def test_minus_one_beside_another_marker_is_a_class_with_a_warning(convert):
    y = np.full(12, np.nan)
    y[[0, 6, 11]] = [-1, 0, 1]
    with pytest.warns(UserWarning, match="-1 is used as a class, because .*unlabeled=-1"):
        clf = HarmonicClassifier(3).fit(X, convert(y))
    assert clf.classes_.tolist() == [-1, 0, 1] and clf.report_["warnings"][-1]["kind"] == "not-as-given"
    # A score takes it for a class where no other row lacks a label.
    assert clf.score(X[[0, 6]], [-1, 0]) == 1.0 and clf.score(X[[0, 6]], [0, 0]) == 0.5
    assert accuracy_on_unlabeled([-1, 0, 1, -1], [-1, 0, 1, 1], convert(np.array([-1, 0, np.nan, np.nan]))) == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two = HarmonicClassifier(3, unlabeled=-1).fit(X, convert(y))
    assert two.classes_.tolist() == [0, 1]
    # Labels that are added keep the class; a marker removes one.
    assert clf.add_labels([3], [-1]).classes_.tolist() == [-1, 0, 1]
    assert clf.add_labels([0, 3], [None, None]).classes_.tolist() == [0, 1]


def test_labels_that_look_the_same_are_named():
    y = with_labels(None, ("new york", "new\u00a0york"))
    with pytest.warns(UserWarning, match=r"classes 'new york' and 'new\\xa0york' look the same.*str.strip"):
        clf = NearestLabelClassifier().fit(X, y)
    assert len(clf.classes_) == 2 and clf.report_["warnings"][-1]["kind"] == "unusual-cells"
    for twins in (["cat", "cat "], ["e\u0301t\u00e9", "\u00e9te\u0301"], ["a  b", "a\tb"]):
        assert [found["kind"] for found in label_warnings(np.unique(np.array(twins, dtype=object)), None)] == ["unusual-cells"]
    assert label_warnings(np.array(["ab", "a b", "Ab"]), None) == []


def test_numbers_that_were_rounded_before_are_named():
    y = np.array([2.0**60, 2.0**60 + 256, np.nan] * 4)
    with pytest.warns(UserWarning, match="at least 9007199254740992, which may have become equal"):
        NearestLabelClassifier().fit(X, y)


@pytest.mark.parametrize("convert", [sp.csr_array, sp.coo_matrix, sp.dok_array, pd.DataFrame, pl.DataFrame, lambda shares: shares.tolist()])
def test_shares_of_any_container(convert):
    shares = np.zeros((12, 2))
    shares[0], shares[11] = [1, 0], [0.25, 0.75]
    expected = HarmonicClassifier(3).fit(X, shares)
    found = HarmonicClassifier(3).fit(X, convert(shares))
    np.testing.assert_array_equal(found.scores_, expected.scores_)


def test_rounded_shares_are_scaled_and_others_refused():
    shares = np.zeros((12, 3))
    shares[0], shares[11] = [0.333, 0.333, 0.333], [0.1, 0.9, 0]
    exact = shares / np.maximum(shares.sum(axis=1), 0.5)[:, None]
    found = HarmonicClassifier(3).fit(X, shares)
    np.testing.assert_allclose(found.scores_, HarmonicClassifier(3).fit(X, exact).scores_, atol=1e-9)
    with pytest.raises(ValueError, match="row 0 of soft labels.*divide each row by its sum"):
        HarmonicClassifier(3).fit(X, shares * 0.9)


def test_answers_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="y_true holds numbers, but y_pred texts"):
        accuracy_score([0, 1], ["0", "1"])
    with pytest.raises(TypeError, match="y_true holds texts, but y_pred numbers"):
        accuracy_score(["0", "1"], np.array([0, 1]))
    assert accuracy_score(["a", "b"], np.array(["a", None], dtype=object)) == 0.5
    assert accuracy_score([0, 1], np.array([0, None], dtype=object)) == 0.5


@pytest.mark.parametrize("kind", ["category", "Int64"])
def test_a_table_keeps_large_classes(kind):
    rng = np.random.default_rng(0)
    y = pd.Series([LARGE + 1, LARGE + 2] + [None] * 28, dtype="Int64").astype(kind)
    table = pd.DataFrame(rng.normal(size=(30, 2)) + [[0.0, 0.0], [9.0, 9.0]] * 15, columns=["p", "q"]).assign(y=y)
    assert label_frame(table, "y")["label"].tolist() == [LARGE + 1, LARGE + 2] * 15


@pytest.mark.parametrize("y", [np.array([0.0, 1, -1] * 20), np.array(["a", "b", "-1"] * 20), np.array([0, 1, -1] * 20, dtype=object)])
def test_hidden_labels_make_no_class_of_a_marker(y):
    rows = (np.tile([0.0, 100, 0], 20) + np.arange(60)).reshape(-1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Transductive(HarmonicClassifier(3), rows).fit(np.flatnonzero(np.arange(60) % 3 < 2), y[np.arange(60) % 3 < 2])
    assert len(model.estimator_.classes_) == 2


def test_models_hold_classes_of_64_bits(tmp_path):
    for classes in ([2**63 - 1, 2**63 - 2], [2**63 + 1, 5], [uuid.UUID(int=5), uuid.UUID(int=6)]):
        clf = NearestLabelClassifier().fit(X, with_labels(None, classes))
        assert clf.transduction_[0] == classes[0] and clf.predict(X[11:])[0] == classes[0]
        if max(map(int, classes)) == 2**63 - 1:
            save_model(clf, tmp_path / "m")
            assert load_model(tmp_path / "m").classes_.tolist() == sorted(classes)
            continue
        with pytest.raises((TypeError, ValueError), match="a model file holds"):
            save_model(clf, tmp_path / "m")
