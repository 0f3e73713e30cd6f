"""Measure one setting of an experiment, in a process of its own."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import boxes
import common
import trec

EXPERIMENTS = {"boxes": boxes, "trec": trec}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, choices=EXPERIMENTS)
    parser.add_argument("--setting", required=True, help="JSON, as the experiment lists it")
    parser.add_argument("--out", required=True, type=Path)
    args = parser.parse_args()
    common.save(args.out, {"measurements": EXPERIMENTS[args.experiment].measure(json.loads(args.setting))})


if __name__ == "__main__":
    main()
