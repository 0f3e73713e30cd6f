"""Accuracy of methods on the draws of one cell of a set, in a process of its own.

The result file is written after every fit, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import common
import problem
from methods import METHODS


def main() -> None:
    args = parse()
    warnings.simplefilter("ignore")
    loaded, results = problem.load(args.set), []
    for draw in range(args.draws):
        shown = problem.labels(args.set, loaded, args.cell, draw)
        for name in args.methods:
            results.append({"draw": draw, "method": name, **measured(name, loaded, shown)})
            common.save(args.out, {"results": results})


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", required=True, choices=problem.SETS)
    parser.add_argument("--cell", required=True, choices=problem.CELLS)
    parser.add_argument("--draws", required=True, type=int)
    parser.add_argument("--methods", required=True, nargs="+", choices=METHODS)
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def measured(name: str, loaded: problem.Problem, shown: Any) -> dict[str, Any]:
    """Accuracy on the hidden nodes, and CPU seconds from features and graph to labels."""
    start = time.process_time()
    found = METHODS[name][1](loaded, shown)
    seconds, hidden = time.process_time() - start, shown < 0
    right = found[hidden] == loaded.classes[hidden]
    return {"accuracy": float(right.mean()), "cpu_seconds": round(seconds, 3)}


if __name__ == "__main__":
    main()
