"""Sparse-HFS (Calandriello, Lazaric, Valko & Koutis 2015): both experiments of the paper, with tables and plots.

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import boxes
import common
import mails
import report
import trec

HERE = Path(__file__).resolve().parent
EXPERIMENTS: dict[str, Any] = {"boxes": boxes, "trec": trec}
PACKAGES = ("lapwing", "numpy", "scipy", "scikit-learn")


def main() -> None:
    args = parse()
    chosen = [args.only] if args.only else list(EXPERIMENTS)
    size = "small" if args.small else "full"
    work = common.ROOT / "target" / "reproduce" / "sparse-hfs" / size
    if args.again:
        shutil.rmtree(work, ignore_errors=True)
    if "trec" in chosen:
        try:
            common.data_file(mails.NAME)
        except FileNotFoundError as error:
            sys.exit(f"{error}; --only boxes needs no data")
    pages = work if args.small else common.ROOT / "docs" / "results"
    for name in chosen:
        records = measured(name, args, work / name)
        publish(name, records, pages, into_page=not args.small)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask reproduce sparse-hfs", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the points and 4,000 mails: a minute or two")
    parser.add_argument("--only", choices=EXPERIMENTS, help="one of the experiments")
    parser.add_argument("--again", action="store_true", help="measure again what is kept from earlier runs")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one measurement (default 1800)")
    parser.add_argument("--minutes", type=float, help="begin no measurement after so many; what is there is written")
    return parser.parse_args()


def measured(name: str, args: argparse.Namespace, folder: Path) -> list[common.Record]:
    """What every setting of an experiment came to; those that did not finish are named and left out."""
    end = datetime.datetime.now() + datetime.timedelta(minutes=args.minutes) if args.minutes else None
    settings, records = EXPERIMENTS[name].settings(args.small), []
    for number, setting in enumerate(settings, 1):
        late = end is not None and datetime.datetime.now() > end

        def measure() -> common.Record:
            if late:
                return {"outcome": "not begun"}
            print(f"{name} {number}/{len(settings)}: {json.dumps(setting)}", file=sys.stderr, flush=True)
            arguments = ["--experiment", name, "--setting", json.dumps(setting)]
            return common.run_worker(HERE / "worker.py", arguments, args.limit)

        record = report.kept_record(folder, setting, measure)
        if record["outcome"] == "finished":
            records += [{**setting, **measurement} for measurement in record["measurements"]]
        elif not late:
            print(f"  {record['outcome']}", file=sys.stderr)
    return records


def publish(name: str, records: list[common.Record], folder: Path, into_page: bool) -> None:
    """Table, plot and measurements."""
    if not records:
        sys.exit(f"nothing was measured of {name}")
    experiment, files = EXPERIMENTS[name], folder / "sparse-hfs"
    files.mkdir(parents=True, exist_ok=True)
    report.write_csv(files / f"{name}.csv", records)
    report.write_plot(files / f"{name}.svg", experiment.plot(records))
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    text = f"{experiment.table(records)}\n{versions}; {common.describe(common.machine())}; {datetime.date.today()}.\n"
    print(text)
    if into_page:
        report.insert(folder / "sparse-hfs.md", name, text)


if __name__ == "__main__":
    main()
