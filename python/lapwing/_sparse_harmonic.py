"""Harmonic label propagation on graphs too large to hold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from ._arguments import integer, sparsify_options
from ._base import Source
from ._control import Callback
from ._harmonic import HarmonicClassifier
from ._inputs import csr_parts
from ._labels import as_label_array
from ._sparsify import StreamingSparsifier

__all__ = ["SparseHarmonicClassifier"]


class SparseHarmonicClassifier(HarmonicClassifier):
    """Classifier that spreads a few labels over a graph too large to hold.

    Sparse-HFS: the edges of the graph pass once through a sparsifier, which keeps few of them, reweighted, so that cuts,
    resistances and harmonic functions stay what they were; the labels are spread over what is kept as
    :class:`HarmonicClassifier` does, and, where the edges can be read again, refined on the graph itself.

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbours of each row, at least 1. The graph is produced block by block and never held: thousands are fine.
    affinity : {"knn", "precomputed", "edges"}, default="knn"
        As in :class:`HarmonicClassifier`; "edges" takes X as a stream of edges: the path of an edge list (``.npy``,
        ``.parquet``, ``.csv``, also ``.csv.gz`` and ``.csv.zst``), an array of edges (m, 2), a tuple ``(edges, weights)``
        with weights (m,), or an iterable of such arrays or tuples. Each undirected edge once.
    metric, weights, symmetrize, bandwidth, graph_reg, form, clamp, decision, class_prior, size_slack, labels_drawn, tol, \
            max_iter, certify
        As in :class:`HarmonicClassifier`; labels are certified on the edges kept, and not where they are refined on all of them.
    distortion : float > 0 or None, default=None
        Keep as many edges as it takes for xᵀL_Hx within (1 ± distortion)·xᵀL_Gx. At most one of the three budgets is
        given; without any it is a distortion of 0.5.
    edge_budget : int or None, default=None
        Keep about so many edges.
    memory : int or None, default=None
        Keep as many edges as can be worked with in so many bytes.
    sampler : {"streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"}, \
            default="streaming"
        How edges are drawn; see :func:`lapwing.graph.sparsify`.
    refinements : int or None, default=None
        Passes over the edges that refine the solution on the graph itself; None takes 3, and 0 for an iterable. From
        features each finds the pairs within reach anew.
    unlabeled, abstain, recall_target, zero_rows, n_jobs, random_state, verbose, callback
        As in :class:`HarmonicClassifier`; the draws of the sparsifier are random too.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, confidence_, classes_, reached_, n_iter_, residual_, converged_
        As in :class:`HarmonicClassifier`.
    report_ : dict
        As in :class:`HarmonicClassifier`. ``report_["parts"]["sparsify"]`` has the edges read and kept, the rounds, the
        seconds and the ratios of quadratic forms; ``report_["parts"]["refine"]`` the passes and their residuals.
    n_features_in_, feature_names_in_
        As in :class:`HarmonicClassifier`.

    Notes
    -----
    About 45 edges a row are kept at a distortion of 0.5, and four times as many held, of 68 bytes each. From features,
    n²·d multiplications find the edges, twice.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, I. Koutis: Semi-supervised learning with spectral graph sparsification, 2015.

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

    _file_advice = "give SparseHarmonicClassifier(affinity='edges') for a file of edges, and read a file of features first"

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        affinity: Literal["knn", "precomputed", "edges"] = "knn",
        metric: str = "euclidean",
        weights: str = "self-tuning",
        symmetrize: str = "mean",
        bandwidth: float | Literal["auto"] = "auto",
        graph_reg: float | Literal["auto"] = "auto",
        form: Literal["stable", "plain", "auto"] = "auto",
        clamp: Literal["soft", "hard"] = "soft",
        decision: Literal["auto", "centered", "row-mean", "argmax", "mass", "sizes"] = "auto",
        class_prior: Any = None,
        size_slack: float = 0.0,
        labels_drawn: Literal["auto", "random", "balanced"] = "auto",
        tol: float = 1e-6,
        max_iter: int = 10000,
        certify: Literal["auto", "first", False] = "auto",
        distortion: float | None = None,
        edge_budget: int | None = None,
        memory: int | None = None,
        sampler: str = "streaming",
        refinements: int | None = None,
        unlabeled: Any = None,
        abstain: bool = False,
        recall_target: float = 0.95,
        zero_rows: Literal["error", "allow"] = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            affinity=affinity,  # type: ignore[arg-type]
            metric=metric,
            weights=weights,
            symmetrize=symmetrize,
            bandwidth=bandwidth,
            graph_reg=graph_reg,
            form=form,
            clamp=clamp,
            decision=decision,
            class_prior=class_prior,
            size_slack=size_slack,
            labels_drawn=labels_drawn,
            tol=tol,
            max_iter=max_iter,
            certify=certify,
            unlabeled=unlabeled,
            abstain=abstain,
            recall_target=recall_target,
            zero_rows=zero_rows,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.distortion = distortion
        self.edge_budget = edge_budget
        self.memory = memory
        self.sampler = sampler
        self.refinements = refinements

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseHarmonicClassifier:
        """Label every row of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features; the graph for ``affinity="precomputed"``, its edges for ``affinity="edges"``.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            As in :meth:`HarmonicClassifier.fit`; its length is the number of nodes for ``affinity="edges"``.
        sample_weight : array-like of shape (n_samples,), default=None
            As in :meth:`HarmonicClassifier.fit`.

        Returns
        -------
        self
        """
        super().fit(X, y, sample_weight)
        return self

    def _classifier_source(self, X: Any, y: Any, control: dict[str, Any]) -> Source:
        if self.affinity != "edges":
            return super()._classifier_source(X, y, control)
        n_samples = int(as_label_array(y).shape[0])
        self.n_features_in_ = n_samples
        return Source(self._edges(X, n_samples), self._graph_options(), n_samples, None)

    def _edges(self, X: Any, n_samples: int) -> Any:
        """A file of edges for the compiled part to read, or the sparsifier of edges that Python hands out."""
        if isinstance(X, (str, os.PathLike)):
            return {"path": os.fspath(X), "n_nodes": n_samples}
        if not isinstance(X, Iterable):
            raise TypeError(f"X must be the path of an edge list or an iterable of edges, not {type(X).__name__}")
        if self.refinements:
            raise ValueError("refinements need edges that can be read again: the path of an edge list, or a matrix")
        sparsifier = StreamingSparsifier(
            n_samples,
            distortion=self.distortion,
            edge_budget=self.edge_budget,
            memory=self.memory,
            sampler=self.sampler,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            callback=self.callback,
        )
        for portion in [X] if isinstance(X, (tuple, np.ndarray)) else X:
            edges, weights = portion if isinstance(portion, tuple) else (portion, None)
            sparsifier.partial_fit(edges, weights)
        if not hasattr(sparsifier, "_sparsifier"):
            raise ValueError("X has no edges")
        graph = sparsifier.result()
        self._sparsified = graph.report
        return csr_parts(graph.to_scipy(), np.float64)

    def _keep_report(self, fitted: dict[str, Any]) -> None:
        super()._keep_report(fitted)
        sparsified = vars(self).pop("_sparsified", None)
        if sparsified is not None:
            self.report_["parts"]["sparsify"] = sparsified

    def _sparse_options(self) -> dict[str, Any] | None:
        if hasattr(self, "_sparsified"):
            # It is sparse already.
            return None
        refinements = None if self.refinements is None else integer("refinements", self.refinements)
        return {
            "sparsify": sparsify_options(
                sampler=self.sampler, distortion=self.distortion, edge_budget=self.edge_budget, memory=self.memory
            ),
            "refinements": refinements,
        }
