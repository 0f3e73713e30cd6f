"""Type checkers pass what callers may write, and report misspelt options and choices, and attributes of another type."""

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


def run(*arguments, folder):
    # pyright would ask for its latest version otherwise.
    quiet = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=quiet, capture_output=True, text=True, check=False)


def mypy(folder):
    """Errors by lines of `caller.py`; also those in the package's own sources, by file and line."""
    found = run("mypy", "--config-file", str(HERE.parent / "pyproject.toml"), "-m", "caller", "-p", "lapwing", folder=folder)
    assert not found.stderr, found.stderr
    errors = re.findall(r"^(.+?):(\d+): error: (.*)$", found.stdout, re.MULTILINE)
    return {int(line) if file == "caller.py" else f"{file}:{line}": text for file, line, text in errors}


def pyright(folder):
    """Errors by lines of `caller.py`."""
    found = run("pyright", "--pythonpath", sys.executable, "--outputjson", "caller.py", folder=folder)
    told = json.loads(found.stdout)["generalDiagnostics"]
    return {fault["range"]["start"]["line"] + 1: fault["message"] for fault in told if fault["severity"] == "error"}


@pytest.mark.parametrize("check", [mypy, pyright], ids=["mypy", "pyright"])
def test_errors_are_misspelt_options_and_choices_and_mistaken_types(check, tmp_path):
    pytest.importorskip(check.__name__)
    right, wrong = (HERE / "caller.py").read_text(encoding="utf-8"), [*wrong_calls(), *wrong_attributes()]
    imports = ["from typing import cast", *(f"import {module}" for module in public.MODULES)]
    code = "\n".join([right, *imports, "anything: Any = None", "def spell(text: bytes) -> None: ...", ""])
    (tmp_path / "caller.py").write_text("\n".join([code, *wrong, ""]), encoding="utf-8")
    found, expected = check(tmp_path), dict(enumerate(wrong, code.count("\n") + 2))
    assert len(wrong) > 200
    assert {line: text for line, text in found.items() if line not in expected} == {}
    assert [call for line, call in expected.items() if line not in found] == []


def wrong_calls():
    """Calls of all that is public, each with one option that there is not, or one word that is none of the choices."""
    for member, function in public.functions(public.own(public.members())):
        hints = public.hints(function)
        parameters = [found for name, found in inspect.signature(function).parameters.items() if name not in ("self", "cls")]
        needed = ["anything" for found in parameters if found.default is found.empty and found.kind.value < 2]
        called = member.name
        if member.of:
            called = f"cast({member.module}.{member.of}, anything).{member.path.partition('.')[2]}"
        wrong = [f"{found.name}='misspelt'" for found in parameters if takes_words(hints[found.name])]
        if all(found.kind is not found.VAR_KEYWORD for found in parameters):
            wrong.append("misspelt=1")
        yield from (f"{called}({', '.join([*needed, option])})" for option in wrong)


def wrong_attributes():
    """Fitted attributes, taken for what they are not."""
    seen = set()
    for member in public.objects():
        for name, hint in public.fitted(member.value).items() if inspect.isclass(member.value) else ():
            if hint is not typing.Any and (name, str(hint)) not in seen:
                seen.add((name, str(hint)))
                yield f"spell(cast({member.name}, anything).{name})"


def takes_words(hint):
    """Whether an annotation takes words, but not any text."""
    kinds = typing.get_args(hint)
    return typing.get_origin(hint) is typing.Literal or (str not in kinds and any(takes_words(kind) for kind in kinds))
