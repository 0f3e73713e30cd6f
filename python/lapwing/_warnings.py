"""Warnings of reports as Python's."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from .exceptions import UnreachedWarning


_CATEGORIES: dict[str, type[Warning]] = {"unreached": UnreachedWarning, "not-converged": ConvergenceWarning}


def warn_of(found: list[dict[str, str]], stacklevel: int) -> None:
    """Warn of each entry, a `kind` and a `text`, from the caller so many levels up."""
    for entry in found:
        warnings.warn(entry["text"], _CATEGORIES.get(entry["kind"], UserWarning), stacklevel=stacklevel + 1)
