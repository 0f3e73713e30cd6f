"""Data frames in, data frames out: one call that labels the rows of a table."""

from __future__ import annotations

import difflib
import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from . import _lapwing
from ._arguments import choice
from ._auto import AutoLabeler
from ._classifier import SpreadingClassifier
from ._containers import as_label_array
from ._control import Seed, run_control
from ._inputs import features_from
from ._labels import ClassLabels, class_labels
from ._model_file import classifiers
from ._tables import ReadAs, as_table, fit_options, is_table, refuse_columns
from ._warnings import scaling_is_settled, warn_of

#: The names that ``lapwing label --method`` takes.
Method = Literal[
    "auto", "harmonic", "sparse-harmonic", "low-rank", "anchor", "nystrom", "glnp", "lapsvm", "laprls", "unfolded-gnn",
    "eigenfunction", "subsampling", "simple-harmonic", "nearest-label", "linear", "forest", "majority",
]  # fmt: skip
#: Names that a message about an unknown one lists.
MOST_LISTED = 20


def label_frame(
    df: Any,
    target: Any,
    *,
    columns: list[str] | None = None,
    graph: Any = None,
    method: Method = "auto",
    estimator: SpreadingClassifier | None = None,
    read_as: Mapping[str, ReadAs] | None = None,
    standardize: Literal["auto", "on", "off"] = "auto",
    unlabeled: Any = None,
    names: tuple[str, str, str] = ("label", "confidence", "reached"),
    random_state: Seed = 0,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    return_estimator: bool = False,
) -> Any:
    """Label every row of a table in which some rows have a label.

    All other columns are turned into features as :class:`lapwing.prepare.TableEncoder` does, and a classifier spreads the labels.

    Parameters
    ----------
    df : data frame or Arrow table
        A data frame of pandas or polars, an Arrow table, a relation of DuckDB, or another object with ``__arrow_c_stream__``.
    target : str
        The column of the labels: texts, integers, truth values or categories. Rows in which it is missing, empty or -1 have no label.
        Texts that differ only in spaces, case, composition of letters, a point at the end or decimals of zeros are one class, in the
        usual spelling, with a warning.
    columns : list of str, default=None
        The columns to use; None takes all but the target and those that tell nothing. Named columns are used even if they name the rows.
    graph : sparse matrix of shape (n_rows, n_rows), Graph or tuple, default=None
        The graph of the rows, as in ``fit`` of the classifiers; None builds it from the columns.
    method : str, default="auto"
        The method, by the name that ``lapwing label --method`` takes: "auto", "harmonic", "sparse-harmonic", "low-rank", "anchor",
        "nystrom", "glnp", "lapsvm", "laprls", "unfolded-gnn", "eigenfunction", "subsampling", "simple-harmonic", "nearest-label",
        "linear", "forest" or "majority".
    estimator : classifier of lapwing, default=None
        A classifier with parameters of its own instead of `method`. It is cloned; `unlabeled`, `random_state` and `verbose` are those it
        has.
    read_as : dict, default=None
        What columns are read as, by their names, as in :class:`~lapwing.prepare.TableEncoder`: "number", "text", "day-first" or
        "month-first", such as ``{"zip": "text"}``.
    standardize : {"auto", "on", "off"}, default="auto"
        Whether numbers are scaled, as in :class:`~lapwing.prepare.TableEncoder`.
    unlabeled : object, default=None
        A value of the target that marks rows without a label, besides missing ones; then -1 is a class.
    names : tuple of three str, default=("label", "confidence", "reached")
        Names of the new columns.
    random_state : int, RandomState instance or None, default=0
        Seed of what is drawn at random.
    n_jobs : int, default=None
        Threads; None and -1 take all processors.
    verbose : int or bool, default=0
        1 writes to standard error what is done with each column, the time of each phase, and the expected accuracy.
    return_estimator : bool, default=False
        Whether to return the fitted classifier as well.

    Returns
    -------
    labeled : data frame or Arrow table
        `df` with three more columns: the label of every row in the type of the target, the share of that class in what is expected
        of the row, and whether any label reaches it. pandas in, pandas out, with the same index; polars in, polars out; otherwise an
        Arrow table.
    estimator : classifier
        Only with ``return_estimator=True``: the classifier. It knows the expected accuracy
        (``expected_accuracy_``), writes a page (``report``), and labels the rows of another table with these columns (``predict``), also from a
        file (:func:`~lapwing.save_model`).

    Raises
    ------
    TypeError
        If `df` is no table.
    ValueError
        If there is no such column, no label, or no column that tells rows apart.

    Examples
    --------
    >>> import pandas as pd
    >>> import lapwing
    >>> flowers = pd.DataFrame({
    ...     "petal_mm": [14, 15, 16, 13, 50, 52, 47, 51],
    ...     "color": ["blue", "blue", None, "violet", "violet", "violet", "blue", "violet"],
    ...     "species": ["setosa", None, None, None, "virginica", None, None, None],
    ... })
    >>> labeled, model = lapwing.label_frame(flowers, "species", return_estimator=True)
    >>> labeled["label"].tolist()
    ['setosa', 'setosa', 'setosa', 'setosa', 'virginica', 'virginica', 'virginica', 'virginica']
    >>> model.predict(pd.DataFrame({"petal_mm": [17, 49], "color": ["violet", "blue"]})).tolist()
    ['setosa', 'virginica']
    """
    frame = frame_of(df)
    refuse_unknown(frame, target, columns, names)
    clf = _classifier(method, estimator, unlabeled, random_state, n_jobs, verbose)
    control = run_control(n_jobs, 0)
    y = frame.values(target)
    labels = _labels(y, clf, target)
    written = labels.codes
    if (merged := _merged(y, labels)) is not None:
        y, written = merged
        labels = _labels(y, clf, target)
    features, recipe = _features(frame, target, fit_options(columns, read_as, standardize), labels, graph, clf, control, bool(verbose))
    try:
        with scaling_is_settled():
            clf.fit(features, y, graph=graph)
    except ValueError as error:
        raise (ValueError(f"column {target!r}: {error}") if len(labels.classes) < 2 else error) from error
    if verbose and isinstance(clf, AutoLabeler):
        _tell(f"method with the largest weight: {clf.report_['chosen']['method']}")
    if verbose and getattr(clf, "expected_accuracy_", None) is not None:
        value, low, high = clf.expected_accuracy_
        _tell(f"expected accuracy: {value:.0%} ({low:.0%} to {high:.0%})")
    rows = _examples(clf, replace(labels, codes=np.where(written < 0, np.int32(-1), labels.codes)))
    new = zip(names, (rows, clf.confidence_, clf.reached_), strict=True)
    labeled = frame.with_columns(target, dict(new))
    if not return_estimator:
        return labeled
    if recipe is not None:
        clf._prepare_by(recipe)
    given = {"columns": columns, "method": method, "estimator": estimator, "read_as": read_as, "standardize": standardize}
    given |= {"unlabeled": unlabeled}
    known = {name: parameter.default for name, parameter in inspect.signature(label_frame).parameters.items()}
    options = [f"{name}={value!r}" for name, value in given.items() if value is not known[name]]
    graphs = [] if graph is None else ["graph=graph"]
    clf._call = f"label_frame(df, {', '.join([repr(target), *options, *graphs, f'random_state={random_state!r}'])})"
    return labeled, clf


