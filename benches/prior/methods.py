"""The methods: each takes a problem and the labels that are shown (n, −1 where hidden), and returns a class for every node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from correct_and_smooth import correct_and_smooth
from problem import Problem

Method = Callable[[Problem, np.ndarray], np.ndarray]
LOGISTIC = {"max_iter": 1000}


def logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(**LOGISTIC)


def random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=0)


def alone(classifier: Callable[[], Any]) -> Method:
    """The classifier, fitted to the features of the labeled nodes."""
    return lambda problem, shown: _shares(classifier(), problem, shown).argmax(axis=1)


def corrected(autoscale: bool) -> Method:
    """Correct and Smooth on logistic regression."""

    def labeled(problem: Problem, shown: np.ndarray) -> np.ndarray:
        shares = _shares(logistic_regression(), problem, shown)
        return correct_and_smooth(problem.graph, shown, shares, autoscale=autoscale).argmax(axis=1)

    return labeled


def harmonic(prior: Callable[[], Any] | None = None) -> Method:
    """Harmonic propagation on the graph, from the shares of a classifier of the features if there is one."""

    def labeled(problem: Problem, shown: np.ndarray) -> np.ndarray:
        from lapwing import HarmonicClassifier

        start = prior() if prior else None
        fitted = HarmonicClassifier(prior=start, random_state=0).fit(problem.features, shown, graph=problem.graph)
        return fitted.transduction_

    return labeled


def unfolded(problem: Problem, shown: np.ndarray) -> np.ndarray:
    """The graph network of lapwing."""
    from lapwing import UnfoldedGNNClassifier

    fitted = UnfoldedGNNClassifier(random_state=0).fit(problem.features, shown, graph=problem.graph)
    return fitted.transduction_


def _shares(classifier: Any, problem: Problem, shown: np.ndarray) -> np.ndarray:
    given = shown >= 0
    return classifier.fit(problem.features[given], shown[given]).predict_proba(problem.features)


METHODS: dict[str, tuple[str, Method]] = {
    "logistic": ("logistic regression", alone(logistic_regression)),
    "forest": ("random forest", alone(random_forest)),
    "harmonic": ("harmonic", harmonic()),
    "harmonic-logistic": ("**harmonic, prior logistic regression**", harmonic(logistic_regression)),
    "harmonic-forest": ("**harmonic, prior random forest**", harmonic(random_forest)),
    "unfolded": ("unfolded graph network", unfolded),
    "correct-smooth": ("Correct and Smooth, autoscale", corrected(autoscale=True)),
    "correct-smooth-fixed": ("Correct and Smooth, fixed scale", corrected(autoscale=False)),
}
"""Methods by name, with the head of their column."""
