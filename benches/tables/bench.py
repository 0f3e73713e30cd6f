"""Tables: how fast and how well they are read beside other readers, and how well rows are labeled beside columns prepared by hand."""

from __future__ import annotations

import argparse
from pathlib import Path

import accuracy
import common
import forms
import harness
import kinds
import labels
import pollution
import readers
import reading

TASKS = {"reading": reading.task, "accuracy": accuracy.task, "pollution": pollution.task, "labels": labels.task}


def main() -> None:
    args = parse()
    if args.quick:
        args.repeats, args.draws, args.kinds = 1, 1, args.kinds[:4]
    harness.run_tasks("tables", args, TASKS)


def parse() -> argparse.Namespace:
    parser = harness.peer_parser("tables", __doc__, readers.READERS, TASKS, TASKS, quiet=True)
    parser.add_argument("--sets", nargs="+", choices=forms.SETS, default=forms.SETS, metavar="SET", help="sets of the accuracy task")
    parser.add_argument("--forms", nargs="+", choices=forms.FORMS, default=forms.FORMS, metavar="FORM", help="forms of tables")
    parser.add_argument("--draws", type=int, default=3, help="draws of rows and labels (default 3)")
    parser.add_argument("--kinds", nargs="+", choices=kinds.NAMES, default=kinds.NAMES, metavar="TABLE", help="tables of the labels task")
    parser.add_argument("--program", type=Path, default=common.ROOT / "target" / "release" / "lapwing", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.peers = args.peers or list(readers.READERS)
    return args


if __name__ == "__main__":
    main()
