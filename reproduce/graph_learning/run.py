"""Graphs learned from smooth signals at scale (Kalofolias & Perraudin 2019): the paper's experiments, with tables and plots.

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

import classes
import labels
import paper
import sparsity
import support
import times
import words

GRAPH_LEARNING = paper.Paper(
    name="graph-learning",
    about=__doc__,
    small="few rows, neighbours and draws: a minute or two",
    folder=Path(__file__).resolve().parent,
    experiments={
        "sparsity": sparsity,
        "classes": classes,
        "labels": labels,
        "words": words,
        "support": support,
        "times": times,
    },
)

if __name__ == "__main__":
    paper.run(GRAPH_LEARNING)
