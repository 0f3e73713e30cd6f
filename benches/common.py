"""Common parts of the benchmarks: data sets, a process for each measurement, the machine, tables.

A benchmark is a `bench.py` that starts a `worker.py` for every measurement: a process of its own has its own peak memory,
and a time limit can end it. `cargo xtask bench` puts this folder on the module search path.
"""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
Record = dict[str, Any]


def data_dir() -> Path:
    """The folder of the data sets: `LAPWING_DATA`, else one beside the repository."""
    return Path(os.environ.get("LAPWING_DATA", ROOT.parent / "shared" / "data"))


def data_file(name: str) -> Path:
    """The path of a data set that must exist; the error names the folder."""
    path = data_dir() / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; set LAPWING_DATA to the directory that holds {name}")
    return path


def kept(name: str, write: Callable[[Path], None]) -> Path:
    """The file `target/bench/NAME`, made by `write` unless it exists; it is written completely or not at all."""
    path = ROOT / "target" / "bench" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"part-{os.getpid()}-{path.name}")
        write(partial)
        partial.rename(path)
    return path


def kept_array(name: str, make: Callable[[], np.ndarray]) -> Path:
    """An array kept as `target/bench/NAME`."""
    return kept(name, lambda path: np.save(path, make()))


# --- one measurement in a process of its own -------------------------------------------------------------------------


def run_worker(script: Path, arguments: Sequence[str], limit: float, threads: int = 0, under: str = "") -> Record:
    """Run `script ARGUMENTS --out FILE` and return its record, with `outcome`: "finished", or the reason why not.

    A worker writes its file after every measurement, so that a limit loses none of them. The limit counts from the start
    of Python. `under` is a command that runs the worker, such as `taskset -c 0,1`; its own waiting does not count.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        limited = [sys.executable, "-c", LIMITED, str(math.ceil(limit)), str(script), *arguments, "--out", str(out)]
        command = [*shlex.split(under), *limited]
        pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        done = subprocess.run(command, env=thread_environment(threads), **pipes)
        record = json.loads(out.read_text()) if out.exists() else {}
    ended = {-signal.SIGALRM: f"did not finish in {limit:.0f} s", -signal.SIGKILL: "killed; memory ran out?"}
    outcome = ended.get(done.returncode if done.returncode < 128 else 128 - done.returncode, "finished")
    if done.returncode and outcome == "finished":
        outcome = f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
        print(done.stderr, file=sys.stderr)
    return {**record, "outcome": outcome}


# An alarm survives `exec`, and ends C code as well as Python code.
LIMITED = "import os, signal, sys; signal.alarm(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


# A small process in between, because a process on Linux inherits the peak memory of its parent.
MEASURED = """
import json, os, signal, sys, time
signal.alarm(int(sys.argv[2]))
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[3], sys.argv[3:], os.environ)
def end(*_):
    os.kill(child, signal.SIGKILL)
signal.signal(signal.SIGALRM, end)
_, status, used = os.wait4(child, 0)
wall, cpu = time.perf_counter() - start, used.ru_utime + used.ru_stime
with open(sys.argv[1], "w") as file:
    json.dump({"wall_seconds": wall, "cpu_seconds": cpu, "peak_bytes": 1024 * used.ru_maxrss}, file)
sys.exit(abs(os.waitstatus_to_exitcode(status)))
"""


def run_program(command: Sequence[object], limit: float = 0, threads: int = 0) -> tuple[Record, Any]:
    """Run a program: its wall and CPU seconds, its peak memory (of the largest process) and its exit.

    The program is killed after `limit` seconds (0: never); its exit code is then that of SIGKILL.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryDirectory() as folder:
        used = Path(folder) / "used.json"
        measured = [sys.executable, "-ISc", MEASURED, str(used), str(math.ceil(limit)), *words]
        done = subprocess.run(measured, env=thread_environment(threads), capture_output=True, text=True)
        return (json.loads(used.read_text()) if used.exists() else {}), done


