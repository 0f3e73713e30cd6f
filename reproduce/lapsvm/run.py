"""Laplacian SVMs trained in the primal (Melacci & Belkin 2011): the paper's comparison, with tables and plots.

Results go to docs/results/, those of --small to target/reproduce/. Measurements are kept under target/reproduce/: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

import errors
import paper

LAPSVM = paper.Paper(
    name="lapsvm",
    about=__doc__,
    small="G50C and COIL20(B), four splits and few weights: a minute",
    folder=Path(__file__).resolve().parent,
    experiments={"errors": errors},
)

if __name__ == "__main__":
    paper.run(LAPSVM)
