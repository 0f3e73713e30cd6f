"""Speed-up by threads and by processes on rows of the paper's sizes, and what Amdahl's law makes of it for more."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import common
import numpy as np
import results
import scale

Setting = dict[str, Any]
DATA = ()
SIZES = {"SUSY": (5_000_000, 18), "HEPMASS": (10_500_000, 28), "mnist8m, a quarter": (400_000, 784)}
"""Rows and columns of the paper's sets; the values are random, in two clusters."""
N_LANDMARKS = 20
METHODS: dict[str, list[str]] = {
    "glnp, 10 iterations": ["--method", "glnp", "--glnp-max-iter", "10"],
    "nystrom, uniform": ["--method", "nystrom", "--landmarks", "uniform"],
    "nystrom": ["--method", "nystrom", "--landmarks", "kmeans"],
}
WORKERS = ((1, 0), (2, 0), (1, 1), (1, 2))
"""Threads, and ranks of one thread each (0: the program without MPI)."""
PUBLISHED = {
    ("glnp, 10 iterations", "SUSY"): "1.89 (4 threads)",
    ("glnp, 10 iterations", "HEPMASS"): "1.71 (4 threads)",
    ("nystrom, uniform", "HEPMASS"): "7.08 (8 processes)",
    ("nystrom", "HEPMASS"): "7.42 (8 processes)",
    ("nystrom, uniform", "mnist8m, a quarter"): "7.67 (8 processes)",
    ("nystrom", "mnist8m, a quarter"): "7.48 (8 processes)",
}
"""Speed-ups of section 4.2."""
MORE = (4, 8)
PASSES = ("factor", "degrees", "sums")
"""Phases that read all rows and are divided among workers; the labels are computed while they are written."""
CURVES = results.Curves("nystrom", "nystrom, uniform", "glnp, 10 iterations")


def settings(small: bool) -> list[Setting]:
    """A process for each size, method and number of workers; GLNP has no ranks here."""
    sizes = {"SUSY": (20_000, 18)} if small else SIZES
    return [
        {"data": name, "method": method, "threads": threads, "ranks": ranks, "rows": n, "columns": d, "repeats": 1 if small else 3}
        for name, (n, d) in sizes.items()
        for method in METHODS
        for threads, ranks in WORKERS
        if not (ranks and method.startswith("glnp")) and not (ranks and small)
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Seconds of the program on a file, each after other programs are quiet."""
    source, labels = _files(setting["rows"], setting["columns"])
    options = ["--labels", str(labels), *METHODS[setting["method"]]]
    records = []
    for _ in range(setting["repeats"]):
        common.wait_for_quiet(scale.PATIENCE)
        record, _ = scale.label(str(source), options, setting["threads"], setting["ranks"], N_LANDMARKS)
        records.append(record)
    return records


def _files(n_rows: int, n_columns: int) -> tuple[Path, Path]:
    """Rows in two overlapping clusters, none below 0, and labels (n): of the first twenty, −1 for the others."""

    def rows() -> np.ndarray:
        out = np.random.default_rng(0).random((n_rows, n_columns), dtype=np.float32)
        out[::2] += 0.5
        return out

    def labels() -> np.ndarray:
        out = np.full(n_rows, -1, np.int32)
        out[:20] = np.arange(20) % 2
        return out

    return (
        common.kept_array(f"biglp-rows-{n_rows}x{n_columns}.npy", rows),
        common.kept_array(f"biglp-labels-{n_rows}.npy", labels),
    )


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Seconds by workers, the speed-up of two, the serial share that Amdahl's law finds in it, and its figures for more.

    The passes over the rows, which the paper divides, are also compared by themselves.
    """
    head = ["rows of the size of", "method", "run by", "1, s", "2, s", "speed-up", "passes, speed-up", "serial share"]
    head += [*[f"model: {workers}" for workers in MORE], "the paper"]
    rows = []
    for (name, method), group in results.grouped(records, lambda one: (one["data"], one["method"])).items():
        for kind, some in (("threads", [one for one in group if not one["ranks"]]), ("ranks", [one for one in group if one["ranks"]])):
            found = {max(one["threads"], one["ranks"]): [] for one in some}
            for one in some:
                found[max(one["threads"], one["ranks"])].append(one)
            if len(found) == 2:
                one, two = (common.median(found[workers], "wall_seconds") for workers in (1, 2))
                serial = min(max(2 * two / one - 1, 0.0), 1.0)
                model = [f"{1 / (serial + (1 - serial) / workers):.2f}" for workers in MORE]
                passes = _passes(found[1]) / _passes(found[2])
                cells = [common.seconds(one), common.seconds(two), f"{one / two:.2f}", f"{passes:.2f}", f"{serial:.1%}", *model]
                rows.append([name, method, kind, *cells, PUBLISHED.get((method, name), "–")])
    return common.markdown("Speed-up by two workers, and by more after Amdahl's law", head, rows)


def _passes(group: list[common.Record]) -> float:
    """Median seconds of the factor or the degrees, and of the sums."""
    return statistics.median(sum(one.get(f"{phase}_seconds") or 0.0 for phase in PASSES) for one in common.quiet(group))


def plot(records: list[common.Record]) -> Any:
    """Seconds by threads, a panel for each size."""
    chosen = [one for one in records if not one["ranks"]]
    groups = results.grouped(chosen, lambda one: one["data"])
    figure = results.figure(3.4 * len(groups), 3.4)
    for panel, (name, group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        for method, found in results.grouped(group, lambda one: one["method"]).items():
            by_threads = results.by(found, "threads")
            points = [(count, common.median(some, "wall_seconds")) for count, some in by_threads.items()]
            panel.plot(*zip(*points, strict=True), label=method, **CURVES.style(method))
        panel.set(xlabel="threads", ylabel="seconds", title=name, xticks=[1, 2], ylim=(0, None))
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
