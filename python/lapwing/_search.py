"""Search for parameters by cross-validation that hides labels and keeps rows and graph."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ._fold_fits import Outcome, Scoring, data_of, fit_whole, marker_of, run_folds, scorer_of, scores_by_name
from ._fold_views import WholeView, available_where, final_estimator
from ._hiding import is_regression, known_truth
from ._parameters import NamedParameters
from ._splits import folds_of


def _has(method: str) -> Callable[[Any], bool]:
    """Whether the best estimator has a method, or before the fit the given one."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), method)


class TransductiveSearchCV(NamedParameters, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Search for the parameters with the best score of :func:`cross_validate`: labels are hidden, rows and graph stay whole.

    Called like :class:`sklearn.model_selection.GridSearchCV`, which takes the test rows out of X and cannot divide a graph. The
    best parameters are then fitted to all labels.

    Parameters
    ----------
    estimator : estimator
        As for :func:`cross_validate`.
    param_grid : dict or list of dict
        Values to try of each parameter; with `n_iter` also distributions, as :class:`sklearn.model_selection.ParameterSampler`
        takes them.
    n_iter : int or None, default=None
        Candidates to draw from `param_grid`; None tries all.
    scoring : str, callable, list, tuple, set or dict, default=None
        As for :func:`cross_validate`.
    cv : int, splitter or iterable, default=None
        As for :func:`cross_validate`. All candidates get the same folds.
    refit : bool, str or callable, default=True
        Whether to fit the best parameters to all labels; of several scores, the name of the one that decides. A callable takes
        ``cv_results_`` and returns the number of the best candidate.
    n_jobs : int or None, default=None
        Processes that fit folds, as in scikit-learn. Each fit has threads of its own.
    error_score : "raise" or float, default=nan
        The score of a fit or a scorer that fails, with a warning; or "raise".
    random_state : int, RandomState or None, default=None
        Seed of the draws for `n_iter`.
    unlabeled : object, default=None
        What marks a row without a label, for estimators that have no ``unlabeled`` of their own.

    Attributes
    ----------
    best_estimator_ : estimator
        With the best parameters, fitted to all labels; only if `refit` is not False. Its fitted attributes (``transduction_``,
        ``label_distributions_`` and so on) are attributes of the search too.
    best_params_ : dict
        The parameters of the best candidate.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        ``params``, ``param_<name>``, ``mean_fit_time``, ``std_fit_time``, the same of ``score_time``; and for "score", or each
        of several scores, ``split<fold>_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    scorer_ : callable or dict
        The scorer, or those of several scores by name.
    n_splits_ : int
        Number of folds.
    multimetric_ : bool
        Whether there are several scores.
    refit_time_ : float
        Seconds of the last fit; only if `refit` is not False.

    Examples
    --------
    The weight λ of the graph, for a network on two rings whose features are wrong in a fifth of the rows:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lapwing import UnfoldedGNNClassifier
    >>> from lapwing.model_selection import TransductiveSearchCV
    >>> ring = sp.csr_array(np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1))
    >>> A = sp.block_diag([ring, ring], format="csr")
    >>> truth = np.arange(40) // 20
    >>> X = np.where((truth == 0) == (np.arange(40) % 5 != 3), 1.0, -1.0).reshape(-1, 1)
    >>> y = np.where(np.arange(40) % 2 == 1, truth, -1)
    >>> search = TransductiveSearchCV(UnfoldedGNNClassifier(), {"graph_reg": [0.01, 10.0]}).fit(X, y, graph=A)
    >>> search.best_params_
    {'graph_reg': 10.0}
    >>> (search.transduction_ == truth).mean().item()
    1.0
    """

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    scorer_: Any
    n_splits_: int
    multimetric_: bool
    refit_time_: float

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        n_iter: int | None = None,
        scoring: Any = None,
        cv: Any = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
        n_jobs: int | None = None,
        error_score: float | Literal["raise"] = math.nan,
        random_state: int | np.random.RandomState | None = None,
        unlabeled: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.random_state = random_state
        self.unlabeled = unlabeled

    def __sklearn_tags__(self) -> Any:
        tags, of = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = of.estimator_type
        tags.classifier_tags, tags.regressor_tags = of.classifier_tags, of.regressor_tags
        tags.input_tags, tags.target_tags = of.input_tags, of.target_tags
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "cv_results_" in self.__dict__

    def fit(
        self, X: Any, y: Any = None, *, graph: Any = None, groups: Any = None, **fit_params: Any
    ) -> TransductiveSearchCV:
        """Try the candidates, and fit the best one to all labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for the estimator's `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels or values, with the marker in rows that have none.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            Given to every fit as ``graph=``, whole.
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, for splitters that take them.
        **fit_params
            Further arguments of the estimator's `fit`.

        Returns
        -------
        self
            The search, with its results.
        """
        self.__dict__.pop("best_estimator_", None)
        candidates = self._candidates()
        data = data_of(self.estimator, X, y, graph, self.unlabeled, fit_params)
        folds = folds_of(self.cv, data.targets, groups)
        scorer = scorer_of(self.estimator, self.scoring, data.targets.classes, self.error_score)
        outcomes = run_folds(self.estimator, data, candidates, folds, Scoring(scorer, self.error_score), self.n_jobs)
        self.n_splits_ = len(folds)
        self.multimetric_ = isinstance(outcomes[0].scores, dict)
        scorer = check_scoring(self.estimator, self.scoring)
        self.scorer_ = getattr(scorer, "_scorers", scorer)
        results = _results(candidates, outcomes, len(folds))
        self._choose(results, candidates)
        if self.refit is not False:
            start = time.perf_counter()
            best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            self.best_estimator_ = fit_whole(best, data, y)
            self.refit_time_ = time.perf_counter() - start
        self.cv_results_ = results
        return self

    def _candidates(self) -> list[dict[str, Any]]:
        if self.n_iter is None:
            return list(ParameterGrid(self.param_grid))
        return list(ParameterSampler(self.param_grid, self.n_iter, random_state=self.random_state))

    def _choose(self, results: dict[str, Any], candidates: list[dict[str, Any]]) -> None:
        """Find the best candidate; of several scores only if `refit` says which decides."""
        name = "score"
        if self.multimetric_ and not callable(self.refit):
            if self.refit is False:
                return
            name = str(self.refit)
            if f"mean_test_{name}" not in results:
                known = ", ".join(key[len("mean_test_") :] for key in results if key.startswith("mean_test_"))
                raise ValueError(f"refit is {self.refit!r}; expected the score that decides, one of {known}, or False")
        if callable(self.refit):
            index = self.refit(results)
            if not 0 <= index < len(candidates):
                raise ValueError(f"refit returned {index}; expected the number of a candidate, below {len(candidates)}")
            self.best_index_ = int(index)
        else:
            self.best_index_ = int(np.argmin(results[f"rank_test_{name}"]))
        if f"mean_test_{name}" in results:
            self.best_score_ = float(results[f"mean_test_{name}"][self.best_index_])
        self.best_params_ = candidates[self.best_index_]

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes of the best estimator."""
        best = self.__dict__.get("best_estimator_")
        if best is None or name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(best if hasattr(best, name) else final_estimator(best), name)

    def fit_predict(self, X: Any, y: Any, *, graph: Any = None, **fit_params: Any) -> Any:
        """Labels or values of every row of X; the same as ``fit(X, y, graph=graph).transduction_``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for :meth:`fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            As for :meth:`fit`.
        graph : sparse matrix of shape (n_samples, n_samples), Graph or tuple, default=None
            As for :meth:`fit`.
        **fit_params
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label or value for every row.
        """
        return self.fit(X, y, graph=graph, **fit_params).transduction_

    @available_where(_has("predict"))
    def predict(self, X: Any, **options: Any) -> Any:
        """What the best estimator predicts for new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows.
        **options
            Further arguments of that method, such as ``graph=``.

        Returns
        -------
        ndarray of shape (m,)
            A label or value for every row.
        """
        return self._best().predict(X, **options)

    @available_where(_has("predict_proba"))
    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Probabilities of the best estimator for new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows.
        **options
            Further arguments of that method, such as ``graph=``.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares of the classes; rows sum to 1.
        """
        return self._best().predict_proba(X, **options)

    @available_where(_has("decision_function"))
    def decision_function(self, X: Any, **options: Any) -> Any:
        """Decision values of the best estimator for new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows.
        **options
            Further arguments of that method, such as ``graph=``.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            As the estimator's method returns them.
        """
        return self._best().decision_function(X, **options)

    def score(self, X: Any, y: Any, **options: Any) -> float:
        """Score of the predictions for X over the rows of y that have a label or value.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            As for `predict`.
        y : array-like of shape (m,)
            Labels or values.
        **options
            Arguments of `predict`, such as ``graph=``.

        Returns
        -------
        float
            The score by which the search chose; without `scoring` the best estimator's own.
        """
        best = self._best()
        if self.scoring is None:
            return float(best.score(X, y, **options))
        rows, truth = known_truth(y, marker_of(self.estimator, self.unlabeled), are_values=is_regression(self.estimator, y))
        scorer = scorer_of(best, self.scoring, getattr(self, "classes_", None), "raise")
        found = scorer(WholeView(best, X, options), rows, truth)
        return float(found[self.refit] if self.multimetric_ else found)

    def _best(self) -> Any:
        check_is_fitted(self)
        if "best_estimator_" not in self.__dict__:
            raise AttributeError("refit is False, so no estimator was fitted to all labels; best_params_ has the parameters")
        return self.best_estimator_


def _results(candidates: list[dict[str, Any]], outcomes: list[Outcome], n_folds: int) -> dict[str, Any]:
    """The table of candidates, with the names of scikit-learn's."""
    results: dict[str, Any] = {}
    for name in ("fit_time", "score_time"):
        seconds = np.array([getattr(outcome, name) for outcome in outcomes]).reshape(-1, n_folds)
        results[f"mean_{name}"], results[f"std_{name}"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in dict.fromkeys(name for parameters in candidates for name in parameters):
        results[f"param_{name}"] = _column(candidates, name)
    results["params"] = candidates
    for name, scores in scores_by_name(outcomes).items():
        by_fold = scores.reshape(-1, n_folds)
        for fold in range(n_folds):
            results[f"split{fold}_test_{name}"] = by_fold[:, fold]
        means = by_fold.mean(axis=1)
        results[f"mean_test_{name}"], results[f"std_test_{name}"] = means, by_fold.std(axis=1)
        results[f"rank_test_{name}"] = _ranks(means)
        if not np.isfinite(means).all():
            warnings.warn(f"some means of {name} over the folds are not finite: {means}", UserWarning, stacklevel=3)
    return results


def _column(candidates: list[dict[str, Any]], name: str) -> Any:
    """The values of a parameter, masked for candidates without it."""
    given = {at: parameters[name] for at, parameters in enumerate(candidates) if name in parameters}
    are_numbers = all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in given.values())
    dtype = np.array(list(given.values())).dtype if are_numbers else np.dtype(object)
    column: Any = np.ma.masked_all(len(candidates), dtype)  # type: ignore[no-untyped-call, unused-ignore]
    for at, value in given.items():
        column[at] = value
    return column


def _ranks(means: NDArray[np.float64]) -> NDArray[np.int32]:
    """1 for the best; candidates whose mean is NaN come last."""
    ranks: NDArray[np.int32] = rankdata(np.where(np.isnan(means), np.inf, -means), method="min").astype(np.int32)
    return ranks
