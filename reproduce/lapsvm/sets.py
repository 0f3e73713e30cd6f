"""The data sets, their kernels and graphs, and the splits of the protocol.

Widths, neighbors and powers are those quoted from Sindhwani et al. (2005) and Sindhwani & Rosenberg (2008). If the
scale of the features is not stated, the one of the least validation error was taken: pixels of USPS in
[−1, 1]; those of COIL20 in [0, 1] with ten times the width of 0.6 (as quoted, or on unit rows, errors are one or two
points higher). USPST has 4 neighbors instead of the 10 quoted, again by validation: two points fewer. The graph of MNIST
is not described: of a few tried on two draws, 20 neighbors with p = 3 or 5 were equally good and better than fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import common

Rows = Any
"""Features (n, d), an array or a sparse matrix."""
Kernel = Callable[[Rows, Rows], np.ndarray]
"""Between some rows (m, d) and others (n, d)."""


@dataclass(frozen=True)
class Set:
    """Rows and classes, settings of kernel and graph, and the number of labeled rows."""

    file: str
    prepare: Callable[[dict[str, np.ndarray]], tuple[Rows, np.ndarray]]
    """Rows and classes from 0, of the arrays of the file; −1 for a class that is not published."""
    kernel: Kernel
    n_neighbors: int
    power: int
    labeled: int
    """Rows with a label, and as many others for validation."""
    merged: Callable[[np.ndarray], np.ndarray] | None = None
    """The two classes of a binary version, from those of the file."""
    drawn_by: str = "task"
    """Rows are drawn in proportion to the classes of the "file", to those of the "task", or at "random"."""
    weights: str = "gaussian"
    laplacian: str = "normalized"
    all_rows: bool = False
    """Whether the rows for validation and test are in the graph and in the fit too, without labels."""
    n_train: int = 0
    """Rows before the test rows of the data set; 0 if it has none, and folds are drawn."""
    searched: str = "newton"
    """The solver with which weights are chosen."""
    search_draws: int = 12
    """Draws on which weights are chosen."""
    draws: int = 12
    """Most draws that are measured."""


@dataclass(frozen=True)
class Split:
    """Row numbers of each part."""

    labeled: np.ndarray
    unlabeled: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Task:
    """A split with its matrices: labeled rows first, then the unlabeled ones."""

    gram: np.ndarray
    """(n, n)"""
    graph: Any
    labels: np.ndarray
    """(n), −1 where unlabeled."""
    truth: np.ndarray
    """(n), −1 where no class is published."""
    judged: np.ndarray
    """Numbers of the unlabeled rows U whose class is known."""
    validation: tuple[np.ndarray, np.ndarray]
    """Kernel (v, n) and classes (v)."""
    test: tuple[np.ndarray, np.ndarray]


def rbf(width: float) -> Kernel:
    """exp(−|x − x′|²/(2σ²)); distances that rounding made negative count as 0."""

    def kernel(rows: Rows, others: Rows) -> np.ndarray:
        squares = _norms(rows)[:, None] + _norms(others) - 2 * _products(rows, others)
        np.maximum(squares, 0, out=squares)
        squares /= -2 * width**2
        return np.exp(squares, out=squares)

    return kernel


def polynomial(degree: int) -> Kernel:
    """(xᵀx′)^degree, by products, because NumPy's power uses logarithms."""

    def kernel(rows: Rows, others: Rows) -> np.ndarray:
        products = _products(rows, others)
        powers = products.copy()
        for _ in range(degree - 1):
            powers *= products
        return powers

    return kernel


def _products(rows: Rows, others: Rows) -> np.ndarray:
    products = rows @ others.T
    return products.toarray() if sp.issparse(products) else products


def _norms(rows: Rows) -> np.ndarray:
    squares = rows.multiply(rows) if sp.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1)).ravel()


# --- rows and classes from the files ---------------------------------------------------------------------------------


def _as_it_is(data: dict[str, np.ndarray]) -> tuple[Rows, np.ndarray]:
    return data["X"].astype(np.float64), data["y"]


def _first_objects(objects: np.ndarray) -> np.ndarray:
    """The first ten objects against the others."""
    return np.where(objects >= 10, 1, 0)


def _usps_test(data: dict[str, np.ndarray]) -> tuple[Rows, np.ndarray]:
    chosen = data["test_mask"]
    return 2 * data["X"][chosen].astype(np.float64) - 1, data["y"][chosen]


def ones_to_fives(digits: np.ndarray) -> np.ndarray:
    """Digits 1 to 5 against 6 to 9 and 0, which is the tenth class where classes are counted from 1."""
    return np.where((digits >= 1) & (digits <= 5), 0, 1)


def zeros_to_fours(digits: np.ndarray) -> np.ndarray:
    """Digits 0 to 4 against 5 to 9."""
    return np.where(digits >= 5, 1, 0)


def _texts(data: dict[str, np.ndarray]) -> tuple[Rows, np.ndarray]:
    """TF-IDF as published with SVMlin, in unit rows; 536 of the 1,946 classes are published."""
    return sp.csr_matrix((data["X_data"], data["X_indices"], data["X_indptr"]), shape=tuple(data["X_shape"])).astype(
        np.float64
    ), data["y"]


