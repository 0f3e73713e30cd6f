"""Labels of the nodes of a graph whose edges come and leave."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._containers import as_label_array
from ._control import Self, run_control
from ._edges import edge_arrays
from ._graph import Graph
from ._labels import label_warnings, with_marker
from ._parameters import NamedParameters, documented, documented_like
from ._shared import GivenLabels, given_labels
from ._signatures import StreamingHarmonicClassifierParameters
from ._warnings import warn_of

__all__ = ["StreamingHarmonicClassifier"]


@documented
class StreamingHarmonicClassifier(StreamingHarmonicClassifierParameters, NamedParameters, BaseEstimator):  # type: ignore[misc]
    """Classifier of the nodes of a graph whose edges come as a stream: the last `window` edges count, and labels are there at any time.

    Labels spread over the edges of the window as :class:`HarmonicClassifier` spreads them (plain form). Between two fits the scores
    follow the edges that come and leave: the nodes that these unsettle, and the nodes near them, become the mean of their neighbors
    again. After as many new edges as the last fit had, an answer is a fit of its own, which starts at the scores so far.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Label of every node now.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the classes; the prior in nodes that no label reaches.
    confidence_ : ndarray of shape (n_samples,)
        Share of the chosen class.
    scores_ : ndarray of shape (n_samples, n_classes)
        Scores; NaN in nodes that no label reaches.
    reached_ : ndarray of shape (n_samples,), bool
        Whether the edges of the window join the node to a labeled one.
    report_ : dict
        The report of the last fit; ``parts["stream"]`` has `is_fit` (whether the labels now are of a fit), `n_relaxed` (nodes that were
        relaxed for them, counted each time), `residual` (2-norm of what the scores leave of the system, relative to its right-hand
        side), `n_edges_seen` and `n_edges_held`.
    n_edges_seen_ : int
        Edges given.
    n_edges_held_ : int
        Edges of the window.

    Notes
    -----
    O(n_classes) time for each edge. An answer takes O(n_classes) for each edge of a relaxed node, and O(n_samples · n_classes) to decide.
    Memory is 48 bytes for each edge of the window, and 16 · n_samples · n_classes. Loops and edges of weight 0 take a place in the window and
    join nothing; an edge that comes again adds to the weight until it leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import StreamingHarmonicClassifier
    >>> rng = np.random.default_rng(0)
    >>> truth = np.arange(300) % 2
    >>> y = np.where(np.arange(300) < 20, truth, -1)
    >>> clf = StreamingHarmonicClassifier(2000, random_state=0)
    >>> for _ in range(30):
    ...     u = rng.integers(0, 300, 200)
    ...     v = rng.integers(0, 150, 200) * 2 + truth[u]
    ...     clf = clf.partial_fit(np.column_stack([u, v]), y=y)
    >>> bool((clf.transduction_ == truth).mean() > 0.95)
    True
    >>> clf.n_edges_seen_, clf.n_edges_held_
    (6000, 2000)
    """

    classes_: Annotated[NDArray[Any], """ndarray of shape (n_classes,)
        Distinct given labels, ascending."""]

    _stream: Any
    _seed: Any
    _labels: GivenLabels
    _answer: dict[str, Any] | None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    def partial_fit(self, edges: ArrayLike, y: Any = None, weights: ArrayLike | None = None) -> Self:
        """Add edges; the oldest leave the window for them.

        Parameters
        ----------
        edges : array-like of shape (n_edges, 2) or (n_edges, 3), or data frame
            Both ends of each undirected edge, integers in 0..n_samples − 1, and perhaps its weight, as
            :meth:`lapwing.graph.StreamingSparsifier.partial_fit` takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            Label of each node, with the marker in nodes that have none, or shares of the classes. Needed in the first call. In later ones
            None keeps the labels; other labels than before take their place, and the next answer is a fit.
        weights : array-like of shape (n_edges,) or None, default=None
            Finite, 0 or in [1e-100, 1e100]; None is 1 for all, or the weights in edges.

        Returns
        -------
        StreamingHarmonicClassifier
            This object.

        Raises
        ------
        ValueError
            Naming the first row that is no edge; none of `edges` is added then.
        """
        ends, given = edge_arrays(edges, weights)
        if y is not None:
            self._take_labels(y)
        elif not hasattr(self, "_stream"):
            raise ValueError("y is missing; expected the label of each node in the first call of partial_fit")
        self._answer = None
        self._stream.add(ends, given, run_control(self.n_jobs, 0, self.verbose, self.callback))
        return self

    @documented_like(partial_fit)
    def fit(self, edges: ArrayLike, y: Any, weights: ArrayLike | None = None) -> Self:
        """Forget all earlier edges and labels, and add these edges; parameters are read again."""
        self.__dict__.pop("_stream", None)
        return self.partial_fit(edges, y, weights)

    def _take_labels(self, y: Any) -> None:
        given = as_label_array(y)
        labels = given_labels(given, len(given), self.unlabeled)
        if hasattr(self, "_stream"):
            same = np.array_equal(self.classes_, labels.classes) and np.array_equal(self._labels.codes, labels.codes)
            if same and given.ndim == 1:
                return
            self._stream.set_labels(labels.argument)
        else:
            self._seed = run_control(self.n_jobs, self.random_state)["seed"]
            self._stream = _lapwing.start_stream(self._parameters(), labels.argument)
        self._labels, self.classes_ = labels, labels.classes
        warn_of(label_warnings(self.classes_, self.unlabeled))

    def _now(self) -> dict[str, Any]:
        """The answer for the edges so far."""
        check_is_fitted(self)
        if self._answer is None:
            control = {**run_control(self.n_jobs, 0, self.verbose, self.callback), "seed": self._seed}
            answer = self._stream.answer(control)
            report = json.loads(answer["report"])
            part = {name: answer[name] for name in ("is_fit", "n_relaxed", "residual")}
            report["parts"]["stream"] = {**part, "n_edges_seen": self.n_edges_seen_, "n_edges_held": self.n_edges_held_}
            self._answer = {**answer, "report": report}
            if part["is_fit"]:
                warn_of(report["warnings"])
        return self._answer

    @property
    def transduction_(self) -> NDArray[Any]:
        """Label of every node now."""
        now = self._now()
        labels = self.classes_[now["labels"]]
        return with_marker(labels, ~now["reached"], self._labels.marker) if self.abstain else labels

    @property
    def label_distributions_(self) -> NDArray[np.float64]:
        """Shares of the classes of every node now."""
        return self._now()["label_distributions"]

    @property
    def confidence_(self) -> NDArray[np.float64]:
        """Share of the chosen class of every node now."""
        return self._now()["confidence"]

    @property
    def scores_(self) -> NDArray[np.float64]:
        """Scores of every node now."""
        return self._now()["scores"]

    @property
    def reached_(self) -> NDArray[np.bool_]:
        """Whether a label reaches each node now."""
        return self._now()["reached"]

    @property
    def report_(self) -> dict[str, Any]:
        """The report of the last fit, and how the labels now were found."""
        return self._now()["report"]

    @property
    def n_edges_seen_(self) -> int:
        """Edges given."""
        check_is_fitted(self)
        return self._stream.counts()[0]

    @property
    def n_edges_held_(self) -> int:
        """Edges of the window."""
        check_is_fitted(self)
        return self._stream.counts()[1]

    def graph(self) -> Graph:
        """Graph of the edges of the window.

        Returns
        -------
        Graph
            Edges that came more than once are one, with the sum of their weights.
        """
        check_is_fitted(self)
        return Graph._from_parts(self._stream.graph(run_control(self.n_jobs, 0)), {})
