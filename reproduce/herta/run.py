"""Unfolded graph networks with guaranteed training (HERTA; Yang, Yang, Hu & Dereziński): the paper's comparison."""

from __future__ import annotations

import condition
import dense
import networks
import paper
import planetoid
import routes
import unfolding
from convergence import Convergence

HERTA = paper.Paper(
    name="herta",
    about=__doc__,
    small="Cora, few iterations: a minute",
    experiments={
        "mse-1": Convergence("mse", 1.0),
        "mse-20": Convergence("mse", 20.0),
        "ce-1": Convergence("cross-entropy", 1.0),
        "ce-20": Convergence("cross-entropy", 20.0),
    }
    | paper.by_name(condition, dense, routes, unfolding, planetoid, networks),
)

if __name__ == "__main__":
    paper.run(HERTA)
