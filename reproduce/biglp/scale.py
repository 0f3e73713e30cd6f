"""Many rows: seconds and memory by threads and ranks, and the effect of a fit on a part of the rows."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import common
import methods
import results
import sets

Setting = dict[str, Any]
HERE = Path(__file__).resolve().parent
PROGRAMS = common.ROOT / "target" / "release"
DATA = sets.files(["mnist"])
FACTORS = ("anchor", "nystrom")
PER_CLASS = 10
N_LANDMARKS = 100
COLUMNS, CLASSES = 100, 10
"""Of generated rows."""
THREADS = (1, 2)
RANKS = (1, 2, 4, 16)
"""Of one thread each."""
FIT_ROWS = (300, 1000, 3000, 10_000, 100_000)
MNIST_ROWS = 70_000
PATIENCE = 10.0
"""Seconds to wait for other programs to end, before each run that is timed."""


def settings(small: bool) -> list[Setting]:
    """A process for each factor and number of threads or ranks; one for all parts of a data set."""
    rows, repeats = (200_000, 1) if small else (10_000_000, 3)
    workers = [(threads, 0) for threads in THREADS] + [(1, ranks) for ranks in RANKS]
    timed: list[Setting] = [
        {"part": "time", "method": method, "rows": rows, "threads": threads, "ranks": ranks, "repeats": repeats}
        for method in FACTORS
        for threads, ranks in workers
    ]
    parts = {"mnist": (2000, 2) if small else (MNIST_ROWS, 5), "generated": (rows, 1)}
    return timed + [
        {"part": "fit rows", "data": data, "method": method, "rows": size, "draws": draws}
        for data, (size, draws) in parts.items()
        for method in FACTORS
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Runs of the program, or fits."""
    if setting["part"] == "time":
        return [_timed(setting) for _ in range(setting["repeats"])]
    return _parts_generated(setting) if setting["data"] == "generated" else _parts_mnist(setting)


def _timed(setting: Setting) -> common.Record:
    common.wait_for_quiet(PATIENCE)
    return _label(setting, [])[0]


def _parts_mnist(setting: Setting) -> list[common.Record]:
    """All rows, then parts of them, for each draw of labels."""
    rows, classes = sets.load("mnist", setting["rows"])
    records = []
    for draw in range(setting["draws"]):
        shown = sets.shown(classes, PER_CLASS, draw)
        whole = None
        for count in [None, *[count for count in FIT_ROWS if count < len(rows)]]:
            classifier = methods.classifier(setting["method"], N_LANDMARKS, draw, select="off", fit_rows=count)
            seconds, fitted = common.timed(methods.fit, classifier, rows, shown)
            found = fitted.transduction_
            whole = found if whole is None else whole
            change = {"fit_rows": count or len(rows), "changed": float((found != whole)[shown < 0].mean())}
            accuracy = methods.rightness(classes, shown, found)["accuracy"]
            records.append({"draw": draw, **change, "accuracy": accuracy, "seconds": seconds})
    return records


def _parts_generated(setting: Setting) -> list[common.Record]:
    records, whole = [], None
    for count in [None, *FIT_ROWS]:
        options = ["--fit-rows", str(count)] if count else []
        record, found = _label({**setting, "threads": 0, "ranks": 0}, options)
        whole = found if whole is None else whole
        change = {"fit_rows": count or setting["rows"], "changed": float((found != whole).mean())}
        records.append({"draw": 0, **change, **record})
    return records


def _label(setting: Setting, options: list[str]) -> tuple[common.Record, np.ndarray]:
    rows = f"generated:{setting['rows']}x{COLUMNS}x{CLASSES}"
    options = ["--labels", f"generated:{PER_CLASS}", "--method", setting["method"], *options]
    record, labels = label(rows, options, setting["threads"], setting["ranks"], N_LANDMARKS)
    return record, labels


