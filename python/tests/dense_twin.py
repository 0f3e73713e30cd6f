"""The methods once more, in a few lines of dense NumPy: what the compiled code must agree with."""

import numpy as np


def neighbors(X, k):
    """(indices, distances) of the k nearest other rows, sorted by (distance, index)."""
    X = np.asarray(X, dtype=np.float64)
    distances = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    np.fill_diagonal(distances, np.inf)
    indices = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return indices, np.take_along_axis(distances, indices, axis=1)


def self_tuning(indices, distances, h=0.5):
    """Mean with its transpose of exp(−d²/(h²σᵢσⱼ)), σ the distance to the last neighbor; dense (n, n)."""
    n = indices.shape[0]
    width = h * distances[:, -1]
    weights = np.zeros((n, n))
    for i in range(n):
        for j, d in zip(indices[i], distances[i], strict=True):
            weights[i, j] = np.exp(-(d**2) / (width[i] * width[j]))
    return (weights + weights.T) / 2


def reached_rows(weights, labeled):
    """Rows in a component with a labeled row."""
    reached = np.asarray(labeled).copy()
    while True:
        more = reached | (weights[:, reached].sum(axis=1) > 0)
        if (more == reached).all():
            return reached
        reached = more


def harmonic(weights, targets, trust, graph_reg, form="stable", clamp="soft"):
    """Harmonic function (n, c) of targets (n, c) trusted by `trust` (n, zero where unlabeled), and its mean target.

    Rows that no label reaches are NaN.
    """
    trust = np.asarray(trust, dtype=np.float64)
    reached = reached_rows(weights, trust > 0)
    W, Y, c = weights[np.ix_(reached, reached)], targets[reached], trust[reached]
    mean = c @ Y / c.sum()
    laplacian = np.diag(W.sum(axis=1)) - W
    if clamp == "hard":
        f = _hard(laplacian, Y, c > 0)
    else:
        A = graph_reg * c.sum() * laplacian + np.diag(c)
        if form == "stable":
            n = len(c)
            P = np.eye(n) - 1.0 / n
            f = np.linalg.pinv(P @ A @ P, rcond=1e-13, hermitian=True) @ (c[:, None] * (Y - mean))
        else:
            f = np.linalg.solve(A, c[:, None] * Y)
    scores = np.full((len(trust), Y.shape[1]), np.nan)
    scores[reached] = f
    return scores, mean


def _hard(laplacian, Y, labeled):
    f, free = Y.astype(np.float64).copy(), ~labeled
    if free.any():
        right = -laplacian[np.ix_(free, labeled)] @ Y[labeled]
        f[free] = np.linalg.solve(laplacian[np.ix_(free, free)], right)
    return f


def low_rank(X, landmarks, width, y, trust, *, factor, n_nearest, alpha, balance, class_prior):
    """Scores (n, c) of local and global consistency on all pairs of rows, through similarities to landmarks."""
    squared = ((X[:, None, :] - landmarks[None, :, :]) ** 2).sum(axis=2)
    exponents = -squared / (2 * width**2)
    if factor == "anchor":
        shares = np.exp(exponents)
        np.put_along_axis(shares, np.argsort(squared, axis=1)[:, n_nearest:], 0.0, axis=1)
        shares /= shares.sum(axis=1, keepdims=True)
        affinity = (shares / shares.sum(axis=0)) @ shares.T
    else:
        between = ((landmarks[:, None, :] - landmarks[None, :, :]) ** 2).sum(axis=2)
        values, vectors = np.linalg.eigh(np.exp(-between / (2 * width**2)))
        kept = values > 1e-6 * values[-1]
        half = np.exp(exponents) @ (vectors[:, kept] / np.sqrt(values[kept]))
        affinity = half @ half.T
    degree = affinity.sum(axis=1)
    root = np.sqrt(np.maximum(degree, 1e-3 * degree.mean()))
    targets = trust[:, None] * np.eye(len(class_prior))[np.maximum(y, 0)]
    if balance != "raw":
        targets /= root @ targets
    if balance == "prior":
        targets *= class_prior
    return np.linalg.solve(np.eye(len(X)) - alpha * affinity / np.outer(root, root), (1 - alpha) * targets)
