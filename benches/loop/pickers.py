"""Strategies that choose rows to label, all with the same call: lapwing's, random, and those of peers (`picking_peers.py`).

`Picker(draw).pick(y, n)` gives n rows, most useful first, of the candidates without a label in y (n, −1 where unlabeled).
`starts_alone` tells whether it can begin without any label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import keep
import numpy as np
import picking_peers as peers
from material import Draw


class Picker(Protocol):
    starts_alone: bool

    def pick(self, y: np.ndarray, n: int) -> np.ndarray: ...


class Random:
    """Rows at random."""

    starts_alone = True

    def __init__(self, draw: Draw) -> None:
        self.order = draw.rng(2).permutation(draw.candidates)

    def pick(self, y: np.ndarray, n: int) -> np.ndarray:
        return self.order[y[self.order] < 0][:n]


class Lapwing:
    """A strategy of `lapwing.active.Suggester`, which keeps cells and solver between batches."""

    starts_alone = True

    def __init__(self, draw: Draw, strategy: str) -> None:
        self.suggester = keep.lapwing("active", "Suggester")(draw.graph)
        self.options = {"strategy": strategy, "candidates": draw.candidates}

    def pick(self, y: np.ndarray, n: int) -> np.ndarray:
        return self.suggester.next(y, n, **self.options)[0]


class Margin(Lapwing):
    """The least margin, which needs labels."""

    starts_alone = False


def _of(kind: Callable[..., Picker], *words: str) -> Callable[[Draw], Any]:
    return lambda draw: kind(draw, *words)


PICKERS: dict[str, Callable[[Draw], Any]] = {
    "random": Random,
    "lapwing-cover": _of(Lapwing, "cover"),
    "lapwing-mix": _of(Lapwing, "mix"),
    "lapwing-margin": _of(Margin, "margin"),
    "graphlearning-margin": _of(peers.Uncertainty, "smallest_margin"),
    "graphlearning-norm": peers.ReweightedNorm,
    "graphlearning-vopt": _of(peers.Variance, "var_opt"),
    "graphlearning-sigma": _of(peers.Variance, "sigma_opt"),
    "graphlearning-change": _of(peers.ModelChange, "model_change"),
    "graphlearning-change-vopt": _of(peers.ModelChange, "model_change_var_opt"),
    "activeml-typiclust": _of(peers.ActiveMl, "TypiClust"),
    "activeml-coreset": _of(peers.ActiveMl, "CoreSet"),
    "activeml-probcover": _of(peers.ActiveMl, "ProbCover"),
    "activeml-margin": peers.ActiveMlMargin,
}


def first(draw: Draw, picker: Picker, n: int) -> np.ndarray:
    """The first n rows: chosen by the picker, or at random if it needs labels."""
    empty = np.full(len(draw.classes), -1, dtype=np.int64)
    return (picker if picker.starts_alone else Random(draw)).pick(empty, n)
