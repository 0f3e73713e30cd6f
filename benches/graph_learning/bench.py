"""Graphs learned from smooth signals: a million rows, how time grows, and lapwing beside NumPy and the authors' program.

`million` and `growth` go from features to a graph (log-degree model, 10 neighbours, 3 allowed for each). `peer` solves
one problem given as arrays, neighbours found beforehand: Newton's method to the same gap, and one iteration of the
first-order method. `exactness` compares with the optima of the golden files, where the authors' program at its defaults
is known too. Each measurement is a process of its own, with all processors where nothing else is said.
"""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

import arrays
import common
import features
import mixture
import problem

Record = dict[str, Any]
TASKS = {
    "million": features.million,
    "growth": features.growth,
    "peer": arrays.beside_numpy,
    "exactness": arrays.exactness,
}


def main() -> None:
    args = parse()
    facts, date = common.machine(), datetime.date.today().isoformat()
    report: Record = {"schema": 1, "bench": "graph-learning", "date": date, "machine": facts, "results": []}
    for task in args.tasks:
        results, text = TASKS[task](args)
        print(text, flush=True)
        report["results"] += [{"task": task, **record} for record in results]
        if args.json:
            args.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"{common.DISTURBED}\n\nMachine: {common.describe(facts)}; {date}.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench graph-learning", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--rows", type=int, help="rows of the mixture (default 1,000,000)")
    parser.add_argument("--digits", type=int, help="rows of MNIST (default 60,000)")
    parser.add_argument("--repeats", type=int, help="runs of each measurement (default 5)")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one program and task (default 1800)")
    parser.add_argument("--patience", type=float, default=20, help="seconds to wait for other programs (default 20)")
    parser.add_argument("--small", action="store_true", help="100,000 rows, 6,000 digits, one run of each")
    args = parser.parse_args()
    args.rows = args.rows or (100_000 if args.small else mixture.ROWS)
    args.digits = args.digits or (6000 if args.small else problem.ROWS)
    args.repeats = args.repeats or (1 if args.small else 5)
    return args


if __name__ == "__main__":
    main()
