"""Climb a ladder of settings until the highest recall wanted is reached, then repeat what will be shown.

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
    task, peer, ladder = tasks.TASKS[args.task], peers.PEERS[args.peer], json.loads(args.ladder)
    climb = Climb(args, task, peer)
    for build, asks in ladder:
        index = climb.build(build)
        if any(climb.ask(index, setting) >= max(task.targets) for setting in asks):
            break
        del index
    reached = [run for target in task.targets if (run := task.cheapest(climb.runs, target))]
    shown = list({json.dumps([run["build"], run["setting"]]): run for run in reached}.values())
    for _ in range(args.repeats - 1):
        for run in shown:
            if climb.spent + run["wall_seconds"] <= args.limit:
                climb.ask(climb.build(run["build"]), run["setting"])


class Climb:
    """Builds and asks, and writes down what each took; peak memory is the most held up to that moment."""

    def __init__(self, args: argparse.Namespace, task: tasks.Task, peer: peers.Peer) -> None:
        self.args, self.task, self.peer = args, task, peer
        self.sample = task.threshold(args.task)
        self.rows = peer.accept(task.rows())
        self.runs: list[common.Record] = []
        self.spent = 0.0
        warm_up, _ = common.timed(peer.warm_up, self.rows, task.metric, json.loads(args.ladder)[0][0])
        self.record = {
            "version": importlib.metadata.version(peer.package),
            "load": os.getloadavg()[0],
            "warm_up_seconds": warm_up,
            "baseline_bytes": common.peak_bytes(),
            "runs": self.runs,
        }
        common.save(args.out, self.record)

    def build(self, setting: peers.Setting) -> Any:
        """The index, and into `self.built` what it took."""
        common.wait_for_quiet(self.args.patience)
        with common.Stopwatch() as watch:
            index = self.peer.build(self.rows, self.task.metric, setting, self.args.threads)
        self.built = {"build": setting, "build_seconds": watch.wall}, watch
        self.spent += watch.wall
        return index

    def ask(self, index: Any, setting: peers.Setting) -> float:
        """Ask and return the recall. All rows are asked for by all threads, new points by one."""
        asked, threads = self.rows, self.args.threads
        if self.task.queries is not None:
            asked, threads = self.task.queries(), 1
            self.peer.query(index, asked[:100], tasks.NEIGHBORS, setting, threads)
        answer = self.peer.graph if self.task.queries is None else self.peer.query
        with common.Stopwatch() as watch:
            found = answer(index, asked, tasks.NEIGHBORS, setting, threads)
        self.spent += watch.wall
        built, building = self.built
        run = {
            **built,
            "setting": setting,
            "ask_seconds": watch.wall,
            "wall_seconds": building.wall + watch.wall,
            "cpu_seconds": building.cpu + watch.cpu,
            "foreign_seconds": building.foreign + watch.foreign,
            "per_second": asked.shape[0] / watch.wall,
            "peak_bytes": common.peak_bytes(),
            "recall": self.recall(asked, found),
        }
        self.runs.append(run)
        common.save(self.args.out, self.record)
        return run["recall"]

    def recall(self, asked: Any, found: np.ndarray) -> float:
        """Recall of what was found for the sampled rows or queries."""
        chosen = self.sample["rows"]
        own = chosen if self.task.queries is None else chosen[:0]
        return truth.recall(self.rows, asked[chosen], own, found[chosen], self.sample["kth"], self.task.metric)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, choices=peers.PEERS)
    parser.add_argument("--task", required=True, choices=tasks.TASKS)
    parser.add_argument("--ladder", required=True, help="JSON: [[how to build, [how to ask, …]], …]")
    parser.add_argument("--repeats", required=True, type=int, help="measurements of every setting that is shown")
    parser.add_argument("--limit", required=True, type=float, help="seconds of measurements after which none is repeated")
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--patience", required=True, type=float, help="seconds to wait for other programs")
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
