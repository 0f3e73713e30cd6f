"""`import lapwing` is quick: modules are imported when one of their names is first used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing


def test_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, lapwing; lapwing.__version__; dir(lapwing); "
        "print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules]); "
        "lapwing.HarmonicClassifier; print('sklearn' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["[]", "True"]


def test_every_public_name_is_found() -> None:
    for name in lapwing.__all__:
        assert getattr(lapwing, name) is not None
        assert name in dir(lapwing)


def test_type_checkers_see_the_names_where_they_are() -> None:
    tree = ast.parse(Path(lapwing.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If)).body
    homes = {alias.name: node.module for node in checked if isinstance(node, ast.ImportFrom) for alias in node.names}
    modules = {name for name, module in homes.items() if module is None}
    assert {name: module for name, module in homes.items() if module} == lapwing._MODULES
    assert sorted(modules | lapwing._MODULES.keys()) == sorted(lapwing.__all__)


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("HERTA", "HERTA is lapwing.UnfoldedGNNClassifier(solver='herta') here"),
        ("BigLP", "BigLP is lapwing.LowRankPropagationClassifier(factor='nystrom') here"),
        ("StableHFS", "Stable-HFS is lapwing.HarmonicClassifier(form='stable') here"),
        ("LabelSpreading", "label spreading is lapwing.HarmonicClassifier(form='plain', decision='argmax') here"),
        ("EigFunClassifier", "EigFun is lapwing.baselines.EigenfunctionClassifier() here"),
    ],
)
def test_names_of_papers_are_answered_with_those_here(name: str, here: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(here)):
        getattr(lapwing, name)
    estimator = eval(here.split(" is ")[1].removesuffix(" here"), {"lapwing": lapwing})
    assert hasattr(estimator, "fit")


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'$"):
        lapwing.nothing  # noqa: B018
