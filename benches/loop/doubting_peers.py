"""What cleanlab says of given labels: from a vote of the nearest neighbors, as its Datalab does, and from logistic regression."""

from __future__ import annotations

import numpy as np
from common import Record
from material import Draw

SCORES = ["self_confidence", "normalized_margin", "confidence_weighted_entropy"]
"""The first is cleanlab's default."""
DATALAB_NEIGHBORS, FOLDS = 10, 5
Judged = tuple[dict[str, np.ndarray], np.ndarray, Record]
"""Qualities (n) by score, what is flagged (n), and further facts."""


def vote(draw: Draw, given: np.ndarray, neighbors: int = DATALAB_NEIGHBORS) -> Judged:
    """Shares of the classes among the nearest neighbors, without the row itself."""
    names = given[draw.neighbors[:, :neighbors]]
    return judged(given, np.stack([(names == one).mean(axis=1) for one in range(int(given.max()) + 1)], axis=1))


def logistic(draw: Draw, given: np.ndarray) -> Judged:
    """Logistic regression, each fold judged by the model of the others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    model = LogisticRegression(max_iter=60)
    return judged(given, cross_val_predict(model, draw.features, given, cv=FOLDS, method="predict_proba"))


def judged(given: np.ndarray, shares: np.ndarray) -> Judged:
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    qualities = {score: get_label_quality_scores(given, shares, method=score) for score in SCORES}
    return qualities, np.asarray(find_label_issues(given, shares, n_jobs=1)), {}


JUDGES = {
    "cleanlab-vote": vote,
    "cleanlab-vote-15": lambda draw, given: vote(draw, given, 15),
    "cleanlab-logistic": logistic,
}
