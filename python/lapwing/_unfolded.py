"""Unfolded graph networks as scikit-learn estimators."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ._base import GraphEstimator, Problem, Spreads
from ._classifier import SpreadingClassifier
from ._parameters import documented, documented_like
from ._regressor import SpreadingRegressor
from ._signatures import UnfoldedGNNClassifierParameters, UnfoldedGNNRegressorParameters

__all__ = ["UnfoldedGNNClassifier", "UnfoldedGNNRegressor"]


class NetworkEstimator(Spreads, GraphEstimator):
    """Common parts of the networks."""

    layer_weights_: Annotated[NDArray[np.float64] | list[NDArray[np.float64]], """ndarray of shape (n_features, n_columns)
        W, of a column for values and of one for each class; with a hidden layer a list of both."""]
    bias_: Annotated[NDArray[np.float64] | list[NDArray[np.float64]], """ndarray of shape (n_columns,)
        b; with a hidden layer a list of both."""]
    graph_reg_: Annotated[float, """float
        λ, as given or chosen."""]
    loss_curve_: Annotated[NDArray[np.float64], """ndarray of shape (`n_iter_` + 1,)
        Loss with penalty at W = 0 and after each iteration. `residual_` is the estimated suboptimality."""]

    _method = "unfolded-gnn"
    _takes_graph_as = "graph"
    _least_iterations = 1

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        super()._keep(problem, fitted)
        self.loss_curve_ = np.asarray(self.report_["parts"]["unfolded"]["loss"], dtype=np.float64)

    def _keep_parts(self) -> None:
        text, arrays = self._model.parts(["layer.hidden", "layer.output", "layer.center"])
        settings, center = json.loads(text)["unfolded"], arrays.pop("layer.center", None)
        self.graph_reg_, layers = settings["graph_reg"], list(arrays.values())
        # The last row of a layer with a bias is that of a constant column; rows are centered before the first layer.
        weights = [layer[:-1] if settings["bias"] else layer for layer in layers]
        biases = [layer[-1].copy() if settings["bias"] else np.zeros(layer.shape[1]) for layer in layers]
        if center is not None:
            biases[0] -= center @ weights[0]
        self.layer_weights_ = weights[0] if len(layers) == 1 else weights
        self.bias_ = biases[0] if len(layers) == 1 else biases

    def predict(self, X: Any, *, graph: Any = None) -> NDArray[Any]:
        """Labels or values of rows that the fit has not seen.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, n_features)
            New rows, perhaps with those of the fit among them.
        graph : sparse matrix of shape (m, m), Graph or tuple, default=None
            A graph of these rows: W stays, and the system of the whole graph is solved. None joins each row to its neighbors
            among the rows of the fit, whose states do not change. If the fit was given a graph, there are no such neighbors,
            and scores come from the features alone.

        Returns
        -------
        ndarray of shape (m,)
            A label or value for every row.
        """
        return self._predicted(X, graph)

    @documented_like(Spreads.score)
    def score(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> float:
        """Accuracy, or R² of values, of ``predict(X, graph=graph)`` over the rows of y that have a label or value.

        Parameters
        ----------
        graph : sparse matrix of shape (m, m), Graph or tuple, default=None
            A graph of these rows, as for :meth:`predict`.
        """
        return self._score_of(self.predict(X, graph=graph), y, sample_weight)


@documented
class UnfoldedGNNClassifier(UnfoldedGNNClassifierParameters, NetworkEstimator, SpreadingClassifier):
    """Node classifier whose hidden states minimize an energy, trained to the optimum of its loss (TWIRLS, HERTA).

    With λ = `graph_reg`, D the degrees plus `self_loop`, L̂ = D^(−1/2)·L·D^(−1/2) and H = I + λL̂,

        Z = H⁻¹(X·W + b),   min over W, b of Σ mᵤ·loss(zᵤ, yᵤ) + (ρ/2)·(‖W‖² + ‖b‖²)

    over the labeled rows (Yang et al. 2021; Yang, Yang, Hu & Dereziński). New rows are labeled through a graph of their own
    (``predict(X, graph=...)``), or joined to their neighbors among the rows of the fit. Parameters of the graph have no effect
    where `fit` is given one.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lapwing import UnfoldedGNNClassifier
    >>> ring = sp.csr_array(np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1))
    >>> A = sp.block_diag([ring, ring], format="csr")
    >>> X = np.where((np.arange(20) < 10) == (np.arange(20) % 5 != 3), 1.0, -1.0).reshape(-1, 1)
    >>> y = np.full(20, -1)
    >>> y[0], y[10] = 0, 1
    >>> clf = UnfoldedGNNClassifier(graph_reg=5).fit(X, y, graph=A)
    >>> clf.transduction_.tolist() == [0] * 10 + [1] * 10
    True
    """

    @documented_like(NetworkEstimator.predict)
    def predict_proba(self, X: Any, *, graph: Any = None) -> NDArray[np.float64]:
        """Shares of the classes for rows as in :meth:`predict`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares in the order of `classes_`; rows sum to 1.
        """
        return self._apply(X, graph)["label_distributions"]

    @documented_like(NetworkEstimator.predict)
    def decision_function(self, X: Any, *, graph: Any = None) -> NDArray[np.float64]:
        """Scores of rows as in :meth:`predict`.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            For two classes one score a row, above 0 for the second class; else one for each class, of which the largest decides.
        """
        scores = self._new_scores(X, graph)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


@documented
class UnfoldedGNNRegressor(UnfoldedGNNRegressorParameters, NetworkEstimator, SpreadingRegressor):
    """Node regressor whose hidden states minimize an energy: :class:`UnfoldedGNNClassifier` with squares for its loss.

    The mean of the given values is subtracted before the fit and added back to Z.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import UnfoldedGNNRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = np.full(101, np.nan)
    >>> y[::10] = 2 * X[::10, 0] + 5
    >>> reg = UnfoldedGNNRegressor(0.1, n_neighbors=4, l2_reg=1e-4).fit(X, y)
    >>> bool(abs(reg.transduction_ - (2 * X[:, 0] + 5)).max() < 0.1)
    True
    """
