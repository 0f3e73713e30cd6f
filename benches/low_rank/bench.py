"""Low-rank propagation of more rows than memory holds: seconds, memory, and the effect of a fit on fewer rows.

`kernel` measures each step on one core. `scale` labels generated rows, with fits on all rows and on a sample. `numpy`
measures a NumPy program (`peer.py`) beside lapwing, on one file. `file` compares passes over a file with reading its bytes,
`ranks` compares processes with threads.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import common
import harness
import numpy as np
import rows
from common import Record

BUILT = common.ROOT / "target" / "release"
CORES = len(os.sched_getaffinity(0))
Source = tuple[object, object]
"""Rows and their labels."""
Groups = dict[tuple[str, ...], list[Record]]
"""Repeated measurements, by their first cells in a table."""


def options(method: str, n_landmarks: int, rule: str) -> list[str]:
    return ["--method", method, "--n-landmarks", str(n_landmarks), "--landmarks", rule]


SETTINGS = {
    "Nyström, 20 rows": options("nystrom", 20, "uniform"),
    "Nyström, 20 centers": options("nystrom", 20, "kmeans"),
    "Nyström, 100 rows": options("nystrom", 100, "uniform"),
    "anchors, 100 centers": options("anchor", 100, "kmeans"),
}
SAMPLE = 100_000
"""Rows of a fit on a sample."""


def main() -> None:
    args = parse()
    bench = common.ROOT / "target" / "bench"
    bench.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=bench) as folder:
        tasks = {name: partial(task, folder=Path(folder)) for name, task in TASKS.items()}
        harness.run_tasks("low-rank", args, tasks)


def parse() -> argparse.Namespace:
    parser = harness.parser("low-rank", __doc__)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--rows", type=int, help="rows that are made; the file has a tenth of them (default 10⁸)")
    parser.add_argument("--repeats", type=int, help="runs of each measurement (default 3)")
    parser.add_argument("--small", action="store_true", help="10⁷ rows, one run of each: about two minutes")
    return harness.by_size(parser.parse_args(), rows=(10_000_000, 100_000_000), repeats=(1, 3))


# --- one run ---------------------------------------------------------------------------------------------------------


def run(command: Sequence[object], threads: int = 0) -> Record:
    """Run a program: wall and CPU seconds, peak memory (of the largest process), and the report it prints, if any."""
    words = [str(word) for word in command]
    print(" ".join(words), file=sys.stderr, flush=True)
    common.wait_for_quiet(60)
    with common.Stopwatch() as watch:
        record, done = common.run_program(words, threads=threads)
    if done.returncode:
        raise SystemExit(f"{words[0]} failed: {done.stderr.strip()}")
    record["foreign_seconds"] = max(0.0, watch.foreign - record["cpu_seconds"])
    return {**record, "report": json.loads(done.stdout)} if done.stdout else record


def label(source: Source, out: Path, *more: object, start: Sequence[object] = ()) -> Record:
    """Run `lapwing label`, or another program that `start` names, without selection of parameters."""
    (data, labels), start = source, start or [BUILT / "lapwing"]
    return run([*start, "label", data, "--labels", labels, "-o", out, "--select", "off", "--json", "--quiet", *more])


def made(n_rows: int) -> Source:
    """Rows that are made, and their labels."""
    return f"generated:{n_rows}x{rows.COLUMNS}x{rows.CLASSES}", f"generated:{rows.PER_CLASS}"


# --- tasks -----------------------------------------------------------------------------------------------------------


def kernel(_: argparse.Namespace, folder: Path) -> tuple[list[Record], str]:
    """Rows a second of one core in each step of a pass, as an example of the crate measures them."""
    common.wait_for_quiet(60)
    done = subprocess.run([BUILT / "examples" / "row_kernel"], stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    results = [{"of": [str(one.get(key, "")) for key in ["task", "k", "lanes"]], **one} for one in found]
    lines = [[*one["of"], f"{one['rows_per_second_per_core'] / 1e6:.2f} M"] for one in results]
    return results, common.markdown("One core", ["step", "landmarks", "lanes", "rows/s"], lines)


def scale(args: argparse.Namespace, folder: Path) -> tuple[list[Record], str]:
    """Fits on all rows and on a sample, and the least time of a pass, each on a tenth of the rows too."""
    whole, part = folder / "whole.npy", folder / "part.npy"
    results = []
    for n_rows in [args.rows // 10, args.rows] * args.repeats:
        for name, setting in SETTINGS.items():
            exact = label(made(n_rows), whole, *setting)
            sampled = label(made(n_rows), part, *setting, "--fit-rows", SAMPLE)
            sampled["changed"] = float((labels_of(whole) != labels_of(part)).mean())
            for fit, record in [("all", exact), (f"{SAMPLE:,}", sampled)]:
                results.append({"of": [name, fit, f"{n_rows:,}"], "rows": n_rows, **record})
        least = label(made(n_rows), part, *options("anchor", 1, "uniform"), "--fit-rows", 1000)
        results.append({"of": ["one landmark", "1,000", f"{n_rows:,}"], "rows": n_rows, **least})

    def more(of: tuple[str, ...], records: list[Record], groups: Groups) -> list[str]:
        one, tenth = records[0], groups.get((*of[:2], f"{records[0]['rows'] // 10:,}"))
        rate = one["rows"] / common.median(records, "wall_seconds")
        slower = tenth[0]["rows"] / common.median(tenth, "wall_seconds") / rate if tenth else None
        changed = f"{one['changed']:.3%}" if "changed" in one else ""
        return [f"{rate / 1e6:.2f} M", f"{slower:.2f}" if slower else "", f"{one['report']['accuracy']:.4f}", changed]

    head = ["landmarks", "fit on", "rows"], ["rows/s", "a row, of a tenth's", "accuracy", "changed by the sample"]
    return results, table("Rows that are made", *head, results, more)


def beside_numpy(args: argparse.Namespace, folder: Path) -> tuple[list[Record], str]:
    """lapwing and NumPy in turns, on one file, by the same landmarks and width."""
    data, labels = source = rows.features(args.rows // 10), rows.labels()
    out, found, model, landmarks = (folder / name for name in ["out.npy", "found.npy", "model", "landmarks.npz"])
    results = []
    for name, setting in SETTINGS.items():
        label(source, out, *setting, "--fit-rows", 1000, "--model", model)
        width = keep_landmarks(model, landmarks)
        peer = [sys.executable, Path(__file__).with_name("peer.py"), setting[1], data, labels, landmarks, found]
        for _ in range(args.repeats):
            record = label(source, out, *setting, "--bandwidth", width)
            own = labels_of(out)
            results.append({"of": [name, "lapwing"], **record, "accuracy": rows.accuracy(own), "same": 1.0})
            for program, threads in [("NumPy, chunks in threads", CORES), ("NumPy, products in threads", 1)]:
                record = run([*peer, "--threads", threads], CORES // threads)
                theirs = np.load(found)
                judged = {"accuracy": rows.accuracy(theirs), "same": float((own == theirs).mean())}
                results.append({"of": [name, program], **record, **judged})

    def more(of: tuple[str, ...], records: list[Record], groups: Groups) -> list[str]:
        ratio = common.median(records, "wall_seconds") / common.median(groups[of[0], "lapwing"], "wall_seconds")
        return [f"{ratio:.2f}", f"{records[0]['accuracy']:.4f}", f"{records[0]['same']:.5f}"]

    title = f"{args.rows // 10:,} rows of a file; NumPy is given the landmarks, its memory counts the mapped file"
    head = ["landmarks", "program"], ["of lapwing's time", "accuracy", "labels as lapwing's"]
    return results, table(title, *head, results, more)


def from_file(args: argparse.Namespace, folder: Path) -> tuple[list[Record], str]:
    """One to three passes over a file beside reading it; from the disk at first, or all from memory."""
    data, out = rows.features(args.rows // 10), folder / "labels.npy"
    source = data, rows.labels()
    reading = ["dd", f"if={data}", "of=/dev/null", "bs=16M"]
    nystrom, anchor = options("nystrom", 20, "uniform"), options("anchor", 20, "uniform")
    jobs: list[tuple[str, int, Callable[[], Record]]] = [
        ("reading alone", 1, lambda: run(reading)),
        ("Nyström, fit on 1,000 rows", 1, lambda: label(source, out, *nystrom, "--fit-rows", 1000)),
        ("anchors", 2, lambda: label(source, out, *anchor)),
        ("Nyström", 3, lambda: label(source, out, *nystrom)),
    ]
    results = []
    for _ in range(args.repeats):
        for name, passes, job in jobs:
            forget(data)
            results.append({"of": [name, str(passes), "disk"], **job()})
        run(reading)
        results += [{"of": [name, str(passes), "memory"], **job()} for name, passes, job in jobs]

    def more(of: tuple[str, ...], records: list[Record], groups: Groups) -> list[str]:
        # A pass finds the rows of the previous one in memory.
        wall, passes = common.median(records, "wall_seconds"), int(of[1])
        first, other = (common.median(groups["reading alone", "1", at], "wall_seconds") for at in [of[2], "memory"])
        rate = passes * data.stat().st_size / wall
        return [f"{rate / 1e9:.2f} GB/s", f"{wall / (first + (passes - 1) * other):.2f}"]

    title = f"A file of {data.stat().st_size / 1e9:.1f} GB, 20 rows as landmarks"
    head = ["run", "passes", "first from"], ["bytes/s", "of reading alone"]
    return results, table(title, *head, results, more)


def ranks(args: argparse.Namespace, folder: Path) -> tuple[list[Record], str]:
    """Threads of one process, and processes; all outputs are compared with the first."""
    first, out, program = folder / "first.npy", folder / "labels.npy", BUILT / "lapwing-mpi"
    name, setting = list(SETTINGS.items())[1]
    starts: dict[str, tuple[list[object], list[str]]]
    starts = {f"threads: {count}": ([BUILT / "lapwing"], ["--threads", str(count)]) for count in [1, 2]}
    if shutil.which("mpirun") and program.exists():
        starts |= {f"ranks: {count}": ([*mpirun(count), program], []) for count in [1, 2, 4, 16]}
    else:
        print("no ranks: mpirun or target/release/lapwing-mpi is missing", file=sys.stderr)
    results: list[Record] = []
    for which in list(starts) * args.repeats:
        start, threads = starts[which]
        record = label(made(args.rows), out if results else first, *setting, *threads, start=start)
        same = not results or filecmp.cmp(first, out, shallow=False)
        results.append({"of": [which], "same": same, **record})

    def more(_: tuple[str, ...], records: list[Record], groups: Groups) -> list[str]:
        ratio = common.median(records, "wall_seconds") / common.median(groups["threads: 2",], "wall_seconds")
        return [f"{ratio:.2f}", "yes" if all(record["same"] for record in records) else "no"]

    title = f"{args.rows:,} rows in several processes ({name} as landmarks; peak memory of the largest)"
    return results, table(title, ["run"], ["of two threads", "same bytes"], results, more)


TASKS = {"kernel": kernel, "scale": scale, "numpy": beside_numpy, "file": from_file, "ranks": ranks}

# --- files -----------------------------------------------------------------------------------------------------------


def labels_of(path: Path) -> np.ndarray:
    return np.load(path, mmap_mode="r")["label"]


def keep_landmarks(model: Path, out: Path) -> float:
    """Landmarks of a model for NumPy, and their width: a model is a length, a header in JSON, and arrays."""
    raw = model.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])

    def array(name: str) -> np.ndarray:
        first, end = header[name]["data_offsets"]
        return np.frombuffer(raw[start + first : start + end], np.float32).reshape(header[name]["shape"])

    width = json.loads(header["__metadata__"]["lapwing.meta"])["low_rank"]["width"]
    np.savez(out, values=array("landmarks"), center=array("center"), width=width)
    return width


def forget(path: Path) -> None:
    """Drop a file from the system's page cache, or the whole cache if permitted."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    drop = Path("/proc/sys/vm/drop_caches")
    if os.access(drop, os.W_OK):
        drop.write_text("1\n")


