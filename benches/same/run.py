"""Runs of two programs whose outputs have to be equal to the byte: before and after a change that moves code.

    python benches/same/run.py OLD NEW [--mpi OLD_MPI NEW_MPI] [--only WORD]

Every method labels rows and new rows, dense, sparse, on a graph, of a table and streamed; with `--mpi` also in two ranks. Compared are
the files that are written and the JSON reports without times, memory and program. Models hold settings of the program as well: they are
compared by the labels of new rows. The exit code is 1 if an output differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse

METHODS = (
    "auto harmonic sparse-harmonic low-rank anchor nystrom glnp lapsvm laprls unfolded-gnn eigenfunction subsampling simple-harmonic "
    "nearest-label linear forest majority"
).split()
#: Methods that label the nodes of a graph.
ON_GRAPH = {"auto", "harmonic", "sparse-harmonic", "simple-harmonic", "majority"}
#: Parts of a report that no two runs share: times, memory, and the choices between methods of one accuracy, which go by their times.
VARYING = {"phases", "peak_bytes", "winners"}


def data(folder: Path) -> None:
    """Three groups of rows on curves, some labels of each, new rows, a sparse twin, a graph, and a table."""
    rng = np.random.default_rng(5)
    n, d = 900, 6
    group = np.arange(n) % 3
    turn = rng.uniform(0, 4, n) + group * 2.1
    rows = np.column_stack([np.cos(turn) * (1 + turn / 3), np.sin(turn) * (1 + turn / 3), rng.normal(0, 0.15, (n, d - 2))])
    np.save(folder / "rows.npy", rows)
    np.save(folder / "new.npy", rows[:50] + 0.01)
    counts = rng.poisson(0.2 + 2.0 * np.eye(3)[group].repeat(8, axis=1))
    scipy.sparse.save_npz(folder / "sparse.npz", scipy.sparse.csr_matrix(counts, dtype=np.float32))
    known = [(row, f"g{group[row]}") for row in range(0, n, 16)]
    (folder / "known.csv").write_text("row,label\n" + "".join(f"{row},{name}\n" for row, name in known))
    edges = {(min(i, j), max(i, j)) for i in range(n) for j in (i + 3) % n * np.ones(1, int)} | {
        (int(i), int(j)) for i, j in rng.integers(0, n, (4 * n, 2)) if i < j and (group[i] == group[j] or rng.random() < 0.05)
    }
    (folder / "graph.csv").write_text("source,target,weight\n" + "".join(f"{i},{j},1\n" for i, j in sorted(edges)))
    names = np.array(["red", "green", "blue"])[(group + (rng.random(n) < 0.2)) % 3]
    lines = [
        f"{row},{rows[row, 0]:.4f},{names[row]},{'' if row % 11 == 0 else round(rows[row, 1] * 1000)},{f'g{group[row]}' if row % 16 == 0 else ''}"
        for row in range(n)
    ]
    (folder / "table.csv").write_text("id,height,color,price,kind\n" + "\n".join(lines) + "\n")
    (folder / "new.csv").write_text("id,height,color,price\n" + "\n".join(line.rsplit(",", 1)[0] for line in lines[:40]) + "\n")


def runs() -> dict[str, list[list[str]]]:
    """Commands of each run, in a folder with the data."""
    all_runs: dict[str, list[list[str]]] = {}
    for method in METHODS:
        label = ["label", "--method", method, "--labels", "known.csv", "--seed", "3", "--json"]
        all_runs[f"{method} dense"] = [[*label, "rows.npy", "-o", "out.csv", "--probabilities"]]
        if method != "sparse-harmonic":
            predict = ["predict", "m.lapwing", "new.npy", "-o", "new-out.csv", "--probabilities", "--json"]
            all_runs[f"{method} model"] = [[*label, "rows.npy", "-o", "out.csv", "--model", "m.lapwing"], predict]
        if method != "eigenfunction":
            all_runs[f"{method} sparse"] = [[*label, "sparse.npz", "-o", "out.csv"]]
        if method in ON_GRAPH:
            all_runs[f"{method} graph"] = [[*label, "graph.csv", "-o", "out.csv"]]
        table = ["label", "--method", method, "table.csv", "--label-column", "kind", "--id", "id", "--seed", "3", "--json"]
        all_runs[f"{method} table"] = [[*table, "-o", "out.csv"]]
    harmonic = ["label", "--labels", "known.csv", "--seed", "3", "--json", "rows.npy", "-o", "out.csv", "--method", "harmonic"]
    all_runs["streamed"] = [["label", "--method", "low-rank", "--labels", "known.csv", "--seed", "3", "rows.npy", "-o", "out.npy", "--json"]]
    all_runs["table model"] = [
        ["label", "table.csv", "--label-column", "kind", "--id", "id", "--seed", "3", "-o", "out.csv", "--model", "m.lapwing", "--json"],
        ["predict", "m.lapwing", "new.csv", "-o", "new-out.csv", "--json"],
    ]
    for name, options in {
        "sizes": ["--decision", "sizes"],
        "stable": ["--form", "stable"],
        "hard": ["--form", "plain", "--clamp", "hard"],
        "learned": ["--weights", "learned"],
        "left out": ["--calibration", "leave-one-out"],
        "venn-abers": ["--calibration", "venn-abers"],
        "mass": ["--decision", "mass"],
        "certified": ["--certify", "first"],
        "sets": ["--sets", "0.1"],
    }.items():
        all_runs[f"harmonic {name}"] = [[*harmonic, *options]]
    for name in "harmonic harmonic-plain majority nearest-label linear forest laprls unfolded-gnn low-rank".split():
        auto = ["label", "--labels", "known.csv", "--seed", "3", "--json", "rows.npy", "-o", "out.csv", "--candidates", name]
        all_runs[f"auto of {name}"] = [auto]
    labels = ["--labels", "known.csv", "--seed", "3", "--json"]
    joined = ["label", *labels, "rows.npy", "--graph", "graph.csv", "-o", "out.csv"]
    all_runs["auto joined"] = [joined]
    all_runs["prior"] = [[*joined, "--prior", "linear", "--method", "harmonic"]]
    all_runs["suggest"] = [["suggest", "rows.npy", *labels, "-o", "next.csv", "--number", "12"]]
    all_runs["audit"] = [["audit", "rows.npy", *labels, "-o", "doubts.csv"]]
    all_runs["compare"] = [["compare", "rows.npy", *labels, "--methods", "harmonic,low-rank,linear"]]
    all_runs["describe"] = [["describe", "table.csv", "--label-column", "kind", "--json"]]
    all_runs["graph"] = [["graph", "rows.npy", "-o", "edges.csv", "--json"]]
    all_runs["sparsify"] = [["sparsify", "graph.csv", "-o", "few.csv", "--edge-budget", "1500", "--seed", "3", "--json"]]
    all_runs["demo"] = [["demo", "-o", "demo", "--json"]]
    return all_runs


def report(text: str) -> object:
    """A JSON report without what varies."""

    def kept(value: object) -> object:
        if isinstance(value, dict):
            return {key: kept(part) for key, part in value.items() if key not in VARYING and not key.endswith("seconds")}
        return [kept(part) for part in value] if isinstance(value, list) else value

    try:
        return kept(json.loads(text))
    except json.JSONDecodeError:
        return text


def outcome(program: list[str], commands: list[list[str]], source: Path) -> dict[str, object]:
    """Exit codes, reports and files of the commands in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in source.iterdir():
            (folder / path.name).symlink_to(path)
        found: dict[str, object] = {}
        for at, command in enumerate(commands):
            done = subprocess.run([*program, *command], cwd=folder, capture_output=True, text=True, timeout=900)
            found[f"code {at}"], found[f"report {at}"] = done.returncode, report(done.stdout)
            if done.returncode not in (0, 1):
                found[f"error {at}"] = done.stderr
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix not in (".lapwing", ".html"):
                found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--mpi", nargs=2, type=Path, metavar=("OLD", "NEW"))
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    programs = {name: ([str(old.resolve())], [str(new.resolve())]) for name, (old, new) in {"": (given.old, given.new)}.items()}
    jobs = [(name, commands, programs[""]) for name, commands in runs().items()]
    if given.mpi:
        ranks = tuple(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", str(path.resolve())] for path in given.mpi)
        command = ["label", "--labels", "known.csv", "--seed", "3", "rows.npy", "-o", "out.csv", "--json", "--method"]
        jobs += [(f"{method} in two ranks", [[*command, method]], ranks) for method in ("low-rank", "nystrom")]
    n_different = 0
    with tempfile.TemporaryDirectory() as name:
        data(Path(name))
        jobs = [job for job in jobs if given.only in job[0]]
        for name_of_run, commands, (old, new) in jobs:
            before, after = outcome(old, commands, Path(name)), outcome(new, commands, Path(name))
            differ = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
            n_different += bool(differ)
            codes = [before[key] for key in before if key.startswith("code")]
            print(f"{name_of_run:28} {'differs: ' + ', '.join(differ) if differ else 'equal'}  {codes if any(codes) else ''}", flush=True)
            for key in differ:
                if key.startswith(("report", "error", "code")):
                    print("  before", str(before.get(key))[:400], "\n  after ", str(after.get(key))[:400])
    print(f"{len(jobs)} runs, {n_different} differ")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
