"""One measurement, in a process of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

import harness
from common import Record

WORKER = Path(__file__).resolve().with_name("worker.py")


def worker(task: str, args: argparse.Namespace, *more: str, repeats: int = 0) -> Record:
    """The record of the worker; its `runs` may be empty."""
    return harness.worker(WORKER, [*harness.task_words(task, args, repeats), *more], args.limit, runs=[])
