"""Comparison with other readers of the formats: inputs that we accept, and that they refuse or read with other values.

    python referee.py FUZZ FOLDER CORPUS [TARGET ...]

FUZZ is the program `fuzz`, FOLDER the folder of a campaign, CORPUS the inputs in the repository. `fuzz read` reads every input that
reached new code and those of the repository; what it accepts, NumPy, SciPy, PyArrow and safetensors read here. The exit code is 1 if they
disagree, except for the documented leniencies below. No other reader takes tables of text as people write them; those have tests of
their own (`cargo xtask bench tables --tasks pollution` holds files of known tables against other readers).

Leniencies, by design:
- values beyond a type: `1e400` is infinite for both; texts such as `1_000` are numbers for Python alone;
- arrays: types that NumPy refuses too (objects) are refused; both ignore additional bytes behind an array;
- arrays of Python 2, with shapes such as `(3L, 2L)`, are read in every version of the format;
- `.npz`: members that are not needed are not read; archives whose directory is damaged or at another place than it states are read if
  the length and the checksum of the member hold, whatever version of the format it names;
- svmlight: texts that are not UTF-8 are read in the encoding that they seem to have, with a warning;
- Parquet: we use Arrow for Rust, which is a reader of the format's own project. Inputs that Arrow for C++ alone refuses are
  counted and do not count as a disagreement; different values do;
- safetensors: the settings in the metadata are ours.
"""

import io
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors
import scipy.sparse

FILES_AT_ONCE = 200


class Differs(Exception):
    """Both read the input, with different values."""


def main():
    fuzz, folder, corpus, *targets = sys.argv[1:]
    names = subprocess.run([fuzz, "targets"], check=True, capture_output=True, text=True).stdout.split()
    total = disagreements = leniencies = 0
    for target in (name for name in targets or names if name in REFEREES):
        files = sorted(
            path
            for place in (Path(folder, "corpus"), Path(folder, "valid"), Path(corpus))
            for path in (place / target).rglob("*")
            if path.is_file()
        )
        seen = 0
        for ours in readings(fuzz, target, files):
            if "error" in ours:
                continue
            seen += 1
            complaint = judged(target, ours)
            if complaint and is_lenient(target, complaint):
                leniencies += 1
            elif complaint:
                disagreements += 1
                print(f"{target}: {ours['file']}\n  {complaint}", flush=True)
        total += seen
        print(f"{target:<15} {seen:>6} accepted inputs held against {REFEREES[target][0]}", flush=True)
    print(f"{total} accepted inputs, {disagreements} disagreements, {leniencies} documented leniencies")
    return 1 if disagreements else 0


def readings(fuzz, target, files):
    for start in range(0, len(files), FILES_AT_ONCE):
        part = [str(path) for path in files[start : start + FILES_AT_ONCE]]
        done = subprocess.run([fuzz, "read", target, *part], capture_output=True, text=True)
        yield from (json.loads(line) for line in done.stdout.splitlines())
        if done.returncode:
            raise SystemExit(f"`{fuzz} read {target}` ended with {done.returncode}: {done.stderr}")


def judged(target, ours):
    """The objection of the other reader to the input; None if it agrees."""
    _, read = REFEREES[target]
    try:
        read(Path(ours["file"]).read_bytes(), ours)
    except Differs as complaint:
        return f"reads otherwise: {complaint}"
    except Exception as complaint:  # noqa: BLE001 - whatever a foreign reader raises is a refusal
        return f"refused: {type(complaint).__name__}: {complaint}"
    return None


def is_lenient(target, complaint):
    """Whether a refusal is one of the leniencies above."""
    if not complaint.startswith("refused"):
        return False
    patterns = {
        "parquet": "",
        "npz": r"central directory|zip file version|compressed patched data|is not a zip file|Cannot parse header.*\d+L",
        "npy": r"Cannot parse header.*\d+L",
        "svmlight": "UnicodeDecodeError",
    }
    return any(kind in target and re.search(pattern, complaint) for kind, pattern in patterns.items())


def same_values(theirs, ours):
    if list(theirs.shape) != ours["shape"]:
        raise Differs(f"shape {theirs.shape}, ours {ours['shape']}")
    if ours["values"] is None:
        return
    mine = np.array([float(text) for text in ours["values"]]).reshape(theirs.shape)
    theirs = theirs.astype(np.float64)
    single = theirs.astype(np.float32).astype(np.float64)
    fine = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs)) | (mine == single)
    if not fine.all():
        at = tuple(int(i) for i in np.argwhere(~fine)[0])
        raise Differs(f"value {theirs[at]} at {at}, ours {mine[at]}")


# Text


