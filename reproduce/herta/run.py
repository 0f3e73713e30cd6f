"""Unfolded graph networks with guaranteed training (HERTA; Yang, Yang, Hu & Dereziński): the paper's comparison.

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

import condition
import paper
import planetoid
import routes
import unfolding
from convergence import Convergence

HERTA = paper.Paper(
    name="herta",
    about=__doc__,
    small="Cora and Citeseer, few iterations: a minute",
    folder=Path(__file__).resolve().parent,
    experiments={
        "mse-1": Convergence("mse", 1.0),
        "mse-20": Convergence("mse", 20.0),
        "ce-1": Convergence("cross-entropy", 1.0),
        "ce-20": Convergence("cross-entropy", 20.0),
        "condition": condition,
        "routes": routes,
        "unfolding": unfolding,
        "planetoid": planetoid,
    },
)

if __name__ == "__main__":
    paper.run(HERTA)
