"""Graphs too large to hold: edges a second through the sparsifier, and labels for all nodes under a hard memory limit.

`throughput` streams a file through `lapwing sparsify` at several capacities. `label` labels the nodes of a graph of 3·10⁸
edges with `lapwing label --method sparse-harmonic`, while the system limits the address space of the process to 2 GiB. It
also labels by the first edges of the file, with and without sparsifying.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import blocks
import common
import harness
import numpy as np
from common import Record

PROGRAM = common.ROOT / "target" / "release" / "lapwing"


def main() -> None:
    args = parse()
    report = harness.Report("sparsify", args)
    if "throughput" in args.tasks:
        report.add(*throughput(args))
    if "label" in args.tasks:
        report.add(*label(args))
    for task in args.tasks:
        print(table(task, report.of_task(task)))
    print(report.machine())


def parse() -> argparse.Namespace:
    parser = harness.parser("sparsify", __doc__)
    parser.add_argument("--tasks", nargs="+", choices=["throughput", "label"], default=["throughput", "label"])
    parser.add_argument("--nodes", type=int, default=200_000, help="nodes (default 200,000)")
    parser.add_argument("--edges", type=int, default=300_000_000, help="edges to label (default 3·10⁸)")
    parser.add_argument("--part", type=int, default=60_000_000, help="edges that are solved unsparsified too")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each throughput (default 3)")
    parser.add_argument("--memory", default="1500M", help="what the program is told it may use (default 1500M)")
    parser.add_argument("--limit", type=int, default=2048, help="MiB of address space the system allows (default 2048)")
    return parser.parse_args()


def throughput(args: argparse.Namespace) -> list[Record]:
    """Edges a second from a file, 20 edges a node kept, at capacities of 40 and 80 edges a node."""
    path = blocks.edges(args.nodes, args.part)
    results = []
    for capacity in [40, 80]:
        for _ in range(args.repeats):
            budget = ["--edge-budget", str(20 * args.nodes), "--capacity", str(capacity * args.nodes)]
            results.append({"task": "throughput", "edges": args.part, "capacity": capacity, **sparsify(path, args, budget)})
    return results


def sparsify(path: Path, args: argparse.Namespace, options: list[str]) -> Record:
    """One run of `lapwing sparsify`."""
    with tempfile.TemporaryDirectory(dir=common.ROOT / "target" / "bench") as folder:
        command = ["sparsify", str(path), "--nodes", str(args.nodes), "-o", f"{folder}/out.npz", "--json", *options]
        return run(command, 0)


def label(args: argparse.Namespace) -> list[Record]:
    """All edges under the limit; the first ones with and without sparsifying."""
    known = blocks.labels(args.nodes, 10)
    whole, part = blocks.edges(args.nodes, args.edges), blocks.edges(args.nodes, args.part)
    sparse = ["--method", "sparse-harmonic", "--nodes", str(args.nodes), "--memory", args.memory]
    # With a budget of all edges, the sparsifier returns the whole graph.
    whole_graph = ["--method", "sparse-harmonic", "--nodes", str(args.nodes)]
    runs = [
        ("sparse-harmonic, 2 GiB limit", whole, args.edges, [*sparse, "--refinements", "0"], args.limit),
        ("sparse-harmonic, 2 GiB limit, 3 refinements", whole, args.edges, sparse, args.limit),
        ("sparse-harmonic", part, args.part, [*sparse, "--refinements", "0"], args.limit),
        ("sparse-harmonic, 3 refinements", part, args.part, sparse, args.limit),
        ("all edges, nothing thinned", part, args.part, [*whole_graph, "--edge-budget", str(args.part)], 0),
    ]
    return [
        {"task": "label", "name": name, "edges": edges, **labeled(path, known, options, limit)}
        for name, path, edges, options, limit in runs
    ]


def labeled(path: Path, known: Path, options: list[str], limit: int) -> Record:
    """One run of `lapwing label`, and its accuracy on the rows without a label."""
    with tempfile.TemporaryDirectory(dir=common.ROOT / "target" / "bench") as folder:
        out = Path(folder) / "labels.npy"
        command = ["label", "--graph", str(path), "--labels", str(known), "-o", str(out), "--json", *options]
        record = run(command, limit)
        if record["outcome"] == "finished":
            found = np.load(out)["label"].astype(int)
            given = np.loadtxt(known, delimiter=",", skiprows=1, dtype=int)[:, 0]
            hidden = np.setdiff1d(np.arange(len(found)), given)
            record["accuracy"] = float((found[hidden] == hidden % blocks.CLASSES).mean())
    return record


def run(command: list[str], limit: int) -> Record:
    """Run the program with its address space limited to `limit` MiB, unless that is 0."""
    print(" ".join(["lapwing", *command]), file=sys.stderr, flush=True)
    held = f"ulimit -v {limit * 1024}; " if limit else ""
    # Each thread of the C library's allocator would reserve 64 MiB of addresses.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"} if limit else dict(os.environ)
    start = time.perf_counter()
    done = subprocess.run(
        ["sh", "-c", f'{held}exec "$@"', "sh", str(PROGRAM), *command], env=environment, capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        return {"outcome": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", "seconds": seconds}
    return {"outcome": "finished", "seconds": seconds, "report": json.loads(done.stdout)}


def table(task: str, results: list[Record]) -> str:
    """Markdown for one task."""
    if task == "throughput":
        head = ["capacity", "edges", "seconds", "edges/s", "edges/s/core", "in systems", "kept", "forms kept", "peak MiB"]
        return common.markdown("Throughput", head, [throughput_line(one) for one in results])
    head = ["run", "edges", "seconds", "accuracy", "kept", "residual on all edges", "peak MiB"]
    return common.markdown("Labels under a memory limit", head, [label_line(one) for one in results])


def throughput_line(one: Record) -> list[str]:
    if one["outcome"] != "finished":
        return [f"{one['capacity']} a node", one["outcome"]]
    report, rate = one["report"]["sparsifier"], one["edges"] / one["seconds"]
    low, high = report["probe_ratios"]
    return [
        f"{one['capacity']} a node",
        f"{one['edges']:,}",
        common.seconds(one["seconds"]),
        f"{rate / 1e6:.2f} M",
        f"{rate / 1e6 / min(2, os.cpu_count() or 1):.2f} M",
        f"{report['solve_seconds'] / one['seconds']:.0%}",
        f"{report['n_kept']:,}",
        f"{low:.3f} to {high:.3f}",
        common.mib(one["report"]["peak_bytes"]),
    ]


def label_line(one: Record) -> list[str]:
    name = [one["name"], f"{one['edges']:,}"]
    if one["outcome"] != "finished":
        return [*name, common.seconds(one["seconds"]), one["outcome"]]
    report = one["report"]
    parts = report.get("parts", {})
    residuals = parts.get("refine", {}).get("residuals", [])
    kept = parts.get("sparsify", {}).get("n_kept")
    return [
        *name,
        common.seconds(one["seconds"]),
        f"{one['accuracy']:.4f}",
        f"{kept:,} ({kept / one['edges']:.1%})" if kept else "all",
        f"{residuals[-1]:.1e}" if residuals else "–",
        common.mib(report["peak_bytes"]),
    ]


if __name__ == "__main__":
    main()
