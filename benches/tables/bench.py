"""Tables: how fast they are read beside other readers, and what preparing costs in accuracy beside clean matrices."""

from __future__ import annotations

import argparse

import accuracy
import forms
import harness
import readers
import reading

TASKS = {"reading": reading.task, "accuracy": accuracy.task}


def main() -> None:
    args = parse()
    if args.quick:
        args.repeats, args.draws = 1, 1
    harness.run_tasks("tables", args, TASKS)


def parse() -> argparse.Namespace:
    parser = harness.peer_parser("tables", __doc__, readers.READERS, TASKS, TASKS, quiet=True)
    parser.add_argument("--sets", nargs="+", choices=forms.SETS, default=forms.SETS, metavar="SET", help="sets of the accuracy task")
    parser.add_argument("--forms", nargs="+", choices=forms.FORMS, default=forms.FORMS, metavar="FORM", help="forms of tables")
    parser.add_argument("--draws", type=int, default=3, help="draws of rows and labels (default 3)")
    args = parser.parse_args()
    args.peers = args.peers or list(readers.READERS)
    return args


if __name__ == "__main__":
    main()