def thread_environment(threads: int) -> dict[str, str]:
    """The environment, with a number of threads for every thread pool of the peers; 0 leaves the defaults."""
    pools = ["OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"]
    return {**os.environ, **({f"{pool}_NUM_THREADS": str(threads) for pool in pools} if threads else {})}


class Stopwatch:
    """Seconds of a `with` block: `wall`; `cpu` of all threads of the process; `foreign`, CPU taken by other programs."""

    wall: float
    cpu: float
    foreign: float

    def __enter__(self) -> Stopwatch:
        self._start = (time.perf_counter(), time.process_time(), _busy_seconds())
        return self

    def __exit__(self, *_: object) -> None:
        now = (time.perf_counter(), time.process_time(), _busy_seconds())
        self.wall, self.cpu, busy = (end - start for start, end in zip(self._start, now, strict=True))
        self.foreign = max(0.0, busy - self.cpu)

    def record(self, wall: str = "wall_seconds") -> Record:
        """The seconds as entries of a record; `wall` names those on the clock."""
        return {wall: self.wall, "cpu_seconds": self.cpu, "foreign_seconds": self.foreign}


def wait_for_quiet(patience: float) -> None:
    """Wait until other programs are quiet for half a second, for at most `patience` seconds.

    The alarm of `run_worker` is stopped in the meantime.
    """
    left = signal.alarm(0)
    end = time.perf_counter() + patience
    quiet = False
    while not quiet and time.perf_counter() < end:
        with Stopwatch() as watch:
            time.sleep(0.5)
        quiet = watch.foreign <= 0.1 * watch.wall
    signal.alarm(left)


def _busy_seconds() -> float:
    """CPU seconds of all programs since the start of the machine; 0 if unknown."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system, _idle, _waiting, *interrupts = map(int, path.read_text().split("\n")[0].split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def timed(call: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Wall seconds of a call, and its answer."""
    with Stopwatch() as watch:
        answer = call(*args)
    return watch.wall, answer


def peak_bytes() -> int:
    """Peak memory of this process so far, with the interpreter, libraries and inputs.

    Read from `VmHWM`, because a process on Linux inherits `ru_maxrss` from the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def save(path: Path, record: Mapping[str, Any]) -> None:
    """Write a worker's record, completely or not at all."""
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(record))
    partial.replace(path)


# --- reporting -------------------------------------------------------------------------------------------------------


def machine() -> Record:
    """Processor, cores, Python, and the load at this moment."""
    cpu = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor())
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]}


def describe(facts: Record) -> str:
    """One line about the machine."""
    return f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']:.1f} at the start, Python {facts['python']}"


def markdown(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table under its title."""
    return f"### {title}\n\n{table(head, rows)}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; short rows are filled up."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join([*row, *[''] * (len(head) - len(row))])} |" for row in rows]
    return "\n".join([*lines, ""])


def insert(page: Path, name: str, text: str) -> None:
    """Put `text` between the marks `<!-- NAME -->` and `<!-- end of NAME -->` of a page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} lacks the marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


def mib(count: float) -> str:
    """Bytes in MiB."""
    return f"{count / 2**20:,.0f}"


def quiet(records: Sequence[Record]) -> Sequence[Record]:
    """The measurements that no other program disturbed; all measurements if there are none."""
    return [record for record in records if not _disturbed(record)] or records


def disturbed(records: Iterable[Record]) -> str:
    """A mark for values whose every measurement was disturbed by other programs."""
    return " †" if all(map(_disturbed, records)) else ""


DISTURBED = "† Other programs used more than a tenth of a core during the measurement."


def _disturbed(record: Record) -> bool:
    return record["foreign_seconds"] > 0.1 * record["wall_seconds"] + 0.05


def median(records: Sequence[Record], key: str) -> float:
    """Median of an entry over the measurements that no other program disturbed."""
    return float(statistics.median(record[key] for record in quiet(records)))


def seconds(value: float) -> str:
    """Seconds with about three digits."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
