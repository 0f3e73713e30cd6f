"""Errors for arguments that are no features, with advice."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ._graph import Graph
from ._inputs import check_options, features_argument, refuse_masked, widened

#: Packages whose graphs are no matrices, and how theirs become one.
GRAPH_PACKAGES = {
    "networkx": "networkx.to_scipy_sparse_array(X)",
    "igraph": "X.get_adjacency_sparse()",
    "rustworkx": "scipy.sparse.csr_array(rustworkx.adjacency_matrix(X))",
    "torch_geometric": "torch_geometric.utils.to_scipy_sparse_matrix(X.edge_index)",
    "dgl": "X.adj_external(scipy_fmt='csr')",
}


#: What to do with the name of a file.
READ_FIRST = "read the file first, as by numpy.load or pandas.read_csv"


def refuse_other_kinds(X: Any, what: str, graphs: str, files: str = READ_FIRST) -> None:
    """Raise an error unless X is a matrix: `graphs` and `files` are the advice for a graph, and for the name of a file."""
    package = type(X).__module__.partition(".")[0]
    kind = type(X).__name__
    if isinstance(X, Graph):
        raise TypeError(f"{what} is a lapwing Graph, where features are expected; {graphs}")
    if package in GRAPH_PACKAGES and "graph" in type(X).__name__.lower() + type(X).__module__:
        made = GRAPH_PACKAGES[package].replace("X", what)
        raise TypeError(f"{what} is a {package} {kind}; make it a matrix by {made}, and {graphs}")
    expected = "expected an array, sparse matrix or data frame of shape (n_samples, n_features)"
    if X is None:
        raise TypeError(f"{what} is None; {expected}")
    if isinstance(X, (str, bytes, PathLike)):
        raise TypeError(f"{what} is a {kind}, not data; {expected}: {files}")
    refuse_masked(X, what)
    if isinstance(X, dict) and not sp.issparse(X):
        raise TypeError(f"{what} is a dict; {expected}: pandas.DataFrame({what}) makes one of columns")
    if isinstance(X, (set, frozenset)):
        raise TypeError(f"{what} is a {kind}, which has no order; {expected}")


def checked_features(
    estimator: Any, X: Any, graphs: str, files: str = READ_FIRST, min_samples: int = 1, reset: bool = True
) -> Any:
    """X as the features of an estimator, checked; `graphs` and `files` as in `refuse_other_kinds`."""
    refuse_other_kinds(X, "X", graphs, files)
    X = widened(X)
    return validate_data(estimator, X, reset=reset, **check_options(X, min_samples=min_samples))


def array_of_features(X: Any, graphs: str) -> Any:
    """X as the features of a function, in the form that the compiled part takes."""
    refuse_other_kinds(X, "X", graphs)
    X = widened(X)
    return features_argument(check_array(X, input_name="X", **check_options(X, min_samples=2)))


def looks_like_a_graph(X: Any) -> bool:
    """Whether features may be a matrix of affinities or distances: square and symmetric, with an empty diagonal."""
    if getattr(X, "ndim", 0) != 2 or X.shape[0] != X.shape[1] or X.shape[0] < 3:
        return False
    if X.diagonal().any():
        return False
    if sp.issparse(X):
        return bool(X.nnz > 0 and abs(X - X.T).nnz == 0)
    return bool(X.any() and np.array_equal(X, X.T))
