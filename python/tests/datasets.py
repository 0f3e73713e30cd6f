"""Small data sets, ways to hide labels, and what a fit keeps in the compiled part, as a pickle has it."""

import json

import numpy as np


def hide(truth, per_class, marker=-1):
    """`truth` with all but the first `per_class` labels of each class replaced by `marker`."""
    y = np.full_like(truth, marker)
    for label in np.unique(truth):
        rows = np.flatnonzero(truth == label)[:per_class]
        y[rows] = label
    return y


def two_islands(n=30, seed=0):
    """Two clusters far apart, so that a small neighborhood graph falls into two components."""
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(size=(n, 2)), 1000.0 + rng.normal(size=(n, 2))])


def rule_of(fitted):
    """The rule of decision of a fitted classifier."""
    return json.loads(fitted._model.__reduce__()[1][0])[0]


def rows_of(fitted):
    """The features of the rows of a fit with which new rows are compared."""
    return fitted._model.__reduce__()[1][1][0]
