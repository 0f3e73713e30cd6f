"""A million rows in 16 columns, the graph given: seconds and peak memory of choosing 100 rows beside one label solve.

Each measurement is a process of its own with all processors, the median of three runs. Peak memory is that since the graph
was read, with the graph.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cells
import common
import goals
import keep
import mixture
import numpy as np
from common import Record

TITLE, THREADS, VERSION = "A million rows, the graph given", 0, 1
COLUMNS, NEIGHBORS, PER_CLASS, CHOSEN, RUNS, PATIENCE = 16, 15, 10, 100, 3, 20
CELLS = 1000
METHODS = ["lapwing"]
JOBS = ["graph", "label", "suggest", "suggest-unlabeled"]
MORE_SECONDS = 3.0
"""What `suggest` may take beyond a label solve."""


def units(args: argparse.Namespace) -> list[Record]:
    return [{"job": job, "rows": args.rows} for job in JOBS]


def methods(unit: Record) -> list[str]:
    return METHODS


def measure(unit: Record, method: str) -> Record:
    if unit["job"] == "graph":
        return {"wall_seconds": common.timed(_graph_file, unit["rows"])[0]}
    path = _graph_file(unit["rows"])
    call = JOB[unit["job"]](path, cells.of_each_class(mixture.load(unit["rows"])[1], PER_CLASS, np.random.default_rng(0)))
    base, runs, peak = fresh_peak(), [], None
    for _ in range(RUNS):
        common.wait_for_quiet(PATIENCE)
        with common.Stopwatch() as watch:
            call()
        runs.append(watch.wall)
        peak = common.peak_bytes() if peak is None else peak
    return {"wall_seconds": statistics.median(runs), "runs": runs, "base_bytes": base, "peak_bytes": peak}


def fresh_peak() -> int:
    """Forget the peak so far where the system can (Linux); returns the bytes in use."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5")
    return common.peak_bytes()


def _graph_file(rows: int) -> Path:
    def write(path: Path) -> None:
        from lapwing.graph import knn_graph

        features = np.ascontiguousarray(mixture.load(rows)[0][:, :COLUMNS])
        knn_graph(features, NEIGHBORS, random_state=0).save(path)

    return common.kept(f"loop/graph-{rows}.npz", write)


def _label(path: Path, y: np.ndarray) -> Callable[[], Any]:
    from lapwing import HarmonicClassifier
    from lapwing.graph import Graph

    graph = Graph.load(path)
    return lambda: HarmonicClassifier(random_state=0).fit(None, y, graph=graph)


def _suggest(path: Path, y: np.ndarray | None) -> Callable[[], Any]:
    from lapwing.graph import Graph

    suggest, graph = keep.lapwing("active", "suggest"), Graph.load(path)
    return lambda: suggest(None, y, CHOSEN, graph=graph)


JOB: dict[str, Callable[[Path, np.ndarray], Callable[[], Any]]] = {
    "label": _label,
    "suggest": _suggest,
    "suggest-unlabeled": lambda path, y: _suggest(path, None),
}


def table(results: goals.Results) -> str:
    def of(figure: str, job: str) -> float:
        return goals.mean(results, figure, "lapwing", job=job)

    def memory(job: str) -> list[str]:
        return [goals.share(of(figure, job) / 2**20, 0) for figure in ("base_bytes", "peak_bytes")]

    rows = [[job, goals.share(of("wall_seconds", job), 2), *memory(job)] for job in JOBS]
    text = common.table(["job", "seconds", "MiB before", "MiB at most"], rows) + "\n"
    for job in JOBS[2:]:
        text += goals.most(f"{job}, seconds", of("wall_seconds", job), of("wall_seconds", "label") + MORE_SECONDS, 2)
        allowed = (of("peak_bytes", "label") + 16 * CELLS**2) / 2**20
        text += goals.most(f"{job}, MiB", of("peak_bytes", job) / 2**20, allowed, 0)
    return text
