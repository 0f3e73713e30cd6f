"""One measurement, in a process of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import common

WORKER = Path(__file__).resolve().with_name("worker.py")
AROUND = 300
"""Seconds beyond those of training: to load the problem, to judge weights, and the last step."""


def worker(task: str, args: argparse.Namespace, *more: str, seconds: float = 0.0, repeats: int = 0) -> common.Record:
    """What the worker found, and its `runs`, if there were any; training may take so many seconds, or all there are."""
    print(" ".join([task, *more]), file=sys.stderr, flush=True)
    limit = seconds or args.limit
    arguments = ["--task", task, "--repeats", str(repeats or args.repeats), "--patience", str(args.patience)]
    return {"runs": [], **common.run_worker(WORKER, [*arguments, "--seconds", str(limit), *more], 2 * limit + AROUND)}
