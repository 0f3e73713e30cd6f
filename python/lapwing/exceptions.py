"""Warnings of lapwing; errors are Python's own (ValueError, TypeError, OSError, MemoryError)."""

__all__ = ["UnreachedWarning"]


class UnreachedWarning(UserWarning):
    """No label reaches some rows, in their part of the graph or through any landmark: nothing is known about them."""