def _classifier(
    method: str, estimator: Any, unlabeled: Any, random_state: Any, n_jobs: int | None, verbose: int | bool
) -> Any:
    """The unfitted classifier."""
    if estimator is not None:
        if not isinstance(estimator, SpreadingClassifier):
            raise TypeError(f"estimator is a {type(estimator).__name__}; expected a classifier of lapwing")
        if unlabeled is not None:
            raise ValueError("unlabeled is given beside estimator; set it in the estimator")
        return clone(estimator)
    kind = classifiers()[choice("method", method, get_args(Method))]
    wanted = {"unlabeled": unlabeled, "random_state": random_state, "n_jobs": n_jobs, "verbose": verbose}
    # The features are scaled already.
    wanted |= {"scaling": "off"} if kind is AutoLabeler else {}
    wanted |= {"factor": method} if method in ("anchor", "nystrom", "glnp") else {}
    known = kind().get_params(deep=False)
    return kind(**{name: value for name, value in wanted.items() if name in known})


def _labels(y: NDArray[Any], clf: Any, target: Any) -> ClassLabels:
    try:
        return class_labels(y, getattr(clf, "unlabeled", None))
    except ValueError as error:
        raise ValueError(f"column {target!r}: {error}") from error


def _merged(y: NDArray[Any], labels: ClassLabels) -> tuple[NDArray[Any], NDArray[np.int32]] | None:
    """The labels with each class in its usual spelling, as files of labels are read, and the codes of the rows that have it, -1 in others;
    None if no class has several spellings. Warns of them.
    """
    names = labels.classes.tolist()
    if not all(isinstance(name, str) for name in names):
        return None
    counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(names))
    found, warnings = _lapwing.usual_labels(names, counts.tolist())
    warn_of(json.loads(warnings))
    usual = np.array(found, np.int32)
    if (usual == np.arange(len(names))).all():
        return None
    codes = np.where(labels.codes < 0, np.int32(-1), usual[labels.codes])
    y = y.copy()
    y[codes >= 0] = labels.classes[codes[codes >= 0]]
    return y, np.where(codes == labels.codes, codes, np.int32(-1))


def _features(
    frame: Any,
    target: Any,
    options: dict[str, Any],
    labels: ClassLabels,
    graph: Any,
    clf: Any,
    control: dict[str, Any],
    is_verbose: bool,
) -> tuple[Any, str | None]:
    """The features of the rows, and how they were made of the columns; None where a graph stands for them."""
    stands = clf._takes_graph_as == "X"
    if graph is not None and (stands or len(frame.names) == 1):
        return None, None
    table = as_table(frame.without(target), "df")
    prepared = _lapwing.fit_table(table.source, table.titles("df"), options, labels.codes, control)
    features, recipe, description, found = prepared
    warn_of(json.loads(found))
    if is_verbose:
        told = json.loads(description)
        for column in told["columns"]:
            _tell(f"{column['name']}: {column['done']}")
        if told["scaling"]:
            _tell(told["scaling"])
    return features_from(features), recipe


