"""Laplacian SVMs trained in the primal (Melacci & Belkin 2011): the paper's comparison, with tables and plots."""

from __future__ import annotations

import errors
import iterations
import paper
import protocol
import weights

LAPSVM = paper.Paper(
    name="lapsvm",
    about=__doc__,
    small="G50C, three splits and few weights: seconds",
    experiments=paper.by_name(weights, errors, iterations, protocol),
)

if __name__ == "__main__":
    paper.run(LAPSVM)
