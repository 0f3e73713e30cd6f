"""One measurement, in a process of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import common

WORKER = Path(__file__).resolve().with_name("worker.py")


def worker(task: str, args: argparse.Namespace, *more: str, repeats: int = 0) -> common.Record:
    """What the worker found, and its `runs`, if there were any."""
    print(" ".join([task, *more]), file=sys.stderr, flush=True)
    arguments = ["--task", task, "--repeats", str(repeats or args.repeats), "--patience", str(args.patience), *more]
    return {"runs": [], **common.run_worker(WORKER, arguments, args.limit)}
