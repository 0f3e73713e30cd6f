"""Graphs put together recursively from unlike pieces, in the spirit of the chimeras of Laplacians.jl.

A piece is a path, ring, star, tree, grid, random regular graph, random graph or one grown by preferential attachment;
two graphs are joined by a few random edges, multiplied, or strung up as a necklace (every node of one replaced by a
copy of the other). Edges are two arrays of node numbers; parallel ones may occur.
"""

from __future__ import annotations

import numpy as np

Edges = tuple[np.ndarray, np.ndarray]


def chimera(nodes: int, rng: np.random.Generator, depth: int = 0) -> Edges:
    """A random graph of a number of nodes, its nodes in random order; never a single piece at the top."""
    if nodes < 30 or (depth > 1 and rng.random() < 0.2):
        left, right = _piece(nodes, rng)
    else:
        combine = (_joined, _product, _necklace)[np.searchsorted([0.5, 0.8], rng.random() ** 2)]
        left, right = combine(nodes, rng, depth + 1)
    order = rng.permutation(nodes)
    return order[left], order[right]


def attachment(nodes: int, each: int, rng: np.random.Generator) -> Edges:
    """Preferential attachment: each node brings `each` edges, to ends of earlier edges picked at random.

    An end picked at random is either the newer end of an edge, which is known, or the older one, which was picked before.
    Picks are followed back together until each is at a newer end. Those that point before the first edge go to node 0.
    """
    edge = np.arange(nodes * each)
    node = edge // each
    pick = (rng.random(len(edge)) * (2 * each * node)).astype(np.int64)
    follow, newer = pick // 2, pick % 2 == 0
    follow[node == 0], newer[node == 0] = 0, True
    open_ends = np.flatnonzero(~newer)
    while len(open_ends):
        behind = follow[open_ends]
        follow[open_ends], newer[open_ends] = follow[behind], newer[behind]
        open_ends = open_ends[~newer[open_ends]]
    return node, follow // each


def unequal_weights(nodes: int, left: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Weights over many powers of ten: inverse differences of a random potential smoothed along edges, times 1/uniform."""
    potential = rng.random(nodes)
    degree = 1 + np.bincount(left, minlength=nodes) + np.bincount(right, minlength=nodes)
    for _ in range(3):
        around = np.bincount(left, potential[right], nodes) + np.bincount(right, potential[left], nodes)
        potential = (potential + around) / degree
    difference = np.abs(potential[left] - potential[right])
    return 1 / (np.maximum(difference, 1e-4) * rng.uniform(1e-2, 1, size=len(left)))


def _piece(nodes: int, rng: np.random.Generator) -> Edges:
    pieces = (_path, _ring, _star, _tree, _grid, _regular, _scattered, _grown)
    return pieces[rng.integers(len(pieces))](nodes, rng)


def _path(nodes: int, rng: np.random.Generator) -> Edges:
    return np.arange(nodes - 1), np.arange(1, nodes)


def _ring(nodes: int, rng: np.random.Generator) -> Edges:
    """A ring with one or two further strides."""
    strides = np.unique(np.r_[1, rng.integers(1, max(2, min(nodes // 2, 1000)), size=rng.integers(1, 3))])
    node = np.arange(nodes)
    return np.tile(node, len(strides)), np.concatenate([(node + stride) % nodes for stride in strides])


def _star(nodes: int, rng: np.random.Generator) -> Edges:
    """A star with paths of random lengths as arms."""
    arm = int(rng.integers(1, 20))
    node = np.arange(1, nodes)
    return node, np.where((node - 1) % arm == 0, 0, node - 1)


def _tree(nodes: int, rng: np.random.Generator) -> Edges:
    """Every node hangs below a random earlier one, or two below each."""
    node = np.arange(1, nodes)
    return node, ((node - 1) // 2 if rng.random() < 0.5 else (rng.random(nodes - 1) * node).astype(np.int64))


def _grid(nodes: int, rng: np.random.Generator) -> Edges:
    """A grid of a random shape; nodes that are left over hang on its end as a path."""
    width = max(1, int(nodes ** rng.uniform(0.2, 0.5)))
    node = np.arange(nodes)
    along = node[(node + 1) % width != 0]
    along, across = along[along + 1 < nodes], node[: nodes - width]
    return np.r_[along, across], np.r_[along + 1, across + width]


def _regular(nodes: int, rng: np.random.Generator) -> Edges:
    """Three to five random cycles through all nodes."""
    cycles = [rng.permutation(nodes) for _ in range(rng.integers(2, 4))]
    return np.concatenate(cycles), np.concatenate([np.roll(cycle, 1) for cycle in cycles])


def _scattered(nodes: int, rng: np.random.Generator) -> Edges:
    """Random pairs, two to four edges for each node."""
    count = nodes * int(rng.integers(2, 5))
    return rng.integers(nodes, size=count), rng.integers(nodes, size=count)


def _grown(nodes: int, rng: np.random.Generator) -> Edges:
    return attachment(nodes, int(rng.integers(2, 5)), rng)


def _joined(nodes: int, rng: np.random.Generator, depth: int) -> Edges:
    """Two graphs and a random number of edges between them, mostly few."""
    first = min(max(int(nodes * rng.random()), 1), nodes - 1)
    count = int(np.exp(rng.uniform(0, np.log(max(2, nodes // 2)))))
    (a, b), (c, d) = chimera(first, rng, depth), chimera(nodes - first, rng, depth)
    bridges = rng.integers(first, size=count), rng.integers(first, nodes, size=count)
    return np.concatenate([a, c + first, bridges[0]]), np.concatenate([b, d + first, bridges[1]])


def _product(nodes: int, rng: np.random.Generator, depth: int) -> Edges:
    """The Cartesian product of two graphs; nodes that are left over are joined to it as a path."""
    outer = int(nodes ** rng.uniform(0.2, 0.8))
    inner = nodes // outer
    (a, b), (c, d) = chimera(outer, rng, depth), chimera(inner, rng, depth)
    copies, places = np.arange(outer)[:, None] * inner, np.arange(inner)
    left = [(a[:, None] * inner + places).ravel(), (copies + c).ravel()]
    right = [(b[:, None] * inner + places).ravel(), (copies + d).ravel()]
    return _with_tail(left, right, outer * inner, nodes)


def _necklace(nodes: int, rng: np.random.Generator, depth: int) -> Edges:
    """Every node of one graph becomes a copy of another; an edge becomes a few between random nodes of the copies."""
    outer = int(nodes ** rng.uniform(0.2, 0.8))
    inner = nodes // outer
    (a, b), (c, d) = chimera(outer, rng, depth), chimera(inner, rng, depth)
    copies = np.arange(outer)[:, None] * inner
    threads = int(rng.integers(1, 5))
    a, b = np.repeat(a, threads), np.repeat(b, threads)
    left = [(copies + c).ravel(), a * inner + rng.integers(inner, size=len(a))]
    right = [(copies + d).ravel(), b * inner + rng.integers(inner, size=len(b))]
    return _with_tail(left, right, outer * inner, nodes)


def _with_tail(left: list[np.ndarray], right: list[np.ndarray], used: int, nodes: int) -> Edges:
    tail = np.arange(used, nodes)
    return np.concatenate([*left, tail - 1]), np.concatenate([*right, tail])
