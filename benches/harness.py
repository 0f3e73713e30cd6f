"""The frame of the benchmarks: options, tasks, repeated measurements, and the report in JSON.

A `bench.py` reads options with `parser`, measures with `worker`, and collects records in a `Report`. A `worker.py` reads
its options with `worker_parser` and measures with `repeated`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Record

Task = Callable[[argparse.Namespace], tuple[list[Record], str]]
"""Measures, and returns records and a table."""


# --- in the process of bench.py ----------------------------------------------------------------------------------------


def parser(name: str, about: str | None, *, quiet: bool = False) -> argparse.ArgumentParser:
    """Options of every benchmark; with `quiet`, also the one for waiting until other programs are quiet."""
    made = argparse.ArgumentParser(prog=f"cargo xtask bench {name}", description=about)
    made.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    if quiet:
        made.add_argument("--patience", type=float, default=20,
                          help="seconds to wait, before each measurement, until other programs are quiet (default 20)")
    return made


def peer_parser(
    name: str, about: str | None, peers: Iterable[str], tasks: Iterable[str], default: Iterable[str], *, quiet: bool = False
) -> argparse.ArgumentParser:
    """Options of a benchmark of several peers; with `quiet`, also those of its repeated measurements."""
    made = parser(name, about, quiet=quiet)
    for option, known, chosen in (("peers", list(peers), None), ("tasks", list(tasks), list(default))):
        shown = ", ".join(known) + (f" (default: {', '.join(chosen)})" if chosen else "")
        made.add_argument(f"--{option}", nargs="+", choices=known, default=chosen, metavar="NAME", help=shown)
    made.add_argument("--quick", action="store_true", help="few peers, one run of each")
    if quiet:
        made.add_argument("--threads", type=int, default=2, help="threads of every peer (default 2)")
        made.add_argument("--repeats", type=int, default=3, help="runs of which the median is shown (default 3)")
        made.add_argument("--under", default="", metavar="COMMAND", help="run each measurement by COMMAND, say taskset")
    return made


def by_size(args: argparse.Namespace, **values: tuple[Any, Any]) -> argparse.Namespace:
    """Fill in options that are not given: each with its first value for `--small`, else with its second."""
    for name, (small, full) in values.items():
        if getattr(args, name) is None:
            setattr(args, name, small if args.small else full)
    return args


class Report:
    """The results of a benchmark, kept in the file of `--json` as they come."""

    def __init__(self, name: str, args: argparse.Namespace, **facts: Any) -> None:
        self._file = args.json
        date, machine = datetime.date.today().isoformat(), common.machine()
        self.record: Record = {"schema": 1, "bench": name, "date": date, "machine": machine, **facts, "results": []}

    @property
    def results(self) -> list[Record]:
        return self.record["results"]

    def of_task(self, task: str) -> list[Record]:
        """The results of one task."""
        return [one for one in self.results if one["task"] == task]

    def add(self, *records: Record) -> None:
        """Add results, and write the file again."""
        self.results.extend(records)
        self.save()

    def save(self) -> None:
        if self._file:
            self._file.write_text(json.dumps(self.record, indent=1) + "\n")

    def machine(self, *facts: str) -> str:
        """A line on the machine and the date, with more facts between them."""
        return f"Machine: {'; '.join([common.describe(self.record['machine']), *facts, self.record['date']])}."


def run_tasks(name: str, args: argparse.Namespace, tasks: Mapping[str, Task]) -> None:
    """Run the chosen tasks one after another, print their tables and collect their records."""
    report = Report(name, args)
    for task in args.tasks:
        results, text = tasks[task](args)
        print(text, flush=True)
        report.add(*({"task": task, **record} for record in results))
    print(f"{common.DISTURBED}\n\n{report.machine()}")


def worker(script: Path, words: Sequence[object], limit: float, threads: int = 0, under: str = "", **known: Any) -> Record:
    """Measure in a process of its own; `known` are entries of the record, also when the worker leaves none."""
    arguments = [str(word) for word in words]
    print(" ".join([script.parent.name, *arguments]), file=sys.stderr, flush=True)
    return {**known, **common.run_worker(script, arguments, limit, threads, under)}


def task_words(task: str, args: argparse.Namespace, repeats: int | None = None) -> list[object]:
    """The options of a worker that `worker_parser` reads."""
    return ["--task", task, "--repeats", repeats or args.repeats, "--patience", args.patience]


def exponent(records: Sequence[Record], size: str, part: str) -> float:
    """How seconds grow with a size: the slope of a line through their logarithms, by least squares."""
    taken = [common.median(record["runs"], part) for record in records]
    return float(np.polyfit(np.log([record[size] for record in records]), np.log(taken), 1)[0])


def name_of(record: Record) -> str:
    """A peer, with its version if known."""
    return f"{record['peer']} {record.get('version', '')}".strip()


# --- in the process of worker.py ---------------------------------------------------------------------------------------


def worker_parser(about: str | None, tasks: Iterable[str], *, quiet: bool = True) -> argparse.ArgumentParser:
    """Options of every worker; with `quiet`, also those of `repeated`."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--task", required=True, choices=list(tasks))
    if quiet:
        made.add_argument("--repeats", required=True, type=int)
        made.add_argument("--patience", required=True, type=float, help="seconds to wait until other programs are quiet")
    made.add_argument("--out", required=True, type=Path)
    return made


def started() -> Record:
    """The record of a worker that has not measured yet."""
    return {"load": os.getloadavg()[0], "runs": []}


def repeated(args: argparse.Namespace, record: Record, call: Callable[[], Any]) -> Iterator[tuple[Any, Record]]:
    """Call and measure repeatedly: yields the result, and the run, to which the caller may add entries.

    A run is saved when the caller asks for the next one. Peak memory is that after the first call.
    """
    for _ in range(args.repeats):
        answer, run = once(args, call)
        record.setdefault("peak_bytes", common.peak_bytes())
        yield answer, run
        record["runs"].append(run)
        common.save(args.out, record)


def once(args: argparse.Namespace, call: Callable[[], Any]) -> tuple[Any, Record]:
    """Call when other programs are quiet: the result, and the seconds it took."""
    common.wait_for_quiet(args.patience)
    with common.Stopwatch() as watch:
        answer = call()
    return answer, watch.record()
