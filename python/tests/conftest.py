"""Data the tests share."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from datasets import hide
from sklearn.datasets import make_moons

# Spark's workers are processes of this environment, which need not be activated.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# What `cargo xtask generate` runs.
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))


@pytest.fixture(autouse=True)
def same_seeds():
    """Estimators without a random_state draw their seed from NumPy's global state: the same in every run of the tests."""
    np.random.seed(0)


@pytest.fixture
def moons():
    """Two moons (400, 2), the true labels, and labels of which two are left per moon."""
    X, truth = make_moons(400, noise=0.06, random_state=3)
    return X, truth, hide(truth, per_class=2)
