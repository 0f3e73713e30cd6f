"""Common parts of the classifiers: labels in, labels of new rows out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from os import PathLike
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._arguments import integer
from ._base import FittedRows, GraphEstimator, Problem, Spreads
from ._containers import as_label_array
from ._control import Self
from ._labels import class_labels, class_names, default_marker, label_warnings, unlabeled_mask, with_marker
from ._pages import Page, as_row_names, page_path
from ._parameters import documented_like
from ._rows import are_batches, as_file, each, is_file
from ._shared import GivenLabels, given_labels
from ._warnings import warn_of
from .metrics import share_right


class ExpectedAccuracy(NamedTuple):
    """Accuracy that rows without a label are expected to have, and the ends of its 90 % interval."""

    value: float
    low: float
    high: float


def expected_accuracy(report: dict[str, Any]) -> ExpectedAccuracy | None:
    """The expected accuracy in the report of a fit; None if no label was held out."""
    part = report["parts"].get("expected_accuracy")
    return part and ExpectedAccuracy(part["value"], part["low"], part["high"])


#: What a fit knows of its own rows.
_OF_ROWS = ("transduction_", "label_distributions_", "scores_", "confidence_", "reached_", "certified_", "score_radius_")


class SpreadingClassifier(Spreads, ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Base of the classifiers that label the rows of the fit and new rows."""

    transduction_: Annotated[NDArray[Any], """ndarray of shape (n_samples,)
        Label of every row of the fit."""]
    label_distributions_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples, n_classes)
        Shares of the classes; rows are finite and sum to 1. The prior in rows that no label reaches."""]
    scores_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples, n_classes)
        Scores before any normalizing; NaN in rows that no label reaches."""]
    confidence_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        Share of the chosen class in the label distribution."""]
    expected_accuracy_: Annotated[ExpectedAccuracy | None, """tuple (value, low, high), or None
        Accuracy that rows without a label are expected to have, and its 90 % interval, from labels that were held out; None with
        fewer than two labels a class, where holding out would cost too much, and where labels were held to given class sizes after
        they had been held out. ``report_["parts"]`` has more in
        ``"expected_accuracy"``, ``"reliability"`` and ``"confidence"``."""]
    classes_: Annotated[NDArray[Any], """ndarray of shape (n_classes,)
        Distinct given labels, ascending; 0..c−1 for soft labels."""]

    _keeps_rows: ClassVar[bool] = False
    """Whether model files have all rows of the fit, with their scores."""
    _reads_blocks: ClassVar[bool] = True
    """Whether files and batches hold rows."""
    _call: str | None = None
    """The expression that fits again, if it is not `fit`."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, graph: Any, validation: Any = None) -> Self:
        if self._reads_blocks and getattr(self, "affinity", "knn") == "knn" and (is_file(X) or are_batches(X)):
            others = {"graph": graph, "validation": validation, "prior": getattr(self, "prior", None)}
            return self._fit_in_blocks(X, y, sample_weight, [name for name, given in others.items() if given is not None])
        problem = self._begin(X, y, graph)
        labels = given_labels(y, problem.n_samples, self.unlabeled, sample_weight)
        extras = self._extras(labels, validation) | self._prior_argument(problem, X, graph, labels)
        self._solve(problem, labels, extras)
        self.report_["warnings"] += label_warnings(self.classes_, self.unlabeled)
        self._warn()
        return self

    def _fit_in_blocks(self, X: Any, y: Any, sample_weight: Any, others: list[str]) -> Self:
        """Fit to the rows of a file, or of batches; `others` are further inputs, which have no place there."""
        if others or y is None:
            wrong = f"{others[0]} needs rows in memory" if others else "y is None; expected labels, or the name of their column"
            raise ValueError(f"X is read in blocks: {wrong}")
        column = y if isinstance(y, str) else None
        if column is not None and sample_weight is not None:
            raise ValueError("sample_weight needs y as an array, not as the name of a column")
        labels = None if column is not None else given_labels(y, len(as_label_array(y)), self.unlabeled, sample_weight)
        marker = None if self.unlabeled is None else str(self.unlabeled)
        with as_file(X) as path:
            return self._fit_stream((path, column, marker), labels, self._problem())

    def _fit_stream(self, rows: Any, labels: GivenLabels | None, problem: Problem) -> Self:
        """Fit to rows that are not held, and keep the model alone."""
        extras = {"keeps_graph": False, "fit_rows": self._fitted_row_count(), **self._stream_extras()}
        argument, weights = (None, None) if labels is None else (labels.argument, labels.weights)
        fitted: dict[str, Any] = _lapwing.fit_rows(
            problem.method, problem.parameters, rows, argument, weights, extras, problem.control
        )
        self.classes_ = np.asarray(fitted["classes"]) if labels is None else labels.classes
        self._marker = default_marker(self.classes_) if labels is None else labels.marker
        self.n_features_in_ = fitted["n_features"]
        if fitted["names"] is not None:
            self.feature_names_in_ = np.asarray(fitted["names"], dtype=object)
        self._fitted_rows, self._call = None, None
        self._keep(problem, fitted)
        if fitted["recipe"] is not None:
            self._prepare_by(fitted["recipe"])
        for name in _OF_ROWS:
            self.__dict__.pop(name, None)
        self.expected_accuracy_ = expected_accuracy(self.report_)
        self.report_["warnings"] += label_warnings(self.classes_, self.unlabeled)
        self._warn()
        return self

    def _stream_extras(self) -> dict[str, Any]:
        """Inputs of the method besides rows that are not held, labels and parameters."""
        return {"standardize": True}

    def plan(self, X: Any, y: Any = None) -> dict[str, Any]:
        """Memory and passes of a fit, known before it starts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, or tuple (n_samples, n_features)
            The rows, the file that holds them, or their numbers alone.
        y : array-like of shape (n_samples,), default=None
            Labels, which tell the number of classes; None for two.

        Returns
        -------
        dict
            `plan` (`peak_bytes` of memory, `n_edges` of the graph, `passes` over the rows, and its `steps`), `available_bytes` of
            memory that is free now, and `fit_rows`: the rows to fit, None for all. That is `fit_rows` of this estimator, or the number that
            ``fit`` of a file would choose if a fit of all needs more memory than is free; the plan is that of all rows then.

        Notes
        -----
        Reads the header of an array or of a Parquet file; counts the lines of a text.
        """
        n_classes, n_labeled = 2, 0
        if y is not None:
            codes = class_labels(as_label_array(y), self.unlabeled).codes
            n_classes, n_labeled = int(codes.max(initial=0)) + 1, int((codes >= 0).sum())
        rows = os.fspath(X) if is_file(X) else tuple(X) if isinstance(X, tuple) else np.shape(X)
        problem = self._problem(quiet=True)
        counts = (rows, n_classes, n_labeled, self._fitted_row_count())
        planned: dict[str, Any] = json.loads(_lapwing.plan(problem.method, problem.parameters, counts, problem.control["threads"]))
        return planned

    def _solve(self, problem: Problem, labels: GivenLabels, extras: dict[str, Any]) -> dict[str, Any]:
        """Fit, and store what was found."""
        extras = {"keeps_graph": self._keeps_graph, "fit_rows": self._fitted_row_count(), **extras}
        fitted: dict[str, Any] = _lapwing.fit_classifier(
            problem.method, problem.parameters, problem.rows, labels.argument, labels.weights, extras, problem.control
        )
        self.classes_, self._marker = labels.classes, labels.marker
        self._keep_labeling(fitted)
        ends = np.where(fitted["reached"] | (not self.abstain), fitted["labels"].astype(np.int32), -1).astype(np.int32)
        self._fitted_rows, self._call = FittedRows(problem, labels.codes >= 0, labels.codes, ends, fitted["graph"]), None
        self._keep(problem, fitted)
        self.expected_accuracy_ = expected_accuracy(self.report_)
        return fitted

    def _fitted_row_count(self) -> int | None:
        """The number of rows to fit; None for all."""
        given = getattr(self, "fit_rows", None)
        count = None if given is None else integer("fit_rows", given)
        if count is not None and count < 1:
            raise ValueError(f"fit_rows is {count}; expected an integer of at least 1, or None")
        return count

    def _extras(self, labels: GivenLabels, validation: Any) -> dict[str, Any]:
        """Inputs of the method besides rows, labels and parameters."""
        return {}

    def _prior_argument(self, problem: Problem, X: Any, graph: Any, labels: GivenLabels) -> dict[str, Any]:
        """Where the fit starts: the prior, for a method that takes one."""
        return {}

    @documented_like(Spreads.predict)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes for new rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares in the order of `classes_`; rows sum to 1.
        """
        return each(lambda rows: self._apply(rows)["label_distributions"], X)

    def predict_to(
        self,
        X: Any,
        path: str | PathLike[str],
        *,
        probabilities: bool = False,
        keep: bool | Sequence[str] = False,
    ) -> dict[str, Any]:
        """Label new rows in blocks, and write their labels to a file: memory does not grow with the rows.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or path
            New rows: an array, which may be mapped from a file, or the name of a file that ``lapwing predict`` reads in blocks
            (``.npy``, ``.parquet``, ``.csv``, also packed, ``.arrow``, ``.jsonl``), of a folder, or a pattern such as
            ``"part-*.parquet"``.
        path : str or path-like
            Where the labels go: ``.csv``, ``.parquet`` or ``.npy``, with the columns `row`, `label`, `confidence`, `reached`, and
            `certified` if the model certifies; or a folder, for a folder of ``.parquet``. Files are written completely or not at all.
        probabilities : bool, default=False
            Whether each class has a column with its share.
        keep : bool or sequence of str, default=False
            Columns of a table that are written before the labels, in the place of row numbers; True for all.

        Returns
        -------
        dict
            `n_samples`, `n_unreached` (rows that no label reaches) and `warnings`.

        Notes
        -----
        Labels are those of `predict`, bit for bit.
        """
        check_is_fitted(self)
        if not self._model.takes_features:
            raise ValueError("a classifier fitted on a graph has no features to compare new rows with")
        rows = os.fspath(X) if isinstance(X, (str, PathLike)) else self._new_features(X)
        columns = None if keep is False else [] if keep is True else [str(name) for name in keep]
        options = (probabilities, columns, not self.abstain)
        if columns is not None and not isinstance(rows, str):
            raise ValueError("keep needs X in a file with named columns")
        report: dict[str, Any] = json.loads(
            self._model.predict_to(rows, self._names(), os.fspath(path), options, self._control())
        )
        warn_of(report["warnings"])
        return {name: report[name] for name in ("n_samples", "n_unreached", "warnings")}

    def _names(self) -> dict[str, Any]:
        """What a model file has beside the model."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "method": self._method,
            "classes": stored_classes(self.classes_),
            "feature_names": None if names is None else [str(name) for name in names],
            "recipe": self._recipe,
            "id": self._id,
        }

    def _score_of(self, predicted: NDArray[Any], y: Any, sample_weight: Any) -> float:
        truth = as_label_array(y)
        return share_right(truth, predicted, ~unlabeled_mask(truth, self.unlabeled, self.classes_), sample_weight)

    def _predicted(self, X: Any, graph: Any = None) -> NDArray[Any]:
        return each(lambda rows: self._decode(self._apply(rows, graph)), X)

    def _apply(self, X: Any, graph: Any = None) -> dict[str, Any]:
        """Labels of new rows, or of the nodes of a graph."""
        check_is_fitted(self)
        if is_file(X):
            raise TypeError(f"X is the name {os.fspath(X)!r}; predict_to(X, path) labels the rows of files")
        if not self._model.takes_features:
            return self._model.label(self._weighted_mean(X), self._control(quiet=True))
        return self._model.predict(self._new_features(X), self._new_graph(graph), self._control())

    def _keep_labeling(self, labeling: dict[str, Any]) -> None:
        self.scores_ = labeling["scores"]
        self.reached_ = labeling["reached"]
        self.label_distributions_ = labeling["label_distributions"]
        self.confidence_ = labeling["confidence"]
        self.transduction_ = self._decode(labeling)

    def _restore(self, parts: dict[str, Any]) -> None:
        """Restore the parts of a model file."""
        self._model = parts["model"]
        self.classes_ = np.asarray(parts["classes"])
        self._marker = default_marker(self.classes_)
        self.n_features_in_ = parts["n_features"]
        self._recipe, self._id = parts["recipe"], parts["id"]
        if parts["feature_names"] is not None:
            # A recipe makes several features of one column, or none.
            self.n_features_in_ = len(parts["feature_names"])
            self.feature_names_in_ = np.asarray(parts["feature_names"], dtype=object)
        if self._keeps_rows:
            self._keep_labeling(self._model.label(None, self._control(quiet=True)))
        self._keep_parts()

    @classmethod
    def _parameters_of(cls, parts: dict[str, Any]) -> dict[str, Any]:
        """The parameters that a model file has stored."""
        names = cls._declared if cls._keeps_rows else ("metric", "zero_rows")
        return {name: value for name, value in (parts["graph"] or {}).items() if name in names}

    def _decode(self, labeling: dict[str, Any]) -> NDArray[Any]:
        labels = self.classes_[labeling["labels"]]
        return with_marker(labels, ~labeling["reached"], self._marker) if self.abstain else labels

    def report(
        self,
        path: str | PathLike[str],
        *,
        y_true: Any = None,
        title: str | None = None,
        row_names: ArrayLike | None = None,
    ) -> Page:
        """Write a page about the fit: what was done, how sure the labels are, and what to do next.

        The page shows the rows in two dimensions, class sizes, confidence and its reliability, rows to label next, labels to
        doubt, the rows that are least certain, and how the fit can be done again. It is one HTML file of about a megabyte,
        which loads nothing and follows the reader's light or dark mode; ``lapwing label --report`` writes the same page. Rows
        that are small square images, of 8 x 8 to 64 x 64 values of at least 0, are shown as such.

        Parameters
        ----------
        path : str or path-like
            The file, ending in ``.html``. It is written completely or not at all.
        y_true : array-like of shape (n_samples,), default=None
            True labels where they are known, with the marker elsewhere. Adds the accuracy on rows whose label was not
            given, and which classes are taken for which.
        title : str, default=None
            Heading of the page; None is the number of rows.
        row_names : array-like of shape (n_samples,), default=None
            Names of the rows, all different. None numbers them from 0.

        Returns
        -------
        Page
            What was written, which notebooks show in place; ``page["Confidence"]`` is one of its figures alone, by its heading.

        Raises
        ------
        ValueError
            If the estimator comes from a file, a pickle or a copy: these hold no rows.

        Notes
        -----
        Needs the features or the graph of the fit, which the estimator keeps without a copy. The picture is a layout of the graph, in
        O(edges) time; a graph that the method did not keep is built again.
        """
        rows, control = self._rows_of_fit(), self._control()
        target, row_names = page_path(path), as_row_names(row_names, len(rows.codes))
        names, truth = self._true_codes(y_true, len(rows.codes))
        report, seed = self.report_, getattr(self, "random_state", None)
        texts = {
            "title": title or f"{len(rows.codes):,} rows",
            "command": self._command(rows),
            "seed": int(seed) if isinstance(seed, (int, np.integer)) else None,
            "report": json.dumps({name: value for name, value in report.items() if name != "warnings"}),
            "warnings": [warning["text"] for warning in report["warnings"]],
        }
        outcome = {
            "names": names,
            "given": rows.codes,
            "labels": rows.labels,
            "shares": np.ascontiguousarray(self.label_distributions_),
            "confidence": np.ascontiguousarray(self.confidence_),
            "reached": np.ascontiguousarray(self.reached_),
            "truth": truth,
            "row_names": row_names,
        }
        graph = rows.graph_of(report, control)
        tol = float(getattr(self, "tol", None) or 1e-6)
        _lapwing.fit_page(target, texts, outcome, rows.features, graph, tol, control)
        return Page.written(target)

    def _command(self, rows: FittedRows) -> str:
        """The expression that fits again."""
        if self._call is not None:
            return self._call
        has_both = rows.features is not None and rows.problem.rows["graph"] is not None
        return f"{self.__repr__(N_CHAR_MAX=10**6)}.fit(X, y{', graph=graph' if has_both else ''})"  # type: ignore[call-arg]

    def _true_codes(self, y_true: Any, n_samples: int) -> tuple[list[int] | list[str], NDArray[np.int32] | None]:
        """Names of the classes, then of those that only the truth has, and the true class of each row, negative if unknown."""
        classes = self.classes_
        if y_true is None:
            return class_names(classes), None
        truth = column_or_1d(as_label_array(y_true))
        if truth.shape[0] != n_samples:
            raise ValueError(f"y_true has {truth.shape[0]} rows; expected one per row of the fit, {n_samples}")
        found = class_labels(truth, self.unlabeled, known=classes)
        given, is_text = found.classes, isinstance(classes[0], str)
        if len(given) and isinstance(given[0], str) != is_text:
            kinds = ("texts", "numbers") if is_text else ("numbers", "texts")
            raise TypeError(f"the classes of the fit are {kinds[0]}, but y_true holds {kinds[1]}; expected labels of one kind")
        if is_text:
            classes, given = classes.astype(str), given.astype(str)
        if np.result_type(classes, given).kind == "f" != classes.dtype.kind:
            # Integers with and without a sign have no common type that holds all of them.
            classes, given = classes.astype(object), given.astype(object)
        names = np.concatenate([classes, np.setdiff1d(given, classes)])
        order = np.argsort(names)
        of_given = np.append(order[np.searchsorted(names[order], given)], -1)
        return class_names(names), of_given[found.codes].astype(np.int32)


def stored_classes(classes: Any) -> list[int] | list[str]:
    kind = classes.dtype.kind
    if kind in "iuf" or all(type(name) is int for name in classes.tolist()):
        names = [int(name) for name in classes.tolist()]
        if all(-(2**63) <= name < 2**63 for name in names):
            return names
        raise ValueError(f"a model file holds whole numbers of 64 bits as classes, not {max(names, key=abs)}; fit to texts (astype(str))")
    if kind == "U" or all(isinstance(name, str) for name in classes):
        return [str(name) for name in classes]
    raise TypeError(f"a model file holds integer or string classes, not {classes.dtype}")
