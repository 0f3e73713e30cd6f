"""Features to labels: lapwing and its peers on the same rows, the same labels and the same machine, one after another.

Prints a Markdown table for each task. Every peer runs in a process of its own, with its default number of threads.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import certificate
import common
import harness
import mixture
import peers
import small
from common import Record

HERE = Path(__file__).resolve().parent
TASKS = ["mnist", "mixture", "certificate", "small"]


def main() -> None:
    args = parse()
    draws = 1 if args.quick else args.draws
    chosen = args.peers or (peers.QUICK if args.quick else list(peers.PEERS))
    report = harness.Report("label", args, neighbors=peers.NEIGHBORS)
    if "mnist" in args.tasks:
        for name in chosen:
            report.add(run(name, "mnist", args.per_class, draws, limit=3600))
    if "mixture" in args.tasks:
        mixture.load()  # writes the file before the measurements
        for name in chosen:
            limit = 3600 if name == "lapwing" else args.limit
            report.add(run(name, "mixture", [10], 1, limit))
    if "certificate" in args.tasks:
        mixture.load()
        report.record["certificate"] = [certified(name, 1 if args.quick else 3) for name in certificate.SETS]
        report.save()
        print(certificate.table(report.record["certificate"]))
    if "small" in args.tasks:
        words = ["--repeats", 3 if args.quick else 15]
        report.record["small"] = harness.worker(HERE / "small.py", words, 3600, sets=[])
        report.save()
        print(small.table(report.record["small"]))
    for task in [task for task in args.tasks if task in TASKS[:2]]:
        print(table(task, report.of_task(task)))
    if report.results:
        print("".join(f"- {name}: {peers.PEERS[name].about}\n" for name in chosen))
    print(report.machine())


def parse() -> argparse.Namespace:
    parser = harness.peer_parser("label", __doc__, peers.PEERS, TASKS, TASKS[:2])
    parser.add_argument("--draws", type=int, default=5, help="draws of labels on MNIST (default 5)")
    parser.add_argument("--per-class", type=int, nargs="+", default=[1, 5, 10, 60], help="labels per class on MNIST")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a peer on the mixture (default 300)")
    return parser.parse_args()


def run(name: str, task: str, per_class: list[int], draws: int, limit: float) -> Record:
    """The results of one peer on one task; an `outcome` other than "finished" is the reason for missing values."""
    words = ["--peer", name, "--task", task, "--draws", draws, "--per-class", *per_class]
    return harness.worker(HERE / "worker.py", words, limit, peer=name, task=task, draws=[])


def certified(name: str, repeats: int) -> Record:
    """Fits with and without certificate."""
    return harness.worker(HERE / "certificate.py", ["--set", name, "--repeats", repeats], 3600, fits=[], set=name)


def table(task: str, results: list[Record]) -> str:
    """Accuracy on hidden rows (mean ± sd over draws), seconds and memory, a row per peer."""
    counts = sorted({one["per_class"] for result in results for one in result["draws"]})
    title = {"mnist": "MNIST, 60,000 × 784", "mixture": f"Curved mixture, {mixture.ROWS:,} × 32"}[task]
    head = ["peer", *[f"{count} per class" for count in counts], "graph s", "solve s", "features → labels s", "peak MiB"]
    return common.markdown(title, head, [line(result, counts) for result in results])


def line(result: Record, counts: list[int]) -> list[str]:
    name = harness.name_of(result)
    if not result["draws"]:
        return [name, result["outcome"]]
    cells = [name, *[accuracy(result, count) for count in counts], *seconds(result)]
    note = "" if result["outcome"] == "finished" else f" ({result['outcome']})"
    return [*cells, common.mib(result["peak_bytes"]) + note]


def accuracy(result: Record, per_class: int) -> str:
    found = [one["accuracy"] for one in result["draws"] if one["per_class"] == per_class]
    if not found:
        return "–"
    spread = f" ± {statistics.stdev(found):.3f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.3f}{spread}"


def seconds(result: Record) -> list[str]:
    """Graph, solve (median) and features → labels: seconds of one call if the peer has one, else the sum."""
    solve = [one["solve_seconds"] for one in result["draws"] if "solve_seconds" in one]
    whole = [one["whole_seconds"] for one in result["draws"] if "whole_seconds" in one]
    graph = result.get("graph_seconds")
    total = statistics.median(whole) if whole else graph + statistics.median(solve)
    parts = [f"{graph:.1f}", f"{statistics.median(solve):.1f}"] if solve else ["–", "–"]
    return [*parts, f"{total:.1f}"]


if __name__ == "__main__":
    main()
