"""From features to a learned graph: a million rows, and fewer of them."""

from __future__ import annotations

import argparse

import common
import harness
import measured
import mixture
import problem
from common import Record

SECONDS, SHARE, BYTES, EXPONENT = 30, 1, 200, 1.1
"""Goals, at most: seconds, all else over the neighbor search, bytes of an allowed edge beyond what was there before the
fit, and the exponent of n."""
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
PARTS = {"wall_seconds": "fit s", "neighbors_seconds": "neighbors s", "rest_seconds": "all else s"}


def fitted(args: argparse.Namespace, rows: int, *more: str, repeats: int = 0) -> Record:
    """Runs on the first rows of the mixture, with seconds of the neighbor search and of all other steps."""
    of = ["--rows", str(rows), "--of", str(args.rows)]
    record = measured.worker("fit", args, *of, *more, repeats=repeats)
    for run in record["runs"]:
        phases = {phase["name"]: phase["seconds"] for phase in run["report"]["phases"]}
        run["neighbors_seconds"] = phases["neighbors"]
        run["rest_seconds"] = run["wall_seconds"] - run["neighbors_seconds"]
    return record


def seconds(runs: list[Record]) -> list[str]:
    """Medians of all parts."""
    whole, *parts = (common.seconds(common.median(runs, part)) for part in PARTS)
    return [whole + common.disturbed(runs), *parts]


# --- a million rows --------------------------------------------------------------------------------------------------


def million(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Seconds by phase, memory and gap; once more with repair."""
    mixture.load(args.rows)  # written once, before the measurements
    results = [
        {"run": "as it is", **fitted(args, args.rows, "--check")},
        {"run": "with repair", **fitted(args, args.rows, "--repair", repeats=1)},
    ]
    head = ["run", f"fit s (goal {SECONDS})", "neighbors s", "all else s", f"else / neighbors (goal {SHARE})"]
    head += ["CPU s", "by phase", "edges", "allowed", "gap", "saturated", "uncertified", "peak MiB"]
    head += [f"bytes an allowed edge (goal {BYTES})"]
    title = f"Curved mixture, {args.rows:,} × {mixture.COLUMNS}, {problem.NEIGHBORS} neighbors"
    text = common.markdown(title, head, [million_line(record) for record in results])
    return results, text + check_line(results[0])


def million_line(record: Record) -> list[str]:
    """Medians of the seconds over the runs; other figures are those of the last run."""
    name, runs = record["run"], record["runs"]
    if not runs:
        return [name, record["outcome"]]
    last = runs[-1]["report"]
    share = common.median(runs, "rest_seconds") / common.median(runs, "neighbors_seconds")
    cells = [name, *seconds(runs), f"{share:.2f}", common.seconds(common.median(runs, "cpu_seconds"))]
    cells += [", ".join(f"{phase['name']} {common.seconds(phase['seconds'])}" for phase in last["phases"])]
    cells += [f"{last['n_edges']:,}", f"{last['n_allowed']:,}", f"{last['gap']:.1e}", f"{last['saturated']:.1%}"]
    beyond = (record["peak_bytes"] - record["baseline_bytes"]) / last["n_allowed"]
    return [*cells, f"{last['n_uncertified']:,}", common.mib(record["peak_bytes"]), f"{beyond:.0f}"]


def check_line(record: Record) -> str:
    """The gap, recomputed outside of lapwing."""
    if "check" not in record:
        return ""
    check = record["check"]
    taken = common.seconds(check["wall_seconds"])
    seen = f"{check['gap_of_rows']:.1e} of the rows, {check['gap_of_objective']:.1e} of the objective"
    return f"\nGiven neighbors, a fit takes {taken} s. Its gap is {check['gap']:.1e}; by the weights alone, {seen}.\n"


# --- growth ----------------------------------------------------------------------------------------------------------


def growth(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Seconds for increasing numbers of rows, and the exponents of n that fit them best."""
    mixture.load(args.rows)
    sizes = [*[size for size in SIZES if size < args.rows], args.rows]
    results = [{"rows": size, **fitted(args, size)} for size in sizes]
    lines = [growth_line(record) for record in results]
    done = [record for record in results if record["runs"]]
    if len(done) > 1:
        lines.append([f"exponent (goal {EXPONENT})", *[f"{harness.exponent(done, 'rows', part):.2f}" for part in PARTS]])
    head = ["rows", *PARTS.values(), "µs a row", "allowed edges", "mean degree", "search", "recall"]
    return results, common.markdown(f"The first rows of the mixture, {problem.NEIGHBORS} neighbors", head, lines)


def growth_line(record: Record) -> list[str]:
    name, runs = f"{record['rows']:,}", record["runs"]
    if not runs:
        return [name, record["outcome"]]
    last = runs[-1]["report"]
    a_row = 1e6 * common.median(runs, "wall_seconds") / record["rows"]
    cells = [name, *seconds(runs), f"{a_row:.1f}", f"{last['n_allowed']:,}", f"{last['mean_neighbors']:.2f}"]
    return [*cells, last["knn"]["method"], f"{last['knn']['recall']:.3f}"]
