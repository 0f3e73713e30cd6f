"""Fits and scores of the folds of a cross-validation."""

from __future__ import annotations

import copy
import inspect
import numbers
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from traceback import format_exc
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring, get_scorer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, get_tags
from sklearn.utils.parallel import Parallel, delayed

from ._fold_views import PredictiveView, TransductiveView, final_estimator, rows_of
from ._hiding import Targets, is_regression, targets_of
from ._splits import Fold

View = TransductiveView | PredictiveView


@dataclass(frozen=True)
class Data:
    """What the fits of all folds share."""

    X: Any
    targets: Targets
    graph: Any
    fit_params: dict[str, Any]


@dataclass(frozen=True)
class Scoring:
    """What the scores of all folds share."""

    scorer: Any
    error_score: Any
    returns_predictions: bool = False
    returns_estimator: bool = False


@dataclass
class Outcome:
    """Of one fold."""

    fit_time: float = 0.0
    score_time: float = 0.0
    scores: Any = None
    """A number, or a dict of them; None if the fit failed."""
    error: str | None = None
    """Traceback of a fit that failed."""
    predictions: NDArray[Any] | None = None
    estimator: Any = None


def data_of(estimator: Any, X: Any, y: Any, graph: Any, unlabeled: Any, fit_params: dict[str, Any] | None) -> Data:
    """Check what the fits share."""
    if y is None:
        raise ValueError("cross-validation requires y to be passed, but the target y is None")
    if isinstance(estimator, type) or not hasattr(final_estimator(estimator), "fit"):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(f"estimator must be a classifier or regressor such as HarmonicClassifier(), not {name}")
    if not takes_unlabeled(estimator):
        check_consistent_length(X, y)
    fit_params = dict(fit_params or {})
    weight = fit_params.get(option_name(estimator, "sample_weight"))
    marker = marker_of(estimator, unlabeled)
    targets = targets_of(y, marker, weight, are_values=is_regression(estimator, y))
    if takes_unlabeled(estimator) and _owner_of_marker(estimator) is None:
        targets = targets.marked_by_minus_one()
    return Data(X, targets, graph, fit_params)


def marker_of(estimator: Any, unlabeled: Any) -> Any:
    """What marks a row without a label: what the estimator says, or else `unlabeled`."""
    owner = _owner_of_marker(estimator)
    if owner is None or (unlabeled is not None and owner.unlabeled is unlabeled):
        return unlabeled
    if unlabeled is not None and owner.unlabeled != unlabeled:
        name = type(owner).__name__
        raise ValueError(
            f"unlabeled is {unlabeled!r}, but that of {name} is {owner.unlabeled!r}; give {name}(unlabeled={unlabeled!r})"
        )
    return owner.unlabeled


def _owner_of_marker(estimator: Any) -> Any:
    """The estimator, or the one inside it, that has a parameter for the marker; None if there is none."""
    final = final_estimator(estimator)
    inner = _owner_of_marker(final.estimator) if hasattr(final, "estimator") else None
    return final if inner is None and hasattr(final, "unlabeled") else inner


def takes_unlabeled(estimator: Any) -> bool:
    """Whether a fit uses rows without a label: those of the library and of ``sklearn.semi_supervised`` do."""
    final = final_estimator(estimator)
    if "graph" in inspect.signature(final.fit).parameters or type(final).__module__.startswith("sklearn.semi_supervised"):
        return True
    return hasattr(final, "estimator") and takes_unlabeled(final.estimator)


