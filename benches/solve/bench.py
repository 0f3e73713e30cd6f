"""Laplacian systems: lapwing's solver and its peers on the same matrices and machine, to the same residual.

Every solver gets a tolerance of 10⁻⁸ for the relative residual; the table shows the residual recomputed in f64 from the
edges. Setup is all work that does not depend on a right-hand side. Each peer runs in a process of its own; its peak memory
counts interpreter, libraries, matrix, one setup and one solve.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import common
import harness
import peers
import systems
from common import Record

HERE = Path(__file__).resolve().parent


def main() -> None:
    args = parse()
    chosen = args.peers or (peers.QUICK if args.quick else peers.DEFAULT)
    report = harness.Report("solve", args, tolerance=peers.TOL, orders=args.orders, threads=args.threads)
    for task in args.tasks:
        system = systems.load(task, args.orders)  # makes the file before the measurements
        size = f"{system.adjacency.shape[0]:,} unknowns, {system.adjacency.nnz // 2:,} edges"
        del system
        for name in chosen:
            report.add(run(name, task, args))
        title = f"{systems.TITLES[task].format(orders=args.orders)}: {size}"
        print(table(title, report.of_task(task)), flush=True)
    print("".join(f"- {name}: {peers.PEERS[name](args.limit, args.threads).about}\n" for name in chosen))
    print(f"{report.machine(f'{args.threads} threads')} {common.DISTURBED}")


def parse() -> argparse.Namespace:
    parser = harness.peer_parser("solve", __doc__, peers.PEERS, systems.MAKERS, systems.MAKERS, quiet=True)
    parser.add_argument("--orders", type=int, default=6, help="powers of ten over which the grid's weights spread (default 6)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for setup and solve of one peer (default 120)")
    parser.add_argument("--memory", type=float, default=16, help="GiB of address space for each peer (default 16)")
    return parser.parse_args()


def run(name: str, task: str, args: argparse.Namespace) -> Record:
    """The results of one peer on one system; an `outcome` other than "finished" is the reason for missing values."""
    words = [*harness.task_words(task, args, 1 if args.quick else args.repeats), "--peer", name]
    words += ["--orders", args.orders, "--limit", args.limit, "--memory", args.memory, "--threads", args.threads]
    # The worker starts no solve after its limit; a running one may take as long again.
    limit = 2 * args.limit + 30
    return harness.worker(HERE / "worker.py", words, limit, args.threads, args.under, peer=name, task=task)


def table(title: str, results: list[Record]) -> str:
    """Seconds, iterations and the true residual, a row per peer; medians over the runs."""
    head = ["peer", "setup s", "solve s", "both s", "CPU s", "iterations", "residual", "peak MiB", "runs"]
    head += ["10 right sides: solve s", "residual"]
    return common.markdown(title, head, map(line, results))


def line(result: Record) -> list[str]:
    name = harness.name_of(result)
    setup, one, ten = (result.get(key, []) for key in ("setup", "one", "ten"))
    note = "" if result["outcome"] == "finished" else result["outcome"]
    if not setup:
        return [name, note]
    cells = [name, common.seconds(common.median(setup, "wall_seconds"))]
    if not one:
        return [*cells, note]
    solve = common.median(one, "wall_seconds")
    cells[1] += common.disturbed(setup)
    cells += [common.seconds(solve) + common.disturbed(one), common.seconds(common.median(setup, "wall_seconds") + solve)]
    cells += [common.seconds(common.median(setup, "cpu_seconds") + common.median(one, "cpu_seconds"))]
    cells += [iterations(one[0]), residual(one), common.mib(one[0]["peak_bytes"]), str(len(one))]
    if not ten:
        return [*cells, note or "not tried: too long"]
    return [*cells, common.seconds(common.median(ten, "wall_seconds")) + common.disturbed(ten), f"{residual(ten)} {note}".strip()]


def iterations(step: Record) -> str:
    """Iterations of one right-hand side; a dash for direct solvers."""
    counts = step.get("iterations", [])
    return str(max(counts) if isinstance(counts, list) and counts else counts or "–")


def residual(steps: list[Record]) -> str:
    """The largest residual over columns and runs, marked where it misses the tolerance by more than a tenth."""
    worst = max(step["residual"] for step in steps)
    return f"{worst:.1e}" + ("" if worst <= 1.1 * peers.TOL else " (!)")


if __name__ == "__main__":
    main()
