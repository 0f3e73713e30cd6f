"""The methods that are compared, over several draws of labels."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import common
import results
import sets

FACTORS: dict[str, dict[str, Any]] = {
    "anchor": {"factor": "anchor"},
    "nystrom": {"factor": "nystrom"},
    "nystrom, uniform": {"factor": "nystrom", "landmarks": "uniform"},
    "glnp": {"factor": "glnp"},
}
NEAREST = "nearest"
"""One setting that gives both 1-NN and 5-NN."""
CURVES = results.Curves("anchor", "nystrom", "nystrom, uniform", "glnp", "1-NN", "5-NN")

Guess = tuple[str, int, np.ndarray, float]
"""Method, number of the draw, class of every row, seconds."""


def guesses(
    method: str, rows: np.ndarray, draws: Sequence[np.ndarray], n_landmarks: int, select: str, **params: Any
) -> Iterator[Guess]:
    """Classes of all rows for the labels (n) of each draw; without selection, one fit serves all draws.

    `params` are those of a classifier beside its factor.
    """
    if method == "glnp" and rows.min() < 0:
        # The method needs lines through the origin, so columns are not centered.
        rows = sets.in_unit_range(rows)
    if method == NEAREST:
        yield from _nearest(rows, draws)
    elif select == "off":
        seconds, found = common.timed(together, classifier(method, n_landmarks, 0, **params), rows, draws)
        yield from ((method, at, classes, seconds) for at, classes in enumerate(found))
    else:
        for at, labels in enumerate(draws):
            seconds, fitted = common.timed(fit, classifier(method, n_landmarks, at, **params), rows, labels)
            yield method, at, fitted.transduction_, seconds


def classifier(factor: str, n_landmarks: int, seed: int, **params: Any) -> Any:
    """A classifier, at its defaults but for the parameters given."""
    from lapwing import LowRankPropagationClassifier

    return LowRankPropagationClassifier(n_landmarks, **FACTORS[factor], **params, random_state=seed)


def fit(classifier: Any, rows: np.ndarray, labels: np.ndarray, trust: np.ndarray | None = None) -> Any:
    """The fitted classifier; its warnings are in the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return classifier.fit(rows, labels, trust)


def together(classifier: Any, rows: np.ndarray, draws: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Classes of all rows for each draw of labels, from one fit without selection.

    Columns of the propagation are independent, so that each draw can have its own. A row that several draws label
    has a share in each, and its trust is the number of its shares.
    """
    n_classes = max(int(labels.max()) for labels in draws) + 1
    targets = np.zeros((len(rows), len(draws), n_classes))
    for at, labels in enumerate(draws):
        known = np.flatnonzero(labels >= 0)
        targets[known, at, labels[known]] = 1.0
    trust = targets.sum(axis=(1, 2))
    shares = targets.reshape(len(rows), -1) / np.maximum(trust, 1.0)[:, None]
    fit(classifier.set_params(select="off"), rows, shares, trust)
    scores = np.nan_to_num(classifier.scores_).reshape(len(rows), len(draws), n_classes)
    return list(scores.argmax(axis=2).T)


def _nearest(rows: np.ndarray, draws: Sequence[np.ndarray]) -> Iterator[Guess]:
    """The class of the nearest labeled row, and the most frequent class of the nearest five, the first of several."""
    from sklearn.neighbors import NearestNeighbors

    rows = rows.astype(np.float32)
    for at, labels in enumerate(draws):
        known = np.flatnonzero(labels >= 0)
        with common.Stopwatch() as watch:
            search = NearestNeighbors(n_neighbors=min(5, len(known)), algorithm="brute").fit(rows[known])
            nearest = labels[known][search.kneighbors(rows, return_distance=False)]
        votes = (nearest[:, :, None] == np.arange(labels.max() + 1)).sum(axis=1)
        yield "1-NN", at, nearest[:, 0], watch.wall
        yield "5-NN", at, votes.argmax(axis=1), watch.wall


def rightness(classes: np.ndarray, labels: np.ndarray, found: np.ndarray) -> common.Record:
    """Accuracy on the rows without a label, and its mean over the classes."""
    hidden, right = labels < 0, found == classes
    by_class = [float(right[hidden & (classes == one)].mean()) for one in np.unique(classes)]
    return {"accuracy": float(right[hidden].mean()), "balanced_accuracy": statistics.mean(by_class)}
