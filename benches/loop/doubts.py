"""Labels spoiled on purpose, and how well each method finds them: nine corruptions of four sets, all rows labeled.

`u20` gives 20 % of the rows another label at random; `p10` gives 10 % that of the one other class that goes with their own.
Figures are average precision of the ranking, the part of the spoiled labels among as many first rows, precision and recall
of what is flagged, and CPU seconds of one thread beyond the graph or the neighbors.
"""

from __future__ import annotations

import argparse
import math
import time

import common
import doubting_peers as peers
import goals
import keep
import material
import numpy as np
from common import Record
from material import Draw

TITLE, THREADS, VERSION = "Audit: finding spoiled labels", 1, 1
SIZES = {"mnist": 10_000, "usps": 10_000, "newsgroups": 20_000, "covertype": 15_000}
"""Rows at most."""
CORRUPTIONS = {"mnist": ["u5", "u20", "p10"], "usps": ["u20", "p10"], "newsgroups": ["p10"], "covertype": ["u5", "u20", "p10"]}
GOALS = {
    ("mnist", "u5"): 0.94, ("mnist", "u20"): 0.98, ("mnist", "p10"): 0.95, ("usps", "u20"): 0.95, ("usps", "p10"): 0.95,
    ("newsgroups", "p10"): 0.91, ("covertype", "u20"): 0.86,
}  # fmt: skip
"""Average precision wanted with default options."""
METHODS = ["lapwing", "lapwing-rounds-2", *peers.JUDGES]
VOTES = ["cleanlab-vote", "cleanlab-vote-15"]
SECONDS = 1.0
"""Wanted beyond the graph at 10,000 rows."""


def units(args: argparse.Namespace) -> list[Record]:
    return [{"set": name, "noise": noise, "draw": number} for name, noises in CORRUPTIONS.items()
            if not args.sets or name in args.sets for noise in noises for number in range(args.draws or 3)]  # fmt: skip


def methods(unit: Record) -> list[str]:
    return METHODS


def measure(unit: Record, method: str) -> Record:
    draw = material.draw(unit["set"], unit["draw"], SIZES[unit["set"]])
    given = corrupt(draw, unit["noise"])
    wrong = given != draw.classes
    draw.graph, draw.neighbors  # noqa: B018 - made outside of the measurement
    start = time.process_time()
    qualities, flagged, facts = peers.JUDGES[method](draw, given) if method in peers.JUDGES else _lapwing(draw, given, method)
    seconds = time.process_time() - start
    return {
        "average_precision": {name: average_precision(wrong, quality) for name, quality in qualities.items()},
        "recall_at_count": {name: recall_at_count(wrong, quality) for name, quality in qualities.items()},
        "flagged": int(flagged.sum()),
        "precision": float(wrong[flagged].mean()) if flagged.any() else None,
        "recall": float(flagged[wrong].mean()),
        "wrong": int(wrong.sum()),
        "cpu_seconds": round(seconds, 3),
        **facts,
    }


def _lapwing(draw: Draw, given: np.ndarray, method: str) -> tuple[dict[str, np.ndarray], np.ndarray, Record]:
    """The quality of rows that cannot be judged is the best, so that they come last."""
    options = {"rounds": 2} if method.endswith("2") else {}
    found = keep.lapwing("audit", "audit")(None, given, graph=draw.graph, **options)
    quality = np.where(np.isnan(found.quality), np.inf, found.quality)
    return {"quality": quality}, np.asarray(found.flagged), {"foretold": found.report_.get("foretold")}


def corrupt(draw: Draw, noise: str) -> np.ndarray:
    """All labels (n), some of them spoiled."""
    rng, count = draw.rng(4), int(draw.classes.max()) + 1
    hit = rng.random(len(draw.classes)) < int(noise[1:]) / 100
    if noise[0] == "u":
        return np.where(hit, (draw.classes + rng.integers(1, count, len(draw.classes))) % count, draw.classes)
    order, partner = rng.permutation(count), np.empty(count, dtype=np.int64)
    partner[order] = np.roll(order, 1)
    return np.where(hit, partner[draw.classes], draw.classes)


def average_precision(wrong: np.ndarray, quality: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(wrong, -np.minimum(quality, 1e9)))


def recall_at_count(wrong: np.ndarray, quality: np.ndarray) -> float:
    """The part of the spoiled labels among as many rows of least quality."""
    first = np.argsort(quality, kind="stable")[: int(wrong.sum())]
    return float(wrong[first].mean())


def table(results: goals.Results) -> str:
    kinds = list(dict.fromkeys((one["set"], one["noise"]) for one in results))
    names = list(dict.fromkeys((one["method"], score) for one in results for score in one.get("average_precision", {})))
    head = ["", *[f"{name} {noise}" for name, noise in kinds]]
    best = [[f"{method}, {score}", *[_ranking(results, method, score, *kind) for kind in kinds]] for method, score in names]
    shown = goals.present(results, "method")
    flags = [[method, *[_flags(results, method, *kind) for kind in kinds]] for method in shown]
    spent = [[method, *[goals.share(_of(results, "cpu_seconds", method, *kind), 2) for kind in kinds]] for method in shown]
    tables = [
        ("average precision (recall at the true number)", best), ("flagged: precision, recall", flags), ("CPU seconds", spent),
    ]  # fmt: skip
    return "\n".join(common.table([title, *head[1:]], rows) for title, rows in tables) + "\n" + _goals(results, kinds)


def _of(results: goals.Results, figure: str, method: str, name: str, noise: str) -> float:
    return goals.mean(results, figure, method, set=name, noise=noise)


def _ranking(results: goals.Results, method: str, score: str, name: str, noise: str) -> str:
    of = [_of(results, f"{figure}.{score}", method, name, noise) for figure in ("average_precision", "recall_at_count")]
    return f"{goals.share(of[0])} ({goals.share(of[1], 2)})"


def _flags(results: goals.Results, method: str, name: str, noise: str) -> str:
    return ", ".join(goals.share(_of(results, figure, method, name, noise), 2) for figure in ("precision", "recall"))


def _goals(results: goals.Results, kinds: list[tuple[str, str]]) -> str:
    text = ""
    for kind in kinds:
        ours = _of(results, "average_precision.quality", "lapwing", *kind)
        if kind in GOALS:
            text += goals.least(f"{' '.join(kind)}, average precision", ours, GOALS[kind])
        votes = [_of(results, "average_precision.self_confidence", vote, *kind) for vote in VOTES]
        known = [vote for vote in votes if math.isfinite(vote)]
        text += goals.least(f"{' '.join(kind)}, against the better kNN vote", ours, max(known, default=math.nan))
        if kind[0] == "mnist":
            spent = _of(results, "cpu_seconds", "lapwing", *kind)
            text += goals.most(f"{' '.join(kind)}, CPU seconds beyond the graph", spent, SECONDS, 2)
    return text
