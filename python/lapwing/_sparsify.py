"""Sparsifiers of large graphs, and effective resistances."""

from __future__ import annotations

import json
import os
from os import PathLike
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._arguments import choice, integer, number
from ._control import Callback, Seed, run_control
from ._edges import edge_arrays
from ._graph import Graph
from ._inputs import CsrParts, csr_parts
from ._parameters import NamedParameters, documented, documented_by, documented_like
from ._signatures import SPARSIFY_PARAMETERS, StreamingSparsifierParameters
from ._warnings import warn_of


@documented_by(SPARSIFY_PARAMETERS)
def sparsify(
    A: Any,
    *,
    n_samples: int | None = None,
    sampler: Literal["streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"] = "streaming",
    capacity: int | Literal["auto"] = "auto",
    n_projections: int = 32,
    ridge: float | Literal["auto"] = "auto",
    distortion: float | None = None,
    epsilon: float | None = None,
    edge_budget: int | None = None,
    memory: int | None = None,
    probes: ArrayLike | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
    return_report: bool = False,
) -> Any:
    """Graph of fewer edges with nearly the same cuts, resistances and harmonic functions.

    Kept edges get larger weights, so that the Laplacian is unbiased; components do not change.

    Returns
    -------
    graph : Graph
        The graph of the kept edges.
    report : dict
        `n_edges` read, `n_dropped` loops and zeros, `n_kept`, `edge_budget`, `capacity`, `peak_edges` held, `rounds` of thinning,
        `solve_seconds`, `seconds`, `probe_ratios` (least and largest xᵀL'x / xᵀLx, None if nothing was thinned), `sampler`, `warnings`
        (`kind` and `text` of each). Only with ``return_report=True``; the graph has it as its attribute `report`.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graph import sparsify
    >>> complete = np.ones((200, 200))
    >>> graph = sparsify(complete, edge_budget=2000, random_state=0)
    >>> graph.report["n_edges"], graph.n_edges < 2600, len(set(graph.components()))
    (19900, True, 1)
    >>> bool(abs(graph.degree.mean() / 199 - 1) < 0.1)
    True
    """
    parameters = {
        "sampler": sampler, "capacity": capacity, "n_projections": n_projections, "ridge": ridge,
        "distortion": distortion, "epsilon": epsilon, "edge_budget": edge_budget, "memory": memory,
    }  # fmt: skip
    control = run_control(n_jobs, random_state, verbose, callback)
    parts, report = _lapwing.sparsify(_source(A, n_samples), parameters, _probes(probes), control)
    graph = Graph._from_parts(parts, json.loads(report))
    warn_of(graph.report["warnings"])
    return (graph, graph.report) if return_report else graph


@documented
class StreamingSparsifier(StreamingSparsifierParameters, NamedParameters, BaseEstimator):  # type: ignore[misc]
    """Sparsifier of a stream of edges: add edges in portions of any size, take the graph at any time.

    Held edges are thinned whenever they reach the capacity. The result depends on the order of the edges and the seed,
    not on the portions they came in or the number of threads. Parameters count from `fit` or the first
    `partial_fit`.

    Attributes
    ----------
    n_edges_seen_ : int
        Rows given, loops and edges of weight 0 included.
    n_edges_held_ : int
        Edges held; parallel edges count separately, unlike in a snapshot.
    report_ : dict
        The report so far, as that of :func:`sparsify`.

    Notes
    -----
    Every call starts its threads; with portions of 10⁵ edges or more that is cheap. Memory is 24 bytes for each edge
    held, 68 for each edge of the capacity while they are thinned, and 2.2 KiB for each node.

    Ctrl-C during `partial_fit` leaves the sparsifier valid: `n_edges_seen_` is the number of rows added so far, and the
    rows after these can be added later. Pickle keeps the state, and a copy continues to the same graph.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graph import StreamingSparsifier
    >>> sparsifier = StreamingSparsifier(300, edge_budget=3000, random_state=0)
    >>> for node in range(1, 300):
    ...     sparsifier = sparsifier.partial_fit([(node, other) for other in range(node)])
    >>> sparsifier.n_edges_seen_
    44850
    >>> graph = sparsifier.result()
    >>> graph.n_edges < 4000, len(set(graph.components()))
    (True, 1)
    """

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_sparsifier")

    def partial_fit(self, edges: ArrayLike, weights: ArrayLike | None = None) -> StreamingSparsifier:
        """Add edges.

        Parameters
        ----------
        edges : array-like of shape (n_edges, 2) or (n_edges, 3), or data frame
            Both ends of each undirected edge, integers in 0..n_samples − 1, and perhaps its weight. C-contiguous arrays of uint32, int32
            and int64 are used in place. An edge that comes again, in either direction, adds to its weight; loops are dropped. Columns of
            a data frame are found by their names: source and target, from and to, src and dst, or u and v, and weight; else by place.
        weights : array-like of shape (n_edges,) or None, default=None
            Finite and at least 0; None is 1 for all, or the weights in edges. float32 and float64 are used in place.

        Returns
        -------
        StreamingSparsifier
            This object.

        Raises
        ------
        ValueError
            Naming the first row that is no edge; none of `edges` is added then.
        """
        ends, given = edge_arrays(edges, weights)
        if not hasattr(self, "_sparsifier"):
            control = run_control(self.n_jobs, self.random_state)
            n_samples = integer("n_samples", self.n_samples)
            self._sparsifier = _lapwing.start_sparsifier(n_samples, self._parameters(), _probes(self.probes), control)
        self._sparsifier.add(ends, given, run_control(self.n_jobs, 0, self.verbose, self.callback))
        return self

    @documented_like(partial_fit)
    def fit(self, edges: ArrayLike, weights: ArrayLike | None = None) -> StreamingSparsifier:
        """Drop all earlier edges and add these, as `partial_fit` does; parameters are read again."""
        self.__dict__.pop("_sparsifier", None)
        return self.partial_fit(edges, weights)

    def snapshot(self) -> Graph:
        """Graph of the held edges; the stream continues unchanged.

        Until edges were thinned for the first time it is the graph itself; up to `capacity` edges in any case.

        Returns
        -------
        Graph
            The graph of the held edges.
        """
        check_is_fitted(self)
        return Graph._from_parts(self._sparsifier.snapshot(self._control()), self.report_)

    def result(self) -> Graph:
        """Graph of the edges so far, thinned to the budget; the stream may go on.

        The same graph as that of :func:`sparsify`, for the same edges in the same order and the same seed. A copy of the held
        edges is thinned.

        Returns
        -------
        Graph
            The thinned graph.
        """
        check_is_fitted(self)
        parts, report = self._sparsifier.result(self._control())
        graph = Graph._from_parts(parts, json.loads(report))
        warn_of(graph.report["warnings"])
        return graph

    @property
    def n_edges_seen_(self) -> int:
        """Rows given."""
        check_is_fitted(self)
        return self._sparsifier.counts()[0]

    @property
    def n_edges_held_(self) -> int:
        """Edges held."""
        check_is_fitted(self)
        return self._sparsifier.counts()[1]

    @property
    def report_(self) -> dict[str, Any]:
        """The report so far."""
        check_is_fitted(self)
        return json.loads(self._sparsifier.report(self._control()))

    def _control(self) -> dict[str, Any]:
        # The seed was taken when the stream began.
        return run_control(self.n_jobs, 0)


