"""Laplacian systems: lapwing's solver and its peers on the same matrices and machine, to the same residual.

Every solver is asked for a relative residual of 10⁻⁸; the one shown is recomputed in f64 from the edges. Setup is what
does not depend on a right-hand side. Each peer runs in a process of its own; peak memory is that of the whole process
through one setup and one solve: interpreter, libraries, matrix and all.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

import common
import peers
import systems

HERE = Path(__file__).resolve().parent


def main() -> None:
    args = parse()
    chosen = args.peers or (peers.QUICK if args.quick else peers.DEFAULT)
    report: dict[str, Any] = {
        "schema": 1,
        "bench": "solve",
        "date": datetime.date.today().isoformat(),
        "machine": common.machine(),
        "tolerance": peers.TOL,
        "orders": args.orders,
        "threads": args.threads,
        "results": [],
    }
    for task in args.tasks:
        system = systems.load(task, args.orders)  # made once, outside of every measurement
        size = f"{system.adjacency.shape[0]:,} unknowns, {system.adjacency.nnz // 2:,} edges"
        del system
        for name in chosen:
            report["results"].append(run(name, task, args))
            if args.json:
                args.json.write_text(json.dumps(report, indent=1) + "\n")
        title = f"{systems.TITLES[task].format(orders=args.orders)}: {size}"
        print(table(title, [one for one in report["results"] if one["task"] == task]), flush=True)
    print("".join(f"- {name}: {peers.PEERS[name](args.limit, args.threads).about}\n" for name in chosen))
    print(f"Machine: {common.describe(report['machine'])}; {args.threads} threads; {report['date']}. {common.DISTURBED}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench solve", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    parser.add_argument("--quick", action="store_true", help="few peers, one run each")
    parser.add_argument("--peers", nargs="+", choices=peers.PEERS, metavar="PEER", help=", ".join(peers.PEERS))
    parser.add_argument("--tasks", nargs="+", choices=systems.MAKERS, default=list(systems.MAKERS), metavar="TASK",
                        help=", ".join(systems.MAKERS))
    parser.add_argument("--orders", type=int, default=6, help="powers of ten over which the grid's weights spread (default 6)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every peer (default 2)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of setup and solve, their median (default 3)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for setup and solve of one peer (default 120)")
    parser.add_argument("--memory", type=float, default=16, help="GiB of address space for each peer (default 16)")
    parser.add_argument("--patience", type=float, default=20,
                        help="seconds to wait, before each measurement, for other programs to rest (default 20)")
    parser.add_argument("--under", default="", metavar="COMMAND", help="run each measurement by COMMAND, say taskset")
    return parser.parse_args()


def run(name: str, task: str, args: argparse.Namespace) -> dict[str, Any]:
    """What one peer achieves on one system; an outcome other than "finished" says why figures are missing."""
    print(f"{task}: {name} …", file=sys.stderr, flush=True)
    arguments = ["--peer", name, "--task", task, "--orders", str(args.orders), "--limit", str(args.limit)]
    arguments += ["--repeats", str(1 if args.quick else args.repeats), "--memory", str(args.memory)]
    arguments += ["--patience", str(args.patience), "--threads", str(args.threads)]
    # The worker begins nothing after its limit; what is under way then may last as long again.
    record = common.run_worker(HERE / "worker.py", arguments, 2 * args.limit + 30, args.threads, args.under)
    return {"peer": name, "task": task, **record}


def table(title: str, results: list[dict[str, Any]]) -> str:
    """Seconds, iterations and the true residual, a row per peer; medians over the runs."""
    head = ["peer", "setup s", "solve s", "both s", "CPU s", "iterations", "residual", "peak MiB", "runs"]
    head += ["10 right sides: solve s", "residual"]
    return common.markdown(title, head, map(line, results))


def line(result: dict[str, Any]) -> list[str]:
    name = f"{result['peer']} {result.get('version', '')}".strip()
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


def iterations(step: dict[str, Any]) -> str:
    """Iterations of one right-hand side; a dash for direct solvers."""
    counts = step.get("iterations", [])
    return str(max(counts) if isinstance(counts, list) and counts else counts or "–")


def residual(steps: list[dict[str, Any]]) -> str:
    """The largest residual over columns and runs, marked where it misses the tolerance by more than a tenth."""
    worst = max(step["residual"] for step in steps)
    return f"{worst:.1e}" + ("" if worst <= 1.1 * peers.TOL else " (!)")


if __name__ == "__main__":
    main()
