"""The first 10 and 20 rows without any label: accuracy of the default classifier with them."""

from __future__ import annotations

import argparse
import math
import time

import common
import goals
import material
import numpy as np
import pickers
from common import Record

TITLE, THREADS, VERSION = "Cold start: accuracy with the first 10 and 20 rows", 1, 2
COUNTS = [10, 20]
METHODS = [
    "random", "lapwing-cover", "graphlearning-vopt", "graphlearning-sigma",
    "activeml-typiclust", "activeml-coreset", "activeml-probcover",
]  # fmt: skip
GAINS = {10: 0.10, 20: 0.09}
"""Wanted above random, in the mean over the sets."""
WORST = -0.02
"""Wanted above random on every set."""


def units(args: argparse.Namespace) -> list[Record]:
    sets = args.sets or list(material.SETS)
    return [{"set": name, "draw": number} for name in sets for number in range(args.draws or 5)]


def methods(unit: Record) -> list[str]:
    return METHODS


def measure(unit: Record, method: str) -> Record:
    """Rows by tens: peers are told the labels of the first ten; lapwing's sequence needs none and is asked for at once."""
    draw = material.draw(unit["set"], unit["draw"])
    draw.graph, draw.dense  # noqa: B018 - made outside of the measurement
    start = time.process_time()
    picker = pickers.PICKERS[method](draw)
    rows = pickers.first(draw, picker, COUNTS[-1 if method.startswith("lapwing") else 0])
    while len(rows) < COUNTS[-1]:
        rows = np.concatenate([rows, picker.pick(draw.show(rows), COUNTS[0])])
    seconds = time.process_time() - start
    return {"accuracy": {str(count): draw.accuracy(rows[:count], method) for count in COUNTS}, "cpu_seconds": round(seconds, 3)}


def table(results: goals.Results) -> str:
    sets, shown = goals.present(results, "set"), goals.present(results, "method")
    means = {(name, method, count): goals.mean(results, f"accuracy.{count}", method, set=name)
             for name in sets for method in shown for count in COUNTS}  # fmt: skip

    def cell(method: str, chosen: list[str]) -> str:
        return " ".join(goals.share(goals.average([means[name, method, count] for name in chosen])) for count in COUNTS)

    rows = [[f"`{name}`", *[cell(method, [name]) for method in shown]] for name in sets]
    rows.append([f"mean of {len(sets)}", *[cell(method, sets) for method in shown]])
    rows.append(["CPU seconds", *[goals.share(goals.mean(results, "cpu_seconds", method), 2) for method in shown]])
    return common.table(["set", *shown], rows) + "\n" + _goals(means, sets)


def _goals(means: dict, sets: list[str]) -> str:
    def gain(name: str, count: int) -> float:
        ours, theirs = (means.get((name, method, count), math.nan) for method in ("lapwing-cover", "random"))
        return ours - theirs

    text = ""
    for count, wanted in GAINS.items():
        found = goals.average([gain(name, count) for name in sets])
        text += goals.least(f"cover less random, {count} rows, mean over sets", found, wanted)
    worst = [gain(name, count) for name in sets for count in COUNTS]
    return text + goals.least("cover less random, worst set", min(worst) if all(map(math.isfinite, worst)) else math.nan, WORST)
