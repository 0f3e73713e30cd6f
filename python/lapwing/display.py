"""Pictures of fits, in scikit-learn's manner: ``Display.from_estimator(fitted)`` draws, and returns an object with ``ax_``.

They need matplotlib, which ``pip install "lapwing[plot]"`` installs; nothing else in lapwing does.
"""

from __future__ import annotations

from ._display_confidence import ConfidenceDisplay, ReliabilityDisplay
from ._display_course import CompareDisplay, LossCurveDisplay
from ._display_map import LabelMapDisplay

__all__ = ["CompareDisplay", "ConfidenceDisplay", "LabelMapDisplay", "LossCurveDisplay", "ReliabilityDisplay"]
