"""Tables as people have them as features: numbers, categories, dates, texts, truth values and gaps, all in one scale.

>>> import pandas as pd
>>> from lapwing.prepare import TableEncoder
>>> table = pd.DataFrame({"plan": ["free", "team", None, "free"], "since": pd.to_datetime(["2023-10-05", "2023-03-01"] * 2)})
>>> TableEncoder().fit(table).get_feature_names_out().tolist()
['plan_free', 'plan_team', 'plan_missing', 'since_month', 'since_weekday', 'since_seconds']
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from . import _lapwing
from ._containers import as_label_array
from ._control import Self, run_control
from ._inputs import features_from
from ._kinds import refuse_other_kinds
from ._labels import class_labels
from ._parameters import NamedParameters, documented, documented_like
from ._tables import ReadAs, Table, apply_recipe, array_table, as_table, fit_options, is_table
from ._warnings import warn_of

__all__ = ["TableEncoder"]


@documented
class TableEncoder(NamedParameters, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns the columns of a table into features that can be compared, as ``lapwing label`` does with files.

    What is done with a column is decided from its cells, kept in `recipe_`, and repeated on new rows:

    ================================  ==================================================================================
    column                            becomes
    ================================  ==================================================================================
    numbers                           themselves; scaled if there are other kinds of columns, or units differ; if scaled,
                                      by their logarithm where they spread over orders of magnitude
    truth values                      one column
    texts of up to 30 levels          a column for each level; one in all if the levels have a known order
    lists of words                    weights of their entries (TF-IDF)
    texts of more levels              weights of their runs of two to four characters (TF-IDF)
    longer texts                      weights of their terms (TF-IDF), sparse
    dates                             year, month, weekday, time of day, seconds
    lists of numbers                  themselves, divided by one number
    missing cells                     what the other numbers of the row tell, else the median (a level of their own among
                                      levels); and a mark in an extra column
    constant columns, numbers and     nothing
    names of the rows
    ================================  ==================================================================================

    Parameters
    ----------
    standardize : {"auto", "on", "off"}, default="auto"
        Whether numbers are scaled. On: to mean 0 and deviation 1. Auto: to one width, if there are other kinds of columns or the
        numbers are in different units; where the numbers alone do not tell, it asks the labels.
    n_jobs : int, default=None
        Threads; None and -1 take all processors.
    read_as : dict, default=None
        What columns are read as, by their names, where their cells tell something else: "number", "text" (levels, if there are few),
        "day-first" or "month-first", such as ``{"zip": "text"}``.

    Notes
    -----
    New tables need the columns that are used, found by their names, in any order; others are not read. A level that the fit did not
    have gives a warning if its column had at most 30 levels, as does a gap in a column without any.

    Data frames are read through Arrow's interface, without copies where their memory has its form. pandas needs pyarrow for that; without
    it, columns are copied. The index of pandas is no column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.prepare import TableEncoder
    >>> flowers = pd.DataFrame({"petal_mm": [14, 15, None, 13, 50, 52, 47, 51], "color": ["blue", "violet"] * 4})
    >>> known = ["setosa", None, None, None, "virginica", None, None, None]
    >>> labeler = make_pipeline(TableEncoder(), HarmonicClassifier(n_neighbors=2)).fit(flowers, known)
    >>> labeler.predict(pd.DataFrame({"color": ["blue"], "petal_mm": [49]})).tolist()
    ['virginica']
    """

    recipe_: Annotated[dict[str, Any], """dict
        What is done with each column, as in model files and in the output of ``lapwing describe --json``."""]
    description_: Annotated[list[dict[str, Any]], """list of dict
        For each column its `name`, `kind`, `n_missing`, and what is `done` with it; `n_distinct` and `values` where they tell something."""]
    scaling_: Annotated[str | None, """str or None
        Why numbers are scaled, if they are."""]
    n_features_in_: Annotated[int, """int
        Number of columns."""]
    feature_names_in_: Annotated[NDArray[np.object_], """ndarray of shape (`n_features_in_`,)
        Names of the columns; only if X had string names for all."""]

    def __init__(
        self,
        standardize: Literal["auto", "on", "off"] = "auto",
        n_jobs: int | None = None,
        read_as: Mapping[str, ReadAs] | None = None,
    ) -> None:
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.read_as = read_as

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what is done with each column.

        Parameters
        ----------
        X : data frame, Arrow table or array of shape (n_samples, n_columns)
            A data frame of pandas or polars, an Arrow table, a relation of DuckDB, or anything else with ``__arrow_c_stream__``; or an
            array, whose columns are called x0, x1 and so on.
        y : array-like of shape (n_samples,), default=None
            Labels, with -1, None or NaN in rows that have none. They help to decide on scaling where the numbers alone do not tell.

        Returns
        -------
        self
            The encoder, fitted.
        """
        self._fit(X, y)
        return self

    @documented_like(fit)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The same as ``fit(X, y).transform(X)``, in one pass over the table.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features)
            Features, as :meth:`transform` returns them.
        """
        return self._fit(X, y)

    def transform(self, X: Any) -> Any:
        """Features of new rows.

        Parameters
        ----------
        X : data frame, Arrow table or array of shape (m, n_columns)
            A table that has the columns of the fit by their names, or an array of as many columns.

        Returns
        -------
        ndarray or csr_array of shape (m, n_features)
            Sparse if there are longer texts. In single precision, or in double if the numbers of the fit were.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        return features_from(apply_recipe(json.dumps(self.recipe_), table, run_control(self.n_jobs, 0)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features: those of the columns, followed by the level, the part of the date, or a number.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Other names for the columns of an array; for a table, its own.

        Returns
        -------
        ndarray of shape (n_features,), str
            A name for each feature.
        """
        check_is_fitted(self)
        columns = self.recipe_["columns"]
        if input_features is not None or hasattr(self, "feature_names_in_"):
            given = _check_feature_names_in(self, input_features)
            columns = [{**column, "name": str(name)} for column, name in zip(columns, given, strict=True)]
        names = _lapwing.recipe_names(json.dumps({**self.recipe_, "columns": columns}))[0]
        return np.asarray(_distinct(names), dtype=object)

    def _fit(self, X: Any, y: Any) -> Any:
        options = fit_options(None, self.read_as, self.standardize)
        table = self._table(X, reset=True)
        prepared = _lapwing.fit_table(table.source, table.titles("X"), options, _codes(y), run_control(self.n_jobs, 0))
        features, recipe, description, found = prepared
        self.recipe_ = json.loads(recipe)
        self._keep_description(json.loads(description))
        if is_table(X):
            self._keep_names(table.has_names)
        warn_of(json.loads(found))
        return features_from(features)

    def _keep_names(self, has_names: bool) -> None:
        """The columns of a table, as scikit-learn keeps them."""
        self._by_name = True
        self.n_features_in_ = len(self.recipe_["columns"])
        self.__dict__.pop("feature_names_in_", None)
        if has_names:
            self.feature_names_in_ = np.array([column["name"] for column in self.recipe_["columns"]], dtype=object)

    def _keep_description(self, description: dict[str, Any]) -> None:
        self.scaling_ = description["scaling"]
        self.description_ = description["columns"]
        for column in self.description_:
            if isinstance(column["kind"], dict):
                ((kind, more),) = column["kind"].items()
                column["kind"] = f"{kind} ({more})"

    def _table(self, X: Any, reset: bool) -> Table:
        """X as a table whose columns have the names of the fit."""
        if is_table(X):
            table = as_table(X)
            if reset or self._by_name:
                return table
            return Table(table.source, [f"x{at}" for at in range(self.n_features_in_)], table.has_names)
        refuse_other_kinds(X, "X", "TableEncoder takes tables")
        least = 2 if reset else 1
        rows = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
        if reset:
            self._by_name = False
        if reset or not self._by_name:
            return array_table(rows, [f"x{at}" for at in range(self.n_features_in_)])
        return array_table(rows, [column["name"] for column in self.recipe_["columns"]])


def _codes(y: Any) -> NDArray[np.int32] | None:
    """Class of each row, -1 without; None if there are no labels, or no classes but values or shares."""
    if y is None:
        return None
    labels = as_label_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        return None
    try:
        return class_labels(labels).codes
    except ValueError:
        return None


def _distinct(names: list[str]) -> list[str]:
    """The names, with a number behind those that repeat an earlier one."""
    seen: set[str] = set()
    out = []
    for name in names:
        new, number = name, 0
        while new in seen:
            number += 1
            new = f"{name}.{number}"
        seen.add(new)
        out.append(new)
    return out
