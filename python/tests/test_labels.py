"""Labels of every type, and their markers."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from datasets import two_islands

from lapwing import HarmonicClassifier
from lapwing._labels import class_labels, unlabeled_mask
from lapwing.baselines import NearestLabelClassifier
from lapwing.exceptions import UnreachedWarning

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
    np.testing.assert_array_equal(unlabeled_mask(["-1", "b", " ", "NaN"]), [True, False, True, True])
    np.testing.assert_array_equal(unlabeled_mask(["-1", "b", ""], 7), [False, False, True])
    np.testing.assert_array_equal(unlabeled_mask(np.array([b"-1", b"b", b""])), [True, False, True])
    np.testing.assert_array_equal(unlabeled_mask([True, False], 1), [False, False])
    np.testing.assert_array_equal(unlabeled_mask([-1.0, np.nan, 2.0]), [True, True, False])
    np.testing.assert_array_equal(unlabeled_mask(["a", None, pd.NA, -1, 1], "a"), [True, True, True, False, False])


@pytest.mark.parametrize("case", json.loads(CASES.read_text()), ids=lambda case: "|".join(case["texts"]))
@pytest.mark.parametrize("convert", [list, np.array, pd.Series, lambda texts: np.array(texts, dtype=object)])
def test_texts_are_read_as_the_program_reads_them(case, convert):
    texts, unlabeled = convert(case["texts"]), case.get("unlabeled")
    found = class_labels(texts, unlabeled)
    given = [None if code < 0 else str(found.classes[code]).strip() for code in found.codes]
    assert given == case["labels"]


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
