"""Installed versions and the machine, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from ._lapwing import build_info


def show_versions() -> None:
    """Print the versions of lapwing and its dependencies, and the properties of the machine.

    Examples
    --------
    >>> import lapwing
    >>> lapwing.show_versions()  # doctest: +ELLIPSIS
    lapwing: ...
    """
    info = build_info()
    lines = {
        "lapwing": f"{info['version']} ({info['profile']}, {info['target']}, CPython stable ABI 3.10)",
        "SIMD found": ", ".join(info["simd"]) or "none",
        "processors": info["processors"],
        "system": platform.platform(),
        "python": sys.version.replace("\n", " "),
    }
    for package in ("numpy", "scipy", "scikit-learn", "pandas", "polars"):
        lines[package] = _version(package)
    for name, value in lines.items():
        print(f"{name}: {value}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
