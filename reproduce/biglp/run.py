"""BigLP (Petegrosso, Zhang, Li, Saad & Kuang 2017): low-rank label propagation, with tables and plots.

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

import alpha
import choice
import glnp
import labels
import landmarks
import paper
import scale

BIGLP = paper.Paper(
    name="biglp",
    about=__doc__,
    small="few rows, draws and sizes: a few minutes",
    folder=Path(__file__).resolve().parent,
    experiments={
        "labels": labels,
        "landmarks": landmarks,
        "alpha": alpha,
        "glnp": glnp,
        "scale": scale,
        "select": choice,
    },
)

if __name__ == "__main__":
    paper.run(BIGLP)
