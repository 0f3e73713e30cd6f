"""The run of a paper: a process for each setting, kept measurements, tables and plots.

An experiment is a module with `DATA`, the files that it needs; `settings(small)`, the settings to measure;
`measure(setting)`, the records of one setting; and `table(records)` and `plot(records)` of all records.
`cargo xtask reproduce` puts this folder and that of the benchmarks on the module search path.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import common
import results

PACKAGES = ("lapwing", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Paper:
    """Experiments under the name of the command, of the page and of its folder of plots."""

    name: str
    about: str
    small: str
    """The help of `--small`."""
    experiments: dict[str, Any]

    @property
    def worker(self) -> Path:
        """The script that measures one setting."""
        return Path(__file__).resolve().parent / self.name.replace("-", "_") / "worker.py"


def by_name(*modules: ModuleType) -> dict[str, Any]:
    """Experiments under the names of their modules."""
    return {module.__name__: module for module in modules}


KEPT = """

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
continues an earlier run that was stopped.
"""


def run(paper: Paper) -> None:
    """Measure the chosen experiments, and write their results."""
    args = _parse(paper)
    chosen = [args.only] if args.only else list(paper.experiments)
    kept = kept_folder(paper.name, args.small)
    kept.mkdir(parents=True, exist_ok=True)
    if args.again:
        for name in chosen:
            shutil.rmtree(kept / name, ignore_errors=True)
    for name in chosen:
        try:
            list(map(common.data_file, paper.experiments[name].DATA))
        except FileNotFoundError as error:
            sys.exit(f"{error}; {name} needs it, --only names another experiment")
    pages = kept if args.small else common.ROOT / "docs" / "results"
    for name in chosen:
        _publish(paper, name, _measured(paper, name, args, kept / name), pages, into_page=not args.small)


def kept_folder(name: str, small: bool) -> Path:
    """The folder of kept measurements."""
    return common.ROOT / "target" / "reproduce" / name / ("small" if small else "full")


def earlier(name: str, experiment: str, setting: dict[str, Any], small: bool) -> common.Record:
    """What an experiment has measured at a setting, for one that builds on it and is listed behind it."""
    path = results.kept_path(kept_folder(name, small) / experiment, setting)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; cargo xtask reproduce {name} --only {experiment} measures it")
    return json.loads(path.read_text())


def work(experiments: dict[str, Any]) -> None:
    """The worker: measure one setting and write its records."""
    parser = argparse.ArgumentParser(description="Measure one setting of an experiment, in a process of its own.")
    parser.add_argument("--experiment", required=True, choices=experiments)
    parser.add_argument("--setting", required=True, help="JSON, as the experiment lists it")
    parser.add_argument("--out", required=True, type=Path)
    args = parser.parse_args()
    common.save(args.out, {"measurements": experiments[args.experiment].measure(json.loads(args.setting))})


def _parse(paper: Paper) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"cargo xtask reproduce {paper.name}", description=paper.about + KEPT)
    parser.add_argument("--small", action="store_true", help=paper.small)
    parser.add_argument("--only", choices=paper.experiments, help="one of the experiments")
    parser.add_argument("--again", action="store_true", help="measure again, also what earlier runs have kept")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one measurement (default 1800)")
    parser.add_argument("--minutes", type=float, help="minutes after which no measurement starts; results so far are written")
    return parser.parse_args()


def _measured(paper: Paper, name: str, args: argparse.Namespace, folder: Path) -> list[common.Record]:
    """The records of all settings of an experiment; settings that did not finish are printed and left out."""
    end = datetime.datetime.now() + datetime.timedelta(minutes=args.minutes) if args.minutes else None
    settings, records = paper.experiments[name].settings(args.small), []
    for number, setting in enumerate(settings, 1):
        late = end is not None and datetime.datetime.now() > end

        def measure() -> common.Record:
            if late:
                return {"outcome": "not begun"}
            print(f"{name} {number}/{len(settings)}: {json.dumps(setting)}", file=sys.stderr, flush=True)
            arguments = ["--experiment", name, "--setting", json.dumps(setting)]
            return common.run_worker(paper.worker, arguments, args.limit)

        record = results.kept_record(folder, setting, measure)
        if record["outcome"] == "finished":
            records += [{**setting, **measurement} for measurement in record["measurements"]]
        elif not late:
            print(f"  {record['outcome']}", file=sys.stderr)
    return records


def _publish(paper: Paper, name: str, records: list[common.Record], folder: Path, into_page: bool) -> None:
    """Table, plot and measurements."""
    if not records:
        sys.exit(f"nothing was measured of {name}")
    experiment, files = paper.experiments[name], folder / paper.name
    files.mkdir(parents=True, exist_ok=True)
    results.write_csv(files / f"{name}.csv", experiment.listed(records) if hasattr(experiment, "listed") else records)
    results.write_plot(files / f"{name}.svg", experiment.plot(records))
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    text = f"{experiment.table(records)}\n{versions}; {common.describe(common.machine())}; {datetime.date.today()}.\n"
    print(text)
    if into_page:
        common.insert(folder / f"{paper.name}.md", name, text)
