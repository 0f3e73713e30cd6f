"""Results kept from earlier runs, and the parts of lapwing that a build may not have yet."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any

import common
from cache import Cache, Key, Result
from ours import build

PACKAGES = {"graphlearning": "graphlearning", "activeml": "scikit-activeml", "cleanlab": "cleanlab"}
"""Packages of the peers, by the word before the first dash of a method."""
MODULES = {
    "graphlearning": ["graphlearning"], "activeml": ["skactiveml.pool", "skactiveml.classifier"], "cleanlab": ["cleanlab.filter"],
}  # fmt: skip
"""What they import."""


class Missing(Exception):
    """This build of lapwing lacks something."""


def lapwing(module: str, name: str) -> Any:
    """`lapwing.MODULE.NAME`, or an error that says what is missing."""
    try:
        return getattr(importlib.import_module(f"lapwing.{module}"), name)
    except (ImportError, AttributeError):
        raise Missing(f"this build of lapwing has no lapwing.{module}.{name}") from None


def method_of(estimator: Any, name: str) -> Any:
    """A method of an estimator, or an error that says what is missing."""
    if not hasattr(estimator, name):
        raise Missing(f"{type(estimator).__name__} of this build of lapwing has no {name}")
    return getattr(estimator, name)


def kept(key: Key, make: Callable[[], Result], fresh: bool = False) -> Result:
    """The result of a key and the present program; measured by `make` and stored unless it is there."""
    store = _store()
    key = {**key, "program": program(key["method"])}
    found = None if fresh else store.get(key)
    if found is None:
        found = make()
        store.add(key, found)
    return {"program": key["program"], **found}


def program(method: str) -> str:
    """The program that runs a method, with its version."""
    word = method.partition("-")[0]
    if word == "lapwing":
        return f"lapwing {build()}"
    return f"{word} {importlib.metadata.version(PACKAGES[word])}" if word in PACKAGES else "none"


def ready(method: str) -> None:
    """Import what a method needs, outside of its measurement."""
    for module in ["lapwing", *MODULES.get(method.partition("-")[0], [])]:
        importlib.import_module(module)


@functools.cache
def _store() -> Cache:
    return Cache(common.ROOT / "target" / "bench" / "loop" / "results.jsonl")
