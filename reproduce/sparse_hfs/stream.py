"""Labels over a stream of edges through a window (section 6 of the paper, an open problem): accuracy and time beside fits from zero."""

from __future__ import annotations

import functools
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import common
import results

Setting = dict[str, Any]
Edges = Callable[[int, int], np.ndarray]
"""The next edges (count, 2) of a stream that has had so many."""
DATA = ("mnist_vae.npz",)
STREAMS = ("communities", "drift", "digits")
WINDOW, TOTAL, SMALL = 1_000_000, 10_000_000, 100
PORTION = 10_000
"""Edges between two answers."""
CHECKS = 20
"""Answers that are compared with a fit from zero."""
N_CLASSES, N_LABELED = 10, 200
COMMUNITY_NODES = 50_000
NEIGHBORS = 30
CURVES = results.Curves("stream", "fit from zero")


def settings(small: bool) -> list[Setting]:
    """A process for each stream; small ones are a hundredth."""
    names = STREAMS[:2] if small else STREAMS
    return [{"edges_of": name, "share": SMALL if small else 1} for name in names]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy and seconds at some moments of the stream, with the mean seconds of all answers since the moment before."""
    from lapwing import StreamingHarmonicClassifier

    window, total, portion = (size // setting["share"] for size in (WINDOW, TOTAL, PORTION))
    classes, edges = STREAM[setting["edges_of"]](setting["share"])
    rng = np.random.default_rng(1)
    shown = rng.choice(len(classes(0)), N_LABELED, replace=False)
    labels = np.full(len(classes(0)), -1)
    labels[shown] = classes(0)[shown]
    hidden = labels < 0
    streamed = StreamingHarmonicClassifier(window, random_state=0).fit(edges(0, window), labels)
    records, answers, added, n_fits = [], [], [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seen in range(window, total, portion):
            new = edges(seen, portion)
            added.append(common.timed(streamed.partial_fit, new)[0])
            seconds, found = common.timed(lambda: streamed.transduction_)
            answers.append(seconds)
            part = streamed.report_["parts"]["stream"]
            n_fits += part["is_fit"]
            if len(records) * (total - window) // CHECKS > seen + portion - window:
                continue
            truth = classes(seen + portion)[hidden]
            record = {"seen": seen + portion, "stream": float(np.mean(found[hidden] == truth)), "fits": n_fits}
            record |= {
                "seconds": statistics.mean(answers),
                "slowest": max(answers),
                "adding": statistics.mean(added) / portion,
            }
            records.append(
                {**record, **_from_zero(streamed, labels, truth), "residual": part["residual"], "portion": portion}
            )
            answers, added = [], []
    return records


def _from_zero(streamed: Any, labels: np.ndarray, truth: np.ndarray) -> common.Record:
    """Accuracy and seconds of a fit to the graph of the window, which is given to it."""
    from lapwing import HarmonicClassifier

    graph, fresh = streamed.graph(), HarmonicClassifier(affinity="precomputed", random_state=0)
    seconds, _ = common.timed(fresh.fit, graph, labels)
    return {"fit from zero": float(np.mean(fresh.transduction_[labels < 0] == truth)), "fit_seconds": seconds}


def _communities(share: int, drift: bool) -> tuple[Callable[[int], np.ndarray], Edges]:
    """Nodes of ten communities, of whose edges 70 % are within one. With drift half of the nodes move to another, one after another."""
    n = COMMUNITY_NODES // share
    rng = np.random.default_rng(0)
    before, after = rng.integers(0, N_CLASSES, n), rng.integers(0, N_CLASSES, n)
    moves = rng.permutation(n) if drift else np.full(n, 2 * n)
    moves[rng.choice(n, N_LABELED // 2, replace=False)] = 2 * n

    def classes(seen: int) -> np.ndarray:
        return np.where(moves < n * share * seen / (2 * TOTAL), after, before)

    def edges(seen: int, count: int) -> np.ndarray:
        now, draws = classes(seen), np.random.default_rng([2, seen])
        order = np.argsort(now, kind="stable")
        starts = np.searchsorted(now[order], np.arange(N_CLASSES + 1))
        u, v = draws.integers(0, n, (2, count))
        within = draws.random(count) < 0.7
        first, last = starts[now[u]], starts[now[u] + 1]
        v[within] = order[(first + draws.random(count) * (last - first)).astype(np.int64)][within]
        return np.column_stack([u, v])

    return classes, edges


def _digits(_: int) -> tuple[Callable[[int], np.ndarray], Edges]:
    """The edges of the nearest neighbors of MNIST in random order, again and again in another one."""
    from lapwing.graph import kneighbors

    with np.load(common.data_file(DATA[0])) as data:
        rows, digits = data["X"].astype(np.float32), data["y"]
    _, neighbors = kneighbors(rows, NEIGHBORS)
    pairs = np.column_stack([np.repeat(np.arange(len(rows)), NEIGHBORS), neighbors.ravel()])

    @functools.lru_cache(maxsize=2)
    def shuffled(turn: int) -> np.ndarray:
        return pairs[np.random.default_rng([3, turn]).permutation(len(pairs))]

    def edges(seen: int, count: int) -> np.ndarray:
        turn, at = divmod(seen, len(pairs))
        first = shuffled(turn)[at : at + count]
        rest = count - len(first)
        return first if not rest else np.concatenate([first, edges(seen + len(first), rest)])

    return lambda _: digits, edges


STREAM = {
    "communities": lambda share: _communities(share, drift=False),
    "drift": lambda share: _communities(share, drift=True),
    "digits": _digits,
}


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each stream."""
    rows = []
    for name, group in results.grouped(records, lambda record: record["edges_of"]).items():
        ratio = statistics.median(record["fit_seconds"] / record["seconds"] for record in group)
        apart = [100 * (record["stream"] - record["fit from zero"]) for record in group]
        rows.append(
            [
                name,
                f"{group[-1]['seen']:,}",
                f"{results.mean(group, 'stream'):.4f}",
                f"{results.mean(group, 'fit from zero'):.4f}",
                f"{min(apart):+.2f}",
                f"{1000 * results.mean(group, 'seconds'):.0f}",
                f"{1000 * max(record['slowest'] for record in group):.0f}",
                f"{1000 * results.mean(group, 'fit_seconds'):.0f}",
                f"{ratio:.1f}",
                f"{1e6 * results.mean(group, 'adding'):.2f}",
                str(group[-1]["fits"]),
                f"{max(record['residual'] for record in group):.1e}",
            ]
        )
    head = [
        "stream",
        "edges",
        "accuracy",
        "of a fit from zero",
        "worst difference, points",
        "ms of an answer, mean",
        "slowest",
    ]
    head += [
        "ms of a fit from zero",
        "fit / answer, median",
        "µs to add an edge",
        "fits among the answers",
        "largest residual",
    ]
    return common.markdown("Labels over a stream of edges", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Accuracy over the edges, a panel for each stream."""
    groups = results.grouped(records, lambda record: record["edges_of"])
    figure = results.figure(4 * len(groups), 3.2)
    for panel, (name, group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        seen = [record["seen"] / 1e6 for record in group]
        for curve in ("fit from zero", "stream"):
            panel.plot(seen, [record[curve] for record in group], label=curve, **CURVES.style(curve))
        panel.set(title=name, xlabel="million edges")
    figure.axes[0].set_ylabel("accuracy")
    figure.axes[0].legend()
    return figure
