"""The data sets: images with classes, and vectors of words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import common

IMAGES = {"MNIST": "mnist.npz", "USPS": "usps.npz", "COIL20": "coil20.npz"}
WORDS = {"word2vec": "word2vec_googlenews_8k.npz", "GloVe": "glove_twitter_25d.npz"}
TRAINING = 60_000
"""Rows of MNIST for training; no others are used."""


def files(names: Iterable[str]) -> tuple[str, ...]:
    """Files of these sets in the directory of the data."""
    return tuple((IMAGES | WORDS)[name] for name in names)


def images(name: str, rows: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d), bytes or f32, and classes (n) from 0; the first `rows` or all of them."""
    with np.load(common.data_file(IMAGES[name])) as data:
        features, classes = data["X"], data["y"]
    end = min(rows or len(classes), TRAINING)
    return features[:end], classes[:end]


def drawn(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, equally many drawn from each class, in the order of the file."""
    features, classes = images(name)
    rng = np.random.default_rng(0)
    each = rows // (int(classes.max()) + 1)
    members = [np.flatnonzero(classes == one) for one in range(int(classes.max()) + 1)]
    chosen = np.sort(np.concatenate([rng.choice(some, min(each, len(some)), replace=False) for some in members]))
    return features[chosen], classes[chosen]


def words(name: str, rows: int = 0) -> tuple[np.ndarray, list[str]]:
    """Unit rows, f32, and the word of each, the more frequent ones first; the first `rows` or all of them."""
    with np.load(common.data_file(WORDS[name])) as data:
        vectors, vocabulary = data["X"], bytes(data["vocab_utf8"]).decode().split("\n")
    vectors = vectors[: rows or None]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), vocabulary[: len(vectors)]


def shown(classes: np.ndarray, share: float, draw: int) -> np.ndarray:
    """Labels (n): a share of the rows of each class, and at least one, keep theirs, the others get −1."""
    rng = np.random.default_rng(draw)
    labels = np.full(len(classes), -1)
    for one in np.unique(classes):
        members = np.flatnonzero(classes == one)
        chosen = rng.choice(members, max(1, round(share * len(members))), replace=False)
        labels[chosen] = one
    return labels
