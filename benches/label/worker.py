"""Run one peer on one task in a process of its own, so that its peak memory is its own.

The result file is written after every draw, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
from pathlib import Path
from typing import Any

import numpy as np

import common
import harness
import peers
import tasks


def main() -> None:
    args = parse()
    features, classes = tasks.load(args.task)
    peer = peers.PEERS[args.peer]
    record: dict[str, Any] = {
        "peer": args.peer,
        "task": args.task,
        "version": importlib.metadata.version(peer.package),
        "load": os.getloadavg()[0],
        "baseline_bytes": common.peak_bytes(),
        "graph_seconds": None,
        "draws": [],
    }
    if peer.graph:
        record["graph_seconds"], graph = common.timed(peer.graph, features)
    for per_class in args.per_class:
        for draw in range(args.draws):
            shown = tasks.show_labels(classes, per_class, draw)
            run = {"per_class": per_class, "draw": draw}
            if peer.graph:
                run["solve_seconds"], labels = common.timed(peer.solve, graph, shown)
            else:
                run["whole_seconds"], labels = common.timed(peer.whole, features, shown)
            hidden = shown < 0
            run["accuracy"] = float(np.mean(np.asarray(labels)[hidden] == classes[hidden]))
            record["draws"].append(run)
            save(args.out, record)
    if peer.graph and peer.whole:
        run = record["draws"][-1]
        run["whole_seconds"], whole = common.timed(peer.whole, features, shown)
        run["whole_differs"] = int(np.sum(whole != labels))
        save(args.out, record)


def parse() -> argparse.Namespace:
    parser = harness.worker_parser(__doc__, ["mnist", "mixture"], quiet=False)
    parser.add_argument("--peer", required=True, choices=peers.PEERS)
    parser.add_argument("--per-class", required=True, type=int, nargs="+")
    parser.add_argument("--draws", required=True, type=int)
    return parser.parse_args()


def save(path: Path, record: dict[str, Any]) -> None:
    record["peak_bytes"] = common.peak_bytes()
    common.save(path, record)


if __name__ == "__main__":
    main()
