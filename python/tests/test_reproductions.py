"""The experiments of papers run in their small form: every setting finishes, and table and plot are made of what it measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from page_blocks import ROOT

#: Experiments of each paper that take seconds with `--small`, in an order in which each finds what it builds on.
QUICK = {
    "lapsvm": ["weights", "errors", "iterations", "protocol"],
    "sparse-hfs": ["law", "bound", "stream"],
    "graph-learning": ["distances", "approximate", "networks"],
    "biglp": ["large"],
    "herta": ["dense"],
}
DATA = Path(os.environ.get("LAPWING_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("paper", QUICK)
def test_small_experiments_run(paper: str) -> None:
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is missing; set LAPWING_DATA to the folder of the data sets")
    script = ROOT / "reproduce" / paper.replace("-", "_") / "run.py"
    modules = os.pathsep.join(str(ROOT / folder) for folder in ("benches", "reproduce"))
    for experiment in QUICK[paper]:
        command = [sys.executable, script, "--small", "--again", "--only", experiment]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": modules}, capture_output=True, text=True)
        assert done.returncode == 0 and "failed" not in done.stderr, done.stderr
        files = ROOT / "target" / "reproduce" / paper / "small" / paper
        written = (files / f"{experiment}.csv").read_text()
        assert written.count("\n") > 1 and "nan" not in written
        assert (files / f"{experiment}.svg").stat().st_size > 1000
        assert done.stdout.count("\n| ") >= 2, done.stdout
