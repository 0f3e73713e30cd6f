"""Random problems of any size: rows of a mixture, edges at random, labels of a few rows; made once, kept under `target/`."""

from __future__ import annotations

from pathlib import Path

import common
import numpy as np

CLASSES = 10
LATENT, WAVES = 8, 64
NEIGHBORS = 15
"""Edges at random, for each row."""
BLOCK = 20_000
SEED = 7


def rows(kind: str, n: int, d: int, ending: str) -> Path:
    """Rows of a mixture: `curved` ones lie near a bent surface of 8 dimensions, `plain` ones fill all columns."""
    write = _write_npy if ending == "npy" else _write_csv
    return common.kept(f"plan-{kind}-{n}x{d}.{ending}", lambda path: write(path, kind, n, d))


def labels(n: int) -> Path:
    """The first rows of every class are labeled: 20, or as many as there are."""
    given = np.arange(min(n, 20 * CLASSES))
    lines = [f"{row},{row % CLASSES}\n" for row in given]
    return common.kept(f"plan-{n}-labels.csv", lambda path: path.write_text("row,label\n" + "".join(lines)))


def edges(n: int) -> Path:
    """Edges u, v at random, each once, as .npy."""

    def make() -> np.ndarray:
        rng = np.random.default_rng(SEED)
        ends = np.sort(rng.integers(n, size=(n * NEIGHBORS, 2)), axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
        first = np.unique(ends[:, 0] * n + ends[:, 1], return_index=True)[1]
        return ends[np.sort(first)].astype(np.int64)

    return common.kept_array(f"plan-{n}-edges.npy", make)


def _blocks(kind: str, n: int, d: int):
    rng = np.random.default_rng(SEED)
    centers = rng.normal(size=(CLASSES, LATENT)) * 1.6
    directions, phases = rng.normal(size=(LATENT, WAVES)) * 0.4, rng.uniform(0, 2 * np.pi, size=WAVES)
    outward, means = rng.normal(size=(WAVES, d)) / np.sqrt(WAVES), rng.normal(size=(CLASSES, d)) * 3 / np.sqrt(d)
    for start in range(0, n, BLOCK):
        classes = np.arange(start, min(start + BLOCK, n)) % CLASSES
        if kind == "plain":
            x = means[classes] + rng.normal(size=(len(classes), d))
        else:
            z = centers[classes] + rng.normal(size=(len(classes), LATENT))
            x = np.sin(z @ directions + phases) @ outward + 0.01 * rng.normal(size=(len(classes), d))
        yield x.astype(np.float32)


def _write_npy(path: Path, kind: str, n: int, d: int) -> None:
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n, d)})
        for block in _blocks(kind, n, d):
            file.write(block.tobytes())


def _write_csv(path: Path, kind: str, n: int, d: int) -> None:
    with path.open("w") as file:
        file.write(",".join(f"x{column}" for column in range(d)) + "\n")
        for block in _blocks(kind, n, d):
            np.savetxt(file, block, fmt="%.5g", delimiter=",")
