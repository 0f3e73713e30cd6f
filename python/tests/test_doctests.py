"""The examples in the docstrings run."""

import doctest
import importlib

import pytest

NAMES = ("_harmonic", "_model_file", "_neighbors", "_versions", "baselines", "graph", "metrics", "model_selection")
MODULES = ["lapwing", *(f"lapwing.{name}" for name in NAMES)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted > 0 and failed == 0
