"""Sparse-HFS (Calandriello, Lazaric, Valko & Koutis 2015): both experiments of the paper, with tables and plots.

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

import boxes
import paper
import trec

SPARSE_HFS = paper.Paper(
    name="sparse-hfs",
    about=__doc__,
    small="a tenth of the points and 4,000 mails: a minute or two",
    folder=Path(__file__).resolve().parent,
    experiments={"boxes": boxes, "trec": trec},
)

if __name__ == "__main__":
    paper.run(SPARSE_HFS)
