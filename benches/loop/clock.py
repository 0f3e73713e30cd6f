"""Seconds of one thread on digits, the graph given: an audit beside a label solve, and a batch of each strategy.

The label solve is one block of ten columns to 1e-6. An audit of 10,000 rows has 200 to 10,000 labels. Batches are of 10 among
20,000 rows: the first one after 50 labels, with all preparations, and the next one.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import cells
import common
import goals
import keep
import material
import numpy as np
import pickers
from common import Record
from material import Draw

TITLE, THREADS, VERSION = "Seconds: audit beside a label solve, and batches", 1, 1
ROWS, LARGER, LABELS = 10_000, 20_000, [200, 500, 2000, 10_000]
START, BATCH, RUNS, PATIENCE = 50, 10, 3, 20
JUDGING = ["lapwing-label", "lapwing-label-default", "lapwing-audit"]
PICKING = [
    "lapwing-mix", "lapwing-margin", "graphlearning-margin", "graphlearning-sigma", "graphlearning-change-vopt",
    "activeml-margin",
]  # fmt: skip
TIMES = 5.0
"""What an audit may take, in label solves."""


def units(args: argparse.Namespace) -> list[Record]:
    return [{"labels": count} for count in LABELS] + [{"labels": START, "rows": LARGER}]


def methods(unit: Record) -> list[str]:
    return PICKING if "rows" in unit else JUDGING


def measure(unit: Record, method: str) -> Record:
    draw = material.draw("mnist", 0, unit.get("rows", ROWS))
    if "rows" in unit:
        return _batches(draw, method)
    y = cells.at_random(draw.classes, unit["labels"], draw.rng(8))
    call = JOB[method](draw, y)
    return {"seconds": statistics.median(_quiet(call)[0] for _ in range(RUNS))}


def _batches(draw: Draw, method: str) -> Record:
    """Seconds of preparation with the first batch, and of the second."""
    draw.weights  # noqa: B018 - made outside of the measurement
    rows = pickers.Random(draw).pick(draw.show(np.array([], int)), START)
    picker, first, second = None, [], []
    for _ in range(RUNS):
        seconds, picker = _quiet(lambda: pickers.PICKERS[method](draw))
        more, chosen = _quiet(lambda: picker.pick(draw.show(rows), BATCH))  # noqa: B023 - called at once
        both = np.concatenate([rows, chosen])
        first.append(seconds + more)
        second.append(_quiet(lambda: picker.pick(draw.show(both), BATCH))[0])  # noqa: B023
    return {"first": statistics.median(first), "next": statistics.median(second)}


def _quiet(call: Callable[[], Any]) -> tuple[float, Any]:
    common.wait_for_quiet(PATIENCE)
    return common.timed(call)


def _label(draw: Draw, y: np.ndarray, **options: Any) -> Callable[[], Any]:
    from lapwing import HarmonicClassifier

    known = HarmonicClassifier().get_params()
    model = HarmonicClassifier(random_state=0, tol=1e-6, **{name: word for name, word in options.items() if name in known})
    return lambda: model.fit(None, y, graph=draw.graph)


def _audit(draw: Draw, y: np.ndarray) -> Callable[[], Any]:
    audit = keep.lapwing("audit", "audit")
    return lambda: audit(None, y, graph=draw.graph)


JOB: dict[str, Callable[[Draw, np.ndarray], Callable[[], Any]]] = {
    "lapwing-label": lambda draw, y: _label(draw, y, form="stable", decision="centered", calibration="none", certify=False),
    "lapwing-label-default": _label,
    "lapwing-audit": _audit,
}


def table(results: goals.Results) -> str:
    rows, text = [], ""
    for count in LABELS:
        of = {method: goals.mean(results, "seconds", method, labels=count) for method in JUDGING}
        rows.append([f"{count:,}", *[goals.share(of[method]) for method in JUDGING]])
        text += goals.most(f"{count:,} labels, audit in label solves", of["lapwing-audit"] / of["lapwing-label"], TIMES, 1)
    shown = [method for method in PICKING if any(one["method"] == method for one in results)]
    batches = [[method, *[goals.share(goals.mean(results, figure, method)) for figure in ("first", "next")]] for method in shown]
    judging = common.table(["labels of 10,000", "one label solve", "`HarmonicClassifier()`", "audit"], rows)
    return f"{judging}\n{text}\n" + common.table([f"batch of 10 of {LARGER:,}", "first, with preparation", "next"], batches)
