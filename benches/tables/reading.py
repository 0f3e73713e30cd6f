"""Files of numbers into row-major matrices: lapwing with and without preparing, beside other readers of tables."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path

import common
import harness
import numpy as np
from common import Record

HERE = Path(__file__).resolve().parent
ROWS, COLUMNS = 900_000, 32
OURS = {"lapwing": [], "lapwing, prepare none": ["none"]}


def task(args: argparse.Namespace) -> tuple[list[Record], str]:
    program = ours()
    records = []
    for path in (csv(), parquet()):
        for name, words in OURS.items():
            runs = [our_run(program, path, words, args) for _ in range(args.repeats)]
            sizes = {key: runs[0][key] for key in ("feature_bytes", "peak_bytes")}
            records.append({"peer": name, "file": path.name, "outcome": "finished", "runs": runs, **sizes})
        for name in args.peers:
            words = [*harness.task_words("reading", args), "--peer", name, "--file", path]
            records.append(harness.worker(HERE / "worker.py", words, 600, peer=name, file=path.name))
    return records, "\n".join(table(path, [one for one in records if one["file"] == path.name]) for path in (csv(), parquet()))


def csv() -> Path:
    """Numbers with five decimals."""
    def write(path: Path) -> None:
        import polars as pl

        table = {f"c{at}": column.astype(np.float64).round(5) for at, column in enumerate(numbers().T)}
        pl.DataFrame(table).write_csv(path)

    return common.kept("tables.csv", write)


def parquet() -> Path:
    """The same numbers in single precision."""
    def write(path: Path) -> None:
        import polars as pl

        pl.DataFrame({f"c{at}": column for at, column in enumerate(numbers().T)}).write_parquet(path, compression="snappy")

    return common.kept("tables.parquet", write)


def numbers() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(np.float32)


def ours() -> list[str]:
    """The command of our side: a benchmark in Rust, built first."""
    words = ["cargo", "bench", "--locked", "--workspace", "--bench", "reading"]
    subprocess.run([*words, "--no-run"], cwd=common.ROOT, check=True)
    return [*words, "--quiet", "--"]


def our_run(program: list[str], path: Path, words: list[str], args: argparse.Namespace) -> Record:
    common.wait_for_quiet(args.patience)
    done = subprocess.run([*program, str(path), *words], cwd=common.ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return {**found, "wall_seconds": found["seconds"]}


def table(path: Path, records: list[Record]) -> str:
    """Median seconds, bytes of the file and of the matrix a second, and peak memory over that of the matrix."""
    size = path.stat().st_size
    head = ["reader", "s", "file MB/s", "matrix MB/s", "peak / matrix"]
    return common.markdown(f"{path.suffix[1:]}, {size / 1e6:.0f} MB, {ROWS:,} × {COLUMNS}", head, [line(one, size) for one in records])


def line(record: Record, size: int) -> list[str]:
    name = harness.name_of(record)
    if record["outcome"] != "finished":
        return [name, record["outcome"]]
    seconds = statistics.median(run["wall_seconds"] for run in record["runs"])
    matrix = record["feature_bytes"]
    rates = [f"{size / seconds / 1e6:.0f}", f"{matrix / seconds / 1e6:.0f}"]
    return [name, f"{seconds:.2f}", *rates, f"{record['peak_bytes'] / matrix:.2f}"]
