"""The memory that `--plan` states, and the memory that is needed: all methods of `label`, `suggest` and `audit`, over rows and columns.

Every line runs the program twice on a random problem, with and without `--plan`. A good plan is a close upper bound: the work
needs between .75 and 1 of it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import common
import harness
import problems
from common import Record

PROGRAM = common.ROOT / "target" / "release" / "lapwing"
LEAST, MOST = 0.75, 1.0
"""Bounds of the needed memory, as a share of the planned memory."""


class Case(NamedTuple):
    """One way of labeling, suggesting or judging."""

    options: list[str]
    features: bool = True
    edges: bool = False
    most_rows: int | None = None
    command: str = "label"
    labels: bool = True


def named(method: str, *options: str, **more: Any) -> Case:
    return Case(["--method", method, *options], **more)


OF_EDGES: dict[str, Any] = {"features": False, "edges": True}
BATCH = ["-n", "100"]
CASES = {
    "harmonic": named("harmonic"),
    "harmonic, edges": named("harmonic", **OF_EDGES),
    "sparse-harmonic": named("sparse-harmonic"),
    "sparse-harmonic, edges": named("sparse-harmonic", **OF_EDGES),
    "low-rank": named("low-rank"),
    "low-rank, 1,000 landmarks": named("low-rank", "--n-landmarks", "1000"),
    "anchor": named("anchor"),
    "nystrom": named("nystrom"),
    "glnp": named("glnp"),
    "lapsvm": named("lapsvm"),
    "lapsvm, 500 landmarks": named("lapsvm", "--n-landmarks", "500"),
    "laprls": named("laprls"),
    "unfolded-gnn": named("unfolded-gnn"),
    "unfolded-gnn, edges": named("unfolded-gnn", edges=True),
    "eigenfunction": named("eigenfunction"),
    "subsampling": named("subsampling"),
    "simple-harmonic": named("simple-harmonic"),
    "simple-harmonic, edges": named("simple-harmonic", **OF_EDGES),
    "nearest-label": named("nearest-label"),
    "linear": named("linear"),
    "forest": named("forest"),
    "majority": named("majority"),
    "suggest": Case(BATCH, command="suggest"),
    "suggest, edges": Case(BATCH, command="suggest", **OF_EDGES),
    "suggest, edges, no labels": Case(BATCH, command="suggest", labels=False, **OF_EDGES),
    "audit": Case([], command="audit"),
    "audit, edges": Case([], command="audit", **OF_EDGES),
}


def main() -> None:
    args = parse()
    report = harness.Report("plan", args)
    print(common.table(HEAD, []).rstrip())
    for of in problems_of(args):
        record = measured(args, *of)
        print(f"| {' | '.join(line(record))} |", flush=True)
        report.add(record)
    print(f"\n{verdict(report.results)}\n\n{report.machine()}")


def parse() -> argparse.Namespace:
    parser = harness.parser("plan", __doc__)
    parser.add_argument("--methods", nargs="+", metavar="M", choices=list(CASES), default=list(CASES))
    parser.add_argument("--rows", nargs="+", type=int, default=[1000, 20_000, 120_000, 400_000])
    parser.add_argument("--columns", nargs="+", type=int, default=[8, 64, 256])
    parser.add_argument("--kinds", nargs="+", choices=["curved", "plain"], default=["curved"], help="of mixtures")
    parser.add_argument("--endings", nargs="+", choices=["npy", "csv"], default=["npy"], help="of files")
    parser.add_argument("--threads", nargs="+", type=int, default=[2])
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="of one run (default 600)")
    parser.add_argument("--quick", action="store_true", help="1,000 and 20,000 rows, 8 and 64 columns")
    parser.add_argument("--program", type=Path, default=PROGRAM, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.rows, args.columns = [1000, 20_000], [8, 64]
    return args


def problems_of(args: argparse.Namespace) -> Iterator[tuple[str, int, int, str, str, int]]:
    """Case, rows, columns, kind, ending and threads of every measurement; problems of edges have no columns."""
    for n in args.rows:
        for name in args.methods:
            case = CASES[name]
            if case.most_rows and n > case.most_rows:
                continue
            if not case.features:
                yield from ((name, n, 0, "edges", "npy", threads) for threads in args.threads)
                continue
            for d in args.columns:
                for kind in args.kinds:
                    for ending in args.endings:
                        yield from ((name, n, d, kind, ending, threads) for threads in args.threads)


def measured(args: argparse.Namespace, name: str, n: int, d: int, kind: str, ending: str, threads: int) -> Record:
    """Plan and fit of one problem."""
    case, record = CASES[name], {"case": name, "rows": n, "columns": d, "kind": kind, "ending": ending, "threads": threads}
    files = [str(problems.rows(kind, n, d, ending))] if case.features else []
    files += ["--graph", str(problems.edges(n))] if case.edges else []
    files += ["--labels", str(problems.labels(n))] if case.labels else []
    with tempfile.TemporaryDirectory(dir=PROGRAM.parent) as folder:
        output = f"{folder}/out.{'npy' if case.command == 'label' else 'csv'}"
        words = [args.program, case.command, *files, *case.options, "--threads", threads, "-o", output, "--json"]
        planned = run([*words, "--plan"], args.limit)
        fitted = run(words, args.limit)
    record |= {"planned": planned.get("report", {}).get("peak_bytes"), "plan": planned.get("report"), **fitted}
    if record["outcome"] == "finished" and record["planned"]:
        record["ratio"] = record["peak_bytes"] / record["planned"]
        told = record["report"]["peak_bytes"]
        if abs(told - record["peak_bytes"]) > 0.02 * told:
            record["outcome"] = f"the program tells another peak: {common.mib(told)} MiB"
    return record


def run(words: list[object], limit: float) -> Record:
    record, done = common.run_program(words, limit)
    if done.returncode == signal.SIGKILL:
        return {**record, "outcome": f"did not finish in {limit:.0f} s"}
    if done.returncode:
        return {**record, "outcome": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
    return {**record, "report": json.loads(done.stdout), "outcome": "finished"}


HEAD = ["method", "rows", "columns", "data", "threads", "planned MiB", "step", "needed MiB", "needed / planned", "", "seconds"]


def line(record: Record) -> list[str]:
    """One line of the table."""
    plan, ratio = record["plan"] or {"steps": []}, record.get("ratio")
    widest = max(plan["steps"], key=lambda step: step["peak_bytes"], default={"name": ""})["name"]
    data = f"{record['kind']} .{record['ending']}"
    cells = [record["case"], f"{record['rows']:,}", str(record["columns"] or ""), data, str(record["threads"])]
    cells += [common.mib(record["planned"] or 0), widest, common.mib(record.get("peak_bytes", 0))]
    if record["outcome"] != "finished":
        return [*cells, "", record["outcome"]]
    return [*cells, f"{ratio:.2f}", mark(ratio), common.seconds(record["wall_seconds"])]


def mark(ratio: float) -> str:
    return "above the plan" if ratio > MOST else "far below" if ratio < LEAST else ""


def verdict(records: list[Record]) -> str:
    ratios = [record["ratio"] for record in records if "ratio" in record]
    if not ratios:
        return "Nothing was measured."
    within = sum(LEAST <= ratio <= MOST for ratio in ratios)
    extremes = f"least {min(ratios):.2f}, most {max(ratios):.2f}"
    return f"{within} of {len(ratios)} within {LEAST} to {MOST}: {extremes}; {len(records) - len(ratios)} not measured."


if __name__ == "__main__":
    sys.exit(main())
