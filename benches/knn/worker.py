"""Try settings in order until the highest target of recall is reached, then repeat the settings of the table.

The result file is written after every measurement, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
from functools import partial
from typing import Any

import numpy as np

import common
import harness
import peers
import tasks
import truth


def main() -> None:
    args = parse()
    task, peer = tasks.TASKS[args.task], peers.PEERS[args.peer]
    search = Search(args, task, peer)
    for build, queries in json.loads(args.settings):
        index = search.build(build)
        if any(search.query(index, setting) >= max(task.targets) for setting in queries):
            break
        del index
    reached = [run for target in task.targets if (run := task.cheapest(search.runs, target))]
    shown = list({json.dumps([run["build"], run["setting"]]): run for run in reached}.values())
    for _ in range(args.repeats - 1):
        for run in shown:
            if search.spent + run["wall_seconds"] <= args.limit:
                search.query(search.build(run["build"]), run["setting"])


class Search:
    """Builds indices, searches them and records the cost of both; peak memory is that of the process so far."""

    def __init__(self, args: argparse.Namespace, task: tasks.Task, peer: peers.Peer) -> None:
        self.args, self.task, self.peer = args, task, peer
        self.sample = task.threshold(args.task)
        self.rows = peer.accept(task.rows())
        self.runs: list[common.Record] = []
        self.spent = 0.0
        warm_up, _ = common.timed(peer.warm_up, self.rows, task.metric, json.loads(args.settings)[0][0])
        self.record = {
            "version": importlib.metadata.version(peer.package),
            **harness.started(),
            "warm_up_seconds": warm_up,
            "baseline_bytes": common.peak_bytes(),
            "runs": self.runs,
        }
        common.save(args.out, self.record)

    def build(self, setting: peers.Setting) -> Any:
        """The index; its cost is kept for the next measurements."""
        call = partial(self.peer.build, self.rows, self.task.metric, setting, self.args.threads)
        index, cost = harness.once(self.args, call)
        self.built = setting, cost
        self.spent += cost["wall_seconds"]
        return index

    def query(self, index: Any, setting: peers.Setting) -> float:
        """Search and return the recall: for all rows with all threads, or for new points with one."""
        asked, threads = self.rows, self.args.threads
        if self.task.queries is not None:
            asked, threads = self.task.queries(), 1
            self.peer.query(index, asked[:100], tasks.NEIGHBORS, setting, threads)
        answer = self.peer.graph if self.task.queries is None else self.peer.query
        with common.Stopwatch() as watch:
            found = answer(index, asked, tasks.NEIGHBORS, setting, threads)
        self.spent += watch.wall
        build, building = self.built
        run = {
            "build": build,
            "build_seconds": building["wall_seconds"],
            "setting": setting,
            "ask_seconds": watch.wall,
            **{key: building[key] + seconds for key, seconds in watch.record().items()},
            "per_second": asked.shape[0] / watch.wall,
            "peak_bytes": common.peak_bytes(),
            "recall": self.recall(asked, found),
        }
        self.runs.append(run)
        common.save(self.args.out, self.record)
        return run["recall"]

    def recall(self, asked: Any, found: np.ndarray) -> float:
        """Recall for the sampled rows or queries."""
        chosen = self.sample["rows"]
        own = chosen if self.task.queries is None else chosen[:0]
        return truth.recall(self.rows, asked[chosen], own, found[chosen], self.sample["kth"], self.task.metric)


def parse() -> argparse.Namespace:
    parser = harness.worker_parser(__doc__, tasks.TASKS)
    parser.add_argument("--peer", required=True, choices=peers.PEERS)
    parser.add_argument("--settings", required=True, help="JSON: [[options of building, [options of a search, …]], …]")
    parser.add_argument("--limit", required=True, type=float, help="seconds of measurements after which none is repeated")
    parser.add_argument("--threads", required=True, type=int)
    return parser.parse_args()


if __name__ == "__main__":
    main()
