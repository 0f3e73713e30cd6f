"""All methods by name: those of lapwing, and those of other programs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable
from typing import Any

from ours import OURS, build
from peers import PEERS

METHODS: dict[str, Any] = {**OURS, **PEERS}


def program(name: str) -> str:
    """The program that runs a method, with its version."""
    package = METHODS[name].package
    return f"lapwing {build()}" if package == "lapwing" else f"{package} {importlib.metadata.version(package)}"


def missing(names: Iterable[str]) -> list[str]:
    """Methods whose package is not installed or does not provide them."""
    return [name for name in names if not _installed(METHODS[name])]


def _installed(method: Any) -> bool:
    if method.package == "lapwing":
        return method.installed
    return method.package != "graphlearning" or importlib.util.find_spec("graphlearning") is not None


def is_judge(name: str) -> bool:
    """Whether a method counts for the best of a cell: those of lapwing and scikit-learn that are not given class sizes."""
    method = METHODS[name]
    return method.package in ("lapwing", "scikit-learn") and not method.told_sizes