def option_name(estimator: Any, name: str) -> str:
    """How `fit` calls an option of the last step."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        step, estimator = estimator.steps[-1]
        prefix += f"{step}__"
    return prefix + name


def fit(estimator: Any, data: Data, train: NDArray[np.intp]) -> View:
    """Fit with the labels of these rows: on all rows if the estimator uses those without a label, else on these alone."""
    if takes_unlabeled(estimator):
        estimator.fit(data.X, data.targets.hide_all_but(train), **_options(estimator, data))
        final = final_estimator(estimator)
        answers = "transduction_" if data.targets.classes is None else "label_distributions_"
        if hasattr(final, "transduction_") and hasattr(final, answers):
            return TransductiveView(estimator, data.targets, train)
        return PredictiveView(estimator, data.targets, data.X)
    name = type(estimator).__name__
    if data.graph is not None:
        raise ValueError(f"{name} takes no graph")
    if data.X is None:
        raise TypeError(f"X is None; {name} needs features")
    columns = train if get_tags(estimator).input_tags.pairwise else None
    options = {key: _part(value, data.targets.n_samples, train) for key, value in data.fit_params.items()}
    estimator.fit(rows_of(data.X, train, columns), data.targets.truth(train), **options)
    return PredictiveView(estimator, data.targets, data.X, columns)


def fit_whole(estimator: Any, data: Data, y: Any) -> Any:
    """Fit with all labels, in their own form if the estimator uses rows without one; returns the estimator."""
    if not takes_unlabeled(estimator):
        return fit(estimator, data, data.targets.labeled).estimator_
    return estimator.fit(data.X, y, **_options(estimator, data))


def _options(estimator: Any, data: Data) -> dict[str, Any]:
    """Arguments of a fit to all rows, besides X and y."""
    given = {} if data.graph is None else {option_name(estimator, "graph"): data.graph}
    return {**data.fit_params, **given}


def _part(value: Any, n_samples: int, rows: NDArray[np.intp]) -> Any:
    """The values of these rows if there is one for each row; else as it is."""
    if isinstance(value, (str, bytes, dict)):
        return value
    shape = getattr(value, "shape", None)
    length = shape[0] if shape else len(value) if hasattr(value, "__len__") else None
    return _safe_indexing(value, rows) if length == n_samples else value


def scorer_of(estimator: Any, scoring: Any, classes: NDArray[Any] | None, error_score: Any) -> Any:
    """The scorer, as scikit-learn makes it of `scoring`, where metrics of probabilities know all classes."""
    if error_score != "raise" and (isinstance(error_score, bool) or not isinstance(error_score, numbers.Real)):
        raise ValueError(f"error_score is {error_score!r}; expected 'raise' or a number")
    raises = error_score == "raise"
    scorer = check_scoring(estimator, scoring, raise_exc=raises)
    if scoring is None:
        return scorer
    if isinstance(scoring, str) or callable(scoring):
        return _with_classes(scorer, classes)
    named = scoring if isinstance(scoring, dict) else {name: name for name in scoring}
    scorers = {name: _with_classes(get_scorer(of), classes) for name, of in named.items()}
    return check_scoring(estimator, scorers, raise_exc=raises)


def _with_classes(scorer: Any, classes: NDArray[Any] | None) -> Any:
    """Metrics take the classes among the held-out rows for all classes, unless told; so tell those of probabilities."""
    function, options = getattr(scorer, "_score_func", None), getattr(scorer, "_kwargs", None)
    if classes is None or function is None or options is None:
        return scorer
    if "predict_proba" not in getattr(scorer, "_response_method", ()) or "labels" in options:
        return scorer
    if "labels" not in inspect.signature(function).parameters:
        return scorer
    told = copy.copy(scorer)
    told._kwargs = {**options, "labels": classes}
    return told


def run_folds(
    estimator: Any, data: Data, candidates: list[dict[str, Any]], folds: list[Fold], scoring: Scoring, n_jobs: int | None
) -> list[Outcome]:
    """Fit and score every candidate on every fold; candidates outside, folds inside."""
    outcomes = Parallel(n_jobs=n_jobs)(
        delayed(_run)(clone(estimator), data, parameters, fold, scoring) for parameters in candidates for fold in folds
    )
    _tell_failures(outcomes, scoring.error_score)
    _fill_failures(outcomes, scoring.error_score)
    return list(outcomes)


def _run(estimator: Any, data: Data, parameters: dict[str, Any], fold: Fold, scoring: Scoring) -> Outcome:
    outcome, (train, test) = Outcome(), fold
    estimator.set_params(**clone(parameters, safe=False))
    start = time.perf_counter()
    try:
        view = fit(estimator, data, train)
    except Exception:
        if scoring.error_score == "raise":
            raise
        outcome.error = format_exc()
        return outcome
    finally:
        outcome.fit_time = time.perf_counter() - start
    start = time.perf_counter()
    outcome.scores = _scores(view, test, data.targets, scoring)
    outcome.score_time = time.perf_counter() - start
    if scoring.returns_predictions:
        outcome.predictions = view.labels(test)
    if scoring.returns_estimator:
        outcome.estimator = estimator
    return outcome


def _scores(view: View, test: NDArray[np.intp], targets: Targets, scoring: Scoring) -> Any:
    """The scores of a fold; `error_score` for those that fail."""
    try:
        found = scoring.scorer(view, test, targets.truth(test))
    except Exception:
        if scoring.error_score == "raise":
            raise
        names = getattr(scoring.scorer, "_scorers", None)
        _tell_failed_score(format_exc(), scoring.error_score)
        return dict.fromkeys(names, scoring.error_score) if names else scoring.error_score
    if not isinstance(found, dict):
        return _number(found, "scoring")
    for name, value in found.items():
        if isinstance(value, str):
            _tell_failed_score(value, scoring.error_score)
            found[name] = scoring.error_score
    return {name: _number(value, f"scoring {name!r}") for name, value in found.items()}


def _number(score: Any, what: str) -> float:
    if isinstance(score, np.ndarray) and score.ndim == 0:
        score = score.item()
    if not isinstance(score, (numbers.Real, np.bool_)):
        raise TypeError(f"{what} gave a {type(score).__name__}; expected a number")
    return float(score)


def _tell_failed_score(trace: str, error_score: Any) -> None:
    warnings.warn(f"scoring failed, and the score of this fold is set to {error_score}:\n{trace}", UserWarning, stacklevel=2)


def _tell_failures(outcomes: list[Outcome], error_score: Any) -> None:
    """Warn of fits that failed; an error if all did."""
    errors = Counter(outcome.error for outcome in outcomes if outcome.error is not None)
    if not errors:
        return
    failed, of = sum(errors.values()), len(outcomes)
    told = "\n".join(f"{count} of the fits failed with:\n{trace}" for trace, count in errors.items())
    if failed == of:
        raise ValueError(f"all {of} fits failed; error_score='raise' raises the first error itself\n{told}")
    warnings.warn(
        f"{failed} of {of} fits failed, and their scores are set to {error_score}\n{told}", FitFailedWarning, stacklevel=4
    )


def _fill_failures(outcomes: list[Outcome], error_score: Any) -> None:
    """Scores of what failed, under the names that the others have: a callable tells them only where it succeeds."""
    names = next((outcome.scores for outcome in outcomes if isinstance(outcome.scores, dict)), None)
    for outcome in outcomes:
        if outcome.error is not None or (names is not None and not isinstance(outcome.scores, dict)):
            outcome.scores = error_score if names is None else dict.fromkeys(names, error_score)


def scores_by_name(outcomes: list[Outcome]) -> dict[str, NDArray[np.float64]]:
    """The scores of all folds, by the name of the score; a single one is called "score"."""
    each = [outcome.scores if isinstance(outcome.scores, dict) else {"score": outcome.scores} for outcome in outcomes]
    return {name: np.array([scores[name] for scores in each], dtype=np.float64) for name in each[0]}
