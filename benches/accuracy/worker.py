"""Run methods on the draws of one set, in a process of its own.

Each result is stored at once (`cache.py`), so that finished ones survive a time limit or a crash.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cache
import cells
import common
import numpy as np
from measures import calibration_error
from methods import METHODS, program
from problem import Problem
from tasks import TASKS


def main() -> None:
    args = parse()
    task, kept = TASKS[args.task], cache.Cache()
    warnings.simplefilter("ignore")
    problem, results = task.problem(args.set, args.draws[0]), []
    for draw in args.draws:
        if not task.whole and draw != args.draws[0]:
            problem = task.problem(args.set, draw)
        for cell in args.cells:
            if cell == "standard" and (args.set not in cells.STANDARD or draw > 0):
                continue
            place = {"task": args.task, "set": args.set, "cell": cell, "draw": draw}
            results += answers(place, problem, args, kept)
    common.save(args.out, {"results": results})


def answers(place: cache.Key, problem: Problem, args: argparse.Namespace, kept: cache.Cache) -> list[cache.Result]:
    """The results of each method on one draw of a cell, measured or kept."""
    shown = cells.labels(args.set, place["cell"], place["draw"], problem.classes)
    drawn = f"{_sum(problem.features.data)}{_sum(shown)}"
    results = []
    for name in args.methods:
        if METHODS[name].on_split and place["cell"] != "standard":
            continue
        key = {**place, "method": name, "drawn": drawn, "program": program(name), "about": METHODS[name].about}
        found = kept.get(key, any_program=name in args.unchanged)
        if found is None:
            found = measure(name, problem, shown, tested(place, shown), TASKS[args.task].limit)
            if "failed" not in found:
                kept.add(key, found)
        results.append({**key, **found})
    return results


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True, choices=TASKS)
    parser.add_argument("--set", required=True)
    parser.add_argument("--draws", required=True, type=int, nargs="+")
    parser.add_argument("--cells", required=True, nargs="+")
    parser.add_argument("--methods", required=True, nargs="+", choices=METHODS)
    parser.add_argument("--unchanged", default=[], nargs="*", choices=METHODS)
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def tested(place: cache.Key, shown: np.ndarray) -> np.ndarray:
    """The rows (n) on which labels are compared with the classes: the hidden ones, or the test nodes of a published split."""
    return cells.load_graph(place["set"])[3] == 2 if place["cell"] == "standard" else shown < 0


def measure(name: str, problem: Problem, shown: np.ndarray, hidden: np.ndarray, limit: float) -> dict[str, Any]:
    """Accuracy on hidden rows, calibration, and seconds from rows to labels; `failed` holds the reason if there are none.

    Seconds are CPU time. With one thread that is wall time without the time that other programs take.
    """
    method = METHODS[name]
    problem.rows  # noqa: B018 - made outside of the measurement
    if method.on_graph:
        problem.neighbors  # noqa: B018
    start = time.process_time()
    try:
        with limited(limit):
            answer = method(problem, shown)
    except Exception as error:  # a failure is a result
        return {"failed": f"{type(error).__name__}: {error}"}
    seconds = time.process_time() - start + (problem.neighbor_seconds if method.on_graph else 0)
    right = np.asarray(answer.labels)[hidden] == problem.classes[hidden]
    result = {"accuracy": float(right.mean()), "cpu_seconds": round(seconds, 4)}
    if answer.confidence is not None:
        result["ece"] = calibration_error(np.asarray(answer.confidence)[hidden], right)
    if answer.expected is not None:
        result["expected"] = answer.expected
    if answer.chosen is not None:
        result["chosen"] = answer.chosen
    return result


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after this CPU time in a block; `run_worker` uses the alarm for wall time."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"not in {seconds:.0f} s")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _sum(array: Any) -> str:
    return f"{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"


if __name__ == "__main__":
    main()