def _three_or_eight(data: dict[str, np.ndarray]) -> tuple[Rows, np.ndarray]:
    """Unit rows, those for training first."""
    chosen = np.isin(data["y"], (3, 8))
    rows = data["X"][chosen].astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), (data["y"][chosen] == 8).astype(np.int64)


SETS = {
    "G50C": Set("g50c.npz", _as_it_is, rbf(17.5), 50, 5, 50),
    "COIL20(B)": Set("coil20.npz", _as_it_is, rbf(6.0), 2, 1, 40, _first_objects),
    "PCMAC": Set("pcmac_svmlin.npz", _texts, rbf(2.7), 50, 5, 50),
    "USPST(B)": Set("usps.npz", _usps_test, rbf(9.4), 4, 2, 50, ones_to_fives),
    "COIL20": Set("coil20.npz", _as_it_is, rbf(6.0), 2, 1, 40),
    "USPST": Set("usps.npz", _usps_test, rbf(9.4), 4, 2, 50),
    "MNIST3VS8": Set(
        "mnist.npz", _three_or_eight, polynomial(9), 20, 3, 80, n_train=11_982, searched="cg", search_draws=3, draws=6
    ),
}


def files() -> tuple[str, ...]:
    """Files in the directory of the data."""
    return tuple(dict.fromkeys(one.file for one in SETS.values()))


# --- splits ----------------------------------------------------------------------------------------------------------


def tasks(chosen: Set, draws: int) -> Iterator[Task]:
    """Yield one split after another."""
    with np.load(common.data_file(chosen.file)) as data:
        rows, published = chosen.prepare(dict(data))
    classes = published if chosen.merged is None else chosen.merged(published)
    by = {"file": published, "task": classes, "random": np.where(classes < 0, -1, 0)}[chosen.drawn_by]
    for split in _splits(classes, by, chosen, draws):
        yield _task(rows, classes, split, chosen)


def _splits(classes: np.ndarray, by: np.ndarray, chosen: Set, draws: int) -> Iterator[Split]:
    """Four folds, three times; or the division of the data and draws of its training rows.

    Rows of unknown class are divided as the others are; those of the training part stay unlabeled.
    """
    from sklearn.model_selection import StratifiedKFold

    for draw in range(draws):
        repetition, fold = divmod(draw, 4)
        if chosen.n_train:
            train, test = np.arange(chosen.n_train), np.arange(chosen.n_train, len(classes))
        else:
            folds = StratifiedKFold(4, shuffle=True, random_state=repetition)
            train, test = list(folds.split(by, by))[fold]
        known, unknown = train[classes[train] >= 0], train[classes[train] < 0]
        labeled, others = _drawn(classes, by, known, chosen.labeled, draw)
        validation, unlabeled = _drawn(classes, by, others, chosen.labeled, draw)
        yield Split(labeled, np.concatenate([unlabeled, unknown]), validation, test[classes[test] >= 0])


def _drawn(
    classes: np.ndarray, by: np.ndarray, among: np.ndarray, count: int, draw: int
) -> tuple[np.ndarray, np.ndarray]:
    """A number of rows, of each group `by` in proportion and at least one of each class, and the others."""
    from sklearn.model_selection import train_test_split

    for seed in range(draw, draw + 100_000, 1000):
        some, others = train_test_split(among, train_size=count, stratify=by[among], random_state=seed)
        if len(np.unique(classes[some])) == len(np.unique(classes[among])):
            return some, others
    raise ValueError(f"{count} rows are too few for a row of each class")


def _task(rows: Rows, classes: np.ndarray, split: Split, chosen: Set) -> Task:
    beyond = [split.validation, split.test] if chosen.all_rows else []
    order = np.concatenate([split.labeled, split.unlabeled, *beyond])
    fitted, truth = rows[order], classes[order]
    labels = np.where(np.arange(len(order)) < len(split.labeled), truth, -1)
    unlabeled = np.arange(len(split.labeled), len(split.labeled) + len(split.unlabeled))

    def beside(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return chosen.kernel(rows[some], fitted), classes[some]

    return Task(
        gram=chosen.kernel(fitted, fitted),
        graph=_graph(fitted, chosen),
        labels=labels,
        truth=truth,
        judged=unlabeled[truth[unlabeled] >= 0],
        validation=beside(split.validation),
        test=beside(split.test),
    )


def _graph(rows: Rows, chosen: Set) -> Any:
    """An edge if either row is a neighbor of the other; gaussian weights exp(−d²/(2t²)), t being the mean distance to a neighbor."""
    from lapwing.graph import kneighbors, knn_graph

    if chosen.weights == "binary":
        return knn_graph(rows, chosen.n_neighbors, weights="binary", symmetrize="union")
    distances, _ = kneighbors(rows, chosen.n_neighbors)
    width = float(distances[distances > 0].mean())
    return knn_graph(rows, chosen.n_neighbors, weights="gaussian", bandwidth=width, symmetrize="union")
