"""The mails of the first half of TREC 2007, as unit rows of TF-IDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

import common

NAME = "trec07p_half.npz"
DROPPED = 0.01
"""Share of the words dropped at either end of the order by frequency."""
SMALL_ROWS = 4000


def load(small: bool) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows (n, d) and classes (n); of a sample of the mails if `small`. Written once, under `target/bench`."""
    tag = "small" if small else "half"
    rows = sp.load_npz(common.kept(f"trec07p-{tag}-rows.npz", lambda path: _write_rows(path, small)))
    return rows, np.load(common.kept_array(f"trec07p-{tag}-classes.npy", lambda: _prepared(small)[1]))


def labels(classes: np.ndarray, n_labeled: int, draw: int) -> np.ndarray:
    """The classes of `n_labeled` rows, stratified; −1 in the others."""
    rng = np.random.default_rng(draw)
    shown = np.full(len(classes), -1)
    for one, count in zip(*np.unique(classes, return_counts=True), strict=True):
        share = round(n_labeled * count / len(classes))
        shown[rng.choice(np.flatnonzero(classes == one), share, replace=False)] = one
    return shown


def _write_rows(path: Path, small: bool) -> None:
    with path.open("wb") as file:
        sp.save_npz(file, _prepared(small)[0], compressed=False)


def _prepared(small: bool) -> tuple[sp.csr_matrix, np.ndarray]:
    """TF-IDF as unit rows, without stop words, the most common and the rarest words; empty mails are left out."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer

    data = np.load(common.data_file(NAME))
    counts = sp.csr_matrix((data["X_data"], data["X_indices"], data["X_indptr"]), shape=tuple(data["X_shape"]))
    classes = data["y"]
    if small:
        chosen = np.sort(np.random.default_rng(0).choice(len(classes), SMALL_ROWS, replace=False))
        counts, classes = counts[chosen], classes[chosen]
    words = bytes(data["vocab_utf8"]).decode("utf8").split("\n")[: counts.shape[1]]
    counts = counts[:, [word not in ENGLISH_STOP_WORDS for word in words]]
    frequency = np.asarray((counts > 0).sum(axis=0)).reshape(-1)
    counts = counts[:, frequency > 0]
    order = np.argsort(frequency[frequency > 0], kind="stable")
    cut = int(DROPPED * len(order))
    rows = TfidfTransformer().fit_transform(counts[:, np.sort(order[cut : len(order) - cut])]).astype(np.float32)
    worded = np.diff(rows.indptr) > 0
    return sp.csr_matrix(rows[worded]), classes[worded]
