"""Small data sets and ways to hide labels."""

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
