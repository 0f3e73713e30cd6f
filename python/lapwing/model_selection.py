"""Cross-validation and choice of parameters with rows that have no label."""

from __future__ import annotations

from ._folds import labeled_folds
from ._transductive import Transductive

__all__ = ["Transductive", "labeled_folds"]
