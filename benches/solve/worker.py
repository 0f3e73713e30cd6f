"""Set a solver up and solve for one and for ten right-hand sides, several times; in a process of its own.

The result file is written after every step, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import resource
import time
from typing import Any

import numpy as np

import common
import harness
import peers
import systems


def main() -> None:
    args = parse()
    resource.setrlimit(resource.RLIMIT_AS, (int(args.memory * 2**30),) * 2)
    system = systems.load(args.task, args.orders)
    peer = peers.PEERS[args.peer](args.limit, args.threads)
    record: dict[str, Any] = {"version": importlib.metadata.version(peer.package), "load": os.getloadavg()[0]}
    matrix = peer.accept(system)
    record["baseline_bytes"] = common.peak_bytes()
    end = time.perf_counter() + args.limit
    for repeat in range(args.repeats):
        prepared, setup = harness.once(args, lambda: peer.setup(matrix))
        note(record, "setup", setup)
        common.save(args.out, record)
        solve(args, record, peer, prepared, system, "one", system.right_sides[:, :1])
        again = setup["wall_seconds"] + record["one"][-1]["wall_seconds"]
        if repeat == 0 and record["one"][-1]["wall_seconds"] * systems.RIGHT_SIDES < args.limit:
            solve(args, record, peer, prepared, system, "ten", system.right_sides)
        del prepared
        if time.perf_counter() + again > end:
            break


def parse() -> argparse.Namespace:
    parser = harness.worker_parser(__doc__, systems.MAKERS)
    parser.add_argument("--peer", required=True, choices=peers.PEERS)
    parser.add_argument("--orders", required=True, type=int)
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--limit", required=True, type=float, help="seconds after which nothing new is begun")
    parser.add_argument("--memory", required=True, type=float, help="GiB of address space")
    return parser.parse_args()


def solve(
    args: Any, record: dict[str, Any], peer: peers.Peer, prepared: Any, system: Any, name: str, right_sides: np.ndarray
) -> None:
    """Solve, recompute the residuals, and note both under `name`."""
    solution, cost = harness.once(args, lambda: peer.solve(prepared, right_sides))
    residuals = system.residuals(solution, right_sides)
    note(record, name, cost, residual=float(residuals.max()), **peer.notes)
    common.save(args.out, record)


def note(record: dict[str, Any], name: str, cost: common.Record, **more: Any) -> None:
    """Append one timed step."""
    record.setdefault(name, []).append({**cost, "peak_bytes": common.peak_bytes(), **more})


if __name__ == "__main__":
    main()
