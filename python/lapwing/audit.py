"""Which of the given labels are probably wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _lapwing
from ._control import Callback, Seed, run_control
from ._labels import class_names, label_warnings, with_marker
from ._pages import Page, as_row_names, page_path
from ._parameters import documented_by
from ._shared import GivenLabels, Rows, given_labels, rows_of
from ._signatures import AUDIT_PARAMETERS
from ._warnings import warn_of

__all__ = ["Audit", "ValueAudit", "audit"]


@dataclass
class _AuditedRows:
    """The rows of an audit, for its page. Features are those of the caller."""

    held: _lapwing.HeldAudit
    codes: NDArray[np.int32]
    features: Any


@dataclass(repr=False)
class Audit:
    """What an audit found, for every row. Printed, it is a summary.

    Attributes
    ----------
    quality : ndarray of shape (n_samples,)
        Share of the given class by scores that did not see the label, in [0, 1]; NaN where nothing was judged.
    given, proposed : ndarray of shape (n_samples,)
        The given label, and the class of largest share; for rows without a label the predicted one. The marker of
        unlabeled rows where there is none.
    flagged : ndarray of shape (n_samples,), bool
        Whether the label is probably wrong: another class has the largest share, and at least the mean share that members of
        that class give it.
    judged : ndarray of shape (n_samples,), bool
        Whether the label could be judged: not if it is the only one of its class, or of its component.
    leverage : ndarray of shape (n_samples,)
        How much each label decides the score of its own row, in [0, 1); NaN without a label.
    reached : ndarray of shape (n_samples,), bool
        Whether any label reaches the row.
    duplicate_group : ndarray of shape (n_samples,), int32
        Group of rows that nearly equal each other; -1 for all others, and without features.
    contradicts : ndarray of shape (n_samples,), bool
        Whether another row of the group has another label.
    outlier_percentile : ndarray of shape (n_samples,)
        Share of the rows, in percent, whose mean distance to their neighbors is at most that of the row. NaN without features.
    confusion : ndarray of shape (n_classes, n_classes)
        Given labels (rows) by the class proposed where they are flagged, else by their own.
    thresholds : ndarray of shape (n_classes,)
        Mean share that the members of each class give it.
    classes : ndarray of shape (n_classes,)
        The classes.
    report_ : dict
        `foretold`, the share of the labels that scores predict without them; counts; `confused` pairs of classes; classes with
        few labels; `new_class`, a part of the rows that may be a class nobody has named.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.audit import audit
    >>> X, y = load_iris(return_X_y=True)
    >>> y[10] = 2                        # a wrong label
    >>> found = audit(X, y)
    >>> found.ranked()[0].item(), bool(found.flagged[10]), found.proposed[10].item()
    (10, True, 0)
    """

    quality: NDArray[np.float64]
    given: NDArray[Any]
    proposed: NDArray[Any]
    flagged: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    leverage: NDArray[np.float64]
    reached: NDArray[np.bool_]
    duplicate_group: NDArray[np.int32]
    contradicts: NDArray[np.bool_]
    outlier_percentile: NDArray[np.float64]
    confusion: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    classes: NDArray[Any]
    report_: dict[str, Any]
    _rows: _AuditedRows | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        if self._rows is None:
            return f"Audit of {len(self.quality):,} rows, {int(self.flagged.sum()):,} labels flagged"
        return self._rows.held.summary(class_names(self.classes)).rstrip()

    def __getstate__(self) -> dict[str, Any]:
        # The rows may be larger than all else together: they are not pickled.
        return {**self.__dict__, "_rows": None}

    def ranked(self) -> NDArray[np.int64]:
        """Find the judged rows, the most doubtful label first.

        Returns
        -------
        ndarray of shape (n_judged,), int64
            Numbers of rows.
        """
        judged = np.flatnonzero(self.judged)
        return judged[np.argsort(self.quality[judged], kind="stable")]

    def report(
        self, path: str | PathLike[str], *, title: str | None = None, row_names: ArrayLike | None = None
    ) -> Page:
        """Write a page about the audit: its summary, the most doubtful labels, and duplicates with different labels.

        It is one HTML file, which loads nothing and follows the reader's light or dark mode; ``lapwing audit --report`` writes the
        same page. Rows that are small square images, of 8 x 8 to 64 x 64 values of at least 0, are shown as such.

        Parameters
        ----------
        path : str or path-like
            The file, ending in ``.html``. It is written completely or not at all.
        title : str, default=None
            Heading of the page; None is the number of rows.
        row_names : array-like of shape (n_samples,), default=None
            Names of the rows, all different. None numbers them from 0.

        Returns
        -------
        Page
            What was written, which notebooks show in place.

        Raises
        ------
        ValueError
            If the audit comes from a pickle or a copy: these hold no rows.
        """
        if self._rows is None:
            raise ValueError("this Audit holds no rows: it comes from a pickle or a copy; audit again")
        target, names = page_path(path), as_row_names(row_names, len(self.quality))
        of_page = title or f"{len(self.quality):,} rows"
        rows = self._rows
        rows.held.page(target, of_page, class_names(self.classes), rows.codes, rows.features, names)
        return Page.written(target)

    def to_frame(self) -> Any:
        """Make a data frame of what was found for the rows.

        Returns
        -------
        pandas.DataFrame
            A row for each row of the data; the columns are the attributes that hold a value for each.
        """
        import pandas as pd

        names = (
            "given", "proposed", "quality", "flagged", "judged", "leverage", "duplicate_group", "contradicts",
            "outlier_percentile", "reached",
        )  # fmt: skip
        return pd.DataFrame({name: getattr(self, name) for name in names})


@dataclass
class ValueAudit:
    """What an audit of the values of a regression found, for every row.

    Attributes
    ----------
    proposed : ndarray of shape (n_samples,)
        Value of each known row by a fit without it; NaN elsewhere.
    residual : ndarray of shape (n_samples,)
        Given value minus that.
    quality : ndarray of shape (n_samples,)
        Share of the known values that are at least as doubtful: small for the most doubtful ones. A value is doubtful if its residual is
        large beside those nearby: divided by the root of their mean size.
    report_ : dict
        `root_mean_square` and `median_residual` of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import HarmonicRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = X[:, 0].copy()
    >>> y[70] = 0.2                      # a wrong value
    >>> found = HarmonicRegressor(n_neighbors=4, graph_reg=0.1, form="plain").fit(X, y).audit()
    >>> found.ranked()[0].item(), found.proposed[70].round(1).item()
    (70, 0.7)
    """

    proposed: NDArray[np.float64]
    residual: NDArray[np.float64]
    quality: NDArray[np.float64]
    report_: dict[str, Any] = field(repr=False)

    def ranked(self) -> NDArray[np.int64]:
        """Find the known rows, the most doubtful value first.

        Returns
        -------
        ndarray of shape (n_known,), int64
            Numbers of rows.
        """
        known = np.flatnonzero(~np.isnan(self.quality))
        return known[np.argsort(self.quality[known], kind="stable")]


@documented_by(AUDIT_PARAMETERS)
def audit(
    X: Any,
    y: Any,
    *,
    graph: Any = None,
    sample_weight: ArrayLike | None = None,
    unlabeled: Any = None,
    affinity: Literal["knn", "precomputed"] = "knn",
    rounds: int = 1,
    duplicates: float = 0.3,
    n_neighbors: int = 15,
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto",
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning",
    symmetrize: Literal["union", "mean", "mutual"] = "mean",
    bandwidth: float | Literal["auto"] = "auto",
    knn_method: Literal["auto", "exact", "partitions"] = "auto",
    recall_target: float = 0.95,
    zero_rows: Literal["error", "allow"] = "error",
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> Audit:
    """Find labels that are probably wrong, rows that nearly equal each other, and classes that are taken for each other.

    Every label is compared with the scores of its row without that label, in closed form. No model is trained, and nothing is
    split into folds.

    Returns
    -------
    Audit
        What was found, for every row.

    Raises
    ------
    ValueError
        If all labels are of one class, or each is the only one of its class.

    Notes
    -----
    Beyond the graph: a solve of a column for each class and 32 more, at most 128 for labels that decide their own row. That does not
    depend on the number of labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing.audit import audit
    >>> X, y = load_digits(return_X_y=True)
    >>> wrong = y.copy()
    >>> wrong[::100] = (y[::100] + 1) % 10    # eighteen wrong labels
    >>> found = audit(X, wrong, random_state=0)
    >>> int((found.ranked()[:18] % 100 == 0).sum()) > 15, bool(found.report_["foretold"] > 0.95)
    (True, True)
    """
    control = run_control(n_jobs, random_state, verbose, callback)
    parameters = {
        "n_neighbors": n_neighbors, "metric": metric, "weights": weights, "symmetrize": symmetrize, "bandwidth": bandwidth,
        "knn_method": knn_method, "recall_target": recall_target, "zero_rows": zero_rows,
    }  # fmt: skip
    rows = rows_of(X, graph, affinity, parameters, control)
    labels = given_labels(y, rows.graph.n_samples, unlabeled, sample_weight)
    found = audited(rows, labels, parameters, {"rounds": rounds, "duplicates": duplicates}, control)
    found.report_["warnings"] += [*rows.warnings, *label_warnings(found.classes, unlabeled)]
    warn_of(found.report_["warnings"])
    return found


def audited(
    rows: Rows, labels: GivenLabels, graph: dict[str, Any], parameters: dict[str, Any], control: dict[str, Any]
) -> Audit:
    """The audit of these rows; `graph` are the parameters of their graph."""
    if labels.is_empty:
        raise ValueError("no row has a label; an audit needs some")
    found = _lapwing.audit(rows.graph, rows.features, graph, labels.argument, labels.weights, parameters, control)
    report = json.loads(found.pop("report"))
    classes, codes, marker = labels.classes, labels.codes, labels.marker

    def named(codes: NDArray[np.int32]) -> NDArray[Any]:
        return with_marker(classes[np.maximum(codes, 0)], codes < 0, marker)

    proposed, kept = named(found.pop("proposed")), _AuditedRows(found.pop("held"), codes, rows.features)
    report |= _named_facts(report["parts"].pop("audit"), classes)
    return Audit(given=named(codes), proposed=proposed, classes=classes, report_=report, _rows=kept, **found)


def _named_facts(facts: dict[str, Any], classes: NDArray[Any]) -> dict[str, Any]:
    """The facts of an audit with names of classes instead of their numbers."""
    names = classes.tolist()
    for pair in facts["confused"]:
        pair["classes"] = [names[code] for code in pair["classes"]]
    for name in ("few_labels", "no_labels", "not_predicted"):
        facts[name] = [names[code] for code in facts[name]]
    return facts
