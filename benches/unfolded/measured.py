"""One measurement, in a process of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

import harness
from common import Record

WORKER = Path(__file__).resolve().with_name("worker.py")
AROUND = 300
"""Seconds beyond those of training: for loading the problem, for evaluating weights, and for the last step."""


def worker(task: str, args: argparse.Namespace, *more: str, seconds: float = 0.0, repeats: int = 0) -> Record:
    """The record of the worker; its `runs` may be empty. Training may take `seconds`, by default `--limit`."""
    limit = seconds or args.limit
    words = [*harness.task_words(task, args, repeats), "--seconds", limit, *more]
    return harness.worker(WORKER, words, 2 * limit + AROUND, runs=[])
