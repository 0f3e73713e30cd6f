"""The label loop beside its peers: which rows to label, which labels to doubt, how sure to be, and what each of it costs.

`cold` and `rounds` choose rows; `missing` looks for a class nobody has named; `audit` and `duplicates` find what was spoiled
on purpose; `sets` measures coverage and calibration, `intervals` those of regression; `scale` takes a million rows; `timing` compares seconds. Each part
prints its table and the goals, met or missed. A result is kept as soon as it is measured (target/bench/loop/results.jsonl), so
that an interrupted run goes on where it stopped. Results of lapwing belong to its build, those of peers to their version: take
`--fresh` once the graph or the default classifier has changed, which everybody is judged by.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import paths  # noqa: F401 - before the modules of other folders

import common
import harness
import material
import page
from common import Record
from parts import PARTS

STEP = Path(__file__).resolve().parent / "step.py"


def main() -> None:
    args = parse()
    report = harness.Report("loop", args)
    for name in args.part:
        results = measured(name, args)
        report.add(*results)
        if args.page and results:
            page.write(name, PARTS[name].table(results), results)
        print(f"## {PARTS[name].TITLE}\n\n{PARTS[name].table(results)}\n{left_out(results)}", flush=True)
    print(report.machine())


def parse() -> argparse.Namespace:
    parser = harness.parser("loop", __doc__)
    own = "(default: those of the part)"
    every = f"of {', '.join(PARTS)} (default all)"
    parser.add_argument("--part", type=names(PARTS), default=list(PARTS), metavar="A,B", help=every)
    parser.add_argument("--sets", type=names(material.SETS), metavar="A,B", help=f"of {', '.join(material.SETS)} {own}")
    parser.add_argument("--methods", type=lambda text: text.split(","), metavar="A,B", help=f"only these {own}")
    parser.add_argument("--draws", type=int, metavar="N", help=f"draws of rows and labels {own}")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the part `scale` (default 1,000,000)")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one process (default 3600)")
    parser.add_argument("--page", action="store_true", help="put the tables into docs/results/label-loop.md")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    return parser.parse_args()


def names(known: Iterable[str]) -> Callable[[str], list[str]]:
    """A reader of names with commas between them."""

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := sorted(set(chosen) - set(known)):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is not one of {', '.join(known)}")
        return chosen

    return read


def measured(name: str, args: argparse.Namespace) -> list[Record]:
    """The results of a part, with a process for each of its units."""
    part, results = PARTS[name], []
    for unit in part.units(args):
        methods = [one for one in part.methods(unit) if not args.methods or one in args.methods]
        if not methods:
            continue
        print(f"{name} {' '.join(map(str, unit.values()))}: {', '.join(methods)}", file=sys.stderr, flush=True)
        words = ["--part", name, "--unit", json.dumps(unit), "--methods", *methods, *(["--fresh"] if args.fresh else [])]
        record = common.run_worker(STEP, words, args.limit, part.THREADS)
        if record["outcome"] != "finished":
            print(f"  {record['outcome']}; results so far are kept", file=sys.stderr)
        results += record.get("results", [])
    return results


def left_out(results: list[Record]) -> str:
    """A line for each method that gave no result, with the reason."""
    reasons = {(one["method"], one["failed"]) for one in results if "failed" in one}
    return "".join(f"Left out: {method}: {reason}\n" for method, reason in sorted(reasons))


if __name__ == "__main__":
    main()
