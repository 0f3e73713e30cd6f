"""Checks of single arguments: a wrong type is a TypeError that names the argument."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def integer(name: str, value: Any) -> int:
    """An integer that is not a bool."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    return int(value)


def number(name: str, value: Any) -> float:
    """A real number that is not a bool."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return float(value)


def choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of the known words."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(known)}")
    return value
