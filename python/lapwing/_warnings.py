"""Texts of reports as Python's warnings."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from .exceptions import UnreachedWarning


def warn_of(texts: list[str], stacklevel: int) -> None:
    """One warning for each text, from the caller so many levels up."""
    for text in texts:
        warnings.warn(text, _warning_category(text), stacklevel=stacklevel + 1)


def _warning_category(warning: str) -> type[Warning]:
    if warning.startswith("no label reaches") or "have no evidence" in warning:
        return UnreachedWarning
    return ConvergenceWarning if warning.startswith("the solver stopped") else UserWarning
