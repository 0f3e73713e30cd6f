"""Warnings of lapwing; errors are Python's own (ValueError, TypeError, OSError, MemoryError)."""

__all__ = ["UnreachedWarning"]


class UnreachedWarning(UserWarning):
    """Some rows sit in parts of the graph that hold no label, so nothing is known about them."""
