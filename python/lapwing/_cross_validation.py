"""Cross-validation that hides labels and keeps rows and graph."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ._fold_fits import Scoring, data_of, run_folds, scorer_of, scores_by_name
from ._splits import folds_of


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    graph: Any = None,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    fit_params: dict[str, Any] | None = None,
    unlabeled: Any = None,
    return_estimator: bool = False,
    return_predictions: bool = False,
    return_indices: bool = False,
    error_score: float | Literal["raise"] = math.nan,
) -> dict[str, Any]:
    """Scores of an estimator on labels that were hidden from it; rows and graph stay whole.

    Each fold hides the labels of its test rows, fits on all rows, and compares what the fit found for the test rows with
    their labels. So the score is that of ``transduction_``, with the graph that the final fit has.
    :func:`sklearn.model_selection.cross_validate` takes the test rows out of X instead, and cannot divide a graph.

    An estimator that uses labeled rows only, such as those of scikit-learn, is fitted to the training rows and predicts the
    test rows. So its scores can be compared, fold by fold.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of lapwing, of ``sklearn.semi_supervised``, any other of scikit-learn, or a pipeline that ends
        with one. It is cloned for every fold.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        As for `fit`: features, a precomputed graph or Gram matrix, or None beside a graph.
    y : array-like of shape (n_samples,) or (n_samples, n_classes)
        Labels or values, with the marker in rows that have none. Soft labels are given to the fit as they are; its answers are
        compared with the class that has the largest share, the first of equals.
    graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
        Given to `fit` as ``graph=``, whole.
    groups : array-like of shape (n_samples,), default=None
        Groups of the rows, for splitters that take them.
    scoring : str, callable, list, tuple, set or dict, default=None
        As in scikit-learn; None is the accuracy or R². A callable ``scoring(fold, rows, y)`` gets the numbers of the test rows
        for X, and an object whose ``predict(rows)`` and ``predict_proba(rows)`` give the fit's answers for rows of these
        numbers; its ``estimator_`` is the fitted estimator and its ``classes_`` are all classes. Scorers of scikit-learn and of
        :mod:`lapwing.metrics` work as they are.
    cv : int, splitter or iterable, default=None
        An int is a number of folds that keep the shares of the classes, shuffled with a fixed seed; None takes 5, or fewer if a
        class has fewer labels. A splitter of scikit-learn or a :class:`SemiSupervisedKFold` divides the labeled rows; their
        numbers are its X. An iterable has pairs (train, test) of numbers of rows.
    n_jobs : int or None, default=None
        Processes that fit folds, as in scikit-learn. Each fit has threads of its own.
    fit_params : dict, default=None
        Further arguments of `fit`, such as ``sample_weight``. They are given whole; an estimator that uses labeled rows only
        gets the values of the training rows. A row of weight 0 counts as unlabeled.
    unlabeled : object, default=None
        What marks a row without a label, for estimators that have no ``unlabeled`` of their own.
    return_estimator : bool, default=False
        Whether to return the fitted estimators.
    return_predictions : bool, default=False
        Whether to return the answers for the test rows.
    return_indices : bool, default=False
        Whether to return the numbers of the labeled rows that each fit saw, and of those it was tested on.
    error_score : "raise" or float, default=nan
        The score of a fit or a scorer that fails, with a warning; or "raise".

    Returns
    -------
    dict
        ``test_score``, or ``test_<name>`` for each of several scores, ``fit_time`` and ``score_time``: arrays (n_folds,).
        ``estimator`` and ``predictions``: lists, one entry for each fold; the predictions have the marker in rows that no label
        reaches. ``indices``: a dict of ``train`` and ``test``.

    Raises
    ------
    ValueError
        If fewer than two rows have a label, if all labels are of one class, or if all fits fail.

    Notes
    -----
    A test row that no label reaches counts as an error: its label is the likeliest wrong one, and its probabilities are the
    class prior. In a regression it has the mean. A class whose labels are all held out has probability 0.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from lapwing import HarmonicClassifier
    >>> from lapwing.graph import knn_graph
    >>> from lapwing.model_selection import cross_validate
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1
    >>> found = cross_validate(HarmonicClassifier(), X, y, scoring=["accuracy", "neg_log_loss"])
    >>> sorted(found), found["test_accuracy"].shape
    (['fit_time', 'score_time', 'test_accuracy', 'test_neg_log_loss'], (5,))
    >>> supervised = cross_validate(LogisticRegression(max_iter=1000), X, y)
    >>> bool(found["test_accuracy"].mean() > supervised["test_score"].mean())
    True

    A graph stays as it is in every fold:

    >>> given = cross_validate(HarmonicClassifier(), None, y, graph=knn_graph(X, 15))
    >>> bool(given["test_score"].mean() > 0.85)
    True
    """
    data = data_of(estimator, X, y, graph, unlabeled, fit_params)
    folds = folds_of(cv, data.targets, groups)
    scorer = scorer_of(estimator, scoring, data.targets.classes, error_score)
    how = Scoring(scorer, error_score, return_predictions, return_estimator)
    outcomes = run_folds(estimator, data, [{}], folds, how, n_jobs)
    found: dict[str, Any] = {
        "fit_time": np.array([outcome.fit_time for outcome in outcomes]),
        "score_time": np.array([outcome.score_time for outcome in outcomes]),
    }
    if return_estimator:
        found["estimator"] = [outcome.estimator for outcome in outcomes]
    if return_predictions:
        found["predictions"] = [outcome.predictions for outcome in outcomes]
    if return_indices:
        found["indices"] = {"train": [train for train, _ in folds], "test": [test for _, test in folds]}
    return {**found, **{f"test_{name}": scores for name, scores in scores_by_name(outcomes).items()}}
