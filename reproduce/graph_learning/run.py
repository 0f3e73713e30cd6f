"""Graphs learned from smooth signals at scale (Kalofolias & Perraudin 2019): the paper's experiments."""

from __future__ import annotations

import approximate
import classes
import distances
import labels
import networks
import paper
import quadratic
import sparsity
import support
import times
import words

GRAPH_LEARNING = paper.Paper(
    name="graph-learning",
    about=__doc__,
    small="few rows, neighbors and draws: a minute or two",
    experiments=paper.by_name(
        sparsity, classes, distances, labels, words, support, approximate, times, quadratic, networks
    ),
)

if __name__ == "__main__":
    paper.run(GRAPH_LEARNING)
