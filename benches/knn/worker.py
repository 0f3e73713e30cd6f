"""Climb a ladder of settings until the highest recall wanted is reached; in a process of its own.

The result file is rewritten after every rung: what a time limit cuts short keeps what was measured.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import common
import peers
import tasks
import truth


def main() -> None:
    args = parse()
    task, peer, rungs = tasks.TASKS[args.task], peers.PEERS[args.peer], json.loads(args.rungs)
    record: dict[str, Any] = {"version": importlib.metadata.version(peer.package), "load": os.getloadavg()[0], "runs": []}
    sample = task.threshold(args.task)
    rows = peer.accept(task.rows())
    record["warm_up_seconds"], _ = common.timed(peer.warm_up, rows, task.metric, rungs[0][0])
    record["baseline_bytes"] = common.peak_bytes()
    for build, asks in rungs:
        with common.Stopwatch() as watch:
            index = peer.build(rows, task.metric, build, args.threads)
        for setting in asks:
            run, found = ask(peer, task, index, rows, setting, args.threads)
            run["peak_bytes"] = common.peak_bytes()
            run["build_seconds"] = watch.wall
            run["wall_seconds"] = watch.wall + run["ask_seconds"]
            run["cpu_seconds"] += watch.cpu
            run["recall"] = recall(task, rows, sample, found)
            record["runs"].append({"build": build, "setting": setting, **run})
            common.save(args.out, record)
            if run["recall"] >= args.until:
                return
        del index


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, choices=peers.PEERS)
    parser.add_argument("--task", required=True, choices=tasks.TASKS)
    parser.add_argument("--rungs", required=True, help="JSON: [[how to build, [how to ask, …]], …]")
    parser.add_argument("--until", required=True, type=float, help="stop once this recall is reached")
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def ask(peer: Any, task: Any, index: Any, rows: Any, setting: Any, threads: int) -> tuple[dict[str, Any], np.ndarray]:
    """Neighbours of all rows by all threads, or of new points by one; seconds of the asking alone."""
    if task.queries is None:
        with common.Stopwatch() as watch:
            found = peer.graph(index, rows, tasks.NEIGHBORS, setting, threads)
        return {"ask_seconds": watch.wall, "cpu_seconds": watch.cpu}, found
    asked = task.queries()
    peer.query(index, asked[:100], tasks.NEIGHBORS, setting, 1)
    with common.Stopwatch() as watch:
        found = peer.query(index, asked, tasks.NEIGHBORS, setting, 1)
    return {"ask_seconds": watch.wall, "cpu_seconds": watch.cpu, "per_second": len(asked) / watch.wall}, found


def recall(task: Any, rows: Any, sample: dict[str, np.ndarray], found: np.ndarray) -> float:
    """Recall of what was found for the sampled rows or queries."""
    chosen = sample["rows"]
    if task.queries is None:
        return truth.recall(rows, rows[chosen], chosen, found[chosen], sample["kth"], task.metric)
    return truth.recall(rows, task.queries()[chosen], chosen[:0], found[chosen], sample["kth"], task.metric)


if __name__ == "__main__":
    main()
