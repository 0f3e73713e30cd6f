"""Measure one setting of an experiment, in a process of its own."""

import paper
import run

paper.work(run.HERTA.experiments)
