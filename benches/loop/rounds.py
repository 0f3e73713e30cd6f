"""Batches of rows, each chosen with the labels of those before: accuracy of the default classifier on the way.

On the seven sets, 5000 rows each, all start from the same 20 rows (lapwing's cover). `large` takes 20,000 digits and all texts;
there everybody begins by himself, and strategies that need labels begin with 20 rows at random.
"""

from __future__ import annotations

import argparse
import math
import time

import common
import goals
import keep
import material
import numpy as np
import pickers
from common import Record
from material import Draw

TITLE, THREADS, VERSION = "Rounds: accuracy by number of labels, batches of 10", 1, 2
START, BATCH = 20, 10
ONE_BATCH = "lapwing-mix-50"
"""Mix, with one batch of 50."""
METHODS = [
    "random", "lapwing-mix", "lapwing-margin", ONE_BATCH, "graphlearning-margin", "graphlearning-norm", "graphlearning-vopt",
    "graphlearning-sigma", "graphlearning-change", "graphlearning-change-vopt", "activeml-margin",
]  # fmt: skip
AT = [50, 70, 100, 200]
LARGE = {"mnist": (20_000, [10, 50, 100, 300]), "newsgroups": (20_000, [10, 50, 100, 200])}
"""Rows at most, and numbers of labels."""
LARGE_METHODS = ["random", "lapwing-mix", "lapwing-margin", "graphlearning-norm", "graphlearning-sigma", "activeml-margin"]
DIGITS = {10: 0.70, 50: 0.88, 100: 0.94, 300: 0.955}
TEXTS = {100: 0.03, 200: 0.03}
"""Wanted above random."""


def units(args: argparse.Namespace) -> list[Record]:
    sets = args.sets or list(material.SETS)
    small = [{"set": name, "draw": number, "large": False} for name in sets for number in range(args.draws or 5)]
    large = [{"set": name, "draw": number, "large": True} for name in LARGE if name in sets for number in range(args.draws or 3)]
    return small + large


def methods(unit: Record) -> list[str]:
    return LARGE_METHODS if unit["large"] else METHODS


def basis(unit: Record) -> list[int]:
    """The rows of the common start."""
    return [] if unit["large"] else _start(unit)


def _start(unit: Record) -> list[int]:
    """They are lapwing's; random if the build has no cover."""

    def make() -> Record:
        draw = material.draw(unit["set"], unit["draw"])
        return {"rows": pickers.PICKERS["lapwing-cover"](draw).pick(draw.show(np.array([], int)), START).tolist()}

    try:
        return keep.kept({"part": "rounds", "version": VERSION, "unit": unit, "method": "lapwing-start"}, make)["rows"]
    except keep.Missing:
        draw = material.draw(unit["set"], unit["draw"])
        return pickers.Random(draw).pick(draw.show(np.array([], int)), START).tolist()


def measure(unit: Record, method: str) -> Record:
    if unit["large"]:
        size, counts = LARGE[unit["set"]]
        draw = material.draw(unit["set"], unit["draw"], size)
        return walk(draw, method, None, counts, BATCH)
    draw, start = material.draw(unit["set"], unit["draw"]), np.array(_start(unit))
    if method == ONE_BATCH:
        return walk(draw, "lapwing-mix", start, [START + 50], 50)
    return walk(draw, method, start, AT, BATCH)


def walk(draw: Draw, method: str, start: np.ndarray | None, counts: list[int], batch: int) -> Record:
    """Choose batch after batch: accuracies at these numbers of labels, CPU seconds of the start, and of a batch in the mean."""
    draw.graph, draw.dense  # noqa: B018 - made outside of the measurement
    begun = time.process_time()
    picker = pickers.PICKERS[method](draw)
    rows = start
    if rows is None:
        rows = pickers.first(draw, picker, batch if picker.starts_alone else START)
    setup, seconds = time.process_time() - begun, []
    reached = {str(count): draw.accuracy(rows[:count], method) for count in counts if count <= len(rows)}
    while len(rows) < counts[-1]:
        begun = time.process_time()
        more = picker.pick(draw.show(rows), batch)
        seconds.append(time.process_time() - begun)
        rows = np.concatenate([rows, more])
        if len(rows) in counts:
            reached[str(len(rows))] = draw.accuracy(rows, method)
    return {"accuracy": reached, "setup_seconds": round(setup, 3), "batch_seconds": round(float(np.mean(seconds)), 4)}


def table(results: goals.Results) -> str:
    small, large = ([one for one in results if one["large"] is which] for which in (False, True))
    text = (_table(small, [50, 100, 200]) + "\n" + _batches(small) + "\n") if small else ""
    for name, (rows, counts) in LARGE.items():
        if some := [one for one in large if one["set"] == name]:
            lines = (_digits if name == "mnist" else _texts)(some)
            text += f"{name}, {rows:,} rows at most:\n\n{_table(some, counts)}\n{lines}\n"
    return text


def _table(results: goals.Results, counts: list[int]) -> str:
    """Accuracies at these counts, a row per set; then their means and the CPU seconds of a batch."""
    sets = goals.present(results, "set")
    shown = [one for one in goals.present(results, "method") if one != ONE_BATCH]

    def at(count: int, method: str, chosen: list[str]) -> float:
        return goals.average([goals.mean(results, f"accuracy.{count}", method, set=name) for name in chosen])

    def cell(method: str, chosen: list[str]) -> str:
        return " ".join(goals.share(at(count, method, chosen)) for count in counts)

    rows = [[f"`{name}`", *[cell(method, [name]) for method in shown]] for name in sets]
    rows += [[f"mean of {len(sets)}", *[cell(method, sets) for method in shown]]] if len(sets) > 1 else []
    rows.append(["CPU s a batch", *[goals.share(goals.mean(results, "batch_seconds", method), 2) for method in shown]])
    return common.table([f"at {', '.join(map(str, counts))} labels", *shown], rows)


def _batches(results: goals.Results) -> str:
    """What one batch of 50 costs against five of 10."""
    sets = goals.present(results, "set")

    def at_70(method: str, name: str) -> float:
        return goals.mean(results, "accuracy.70", method, set=name)

    gaps = [at_70("lapwing-mix", name) - at_70(ONE_BATCH, name) for name in sets]
    shown = ", ".join(f"{name} {goals.share(gap)}" for name, gap in zip(sets, gaps, strict=True))
    loss = goals.most("70 labels, batches of 10 less one batch of 50, mean over sets", goals.average(gaps), 0.02)
    return f"{loss}  ({shown})\n"


def _digits(results: goals.Results) -> str:
    at = {count: goals.mean(results, f"accuracy.{count}", "lapwing-mix") for count in DIGITS}
    return "".join(goals.least(f"mnist, mix at {count}", at[count], wanted) for count, wanted in DIGITS.items())


def _texts(results: goals.Results) -> str:
    text = ""
    for count, wanted in TEXTS.items():
        ours, theirs = (goals.mean(results, f"accuracy.{count}", method) for method in ("lapwing-mix", "random"))
        text += goals.least(f"newsgroups, mix less random at {count}", ours - theirs if math.isfinite(ours) else math.nan, wanted)
    return text
