"""Harmonic label propagation on graphs too large to hold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._base import Problem
from ._containers import as_label_array
from ._harmonic import HarmonicClassifier
from ._edges import portions
from ._inputs import csr_parts
from ._kinds import refuse_other_kinds
from ._looped import KeepsGraph, LoopState
from ._parameters import documented
from ._shared import Rows
from ._signatures import HarmonicClassifierParameters, SparseHarmonicClassifierParameters, StreamingSparsifierParameters
from ._sparsify import StreamingSparsifier
from ._tables import is_table

__all__ = ["SparseHarmonicClassifier"]


@documented
class SparseHarmonicClassifier(SparseHarmonicClassifierParameters, HarmonicClassifier):  # type: ignore[misc]
    """Classifier that spreads a few labels over a graph too large to hold.

    Sparse-HFS: the edges of the graph pass once through a sparsifier, which keeps few of them, reweighted, so that cuts,
    resistances and harmonic functions stay what they were; the labels are spread over what is kept as
    :class:`HarmonicClassifier` does, and, where the edges can be read again, refined on the graph itself. The graph of features
    is computed block by block and never stored: thousands of neighbors are fine. At most one of `distortion`, `edge_budget` and
    `memory` is given.

    Notes
    -----
    Methods that work on the graph of the fit, such as `suggest`, `audit`, `predict_sets` and `add_labels`, take the sparse graph that it
    kept, without refinements. About 45 edges a row are kept at a distortion of 0.5, and four times as many held, of 68 bytes each. From features,
    n²·d multiplications find the edges, twice. ``report_["parts"]["sparsify"]`` has the edges read and kept, the rounds, the
    seconds and the ratios of quadratic forms; ``report_["parts"]["refine"]`` the passes and their residuals.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, I. Koutis: Incremental spectral sparsification for large-scale graph-based
    semi-supervised learning, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import SparseHarmonicClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1
    >>> clf = SparseHarmonicClassifier(200, edge_budget=40_000, random_state=0).fit(X, y)
    >>> kept = clf.report_["parts"]["sparsify"]
    >>> kept["n_edges"] > 200_000 and kept["n_kept"] < 60_000
    True
    >>> bool((clf.transduction_[100:] == truth[100:]).mean() > 0.85)
    True
    """

    _method = "sparse-harmonic"
    _affinities = ("knn", "precomputed", "edges")
    # Files may hold edges too.
    _reads_blocks = False
    _file_advice = "give SparseHarmonicClassifier(affinity='edges') for a file of edges, and read a file of features first"

    def _take_rows(self, problem: Problem, X: Any, y: Any, graph: Any) -> None:
        if self.affinity != "edges" or graph is not None:
            super()._take_rows(problem, X, y, graph)
            return
        self._check_prior(X, graph)
        problem.n_samples = self.n_features_in_ = int(as_label_array(y).shape[0])
        if isinstance(X, (str, os.PathLike)):
            problem.rows["edges"] = (os.fspath(X), problem.n_samples)
            return
        self._sparsify(problem, X)

    def _sparsify(self, problem: Problem, X: Any) -> None:
        """Sparsify edges that Python passes in; the result is an ordinary graph."""
        refuse_other_kinds(X, "X", "give SparseHarmonicClassifier(affinity='precomputed')")
        if sp.issparse(X) or not (isinstance(X, Iterable) or is_table(X)):
            advice = "; give SparseHarmonicClassifier(affinity='precomputed') for a matrix" if sp.issparse(X) else ""
            raise TypeError(f"X must be the path of an edge list or an iterable of edges, not {type(X).__name__}{advice}")
        if self.refinements not in (None, "auto", 0):
            raise ValueError("refinements need edges that can be read again: the path of an edge list, or a matrix")
        options = {name: getattr(self, name) for name in StreamingSparsifierParameters._declared}
        sparsifier = StreamingSparsifier(
            problem.n_samples,
            **options,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            callback=self.callback,
        )
        for edges, weights in portions(X):
            sparsifier.partial_fit(edges, weights)
        if not hasattr(sparsifier, "_sparsifier"):
            raise ValueError("X has no edges")
        graph = sparsifier.result()
        self._sparsified = graph.report
        problem.rows["graph"] = csr_parts(graph.to_scipy(), np.float64)
        _solve_as_it_is(problem)

    def _kept_problem(self, first: KeepsGraph, state: LoopState, rows: Rows, codes: NDArray[np.int32]) -> Problem:
        # The graph that the fit kept is sparse already.
        problem = super()._kept_problem(first, state, rows, codes)
        _solve_as_it_is(problem)
        self._sparsified = first.report_["parts"].get("sparsify")
        return problem

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        super()._keep(problem, fitted)
        sparsified = self.__dict__.pop("_sparsified", None)
        if sparsified is not None:
            self.report_["parts"]["sparsify"] = sparsified


def _solve_as_it_is(problem: Problem) -> None:
    """Solve on the graph of the problem, without a sparsifier."""
    problem.method = HarmonicClassifier._method
    known = HarmonicClassifierParameters._declared
    problem.parameters = {name: value for name, value in problem.parameters.items() if name in known}
