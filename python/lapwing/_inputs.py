"""Conversion of features and graphs for the compiled part: borrowed if type and order fit, else converted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

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
    # What comes from another process may begin at any byte.
    return csr_parts(X, np.float32) if sp.issparse(X) else np.require(X, requirements=["ALIGNED"])


def features_from(parts: Any) -> Any:
    """Features as an array or a scipy matrix, from the form in which the compiled part returns them."""
    return csr_from_parts(parts) if isinstance(parts, tuple) else parts


def widened(X: Any) -> Any:
    """A sparse matrix of a narrow type, in double precision if it may have duplicates: their sum may not fit. All else as it is."""
    if not sp.issparse(X) or X.dtype == np.float64 or X.dtype.kind == "c":
        return X
    return X if getattr(X, "has_canonical_format", False) else X.astype(np.float64)


def refuse_masked(values: Any, what: str) -> None:
    """Raise an error for an array with masked values, whose mask a conversion would drop."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        mask = np.ma.getmaskarray(values)
        row = int(np.argwhere(mask)[0][0])
        raise ValueError(
            f"{what} has {int(mask.sum())} masked values, first in row {row}; expected none: impute them, or give "
            f"{what}.filled(...) with a value that counts"
        )


def vector(values: Any, what: str) -> NDArray[np.float64]:
    """A column of numbers, none of them masked."""
    refuse_masked(values, what)
    return np.ascontiguousarray(column_or_1d(np.asarray(values, dtype=np.float64)))


def refuse_other_length(y: NDArray[Any], n_samples: int) -> None:
    """Raise an error unless there is a label or value for each row."""
    if y.shape[0] != n_samples:
        raise ValueError(f"y has {y.shape[0]} rows; expected one per row of X, {n_samples}")


def label_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64] | None:
    """Trust in the label of each row, if it was given."""
    weights = None if sample_weight is None else vector(sample_weight, "sample_weight")
    if weights is not None and weights.shape[0] != n_samples:
        raise ValueError(f"sample_weight has {weights.shape[0]} values; expected one per row of X, {n_samples}")
    return weights


def csr_parts(matrix: Any, dtype: Any) -> CsrParts:
    """`(shape, indptr, indices, data)` of a sparse matrix, columns of each row ascending and distinct."""
    csr = sp.csr_array(widened(matrix))
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


#: What stands in the place of a neighbor behind the end of a short list.
NO_NEIGHBOR = 2**32 - 1


def neighbor_pair(neighbors: tuple[Any, ...], what: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`(indices, distances)` as arrays of one shape (m, k); `what` the distances are in messages."""
    if len(neighbors) != 2:
        raise ValueError(f"neighbors are (indices, {what}); got {len(neighbors)} arrays")
    refuse_masked(neighbors[0], "indices")
    refuse_masked(neighbors[1], what)
    indices, distances = np.asarray(neighbors[0]), np.asarray(neighbors[1])
    if indices.dtype.kind not in "iu":
        raise TypeError(f"neighbors are (indices, {what}), indices first; got {indices.dtype} indices")
    if indices.ndim != 2 or indices.shape != distances.shape:
        shapes = f"indices {indices.shape} and {what} {distances.shape}"
        raise ValueError(f"{shapes} must both be (n_samples, n_neighbors)")
    return indices, distances


def neighbor_arrays(neighbors: tuple[Any, Any]) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Checks `(indices, distances)`, both (n, k), of a neighbor search among the n rows.

    As search libraries return them, a row may be its own neighbor, which is dropped, and -1 stands for a neighbor that was not found.
    """
    indices, distances = neighbor_pair(neighbors, "distances")
    is_none = np.asarray(indices == (-1 if indices.dtype.kind == "i" else np.iinfo(indices.dtype).max))
    outside = ((indices < 0) | (indices >= indices.shape[0])) & ~is_none
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ValueError(f"row {row} of the precomputed neighbors names a neighbor outside 0..{indices.shape[0] - 1}")
    is_itself: NDArray[np.bool_] = np.asarray(indices == np.arange(indices.shape[0])[:, None])
    if is_none.any() or is_itself.any():
        indices, distances = _others(indices, distances, is_none, is_itself)
    return np.ascontiguousarray(indices, np.uint32), np.ascontiguousarray(distances, np.float32)


def _others(
    indices: NDArray[Any], distances: NDArray[Any], is_none: NDArray[np.bool_], is_itself: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The lists without the rows themselves and without gaps, all as long as the longest."""
    keep = ~(is_none | is_itself)
    has_itself: NDArray[np.bool_] = np.asarray(is_itself.any(axis=1))
    if 2 * has_itself.sum() > has_itself.size:
        # A row whose place a twin took has one more neighbor than the others.
        keep &= has_itself[:, None] | (np.cumsum(keep, axis=1) < keep.shape[1])
    width = int(keep.sum(axis=1).max(initial=0))
    if not width:
        raise ValueError("precomputed neighbors name no other row than the row itself; ask the search for more neighbors")
    order = np.argsort(~keep, axis=1, kind="stable")[:, :width]
    kept = np.take_along_axis(keep, order, axis=1)
    ends = np.where(kept, np.take_along_axis(indices.astype(np.int64), order, axis=1), NO_NEIGHBOR)
    return ends, np.where(kept, np.take_along_axis(distances, order, axis=1), 0)


def _unsigned(indices: NDArray[Any]) -> NDArray[np.uint32]:
    if indices.dtype == np.int32:
        return np.ascontiguousarray(indices).view(np.uint32)
    if indices.size and indices.max() >= 2**32:
        raise ValueError("sparse matrices may have at most 4294967295 columns")
    return indices.astype(np.uint32)
