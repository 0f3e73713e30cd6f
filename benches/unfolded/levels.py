"""Seconds to the optimum and to levels before it: lapwing's solvers and the peers on several problems."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence

import common
import curve
import engines
import measured
import problem
from common import Record

SOLVERS = ("auto", "direct", "herta", "gd", "adam")
GRAPH_REGS = (1.0, 20.0)
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Learning rates of Adam; all are tried for a short time, and the best is used."""
TRIED = 0.05
"""Share of the limit for trying each rate."""
PEERS = [f"{engine}, {method}" for engine in engines.ENGINES for method in ("direct", "herta")]
TITLES = {"mse": "squares", "cross-entropy": "cross-entropy"}
SMALL = problem.Shape(20_000, 140_000, 64, 10)


def arxiv(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Many nodes, few features, many classes."""
    return compared(args, (SMALL if args.small else problem.ARXIV).name)


def physics(args: argparse.Namespace) -> tuple[list[Record], str]:
    """Texts: many sparse features, few classes."""
    return compared(args, "cora" if args.small else "coauthor_physics")


def compared(args: argparse.Namespace, name: str) -> tuple[list[Record], str]:
    """All programs at each loss and λ."""
    results, texts = [], []
    for loss in args.losses:
        for graph_reg in GRAPH_REGS:
            given = ["--problem", name, "--loss", loss, "--graph-reg", str(graph_reg)]
            title = f"{name if name in problem.SETS else 'Communities'}, {TITLES[loss]}, λ = {graph_reg:g}"
            best = measured.worker("optimum", args, *given)
            results.append({"program": "optimum", "loss": loss, "graph_reg": graph_reg, **best})
            if best["outcome"] != "finished":
                texts.append(f"### {title}\n\nNo optimum: {best['outcome']}.\n")
                continue
            group = trained(args, [*given, "--l2-reg", repr(best["l2_reg"]), "--optimum", repr(best["value"])])
            results += [{"loss": loss, "graph_reg": graph_reg, **record} for record in group]
            texts.append(table(f"{title}: {best['about']}", best, group, args))
    return results, "\n".join(texts)


def trained(args: argparse.Namespace, given: list[str]) -> list[Record]:
    """All programs on one problem: the chosen ones, and the fastest Adam of the peers."""
    names = [f"lapwing, {solver}" for solver in args.solvers] + [name for name in PEERS if args.peers]
    records = [{"program": name, **measured.worker("train", args, "--program", name, *given)} for name in names]
    return records + ([fastest_adam(args, given)] if args.peers else [])


def fastest_adam(args: argparse.Namespace, given: list[str]) -> Record:
    """Adam at the rate with the lowest loss after a short time, by the engine that is faster at that rate."""
    rates: list[float] = list(RATES)
    tried: list[Record] = []
    for engine in engines.ENGINES:
        more = ["--program", f"{engine}, adam", "--rates", *map(str, rates)]
        record = measured.worker("rates", args, *more, *given, seconds=TRIED * args.limit)
        tried += [{"engine": engine, **run} for run in record["runs"]]
        if not record["runs"]:
            return {"program": f"{engine}, adam", **record}
        rates = [min(tried, key=lambda one: one["value"] if math.isfinite(one["value"]) else math.inf)["rate"]]
    same = [one for one in tried if one["rate"] == rates[0]]
    engine = max(same, key=lambda one: one["n_iter"] / one["seconds"])["engine"]
    more = ["--program", f"{engine}, adam", "--rates", str(rates[0])]
    return {"program": f"{engine}, adam", "tried": tried, **measured.worker("train", args, *more, *given, repeats=1)}


# --- tables ----------------------------------------------------------------------------------------------------------


def table(title: str, best: Record, group: Sequence[Record], args: argparse.Namespace) -> str:
    """A row for each program."""
    optimum = best["value"]
    own = next((one for one in group if one["program"] == "lapwing, auto" and one["runs"]), None)
    of_own = None if own is None else until(own, optimum, curve.LEVELS[-1])
    head = ["program", "fit s", *[f"s to {level:.0e}".replace("e-0", "e-") for level in curve.LEVELS], "CPU s"]
    head += ["steps", "edge passes", "(ℓ−ℓ*)/ℓ* by the weights", "as the program has it", "peak MiB"]
    head += ["times as long as lapwing"]
    lines = [line(record, optimum, of_own, args.limit) for record in group]
    checked = f"ℓ* = {optimum:.10g}, with a gradient that leaves {best['bound']:.0e} of it at most"
    said = f"lapwing says {curve.error(best['said'], optimum):+.0e} of that"
    return f"{common.markdown(title, head, lines)}\nρ = {best['l2_reg']:.3g}; {checked}; {said}.\n"


def line(record: Record, optimum: float, of_own: float | None, limit: float) -> list[str]:
    """Medians of the seconds over the runs; other figures are those of the last run."""
    runs = record["runs"]
    if not runs:
        return [record["program"], record["outcome"]]
    last, said = runs[-1], runs[-1]["said"]
    taken = [until(record, optimum, level) for level in curve.LEVELS]
    ended = last["points"][-1][0]
    missing = f"not in {common.seconds(ended)} s" if ended > 0.8 * limit else "never, ended before"
    cells = [called(record), common.seconds(common.median(runs, "wall_seconds")) + common.disturbed(runs)]
    cells += [missing if seconds is None else common.seconds(seconds) for seconds in taken]
    cells += [common.seconds(common.median(runs, "cpu_seconds")), f"{last['n_iter']:,}", f"{said['edge_passes']:,}"]
    cells += [f"{curve.error(value, optimum):.1e}" for value in (last["points"][-1][1], last["claimed"])]
    cells += [common.mib(record["peak_bytes"])]
    if of_own is not None:
        reached = taken[-1]
        cells.append(f"> {ended / of_own:.1f}" if reached is None else f"{reached / of_own:.1f}")
    return cells


def called(record: Record) -> str:
    """The name of the program, with its choices or settings."""
    said = record["runs"][-1]["said"]
    package, _, method = record["program"].partition(", ")
    chosen = [said["solver"]] if method == "auto" else []
    chosen += [said["optimizer"]] if said.get("optimizer") not in (None, method) else []
    chosen += [f"rate {said['rate']:g}"] if "rate" in said else []
    return f"{record['version']}, {method}" + (f" ({', '.join(chosen)})" if chosen else "")


def until(record: Record, optimum: float, level: float) -> float | None:
    """Median seconds to a level over undisturbed runs; None if one of them does not reach it."""
    found = [curve.first(run["points"], optimum, level) for run in common.quiet(record["runs"])]
    reached = [seconds for seconds in found if seconds is not None]
    return statistics.median(reached) if len(reached) == len(found) else None
