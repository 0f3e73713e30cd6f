"""Sparse-HFS (Calandriello, Lazaric, Valko & Koutis 2015): both experiments of the paper, by lapwing's
sparsifier and with fewer edges; tables and plots."""

from __future__ import annotations

import bound
import boxes
import law
import paper
import sizes
import stream
import trec

SPARSE_HFS = paper.Paper(
    name="sparse-hfs",
    about=__doc__,
    small="a tenth of the points and 4,000 mails: a minute or two",
    experiments=paper.by_name(boxes, trec, sizes, law, bound, stream),
)

if __name__ == "__main__":
    paper.run(SPARSE_HFS)