def effective_resistances(
    A: Any,
    *,
    method: Literal["exact", "projection"] = "exact",
    n_projections: int = 200,
    tol: float = 1e-6,
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> sp.csr_array:
    """Effective resistance of every edge: that between its ends, in a network whose edges conduct as their weights.

    Weight times resistance is the leverage of an edge, in (0, 1]: the probability that a random spanning tree has it, 1
    for a bridge. Leverages add up to n_samples less the number of components.

    Parameters
    ----------
    A : Graph, sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric weights; loops and zeros are left out.
    method : {"exact", "projection"}, default="exact"
        To rounding, from a dense inverse of each component, of up to 10,000 nodes; or by random projections.
    n_projections : int, default=200
        Projections; the relative standard deviation of a resistance is √(2 / n_projections).
    tol : float in (0, 1), default=1e-6
        Relative residual of the systems of the projections. Above 1e-4 resistances over weak cuts come out too small. A
        ``ConvergenceWarning`` reports where it was not reached.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the projections.
    n_jobs : int or None, default=None
        Threads; None and -1 take every processor. Results are the same for any number.
    verbose : int or bool, default=0
        Whether to write the time of each phase to standard error.
    callback : callable or None, default=None
        Called with a dict of `phase`, `done`, `total`, `note` during the work; if it raises, the work stops.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, an entry for every edge.

    Examples
    --------
    Each edge of a triangle lies beside a path of two: 1·2 / (1 + 2).

    >>> from lapwing.graph import effective_resistances
    >>> effective_resistances([[0, 1, 1], [1, 0, 1], [1, 1, 0]]).toarray().round(3).tolist()
    [[0.0, 0.667, 0.667], [0.667, 0.0, 0.667], [0.667, 0.667, 0.0]]
    """
    choice("method", method, ("exact", "projection"))
    control = run_control(n_jobs, random_state, verbose, callback)
    projection = (integer("n_projections", n_projections), number("tol", tol)) if method == "projection" else None
    adjacency = (A if isinstance(A, Graph) else Graph.from_scipy(A)).to_scipy()
    upper = sp.csr_array(sp.triu(adjacency, k=1))
    upper.data, found = _lapwing.effective_resistances(csr_parts(adjacency, np.float64), projection, control)
    warn_of(json.loads(found))
    return sp.csr_array(upper + upper.T)


def _source(A: Any, n_samples: int | None) -> CsrParts | tuple[str | PathLike[str], int | None]:
    if isinstance(A, (str, os.PathLike)):
        return A, None if n_samples is None else integer("n_samples", n_samples)
    if n_samples is not None:
        raise ValueError("n_samples is for files; a matrix has its own")
    return csr_parts(A.to_scipy() if isinstance(A, Graph) else A, np.float64)


def _probes(probes: Any) -> NDArray[np.float64] | None:
    if probes is None:
        return None
    vectors = np.ascontiguousarray(probes, dtype=np.float64)
    if vectors.ndim != 2:
        raise ValueError(f"probes has shape {vectors.shape}; expected (n_samples, n_probes)")
    return vectors
