"""Unfolded graph networks: seconds to the optimum beside Adam and HERTA in NumPy and PyTorch, growth, choice of route.

`arxiv` (170,000 nodes, made here) and `physics` (texts) train to 1e-6 of the optimum: lapwing by several solvers, and
the peers; Adam is that of the faster peer at the best of a few rates. A program that reaches the limit ends with
its current weights. `growth` times one iteration on 10⁵ to 10⁷ edges. `routes` times every solver on problems where the
automatic choice could be wrong. Each measurement is a process of its own, with all processors.
"""

from __future__ import annotations

import argparse

import harness
import growth
import levels
import objective
import programs
import routes

TASKS = {"arxiv": levels.arxiv, "physics": levels.physics, "growth": growth.growth, "routes": routes.routes}


def main() -> None:
    harness.run_tasks("unfolded", parse(), TASKS)


def parse() -> argparse.Namespace:
    parser = harness.parser("unfolded", __doc__, quiet=True)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--losses", nargs="+", choices=objective.LOSSES, default=list(objective.LOSSES))
    parser.add_argument("--solvers", nargs="+", choices=programs.SOLVERS, default=list(levels.SOLVERS))
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="lapwing alone")
    parser.add_argument("--repeats", type=int, help="runs of each measurement that is not long (default 3)")
    parser.add_argument("--limit", type=float, help="seconds for one training (default 600)")
    parser.add_argument("--small", action="store_true", help="small problems, one run of each, 10 s for each training")
    return harness.by_size(parser.parse_args(), repeats=(1, 3), limit=(10, 600))


if __name__ == "__main__":
    main()
