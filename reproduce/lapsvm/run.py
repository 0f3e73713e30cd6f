"""Laplacian SVMs trained in the primal (Melacci & Belkin 2011): the paper's comparison, with tables and plots."""

from __future__ import annotations

import errors
import paper

LAPSVM = paper.Paper(
    name="lapsvm",
    about=__doc__,
    small="G50C and COIL20(B), four splits and few weights: a minute",
    experiments=paper.by_name(errors),
)

if __name__ == "__main__":
    paper.run(LAPSVM)
