"""Writes all that is made of the declared parameters: ``python generate.py EXTENSION``, with the path of the compiled module."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import signatures
import tables

ROOT = Path(__file__).parents[2]


def outputs(describe: signatures.Describe) -> Iterator[tuple[Path, str]]:
    """Path and text of every generated file."""
    yield ROOT / "python/lapwing/_signatures.py", signatures.module(describe)
    for page in sorted((ROOT / "docs/methods").glob("*.md")):
        yield page, tables.page(page.name, page.read_text(encoding="utf-8"), describe)


def _extension(path: str) -> Any:
    spec = spec_from_file_location("_lapwing", path, loader=ExtensionFileLoader("_lapwing", path))
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no extension module")
    compiled = module_from_spec(spec)
    spec.loader.exec_module(compiled)
    return compiled


if __name__ == "__main__":
    for path, text in outputs(_extension(sys.argv[1]).parameters):
        path.write_text(text, encoding="utf-8")
