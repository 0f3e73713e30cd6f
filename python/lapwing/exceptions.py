"""Warnings of lapwing; errors are Python's own (ValueError, TypeError, OSError, MemoryError)."""

__all__ = ["UnreachedWarning"]


class UnreachedWarning(UserWarning):
    """No label reaches some rows, in their component of the graph or through landmarks: their labels are unknown.

    Examples
    --------
    >>> import warnings
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.exceptions import UnreachedWarning
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [53.0]]
    >>> y = ["near", None, "far", None, None, None, None]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnreachedWarning)    # or "error"
    ...     clf = HarmonicClassifier(n_neighbors=2).fit(X, y)
    >>> clf.reached_.tolist()
    [True, True, True, False, False, False, False]
    """
