"""Cross-validation and choice of parameters with rows that have no label."""

from __future__ import annotations

from ._cross_validation import cross_validate
from ._folds import SemiSupervisedKFold
from ._search import TransductiveSearchCV

__all__ = ["SemiSupervisedKFold", "TransductiveSearchCV", "cross_validate"]
