"""The rows of a fit, kept for pictures and pages; the page of a fit."""

from __future__ import annotations

import html
import json
import os
import re
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _lapwing
from ._base import Problem
from ._containers import as_label_array
from ._labels import class_labels, class_names


@dataclass
class FittedRows:
    """The rows of a fit. Arrays are those of the caller where the fit used them in place."""

    problem: Problem
    known: NDArray[np.bool_]
    """Rows whose label or value was given."""
    codes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Given class of each row, negative for none; empty for values."""
    labels: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Class of each row at the end; empty for values."""
    graph: Any = None
    """The graph of the rows, kept by the compiled part."""
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Given value of each row, NaN for none; empty for classes."""
    weights: NDArray[np.float64] | None = None
    """Trust in the values."""

    @property
    def features(self) -> Any:
        """The features, None if the fit had a graph alone."""
        return self.problem.rows["features"]

    def graph_of(self, report: dict[str, Any], control: dict[str, Any]) -> Any:
        """The graph of the fit: kept, given, or built again; None if the method has none."""
        if self.graph is None and self.problem.rows["graph"] is not None:
            self.graph = _lapwing.HeldGraph(self.problem.rows["graph"])
        if self.graph is None and report["graph"] is not None and self.features is not None:
            self.graph = _lapwing.HeldGraph.build(self.features, self.problem.graph, control)
        return self.graph


class Page:
    """A page that was written. Notebooks show it in place, or one of its figures by heading: ``page["Reliability"]``."""

    def __init__(self, text: str) -> None:
        self.html = text

    @classmethod
    def written(cls, path: str) -> Page:
        """The page in this file."""
        return cls(Path(path).read_text(encoding="utf-8"))

    def __getitem__(self, heading: str) -> Page:
        found = re.finditer(r"<figure .*?<h2>(.*?)</h2>.*?</figure>", self.html, re.DOTALL)
        figures = {html.unescape(figure[1]): figure[0] for figure in found}
        if heading not in figures:
            raise ValueError(f"the page has no figure {heading!r}; its figures are {', '.join(figures)}")
        return Page(f"{self.html.partition('<body>')[0]}<body>\n{figures[heading]}\n</body>\n</html>\n")

    def _repr_html_(self) -> str:
        # A frame keeps the styles of page and notebook apart.
        grow = "this.style.height = this.contentDocument.documentElement.scrollHeight + 'px'"
        style = "width: 100%; height: 40em; border: 0"
        return f'<iframe srcdoc="{html.escape(self.html)}" onload="{grow}" style="{style}"></iframe>'


def page_path(path: str | PathLike[str]) -> str:
    """The path of a page; ValueError for another ending."""
    target = os.fspath(path)
    if not target.endswith((".html", ".htm")):
        raise ValueError(f"path is {target!r}; expected a name that ends in .html")
    return target


def as_row_names(names: ArrayLike | None, n_samples: int) -> list[str] | None:
    """The names of the rows as texts."""
    if names is None:
        return None
    texts = [str(name) for name in column_or_1d(np.asarray(names))]
    if len(texts) != n_samples:
        raise ValueError(f"row_names has {len(texts)} names; expected one for each row, {n_samples}")
    return texts


class KeepsRows:
    """Mixin of the estimators that label rows: pages and pictures are made of the rows of the fit."""

    _fitted_rows: FittedRows | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Rows, their graph, and what later calls on them need may be larger than all else together: they are not pickled.
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_fitted_rows", "_state")}

    def _rows_of_fit(self) -> FittedRows:
        check_is_fitted(self)
        if self._fitted_rows is None:
            raise ValueError(
                f"this {type(self).__name__} holds no rows: it comes from a file, a pickle or a copy; fit again"
            )
        return self._fitted_rows


class WritesPage(KeepsRows):
    """Mixin of the classifiers: a page about the fit."""

    _call: str | None = None
    """The expression that fits again, if it is not `fit`."""

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
        rows, control = self._rows_of_fit(), self._control()  # type: ignore[attr-defined]
        target, row_names = page_path(path), as_row_names(row_names, len(rows.codes))
        names, truth = self._true_codes(y_true, len(rows.codes))
        report, seed = self.report_, getattr(self, "random_state", None)  # type: ignore[attr-defined]
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
            "shares": np.ascontiguousarray(self.label_distributions_),  # type: ignore[attr-defined]
            "confidence": np.ascontiguousarray(self.confidence_),  # type: ignore[attr-defined]
            "reached": np.ascontiguousarray(self.reached_),  # type: ignore[attr-defined]
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
        classes = self.classes_  # type: ignore[attr-defined]
        if y_true is None:
            return class_names(classes), None
        truth = column_or_1d(as_label_array(y_true))
        if truth.shape[0] != n_samples:
            raise ValueError(f"y_true has {truth.shape[0]} rows; expected one per row of the fit, {n_samples}")
        found = class_labels(truth, self.unlabeled, known=classes)  # type: ignore[attr-defined]
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