def svmlight(data, ours):
    lines = [line.split("#")[0].translate(BLANKS).split(" ") for line in data.decode("utf-8-sig").split("\n")]
    lines = [[word for word in line if word] for line in lines]
    lines = [line for line in lines if line]
    if len(lines) != ours["shape"][0]:
        raise Differs(f"{len(lines)} rows, ours {ours['shape'][0]}")
    for line in lines:
        for pair in line[1:]:
            if not pair.startswith("qid:"):
                index, value = pair.split(":", 1)
                int(index), float(value)


# Blanks between words; str.split() splits at more characters than the format allows.
BLANKS = str.maketrans("\t\r\f", "   ")


# Arrays


def array(data, ours):
    theirs = np.load(io.BytesIO(data), allow_pickle=False)
    if ours["kind"] == "samples":
        same_values(theirs.reshape(len(theirs), -1) if theirs.ndim == 1 else theirs, ours)
    return theirs


def edge_array(data, ours):
    theirs = array(data, ours)
    if theirs.dtype.names:
        named_edges(theirs.dtype.names, [theirs[name] for name in theirs.dtype.names], ours)
    else:
        edges_of(list(theirs.T) if theirs.ndim == 2 else [], ours)


def named_edges(names, columns, ours):
    # Other names leave columns out, or change their places.
    if [name.lower() for name in names] in (["u", "v"], ["u", "v", "w"], ["u", "v", "weight"]):
        edges_of(columns, ours)


def edges_of(columns, ours):
    u, v = (np.asarray(column, dtype=float) for column in columns[:2])
    weights = np.asarray(columns[2], dtype=float) if len(columns) > 2 else np.ones(len(u))
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("a weight that is none")
    joined = {(min(a, b), max(a, b)) for a, b, w in zip(u, v, weights) if a != b and w > 0}
    if 2 * len(joined) != ours["indptr"]:
        raise Differs(f"{len(joined)} edges, ours {ours['indptr'] // 2}")


# Archives


def archive(data, ours):
    with np.load(io.BytesIO(data), allow_pickle=False) as members:
        if "X" in members:
            same_values(members["X"], ours)
            if "y" in members:
                members["y"]
            return
        if "X_data" in members:
            parts = [members[f"X_{part}"] for part in ("data", "indices", "indptr")]
            theirs = scipy.sparse.csr_matrix(tuple(parts), shape=tuple(members["X_shape"]))
        else:
            theirs = scipy.sparse.load_npz(io.BytesIO(data))
    checked(theirs, ours)


def checked(theirs, ours):
    theirs = theirs.tocsr()
    theirs.check_format(full_check=True)
    if theirs.shape[0] * theirs.shape[1] <= 4096:
        same_values(theirs.astype(np.float64).toarray(), ours)


def graph_archive(data, ours):
    with np.load(io.BytesIO(data), allow_pickle=False) as members:
        if "edges" in members and not {"format", "shape", "data"} <= set(members):
            rows = members["edges"]
            if rows.dtype.names:
                named_edges(rows.dtype.names, [rows[name] for name in rows.dtype.names], ours)
            else:
                edges_of(list(rows.T), ours)
            return
    theirs = scipy.sparse.load_npz(io.BytesIO(data)).tocsr()
    theirs.check_format(full_check=True)
    theirs.setdiag(0)
    theirs.eliminate_zeros()
    if theirs.nnz != ours["indptr"]:
        raise Differs(f"{theirs.nnz} entries, ours {ours['indptr']}")


# Parquet


def parquet(data, ours):
    table = pq.read_table(io.BytesIO(data))
    table.validate(full=True)
    if table.num_rows != ours["shape"][0]:
        raise Differs(f"{table.num_rows} rows, ours {ours['shape'][0]}")
    if len(set(table.column_names)) < len(table.column_names):
        return
    columns = [column_of(table.column(name)) for name in ours["names"]]
    same_values(np.array(columns).T.reshape(table.num_rows, len(columns)), ours)


def column_of(column):
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return np.array([math.nan if value is None else float(value) for value in column.to_pylist()], dtype=float)


def edge_parquet(data, ours):
    table = pq.read_table(io.BytesIO(data))
    table.validate(full=True)
    named_edges(table.column_names, [column_of(column) for column in table.columns], ours)


# Models


def model(data, _):
    safetensors.deserialize(data)


REFEREES = {
    "svmlight": ("the rules of the format", svmlight),
    "npy": ("numpy.load", array),
    "npz": ("numpy.load and scipy.sparse.load_npz", archive),
    "parquet": ("pyarrow.parquet", parquet),
    "labels-npy": ("numpy.load", array),
    "edges-npy": ("numpy.load", edge_array),
    "edges-parquet": ("pyarrow.parquet", edge_parquet),
    "graph-npz": ("scipy.sparse.load_npz", graph_archive),
    "model": ("safetensors", model),
    "forged-model": ("safetensors", model),
    "sparsifier": ("safetensors", model),
    "low-rank-sums": ("safetensors", model),
}

if __name__ == "__main__":
    sys.exit(main())
