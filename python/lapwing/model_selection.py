"""Cross-validation and choice of parameters with rows that have no label."""

from __future__ import annotations

from ._cross_validation import cross_validate
from ._folds import SemiSupervisedKFold, labeled_folds
from ._transductive import Transductive

__all__ = ["SemiSupervisedKFold", "Transductive", "cross_validate", "labeled_folds"]
