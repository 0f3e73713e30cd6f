"""Features to labels: lapwing and its peers on the same rows, the same labels and the same machine, one after another.

Prints a Markdown table for each task. Every peer runs in a process of its own and takes the threads it likes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import certificate
import common
import mixture
import peers
import tasks

HERE = Path(__file__).resolve().parent
TASKS = ["mnist", "mixture", "certificate"]


def main() -> None:
    args = parse()
    draws = 1 if args.quick else args.draws
    chosen = args.peers or (peers.QUICK if args.quick else list(peers.PEERS))
    report: dict[str, Any] = {
        "schema": 1,
        "bench": "label",
        "date": datetime.date.today().isoformat(),
        "machine": common.machine(),
        "neighbors": peers.NEIGHBORS,
        "results": [],
    }
    if "mnist" in args.tasks:
        for name in chosen:
            report["results"].append(run(name, "mnist", args.per_class, draws, limit=3600))
    if "mixture" in args.tasks:
        mixture.load()  # written once, outside of every measurement
        for name in chosen:
            limit = 3600 if name == "lapwing" else args.limit
            report["results"].append(run(name, "mixture", [10], 1, limit))
    if "certificate" in args.tasks:
        mixture.load()
        report["certificate"] = [certified(name, 1 if args.quick else 3) for name in certificate.SETS]
        print(certificate.table(report["certificate"]))
    for task in [task for task in args.tasks if task != "certificate"]:
        print(table(task, [one for one in report["results"] if one["task"] == task]))
    if report["results"]:
        print("".join(f"- {name}: {peers.PEERS[name].about}\n" for name in chosen))
    print(f"Machine: {common.describe(report['machine'])}; {report['date']}.")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench label", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    parser.add_argument("--quick", action="store_true", help="one draw of labels and few peers")
    parser.add_argument("--peers", nargs="+", choices=peers.PEERS, metavar="PEER", help=", ".join(peers.PEERS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS[:2])
    parser.add_argument("--draws", type=int, default=5, help="draws of labels on MNIST (default 5)")
    parser.add_argument("--per-class", type=int, nargs="+", default=[1, 5, 10, 60], help="labels per class on MNIST")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a peer on the mixture (default 300)")
    return parser.parse_args()


def run(name: str, task: str, per_class: list[int], draws: int, limit: float) -> dict[str, Any]:
    """What one peer achieves on one task; an outcome other than "finished" says why figures are missing."""
    print(f"{task}: {name} …", file=sys.stderr, flush=True)
    arguments = ["--peer", name, "--task", task, "--draws", str(draws), "--per-class", *map(str, per_class)]
    return {"peer": name, "task": task, "draws": [], **common.run_worker(HERE / "worker.py", arguments, limit)}


def certified(name: str, repeats: int) -> dict[str, Any]:
    """Fits with and without certificate."""
    print(f"certificate: {name} …", file=sys.stderr, flush=True)
    arguments = ["--set", name, "--repeats", str(repeats)]
    return {"fits": [], "set": name, **common.run_worker(HERE / "certificate.py", arguments, 3600)}


def table(task: str, results: list[dict[str, Any]]) -> str:
    """Accuracy on hidden rows (mean ± sd over draws), seconds and memory, a row per peer."""
    counts = sorted({one["per_class"] for result in results for one in result["draws"]})
    title = {"mnist": "MNIST, 60,000 × 784", "mixture": f"Curved mixture, {mixture.ROWS:,} × 32"}[task]
    head = ["peer", *[f"{count} per class" for count in counts], "graph s", "solve s", "features → labels s", "peak MiB"]
    return common.markdown(title, head, [line(result, counts) for result in results])


def line(result: dict[str, Any], counts: list[int]) -> list[str]:
    name = f"{result['peer']} {result.get('version', '')}".strip()
    if not result["draws"]:
        return [name, result["outcome"]]
    cells = [name, *[accuracy(result, count) for count in counts], *seconds(result)]
    note = "" if result["outcome"] == "finished" else f" ({result['outcome']})"
    return [*cells, common.mib(result["peak_bytes"]) + note]


def accuracy(result: dict[str, Any], per_class: int) -> str:
    found = [one["accuracy"] for one in result["draws"] if one["per_class"] == per_class]
    if not found:
        return "–"
    spread = f" ± {statistics.stdev(found):.3f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.3f}{spread}"


def seconds(result: dict[str, Any]) -> list[str]:
    """Graph, solve (median) and features → labels: measured in one call where the peer offers it, else their sum."""
    solve = [one["solve_seconds"] for one in result["draws"] if "solve_seconds" in one]
    whole = [one["whole_seconds"] for one in result["draws"] if "whole_seconds" in one]
    graph = result.get("graph_seconds")
    total = statistics.median(whole) if whole else graph + statistics.median(solve)
    parts = [f"{graph:.1f}", f"{statistics.median(solve):.1f}"] if solve else ["–", "–"]
    return [*parts, f"{total:.1f}"]


if __name__ == "__main__":
    main()
