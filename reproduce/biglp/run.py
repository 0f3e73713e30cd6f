"""BigLP (Petegrosso, Zhang, Li, Saad & Kuang 2017): low-rank label propagation, with tables and plots."""

from __future__ import annotations

import alpha
import choice
import glnp
import labels
import landmarks
import large
import paper
import scale
import threads

BIGLP = paper.Paper(
    name="biglp",
    about=__doc__,
    small="few rows, draws and sizes: a few minutes",
    experiments=paper.by_name(labels, landmarks, large, alpha, glnp, scale, threads) | {"select": choice},
)

if __name__ == "__main__":
    paper.run(BIGLP)
