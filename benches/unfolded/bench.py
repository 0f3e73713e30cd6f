"""Unfolded graph networks: seconds to the optimum beside Adam and HERTA in NumPy and PyTorch, growth, choice of route.

`arxiv` (170,000 nodes, made here) and `physics` (texts) train to 1e-6 of the optimum: lapwing by several solvers, and
the peers; Adam is that of the faster peer at the best of a few rates. Whoever takes longer than the limit ends with what
was reached. `growth` times one iteration on 10⁵ to 10⁷ edges. `routes` times every solver where the rule of choice could
go wrong. Each measurement is a process of its own, with all processors.
"""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

import common
import growth
import levels
import objective
import programs
import routes

Record = dict[str, Any]
TASKS = {"arxiv": levels.arxiv, "physics": levels.physics, "growth": growth.growth, "routes": routes.routes}


def main() -> None:
    args = parse()
    facts, date = common.machine(), datetime.date.today().isoformat()
    report: Record = {"schema": 1, "bench": "unfolded", "date": date, "machine": facts, "results": []}
    for task in args.tasks:
        results, text = TASKS[task](args)
        print(text, flush=True)
        report["results"] += [{"task": task, **record} for record in results]
        if args.json:
            args.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"{common.DISTURBED}\n\nMachine: {common.describe(facts)}; {date}.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench unfolded", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--losses", nargs="+", choices=objective.LOSSES, default=list(objective.LOSSES))
    parser.add_argument("--solvers", nargs="+", choices=programs.SOLVERS, default=list(levels.SOLVERS))
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="lapwing alone")
    parser.add_argument("--repeats", type=int, help="runs of each measurement that is not long (default 3)")
    parser.add_argument("--limit", type=float, help="seconds for one training (default 600)")
    parser.add_argument("--patience", type=float, default=20, help="seconds to wait for other programs (default 20)")
    parser.add_argument("--small", action="store_true", help="small problems, one run of each, 10 s for each training")
    args = parser.parse_args()
    args.repeats = args.repeats or (1 if args.small else 3)
    args.limit = args.limit or (10 if args.small else 600)
    return args


if __name__ == "__main__":
    main()
