"""Conversion of features and graphs for the compiled part: borrowed if type and order fit, else converted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._columns import check_columns

CsrParts = tuple[tuple[int, int], NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]]

#: Types of dense features taken as they are; all others become the first, float16 becomes float32.
DENSE_TYPES = [np.float64, np.float32, np.uint8]


def check_options(X: Any, min_samples: int = 1) -> dict[str, Any]:
    """Options of scikit-learn's validation. Rust finds and names values that are not finite; for data frames Python does,
    because it knows the names of columns.
    """
    check_columns(X)
    half = getattr(X, "dtype", None) == np.float16
    sparse = sp.issparse(X)
    return {
        "accept_sparse": "csr",
        "dtype": np.float32 if half or sparse else DENSE_TYPES,
        "order": None if sparse else "C",
        "ensure_all_finite": False,
        "ensure_min_samples": min_samples,
    }


def features_argument(X: Any) -> Any:
    """Checked features in the form that the compiled part takes."""
    return csr_parts(X, np.float32) if sp.issparse(X) else X


def csr_parts(matrix: Any, dtype: Any) -> CsrParts:
    """`(shape, indptr, indices, data)` of a sparse matrix, columns of each row ascending and distinct."""
    csr = sp.csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return (
        (int(csr.shape[0]), int(csr.shape[1])),
        csr.indptr.astype(np.uint64),
        _unsigned(csr.indices),
        np.ascontiguousarray(csr.data, dtype=dtype),
    )


def csr_from_parts(parts: CsrParts) -> sp.csr_array:
    """A scipy matrix over the arrays that the compiled part returned."""
    shape, indptr, indices, data = parts
    # Below 2³¹ columns a signed index has the same bits; scipy has no unsigned indices.
    columns = indices.view(np.int32) if shape[1] <= 2**31 else indices.astype(np.int64)
    if data.size <= np.iinfo(np.int32).max:
        return sp.csr_array((data, columns, indptr.astype(np.int32)), shape=shape)
    return sp.csr_array((data, columns.astype(np.int64), indptr.view(np.int64)), shape=shape)


def neighbor_arrays(neighbors: tuple[Any, Any]) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Checks `(indices, distances)`, both (n, k), of a neighbor search among the n rows."""
    if len(neighbors) != 2:
        raise ValueError(f"precomputed neighbors are (indices, distances); got {len(neighbors)} arrays")
    indices, distances = np.asarray(neighbors[0]), np.asarray(neighbors[1])
    if indices.dtype.kind not in "iu":
        raise TypeError(f"precomputed neighbors are (indices, distances), indices first; got {indices.dtype} indices")
    if indices.ndim != 2 or indices.shape != distances.shape:
        shapes = f"indices {indices.shape} and distances {distances.shape}"
        raise ValueError(f"{shapes} must both be (n_samples, n_neighbors)")
    outside = (indices < 0) | (indices >= indices.shape[0])
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ValueError(f"row {row} of the precomputed neighbors names a neighbor outside 0..{indices.shape[0] - 1}")
    return np.ascontiguousarray(indices, np.uint32), np.ascontiguousarray(distances, np.float32)


def _unsigned(indices: NDArray[Any]) -> NDArray[np.uint32]:
    if indices.dtype == np.int32:
        return np.ascontiguousarray(indices).view(np.uint32)
    if indices.size and indices.max() >= 2**32:
        raise ValueError("sparse matrices may have at most 4294967295 columns")
    return indices.astype(np.uint32)
