"""The graph."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _lapwing
from ._inputs import CsrParts, csr_from_parts, csr_parts


class Graph:
    """Undirected graph with positive weights and no self loops.

    Made by :func:`lapwing.graph.knn_graph`, :func:`lapwing.graph.sparsify` or :meth:`from_scipy`; estimators with
    ``affinity="precomputed"`` take it as X.

    Attributes
    ----------
    n_samples : int
        Number of nodes n.
    n_edges : int
        Undirected edges, each counted once.
    degree : ndarray of shape (n_samples,)
        Weighted degrees dᵢ = Σⱼ wᵢⱼ.
    report : dict
        How the graph was made. By a neighbor search: method, measured recall and its standard error, rows whose
        neighbors are all at distance 0. By a sparsifier: see :func:`lapwing.graph.sparsify`. Empty for a graph that
        was given.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lapwing.graph import Graph
    >>> path = Graph.from_scipy(sp.csr_array([[0, 2, 0], [2, 0, 0], [0, 0, 0]]))
    >>> path
    Graph(n_samples=3, n_edges=1)
    >>> path.components()
    array([0, 0, 1], dtype=int32)
    """

    def __init__(self, adjacency: sp.csr_array, degree: NDArray[np.float64], report: dict[str, Any]) -> None:
        self._adjacency = adjacency
        self.degree = degree
        self.report = report

    @classmethod
    def from_scipy(cls, adjacency: Any) -> Graph:
        """Take a symmetric matrix of weights as a graph; loops and zeros are dropped.

        Parameters
        ----------
        adjacency : sparse matrix or array-like of shape (n_samples, n_samples)
            Weights, finite and at least 0, equal to their mirror within 1e-12 relative.

        Returns
        -------
        Graph
            The graph.

        Raises
        ------
        ValueError
            Naming the first entry that is negative, not finite or without its mirror.
        """
        parts, degree = _lapwing.check_graph(csr_parts(adjacency, np.float64))
        return cls(csr_from_parts(parts), degree, {})

    @classmethod
    def _from_parts(cls, parts: CsrParts, report: dict[str, Any]) -> Graph:
        adjacency = csr_from_parts(parts)
        return cls(adjacency, np.asarray(adjacency.sum(axis=1)).reshape(-1), report)

    @property
    def n_samples(self) -> int:
        """Number of nodes."""
        return int(self._adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self._adjacency.nnz // 2)

    def to_scipy(self) -> sp.csr_array:
        """Weights as a matrix of SciPy.

        Returns
        -------
        csr_array of shape (n_samples, n_samples)
            Symmetric weights; they share memory with the graph.
        """
        return self._adjacency

    def components(self) -> NDArray[np.int32]:
        """Find the connected component of each node, in O(n + m) time.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            Numbers of the components, in the order of their first nodes.
        """
        return _lapwing.components(csr_parts(self._adjacency, np.float64)).view(np.int32)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph as `.npz`, which ``Graph.load``, ``scipy.sparse.load_npz`` and ``lapwing --graph`` read.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path-like
            Where to write; an existing file is replaced.
        """
        _lapwing.save_graph(os.fspath(path), csr_parts(self._adjacency, np.float64))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Graph:
        """Read a graph that `save` or ``lapwing graph`` wrote, with all the checks of `from_scipy`.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Graph
            The graph.
        """
        return cls.from_scipy(sp.load_npz(path))

    def __repr__(self) -> str:
        return f"Graph(n_samples={self.n_samples}, n_edges={self.n_edges})"
