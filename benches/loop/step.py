"""Run methods on one unit of a part, in a process of its own; every result is kept at once."""

from __future__ import annotations

import argparse
import json
import os
import traceback
import warnings
from pathlib import Path
from types import ModuleType

import paths  # noqa: F401 - before the modules of other folders

import common
import keep
import numpy as np
from parts import PARTS


def main() -> None:
    args = parse()
    warnings.simplefilter("ignore")
    part, unit = PARTS[args.part], json.loads(args.unit)
    stay_within(part.THREADS)
    basis = part.basis(unit) if hasattr(part, "basis") else None
    results = []
    for method in args.methods:
        key = {"part": args.part, "version": part.VERSION, "unit": unit, "method": method, "basis": basis}
        results.append({"part": args.part, "method": method, **unit, **result(key, part, args.fresh)})
        common.save(args.out, {"results": results})


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", required=True, choices=PARTS)
    parser.add_argument("--unit", required=True, help="a unit of the part, as JSON")
    parser.add_argument("--methods", required=True, nargs="+")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def stay_within(threads: int) -> None:
    """Keep to so many processors, where the system can (Linux): lapwing takes as many threads as it may; 0 keeps all."""
    if threads and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def result(key: keep.Key, part: ModuleType, fresh: bool) -> keep.Result:
    """The result of a key, kept or measured; a failure is a result too, but is not kept."""

    def make() -> keep.Result:
        keep.ready(key["method"])
        np.random.seed(0)  # noqa: NPY002 - where a method is given no seed
        return part.measure(key["unit"], key["method"])

    try:
        return keep.kept(key, make, fresh)
    except Exception as error:
        if not isinstance(error, keep.Missing):
            traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
