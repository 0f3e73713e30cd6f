"""Warnings of lapwing; errors are Python's own (ValueError, TypeError, OSError, MemoryError)."""

__all__ = ["UnreachedWarning"]


class UnreachedWarning(UserWarning):
    """No label reaches some rows, in their component of the graph or through landmarks: their labels are unknown."""