def _tell(text: str) -> None:
    print(f"[lapwing] {text}", file=sys.stderr)


def _examples(clf: Any, labels: ClassLabels) -> NDArray[np.int64]:
    """For each row a row whose given label is the one found for it; -1 where none is."""
    given, first = np.unique(labels.codes, return_index=True)
    example = np.full(len(labels.classes), -1, np.int64)
    example[given[given >= 0]] = first[given >= 0]
    if getattr(clf, "abstain", False):
        found = class_labels(clf.transduction_, clf._marker, known=labels.classes)
        places = np.searchsorted(labels.classes, found.classes)
        return np.where(found.codes < 0, -1, example[places[found.codes]])
    rows: NDArray[np.int64] = example[np.searchsorted(labels.classes, clf.transduction_)]
    return rows


def refuse_unknown(frame: Any, target: Any, columns: list[str] | None, names: tuple[str, str, str]) -> None:
    """Raise an error for a target that is no column, or new names that are taken."""
    known = frame.names
    if target not in known:
        near = difflib.get_close_matches(str(target), [str(name) for name in known], 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        listed = ", ".join(str(name) for name in known[:MOST_LISTED])
        listed += f", … ({len(known)} in all)" if len(known) > MOST_LISTED else ""
        raise ValueError(f"df: no column {target!r}{hint} The columns are: {listed}")
    if known.count(target) > 1:
        raise ValueError(f"df: two columns are named {target!r}; rename one")
    if isinstance(columns, str):
        raise TypeError(f"columns is {columns!r}; expected a list of names, as [{columns!r}]")
    if columns is not None and target in columns:
        raise ValueError(f"columns holds {target!r}, the target; expected features only")
    if isinstance(names, str) or len(names) != 3 or len(set(names)) != 3:
        raise ValueError(f"names is {names!r}; expected three different names, for label, confidence and reached")
    taken = [name for name in names if name in known]
    if taken:
        raise ValueError(f"df has a column {taken[0]!r} already; give names=(…, …, …) for the new columns")


def frame_of(df: Any) -> Any:
    """The adapter for a table."""
    if not is_table(df):
        raise TypeError(f"df is a {type(df).__name__}; expected a data frame of pandas or polars, or an Arrow table")
    refuse_columns(df, "df")
    if hasattr(df, "iloc"):
        return _PandasFrame(df, list(df.columns))
    if type(df).__module__.partition(".")[0] == "polars":
        return _PolarsFrame(df, list(df.columns))
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("label_frame returns an Arrow table, for which it needs pyarrow") from error
    table = df if isinstance(df, pyarrow.Table) else pyarrow.table(df)
    return _ArrowFrame(table, list(table.column_names))


@dataclass
class _Frame:
    df: Any
    names: list[Any]

    def values(self, target: Any) -> NDArray[Any]:
        return as_label_array(self.df[target])


class _PandasFrame(_Frame):
    def without(self, target: Any) -> Any:
        return self.df.loc[:, [name != target for name in self.names]]

    def with_columns(self, target: Any, new: dict[str, Any]) -> Any:
        from pandas.api.extensions import take

        name, *others = new
        rows, column = new[name], self.df[target]
        has_gaps = bool((rows < 0).any())
        if not isinstance(column.dtype, np.dtype):
            found: Any = column.array.take(rows, allow_fill=has_gaps)
        else:
            found = take(column.to_numpy(), rows, allow_fill=has_gaps)
            if column.dtype.kind == "f" and not has_gaps:
                # Whole numbers are floats only because others are missing.
                found = found.astype(np.int64)
        return self.df.assign(**{name: found, **{other: new[other] for other in others}})


class _PolarsFrame(_Frame):
    def without(self, target: str) -> Any:
        return self.df.drop(target)

    def with_columns(self, target: str, new: dict[str, Any]) -> Any:
        import polars

        name, *others = new
        rows = polars.Series([None if row < 0 else row for row in new[name].tolist()], dtype=polars.Int64)
        series = [self.df[target].gather(rows).alias(name)]
        return self.df.with_columns(series + [polars.Series(other, new[other]) for other in others])


class _ArrowFrame(_Frame):
    def without(self, target: str) -> Any:
        return self.df.drop_columns([target])

    def with_columns(self, target: str, new: dict[str, Any]) -> Any:
        import pyarrow

        name, *others = new
        rows = pyarrow.array(new[name], mask=new[name] < 0)
        table = self.df.append_column(name, self.df[target].take(rows))
        for other in others:
            table = table.append_column(other, pyarrow.array(new[other]))
        return table
