"""Features to labels: lapwing and its peers on the same rows, the same labels and the same machine, one after another.

Prints a Markdown table for each task. Every peer runs in a process of its own and takes the threads it likes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import peers
import tasks

HERE = Path(__file__).resolve().parent


def main() -> None:
    args = parse()
    draws = 1 if args.quick else args.draws
    chosen = args.peers or (peers.QUICK if args.quick else list(peers.PEERS))
    report: dict[str, Any] = {
        "schema": 1,
        "bench": "label",
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "neighbors": peers.NEIGHBORS,
        "results": [],
    }
    if "mnist" in args.tasks:
        for name in chosen:
            report["results"].append(run(name, "mnist", args.per_class, draws, limit=3600))
    if "mixture" in args.tasks:
        tasks.mixture()  # written once, outside of every measurement
        for name in chosen:
            limit = 3600 if name == "lapwing" else args.limit
            report["results"].append(run(name, "mixture", [10], 1, limit))
    for task in args.tasks:
        print(table(task, [one for one in report["results"] if one["task"] == task]))
    print("".join(f"- {name}: {peers.PEERS[name].about}\n" for name in chosen))
    print(f"Machine: {describe(report['machine'])}; {report['date']}.")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench label", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    parser.add_argument("--quick", action="store_true", help="one draw of labels and few peers")
    parser.add_argument("--peers", nargs="+", choices=peers.PEERS, metavar="PEER", help=", ".join(peers.PEERS))
    parser.add_argument("--tasks", nargs="+", choices=["mnist", "mixture"], default=["mnist", "mixture"])
    parser.add_argument("--draws", type=int, default=5, help="draws of labels on MNIST (default 5)")
    parser.add_argument("--per-class", type=int, nargs="+", default=[1, 5, 10, 60], help="labels per class on MNIST")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a peer on the mixture (default 300)")
    return parser.parse_args()


def run(name: str, task: str, per_class: list[int], draws: int, limit: float) -> dict[str, Any]:
    """What one peer achieves on one task; an outcome other than "finished" says why figures are missing."""
    print(f"{task}: {name} …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = [sys.executable, str(HERE / "worker.py"), "--peer", name, "--task", task, "--out", str(out)]
        command += ["--draws", str(draws), "--per-class", *map(str, per_class)]
        outcome = "finished"
        try:
            done = subprocess.run(command, timeout=limit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                outcome = f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
                print(done.stderr, file=sys.stderr)
        except subprocess.TimeoutExpired:
            outcome = f"did not finish in {limit:.0f} s"
        measured = json.loads(out.read_text()) if out.exists() else {"peer": name, "task": task, "draws": []}
    return {**measured, "outcome": outcome}


def table(task: str, results: list[dict[str, Any]]) -> str:
    """Accuracy on hidden rows (mean ± sd over draws), seconds and memory, a row per peer."""
    counts = sorted({one["per_class"] for result in results for one in result["draws"]})
    title = {"mnist": "MNIST, 60,000 × 784", "mixture": f"Curved mixture, {tasks.MIXTURE_ROWS:,} × 32"}[task]
    head = ["peer", *[f"{count} per class" for count in counts], "graph s", "solve s", "features → labels s", "peak MiB"]
    lines = [f"### {title}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for result in results:
        name = f"{result['peer']} {result.get('version', '')}".strip()
        if not result["draws"]:
            lines.append(f"| {name} | {result['outcome']} |" + " |" * (len(head) - 2))
            continue
        cells = [name, *[accuracy(result, count) for count in counts], *seconds(result)]
        cells.append(f"{result['peak_bytes'] / 2**20:,.0f}")
        note = "" if result["outcome"] == "finished" else f" ({result['outcome']})"
        lines.append(f"| {' | '.join(cells)}{note} |")
    return "\n".join([*lines, ""])


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


def machine() -> dict[str, Any]:
    cpu = next((line.split(":")[1].strip() for line in cpuinfo() if line.startswith("model name")), platform.processor())
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]}


def cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def describe(facts: dict[str, Any]) -> str:
    return f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']:.1f} at the start, Python {facts['python']}"


if __name__ == "__main__":
    main()