def label(rows: str, options: list[str], threads: int, ranks: int, n_landmarks: int) -> tuple[common.Record, np.ndarray]:
    """Label rows with the program, alone or as ranks: its cost and its labels; 0 threads means all."""
    with tempfile.TemporaryDirectory(dir=common.ROOT / "target" / "reproduce") as folder:
        out = Path(folder) / "labels.npy"
        command = ["label", rows, "-o", str(out), "--json", "--n-landmarks", str(n_landmarks), "--select", "off", *options]
        command += ["--threads", str(threads)] if threads else []
        program = [*_mpirun(ranks), sys.executable, "-S", str(HERE / "rank.py"), folder]
        program.append(str(PROGRAMS / ("lapwing-mpi" if ranks else "lapwing")))
        before = _children_seconds()
        with common.Stopwatch() as watch:
            done = subprocess.run([*program, *command], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join([*program, *command])}: {done.stderr.strip()}")
        cpu = _children_seconds() - before
        peaks = [int(path.read_text()) for path in Path(folder).glob("peak-*")]
        report, labels = json.loads(done.stdout), np.load(out)["label"]
    seconds = {"wall_seconds": watch.wall, "cpu_seconds": cpu, "foreign_seconds": max(0.0, watch.foreign - cpu)}
    phases = {f"{phase['name']}_seconds": phase["seconds"] for phase in report["phases"]}
    found = {"accuracy": report.get("accuracy"), "digest": hashlib.sha256(labels.tobytes()).hexdigest()[:16]}
    return {**found, **seconds, **phases, "peak_bytes": max(peaks), "sum_of_peaks": sum(peaks)}, labels


def _mpirun(ranks: int) -> list[str]:
    """The command that starts a number of ranks, each of which may run on all processors."""
    if not ranks:
        return []
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout
    if "Open MPI" not in version:
        return ["mpirun", "-n", str(ranks)]
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", "--oversubscribe", "--bind-to", "none", *as_root, "-n", str(ranks)]


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Seconds and memory by threads and ranks; changes by rows of the fit."""
    shown = {"time": _times, "fit rows": _changes}
    parts = results.grouped(records, lambda record: record["part"])
    return "\n".join(shown[part](group) for part, group in parts.items())


def _times(records: list[common.Record]) -> str:
    head = ["factor", "run by", "s", "CPU s", "rows / s", "MiB a process", "MiB in all", "accuracy"]
    groups = results.grouped(records, lambda one: (one["method"], _workers(one)))
    rows = []
    for (method, workers), group in groups.items():
        wall, cpu = (common.median(group, key) for key in ("wall_seconds", "cpu_seconds"))
        memory = [common.mib(max(one[key] for one in group)) for key in ("peak_bytes", "sum_of_peaks")]
        cost = [f"{common.seconds(wall)}{common.disturbed(group)}", common.seconds(cpu)]
        rate = f"{group[0]['rows'] / wall / 1e6:.2f} M"
        rows.append([method, workers, *cost, rate, *memory, f"{group[0]['accuracy']:.4f}"])
    digests = results.grouped(records, lambda one: (one["method"], one["digest"]))
    same = "the same in" if len(digests) == len(FACTORS) else "NOT the same in"
    title = f"{records[0]['rows']:,} generated rows of {COLUMNS} columns"
    note = f" {common.DISTURBED}" if any(map(common.disturbed, groups.values())) else ""
    return f"{common.markdown(title, head, rows)}\nLabels were {same} all runs of a factor.{note}\n"


def _changes(records: list[common.Record]) -> str:
    head = ["rows", "factor", *[f"{count:,}" for count in FIT_ROWS], "accuracy of all"]
    rows = []
    for (data, size, method), group in results.grouped(
        records, lambda one: (one["data"], one["rows"], one["method"])
    ).items():
        by_count = results.by(group, "fit_rows")
        whole = results.mean(by_count[size], "accuracy")
        cells = [_change(by_count[count], whole) if count in by_count and count < size else "–" for count in FIT_ROWS]
        rows.append([f"{data} {size:,}", method, *cells, f"{whole:.4f}"])
    return common.markdown("Predictions changed by a fit on so many rows, and points of accuracy", head, rows)


def _change(group: list[common.Record], whole: float) -> str:
    return f"{results.mean(group, 'changed'):.2%}, {100 * (results.mean(group, 'accuracy') - whole):+.2f}"


def _workers(record: common.Record) -> str:
    kind, count = ("rank", record["ranks"]) if record["ranks"] else ("thread", record["threads"])
    return f"{count} {kind}{'s' if count > 1 else ''}"


def plot(records: list[common.Record]) -> Any:
    """Share of changed predictions over the rows of the fit."""
    figure = results.figure(7, 4)
    panel = figure.subplots()
    chosen = [record for record in records if record["part"] == "fit rows" and record["fit_rows"] < record["rows"]]
    for (data, method), group in results.grouped(chosen, lambda one: (one["data"], one["method"])).items():
        by_count = results.by(group, "fit_rows")
        changed = [100 * results.mean(found, "changed") for found in by_count.values()]
        dashes = {"linestyle": "--" if data == "generated" else "-", "label": f"{data}, {method}"}
        panel.plot(list(by_count), changed, **methods.CURVES.style(method), **dashes)
    panel.set(xscale="log", yscale="log", xlabel="rows of the fit", ylabel="predictions changed, %")
    panel.legend()
    return figure
