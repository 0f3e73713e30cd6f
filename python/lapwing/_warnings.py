"""Warnings of reports as Python warnings."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from .exceptions import UnreachedWarning


_CATEGORIES: dict[str, type[Warning]] = {"unreached": UnreachedWarning, "not-converged": ConvergenceWarning}


def warn_of(found: list[dict[str, str]], stacklevel: int) -> None:
    """Issue a warning for each entry, a `kind` and a `text`, attributed to the caller this many levels up."""
    for entry in found:
        warnings.warn(entry["text"], _CATEGORIES.get(entry["kind"], UserWarning), stacklevel=stacklevel + 1)
