"""Data the tests share."""

import sys
from pathlib import Path

import pytest
from datasets import hide
from sklearn.datasets import make_moons

# What `cargo xtask generate` runs.
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))


@pytest.fixture
def moons():
    """Two moons (400, 2), the true labels, and labels of which two are left per moon."""
    X, truth = make_moons(400, noise=0.06, random_state=3)
    return X, truth, hide(truth, per_class=2)
