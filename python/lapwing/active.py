"""Which rows to label next."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _lapwing
from ._control import Callback, Seed, run_control
from ._labels import label_warnings
from ._parameters import documented_by
from ._shared import given_labels, held_graph, next_rows, rows_of
from ._signatures import SUGGEST_PARAMETERS, SUGGESTER_NEXT_PARAMETERS
from ._warnings import warn_of

__all__ = ["Suggester", "suggest"]


@documented_by(SUGGEST_PARAMETERS)
def suggest(
    X: Any,
    y: Any = None,
    n: int = 20,
    *,
    graph: Any = None,
    candidates: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    unlabeled: Any = None,
    affinity: Literal["knn", "precomputed"] = "knn",
    strategy: Literal["mix", "cover", "border", "margin", "random"] = "mix",
    check: float = 0.0,
    explore: float = 0.0,
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
    return_report: bool = False,
) -> Any:
    """Rows to label next, the most useful ones first.

    Without labels, and with fewer than two a class, the rows that cover the graph best. With labels, rows that cover what the
    labels do not tell yet; from five labels per class on, every other one lies between classes. For several batches on the
    same rows make a :class:`Suggester`, which keeps the graph.

    Returns
    -------
    rows : ndarray of shape (n,), int64
        The rows, the most useful ones first.
    reasons : ndarray of shape (n,), str
        Why each one: "cover", "border", "far", "check", "random", or "fill" where the strategy found no more rows.
    report : dict
        For each row its score, the class that labels so far give it and the share of that class; the strategy that was taken and why;
        the share of the rows that no label reaches, before and after. Only with ``return_report=True``; a pair has it as its attribute
        `report`.

    Notes
    -----
    The graph costs most; see :func:`lapwing.graph.knn_graph`. After that O(m) for m edges, a matrix of at most 1000 × 1000
    cells, and, with labels, one solve of a column for each class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing.active import suggest
    >>> X, truth = load_digits(return_X_y=True)
    >>> rows, reasons = suggest(X, n=20, random_state=0)
    >>> len(set(truth[rows])) >= 9, set(reasons.tolist())
    (True, {'cover'})
    """
    control = run_control(n_jobs, random_state, verbose, callback)
    parameters = {
        "n_neighbors": n_neighbors, "metric": metric, "weights": weights, "symmetrize": symmetrize, "bandwidth": bandwidth,
        "knn_method": knn_method, "recall_target": recall_target, "zero_rows": zero_rows,
    }  # fmt: skip
    rows = rows_of(X, graph, affinity, parameters, control)
    warn_of(rows.warnings)
    labels = given_labels(y, rows.graph.n_samples, unlabeled)
    warn_of(label_warnings(labels.classes, unlabeled))
    suggester = _lapwing.Suggester(rows.graph, {**control, "callback": None})
    options = {"strategy": strategy, "check": check, "explore": explore}
    return next_rows(suggester, labels, n, candidates, exclude, cost, options, control, False, return_report)


class Suggester:
    """Suggests rows of one graph, batch after batch.

    It keeps the graph, its cells and the last solution, so that a batch costs one solve.

    Parameters
    ----------
    graph : Graph or sparse matrix of shape (n_samples, n_samples)
        The graph of the rows, as from :func:`lapwing.graph.knn_graph`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the cells and of rows that are drawn at random.
    n_jobs : int or None, default=None
        Threads; None or -1 for all processors.
    warm_start : bool, default=True
        Whether each solve starts from the last one. False makes each batch that of a new Suggester, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing.active import Suggester
    >>> from lapwing.graph import knn_graph
    >>> X, truth = load_digits(return_X_y=True)
    >>> suggester, y = Suggester(knn_graph(X, 10), random_state=0), np.full(len(X), -1)
    >>> for _ in range(4):
    ...     rows, reasons = suggester.next(y, 10)
    ...     y[rows] = truth[rows]
    >>> int((y >= 0).sum()), len(np.unique(y[y >= 0]))
    (40, 10)
    """

    def __init__(
        self, graph: Any, *, random_state: Seed = None, n_jobs: int | None = None, warm_start: bool = True
    ) -> None:
        self._control = run_control(n_jobs, random_state)
        self._graph = held_graph(graph, "graph")
        self._warm_start = bool(warm_start)
        self._suggester = _lapwing.Suggester(self._graph, self._control)

    @documented_by(SUGGESTER_NEXT_PARAMETERS, suggest)
    def next(
        self,
        y: Any = None,
        n: int = 20,
        *,
        candidates: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        unlabeled: Any = None,
        strategy: Literal["mix", "cover", "border", "margin", "random"] = "mix",
        check: float = 0.0,
        explore: float = 0.0,
        return_report: bool = False,
    ) -> Any:
        """Find the next rows to label, given the labels so far."""
        labels = given_labels(y, self._graph.n_samples, unlabeled)
        warn_of(label_warnings(labels.classes, unlabeled))
        options = {"strategy": strategy, "check": check, "explore": explore}
        wanted = (n, candidates, exclude, cost, options)
        return next_rows(self._suggester, labels, *wanted, self._control, self._warm_start, return_report)

    def distance_from_labels(self, y: Any, unlabeled: Any = None) -> NDArray[np.float64]:
        """How far each row is from all labels, on a scale of its own.

        It is the mean time until a random walk on the graph meets a label. Rows of a class that nobody has named come first.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels, with the marker in rows that have none.
        unlabeled : object, default=None
            Marker of rows without a label.

        Returns
        -------
        ndarray of shape (n_samples,)
            The distance of each row; infinite where no label reaches.
        """
        labels = given_labels(y, self._graph.n_samples, unlabeled)
        if labels.is_empty:
            raise ValueError("no row has a label to be far from")
        return self._suggester.distance_from_labels(labels.argument, self._control)
