"""Distances of nodes in hops."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

WORDS = 16
"""Sources that are followed at once, in words of 64 bits."""


def largest_component(graph: sp.csr_array) -> np.ndarray:
    """Whether each node (n) is in the largest component."""
    _, component = sp.csgraph.connected_components(graph, directed=False)
    return component == np.bincount(component).argmax()


def diameter(graph: sp.csr_array) -> int:
    """The longest of all shortest paths of the largest component, exactly.

    From every node at once: a node has a bit for each source that reaches it, and a hop is the union of the bits of the
    neighbors. O(n/64 · m) words for each hop.
    """
    inside = np.flatnonzero(largest_component(graph))
    if len(inside) < 2:
        return 0
    graph = sp.csr_array(sp.csr_array(graph)[inside][:, inside])
    return max(_farthest(graph, first) for first in range(0, len(inside), 64 * WORDS))


def _farthest(graph: sp.csr_array, first: int) -> int:
    """Hops from the sources of a block until no further node is reached."""
    n = graph.shape[0]
    sources = np.arange(first, min(first + 64 * WORDS, n))
    reached = np.zeros((n, WORDS), np.uint64)
    word, bit = np.divmod(sources - first, 64)
    reached[sources, word] = np.uint64(1) << bit.astype(np.uint64)
    hops = 0
    while True:
        # reduceat needs a neighbor for every node, as in a connected graph.
        now = np.bitwise_or.reduceat(reached[graph.indices], graph.indptr[:-1], axis=0)
        now |= reached
        if np.array_equal(now, reached):
            return hops
        reached, hops = now, hops + 1


def two_hops(graph: sp.csr_array, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors, sorted by weight, and their neighbors, by the sum of products of weights; the largest first."""
    step = np.asarray(graph[[node]].todense()).ravel()
    near = step > 0
    second = graph.T @ step
    second[near] = 0
    second[node] = 0
    return _largest_first(step), _largest_first(second)


def _largest_first(values: np.ndarray) -> np.ndarray:
    order = np.argsort(-values, kind="stable")
    return order[: int((values > 0).sum())]
