"""One program on one task, in a process of its own.

The result file is written after every run, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

import common
import curve
import harness
import objective
import problem
import programs

MEASURED = 20
"""Iterations of gradient descent whose median is taken."""
BEST = 1e-10
"""Tolerance of the optimum."""


def main() -> None:
    args = parse()
    record = {**harness.started(), "version": programs.prepared(args.program)}
    task = objective.Task(problem.named(args.problem), args.loss, args.graph_reg, args.l2_reg)
    record |= {"about": task.problem.about, "baseline_bytes": common.peak_bytes()}
    TASKS[args.task](args, task, record)
    common.save(args.out, record)


def parse() -> argparse.Namespace:
    parser = harness.worker_parser(__doc__, TASKS)
    parser.add_argument("--program", default="lapwing, direct", choices=programs.PROGRAMS)
    parser.add_argument("--problem", required=True, help="a data set, or nodes-edges-features-classes")
    parser.add_argument("--loss", default="mse", choices=objective.LOSSES)
    parser.add_argument("--graph-reg", type=float, default=1.0)
    parser.add_argument("--l2-reg", type=float, help="default that of lapwing")
    parser.add_argument("--optimum", type=float, help="ℓ*")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1], help="of Adam; the first, where one is asked")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which training ends by itself")
    return parser.parse_args()


def optimum(args: argparse.Namespace, task: objective.Task, record: dict[str, Any]) -> None:
    """ℓ*: lapwing finds the weights once, and their loss is recomputed independently."""
    name = f"unfolded-optimum-{args.problem}-{args.loss}-{args.graph_reg:g}.npz"

    def write(path: Path) -> None:
        found = programs.lapwing(task, "direct" if task.loss == "mse" else "auto", tol=BEST)
        with path.open("wb") as file:
            np.savez(file, layer=found.layer, value=found.points[-1][1], l2_reg=found.said["l2_reg"])

    with np.load(common.kept(name, write)) as arrays:
        record |= {"said": float(arrays["value"]), "l2_reg": float(arrays["l2_reg"])}
        record |= objective.judged(dataclasses.replace(task, l2_reg=record["l2_reg"]), arrays["layer"])


def train(args: argparse.Namespace, task: objective.Task, record: dict[str, Any]) -> None:
    """Trainings, evaluated by their weights; fewer than `--repeats` if they are long."""
    spent = 0.0
    while len(record["runs"]) < args.repeats and spent < args.seconds / 2:
        run_once = programs.training(args.program, task, args.optimum, args.seconds, args.rates[0])
        found, run = harness.once(args, run_once)
        spent += run["wall_seconds"]
        record.setdefault("peak_bytes", common.peak_bytes())
        judged = dataclasses.replace(task, l2_reg=found.said.get("l2_reg", args.l2_reg))
        value = objective.judged(judged, found.layer)["value"]
        points = curve.ending_at(value, found.points)
        points = points if args.optimum is None else curve.thinned(points, args.optimum)
        run |= {"points": points, "n_iter": found.n_iter, "value": value, "said": found.said}
        record["runs"].append({**run, "claimed": found.points[-1][1]})
        common.save(args.out, record)


def rates(args: argparse.Namespace, task: objective.Task, record: dict[str, Any]) -> None:
    """The loss of Adam at each rate after a short time."""
    for rate in args.rates:
        found = programs.training(args.program, task, args.optimum, args.seconds, rate)()
        taken, value = found.points[-1]
        record["runs"].append({"rate": rate, "seconds": taken, "value": value, "n_iter": found.n_iter})


def iterations(args: argparse.Namespace, task: objective.Task, record: dict[str, Any]) -> None:
    """Seconds of one iteration of gradient descent, and of all work before the first."""
    solver = args.program.partition(", ")[2]
    for found, run in harness.repeated(args, record, lambda: programs.lapwing(task, solver, max_iter=MEASURED)):
        one = programs.iteration_seconds(found.points)
        passes = found.said["edge_passes"] / max(1, found.n_iter)
        before = found.points[0][0]
        run |= {"iteration_seconds": one, "passes": passes, "before_seconds": before, "n_iter": found.n_iter}


TASKS = {"optimum": optimum, "train": train, "rates": rates, "iterations": iterations}

if __name__ == "__main__":
    main()
