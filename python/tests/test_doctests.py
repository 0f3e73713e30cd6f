"""The examples in the docstrings run."""

import doctest
import importlib
from pathlib import Path

import pytest

import lapwing

SOURCES = sorted(Path(lapwing.__file__).parent.glob("*.py"))
#: Every module that has an example.
MODULES = ["lapwing" if path.stem == "__init__" else f"lapwing.{path.stem}" for path in SOURCES if ">>> " in path.read_text("utf-8")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name.startswith("lapwing._display"):
        pytest.importorskip("matplotlib").use("Agg")
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted > 0 and failed == 0