def mpirun(count: int) -> list[str]:
    """Ranks that divide all processors among them."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    if "Open MPI" not in version:
        return ["mpirun", "-n", str(count)]
    more = [*(["--oversubscribe"] if count > CORES else []), *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    return ["mpirun", "-n", str(count), "--bind-to", "none", *more]


# --- tables ----------------------------------------------------------------------------------------------------------


def table(
    title: str,
    names: list[str],
    more_names: list[str],
    results: list[Record],
    more: Callable[[tuple[str, ...], list[Record], Groups], list[str]],
) -> str:
    """A table with a line for repeated measurements; `more` makes further cells."""
    groups: Groups = {}
    for record in results:
        groups.setdefault(tuple(record["of"]), []).append(record)
    lines = []
    for of, records in groups.items():
        cpu, peak = common.median(records, "cpu_seconds"), max(record["peak_bytes"] for record in records)
        cost = [spread(records), common.seconds(cpu), phases(records), common.mib(peak)]
        lines.append([*of, *cost, *more(of, records, groups)])
    return common.markdown(title, [*names, "seconds", "CPU s", "by phase", "peak MiB", *more_names], lines)


def spread(records: list[Record]) -> str:
    """Median wall seconds, and the least and most where there are several."""
    values = [record["wall_seconds"] for record in common.quiet(records)]
    several = f" ({common.seconds(min(values))}–{common.seconds(max(values))})" if len(values) > 1 else ""
    return common.seconds(statistics.median(values)) + several + common.disturbed(records)


def phases(records: list[Record]) -> str:
    """Seconds of the parts that take more than a hundredth, in the median run."""
    records = sorted(common.quiet(records), key=lambda record: record["wall_seconds"])
    middle = records[len(records) // 2]
    parts = [(part["name"], part["seconds"]) for part in middle.get("report", {}).get("phases", [])]
    least = 0.01 * middle["wall_seconds"]
    return ", ".join(f"{name} {common.seconds(seconds)}" for name, seconds in parts if seconds > least)


if __name__ == "__main__":
    main()
