"""The examples in the docstrings run."""

import doctest
import importlib

import pytest

NAMES = (
    "_cross_validation",
    "_folds",
    "_frames",
    "_graph",
    "_harmonic",
    "_lapsvm",
    "_learn",
    "_low_rank",
    "_model_file",
    "_neighbors",
    "_search",
    "_solver",
    "_sparsify",
    "_sparse_harmonic",
    "_unfolded",
    "_value_loop",
    "_versions",
    "active",
    "audit",
    "baselines",
    "display",
    "exceptions",
    "metrics",
    "graph",
    "prepare",
)
MODULES = ["lapwing", *(f"lapwing.{name}" for name in NAMES)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name == "lapwing.display":
        pytest.importorskip("matplotlib").use("Agg")
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted > 0 and failed == 0
