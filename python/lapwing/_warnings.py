"""Warnings of reports as Python warnings."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from . import _lapwing
from .exceptions import UnreachedWarning

_CATEGORIES: dict[str, type[Warning]] = {"unreached": UnreachedWarning, "not-converged": ConvergenceWarning}

#: Beginnings of the names of modules whose callers a warning is for: ours, and what scikit-learn puts around `transform`.
_WITHIN = ("lapwing.", "sklearn.utils._set_output")

#: Whether the caller has decided how columns are scaled, and said so.
_SETTLED: ContextVar[bool] = ContextVar("scaling", default=False)


@contextmanager
def scaling_is_settled() -> Iterator[None]:
    """Within, no method says that columns are not scaled."""
    token = _SETTLED.set(True)
    try:
        yield
    finally:
        _SETTLED.reset(token)


def scaling_warnings(features: Any, control: dict[str, Any]) -> list[dict[str, str]]:
    """A warning for features that a method takes as they are, if their columns are in units so different that few decide."""
    found: list[dict[str, str]] = [] if _SETTLED.get() else json.loads(_lapwing.doubt_scaling(features, control))
    return found


# Characters that a terminal obeys instead of showing them, and those that turn the direction of text around.
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def plain(text: str) -> str:
    """Show characters of names that would steer a terminal as ``\\u{1b}``, as the messages of Rust do."""
    return _STEERING.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning, attributed to the first caller outside of this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_WITHIN):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def warn_of(found: Iterable[dict[str, str]]) -> None:
    """Issue a warning for each entry, a `kind` and a `text`."""
    for entry in found:
        warn(plain(entry["text"]), _CATEGORIES.get(entry["kind"], UserWarning))
