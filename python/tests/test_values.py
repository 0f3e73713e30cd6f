"""Values of regressions of every type, and their markers."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lapwing import HarmonicRegressor, LaplacianRidgeRegressor, UnfoldedGNNRegressor
from lapwing._targets import are_continuous, marker_warnings, target_values

X = np.arange(12, dtype=np.float64).reshape(-1, 1)
CELLS = [0.5, None, 2.0, None, 7.5]
EXPECTED = [0.5, np.nan, 2.0, np.nan, 7.5]

CONTAINERS = {
    "list": CELLS,
    "NaN": EXPECTED,
    "NA": [pd.NA if cell is None else cell for cell in CELLS],
    "masked array": np.ma.array([0.5, 9.0, 2.0, 9.0, 7.5], mask=[0, 1, 0, 1, 0]),
    "masked cells": [np.ma.masked if cell is None else cell for cell in CELLS],
    "array of objects": np.array(CELLS, dtype=object),
    "decimals": [None if cell is None else Decimal(str(cell)) for cell in CELLS],
    "decimals that are no number": [Decimal("NaN") if cell is None else Decimal(str(cell)) for cell in CELLS],
    "texts": ["0.5", "", "2", "NA", " 7.5 "],
    "series": pd.Series(CELLS),
    "nullable series": pd.Series(CELLS, dtype="Float64"),
    "Arrow-backed series": pd.Series(CELLS, dtype="double[pyarrow]"),
    "categories": pd.Categorical(CELLS),
    "column of a frame": pd.DataFrame({"y": pd.array(CELLS, dtype="Float64")}),
    "polars": pl.Series(CELLS),
    "decimals of polars": pl.Series([None if cell is None else Decimal(str(cell)) for cell in CELLS]),
    "Arrow": pa.array(CELLS),
    "decimals of Arrow": pa.array([None if cell is None else Decimal(str(cell)) for cell in CELLS]),
    "pieces of Arrow": pa.chunked_array([CELLS[:2], CELLS[2:]]),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_has_the_same_values(container):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = target_values(CONTAINERS[container])
    np.testing.assert_array_equal(found.reshape(-1), EXPECTED)
    assert are_continuous(CONTAINERS[container]) or container == "texts"


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "int64[pyarrow]"])
def test_whole_values_with_gaps(dtype):
    np.testing.assert_array_equal(target_values(pd.Series([3, None, 5], dtype=dtype)), [3.0, np.nan, 5.0])


@pytest.mark.parametrize("regressor", [HarmonicRegressor, LaplacianRidgeRegressor, UnfoldedGNNRegressor])
def test_what_is_under_a_mask_does_not_count(regressor):
    y = np.full(12, np.nan)
    y[[0, 6, 11]] = [1.0, 2.0, 4.0]
    expected = regressor(n_neighbors=3, random_state=0).fit(X, y).transduction_
    masked = np.ma.array(np.where(np.isnan(y), 1e9, y), mask=np.isnan(y))
    np.testing.assert_array_equal(regressor(n_neighbors=3, random_state=0).fit(X, masked).transduction_, expected)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(pd.to_timedelta([1.0, None], unit="D")),
        pd.Series(pd.to_datetime(["2024-01-01", None])),
        np.array([1, "NaT"], dtype="timedelta64[h]"),
        [pd.Timestamp("2024-01-01"), pd.NaT],
        pl.Series([1, None]).cast(pl.Duration),
        pa.array([1, None], type=pa.timestamp("ns")),
    ],
    ids=["durations", "dates", "array", "list", "polars", "Arrow"],
)
@pytest.mark.parametrize("regressor", [HarmonicRegressor, LaplacianRidgeRegressor, UnfoldedGNNRegressor])
def test_dates_and_durations_say_how_to_make_numbers(regressor, y):
    with pytest.raises(ValueError, match=r"y holds dates or durations; .*numpy.timedelta64\(1, 'D'\)"):
        regressor().fit(X[:2], y)


@pytest.mark.parametrize("y", [["high", 1.0], [1.0, object()], np.array(["1.0", "x"])])
def test_what_is_no_number_is_named(y):
    with pytest.raises(ValueError, match=r"y holds .* in row [01]; expected numbers, NaN where unknown"):
        target_values(y)


@pytest.mark.parametrize(
    ("y", "is_doubtful"),
    [
        ([1.5, 2.25, -1, -1, 3.0], True),
        ([-1] * 5 + [20, 31], True),
        ([-0.3, 0.8, -1.0, -1.0, -2.5], True),
        ([-1, -1, 0, 0, 2, 2], True),
        ([-1] * 4, True),
        ([-1, -1, 1, 1, 1], False),
        ([-1, -1, 0.5, np.nan], False),
        ([-1, 0.5, 2.5], False),
        ([-3, -2, -2, -1, -1, 0, 1], False),
        ([0.0, 1.0], False),
        ([], False),
    ],
)
def test_minus_one_for_unknown_values_is_doubted(y, is_doubtful):
    values = np.asarray(y, dtype=np.float64)
    assert [found["kind"] for found in marker_warnings(values, None)] == ["not-as-given"] * is_doubtful
    assert marker_warnings(values, -1) == marker_warnings(values, np.nan) == []


def test_regressors_say_so():
    y = np.full(12, -1.0)
    y[[0, 6, 11]] = [1.5, 2.0, 4.0]
    with pytest.warns(UserWarning, match="9 of 12 values are -1, and none is NaN.*unlabeled=-1"):
        found = HarmonicRegressor(n_neighbors=3).fit(X, y)
    assert found.report_["warnings"][-1]["kind"] == "not-as-given"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = HarmonicRegressor(n_neighbors=3, unlabeled=-1).fit(X, y)
    np.testing.assert_array_equal(named.transduction_, HarmonicRegressor(n_neighbors=3).fit(X, np.where(y == -1, np.nan, y)).transduction_)


def test_a_marker_of_values_is_one_as_number_and_as_text():
    for marker in (-999, "-999"):
        for y in (["1.5", "-999"], [1.5, -999], np.array([1.5, -999.0]), np.array(["1.5", "-999"], dtype=object)):
            np.testing.assert_array_equal(target_values(y, marker), [1.5, np.nan])
    np.testing.assert_array_equal(target_values([1.0, pd.NaT, 2.0]), [1.0, np.nan, 2.0])
