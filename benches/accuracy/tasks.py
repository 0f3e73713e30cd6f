"""The tasks: sets, cells and draws, methods, and the problem of a draw."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import cells
import common
import numpy as np
from ours import OURS
from peers import PEERS
from problem import Problem

ON_GRAPH = ["harmonic", "harmonic-plain", "harmonic-sizes"]
BOTH = ["auto", "harmonic", "harmonic-prior", "unfolded", "unfolded-validated"]
CLASSIFIERS = ["logistic", "random-forest"]
GRAPH_PEERS = [name for name in PEERS if name.startswith("gl-")]
NOT_ON_SUBSETS = [*BOTH[2:], "gl-poisson-mbo", "gl-volume-mbo", "correct-smooth", "correct-smooth-fixed"]
"""Methods that take a graph beside features, or many seconds."""
GRAPH_NEIGHBORS = 10
"""Neighbors on the features of autoencoders, as in the published tables."""


@dataclasses.dataclass(frozen=True)
class Task:
    """Sets with a draw of rows each (`whole` False), or whole sets with one graph for all methods."""

    title: str
    sets: list[str]
    cells: list[str]
    draws: int
    methods: list[str]
    limit: float
    """Seconds of a processor for one fit."""
    whole: bool = False
    peer_draws: int | None = None
    """Draws for slow peers; None is the number of all methods."""

    def problem(self, name: str, draw: int) -> Problem:
        if name in cells.GRAPHS:
            features, classes, graph, part = cells.load_graph(name)
            return Problem(features, classes, graph=graph, validation=part == 1)
        if not self.whole:
            return Problem(*cells.load(name, draw))
        with np.load(common.data_file(f"{name}.npz")) as arrays:
            features, classes = arrays["X"], arrays["y"]
        path = common.kept(f"accuracy/{name}-neighbors.npz", lambda path: _write_neighbors(path, features))
        with np.load(path) as kept:
            return Problem(features, classes, given=(kept["indices"], kept["distances"]))


def _write_neighbors(path: Path, features: np.ndarray) -> None:
    from lapwing.graph import kneighbors

    distances, indices = kneighbors(features, GRAPH_NEIGHBORS, method="exact")
    with path.open("wb") as file:
        np.savez(file, indices=indices, distances=distances)


TASKS = {
    "cells": Task(
        "Accuracy on subsets",
        cells.SETS,
        cells.CELLS,
        draws=5,
        methods=[name for name in [*OURS, *PEERS] if name not in NOT_ON_SUBSETS],
        limit=120,
    ),
    "graphs": Task(
        "Graphs whose nodes have features",
        cells.GRAPHS,
        ["5", "20", "20c", "standard"],
        draws=3,
        methods=[*BOTH, *CLASSIFIERS, "correct-smooth", "correct-smooth-fixed"],
        limit=600,
        whole=True,
    ),
    "mnist": Task(
        "MNIST, features of an autoencoder",
        ["mnist_vae"],
        ["1", "2", "3", "4", "5"],
        draws=50,
        methods=[*ON_GRAPH, *GRAPH_PEERS],
        limit=600,
        whole=True,
        peer_draws=4,
    ),
    "imbalanced": Task(
        "MNIST with uneven classes, features of an autoencoder, 30 labels at random",
        ["mnist_imbalanced_vae"],
        ["3c"],
        draws=20,
        methods=[*ON_GRAPH, *GRAPH_PEERS],
        limit=600,
        whole=True,
        peer_draws=4,
    ),
}
