"""The automatic choice as a scikit-learn estimator."""

from __future__ import annotations

import json
from typing import Annotated, Any

from . import _lapwing
from ._arguments import choice
from ._base import Problem
from ._classifier import SpreadingClassifier
from ._model_file import classifiers
from ._parameters import documented
from ._prior import StartsFromPrior
from ._signatures import AutoLabelerParameters

__all__ = ["AutoLabeler"]

@documented
class AutoLabeler(AutoLabelerParameters, StartsFromPrior, SpreadingClassifier):
    """Classifier for those who do not know which method suits their rows: several, weighted by how well they predict hidden labels.

    Columns in very different units are scaled to one width, and counts of terms weighed by TF-IDF; new rows are scaled in the same way.
    The labels are dealt into five folds. Each candidate says what it expects of the labels of each fold without having seen them; rows
    and graph stay. Candidate j gets the weight exp(−Lⱼ), where Lⱼ is the log loss of its expectations; every row gets the mean of
    the candidates' label distributions with these weights. The accuracy is estimated on labels that took no part in the weights.

    With fewer than 3 labels per class on average there is nothing to weigh candidates by, and :class:`HarmonicClassifier` with its
    defaults labels alone.

    A `prior` is a candidate too: alone, and as the start of a harmonic fit.

    Notes
    -----
    Candidates share the graph. The cost is that of the graph, of five solves for each harmonic candidate, and of one or two fits for
    each of the others. New rows get the weighted mean of their neighbors' distributions; if one candidate has all the weight, they
    are labeled as by that candidate. Where `fit` was given a graph, several candidates cannot label new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import AutoLabeler
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1
    >>> auto = AutoLabeler(random_state=0).fit(X, y)
    >>> bool((auto.transduction_[100:] == truth[100:]).mean() > 0.9)
    True
    >>> sorted(auto.results_[0])
    ['estimate', 'failure', 'interval', 'log_loss', 'method', 'n_rows', 'name', 'parameters', 'seconds', 'weight']
    """

    results_: Annotated[list[dict[str, Any]], """list of dict
        A row for each candidate: `name`, `method`, `parameters`, `estimate` (share of held-out labels that it gets right), the
        ends of its 90 % `interval`, `log_loss`, `n_rows` (rows on which it was tried: all, or a sample), `seconds`, and its `weight` in the
        labels. `estimate`, `interval` and `n_rows` are None for candidates that were not tried."""]
    best_estimator_: Annotated[Any, """estimator
        The candidate of the largest weight, fitted."""]

    _scaling: str | None
    _scaling_report: dict[str, Any]

    _method = "auto"
    _takes_graph_as = "graph"
    _takes_any_scale = True

    def _extras(self, labels: Any, validation: Any) -> dict[str, Any]:
        return {"scaling": self._scaling, "standardize": self.scaling == "auto" and self.fit_rows is not None}

    def _stream_extras(self) -> dict[str, Any]:
        self._scaling_report = {}
        return {"standardize": choice("scaling", self.scaling, ("auto", "off")) == "auto"}

    def _take_rows(self, problem: Problem, X: Any, y: Any, graph: Any) -> None:
        self._check_prior(X, graph)
        self._scaling, self._scaling_report = None, {}
        if X is None and graph is not None:
            self._take_graph(problem, graph, "graph")
        else:
            super()._take_rows(problem, X, y, graph)

    def _take_features(self, problem: Problem, X: Any, builds_graph: bool) -> None:
        super()._take_features(problem, X, builds_graph)
        rows = problem.rows
        # A sample is scaled by itself.
        if choice("scaling", self.scaling, ("auto", "off")) == "auto" and self.fit_rows is None:
            # Beside a given graph, weights of terms make labels better if rows count them, and worse if rows tell which they hold.
            tfidf = "auto" if builds_graph else "counts"
            found = _lapwing.fit_scaling(rows["features"], "auto", tfidf, self._control(quiet=True))
            self._scaling, scaled, report = found
            self._scaling_report = json.loads(report)
            rows["features"] = rows["features"] if scaled is None else scaled

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        super()._keep(problem, fitted)
        self._note_prior()
        if self._scaling_report.get("scaling"):
            self.report_["parts"]["scaling"] = self._scaling_report["scaling"]
        self.report_["warnings"] += self._scaling_report.get("warnings", [])
        self.results_ = self.report_["parts"]["candidates"]
        if self._fitted_rows is not None:
            self.best_estimator_ = self._estimator(problem, fitted["best"] or fitted)

    def _estimator(self, problem: Problem, fitted: dict[str, Any]) -> Any:
        """The candidate of the largest weight, with the state of its fit."""
        best = max(self.results_, key=lambda row: row["weight"])
        if best["method"] == "prior":
            return self.prior_
        kind = classifiers()[best["method"]]
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in kind._declared}
        run = {name: getattr(self, name) for name in ("unlabeled", "random_state", "n_jobs")}
        estimator = kind(**{**shared, **run, **best["parameters"]})
        estimator.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            estimator.feature_names_in_ = self.feature_names_in_
        estimator.classes_, estimator._marker = self.classes_, self._marker
        estimator._keep_labeling(fitted)
        estimator._fitted_rows = self._fitted_rows
        own = Problem(kind._method, {}, problem.graph, problem.control, problem.rows, problem.n_samples)
        estimator._keep(own, fitted)
        return estimator
