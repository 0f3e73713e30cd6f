"""Type checkers pass what callers may write, and report every misspelt option and choice.

That the stub says what the module has is a check of `cargo xtask test`.
"""

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest
import public

HERE = Path(__file__).parent


def mypy(path):
    """Lines with errors."""
    options = ["--config-file", str(HERE.parent / "pyproject.toml"), "--no-error-summary"]
    found = subprocess.run([sys.executable, "-m", "mypy", *options, path.name], cwd=path.parent, capture_output=True, text=True)
    assert not found.stderr, found.stderr
    return {int(line): text for line, text in re.findall(r"^[^:]+:(\d+): error: (.*)$", found.stdout, re.MULTILINE)}


def pyright(path):
    """Lines with errors."""
    # It would ask for its latest version otherwise.
    quiet = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    options = ["--pythonpath", sys.executable, "--outputjson"]
    found = subprocess.run(
        [sys.executable, "-m", "pyright", *options, path.name], cwd=path.parent, env=quiet, capture_output=True, text=True
    )
    told = json.loads(found.stdout)["generalDiagnostics"]
    return {fault["range"]["start"]["line"] + 1: fault["message"] for fault in told if fault["severity"] == "error"}


CHECKERS = [
    pytest.param(check, id=check.__name__, marks=pytest.mark.skipif(not importlib.util.find_spec(check.__name__), reason="is missing"))
    for check in (mypy, pyright)
]


@pytest.mark.parametrize("check", CHECKERS)
def test_errors_are_those_of_misspelt_options_and_choices(check, tmp_path):
    right, wrong = (HERE / "caller.py").read_text(encoding="utf-8"), list(wrong_lines())
    imports = "\n".join(f"import {module}" for module in public.MODULES)
    code = f"{right}\n\nfrom typing import cast\n{imports}\n\nanything: Any = None\n"
    caller = tmp_path / "caller.py"
    caller.write_text("\n".join([code, *wrong, ""]), encoding="utf-8")
    found, expected = check(caller), dict(enumerate(wrong, code.count("\n") + 2))
    assert len(wrong) > 200
    assert {line: text for line, text in found.items() if line not in expected} == {}
    assert [call for line, call in expected.items() if line not in found] == []


def wrong_lines():
    """Calls of all that is public, each with one option that there is not, or one word that is none of the choices."""
    for member, function in public.functions(public.own(public.members())):
        parameters = [parameter for parameter in inspect.signature(function).parameters.values() if parameter.name not in ("self", "cls")]
        needed = ["anything" for parameter in parameters if parameter.default is parameter.empty and parameter.kind.value < 2]
        called = member.name
        if member.of:
            called = f"cast({member.module}.{member.of}, anything).{member.path.partition('.')[2]}"
        given = [f"{parameter.name}='misspelt'" for parameter in parameters if takes_words(public.hints(function)[parameter.name])]
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        for wrong in given if takes_any else ["misspelt=1", *given]:
            yield f"{called}({', '.join([*needed, wrong])})"


def takes_words(hint):
    """Whether an annotation takes words, but not any text."""
    kinds = typing.get_args(hint)
    return typing.get_origin(hint) is typing.Literal or (str not in kinds and any(takes_words(kind) for kind in kinds))
