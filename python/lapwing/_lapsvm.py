"""Laplacian SVM and Laplacian regularized least squares as scikit-learn estimators."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from ._base import GraphEstimator, Problem, Spreads
from ._classifier import SpreadingClassifier
from ._containers import as_label_array
from ._control import Self
from ._inputs import check_options, features_argument, refuse_masked, widened
from ._labels import ClassLabels, class_labels, class_names
from ._parameters import documented, documented_like
from ._regressor import SpreadingRegressor
from ._shared import GivenLabels
from ._signatures import LaplacianRidgeClassifierParameters, LaplacianRidgeRegressorParameters, LaplacianSVCParameters

__all__ = ["LaplacianRidgeClassifier", "LaplacianRidgeRegressor", "LaplacianSVC"]


class KernelEstimator(GraphEstimator):
    """Common parts of the kernel machines on a graph."""

    coefficients_: Annotated[NDArray[np.float64], """ndarray of shape (n_rows, n_problems)
        α of the rows that are kept: all of the fit, those with a coefficient where there is no graph, or the landmarks; the weights
        of the features for a linear kernel. One problem for values and for two classes, else one for each class."""]
    bias_: Annotated[NDArray[np.float64], """ndarray of shape (n_problems,)
        b; for values without a fitted bias the subtracted mean."""]
    objective_: Annotated[NDArray[np.float64], """ndarray of shape (n_problems,)
        Value of the objective; in the dual that with the hinge and without the ½."""]

    _method = "laprls"
    _takes_graph_as = "graph"
    _least_iterations = 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_gram = self.kernel == "precomputed"
        tags.input_tags.sparse = not is_gram
        tags.input_tags.pairwise = is_gram
        return tags

    def _builds_graph(self, graph: Any) -> bool:
        if self.graph_reg == 0:
            return False
        if graph is None and self.kernel == "precomputed" and self.affinity != "precomputed":
            raise ValueError(
                "kernel is 'precomputed', and no graph can be built from a Gram matrix; expected the graph of the rows as "
                "fit(K, y, graph=...), such as lapwing.graph.knn_graph(X), or graph_reg=0 for none"
            )
        return super()._builds_graph(graph)

    def _keep(self, problem: Problem, fitted: dict[str, Any]) -> None:
        super()._keep(problem, fitted)
        self.objective_ = np.asarray(self.report_["parts"]["lapsvm"]["objective"], dtype=np.float64)

    def _keep_parts(self) -> None:
        _, arrays = self._model.parts(["coefficients", "bias"])
        self.coefficients_, self.bias_ = arrays["coefficients"], arrays["bias"]


class KernelClassifier(KernelEstimator, SpreadingClassifier):
    """Base of the classifiers."""

    @documented_like(Spreads.fit)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        graph: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit the machine, and label every row of X: features, or for ``kernel="precomputed"`` the symmetric Gram matrix (n, n).

        Parameters
        ----------
        validation : tuple (X, y), default=None
            Labeled rows by which conjugate gradients stop, for ``stopping="validation"`` and ``"mixed"``; for a precomputed
            kernel, their similarities to the rows of the fit. None holds out some of the labels.
        """
        return self._fit(X, y, sample_weight, graph, validation)

    @documented_like(Spreads.predict)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Values f(x) + b of the machines for new rows.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            For two classes one value a row, above 0 for the second class; else one for each class, of which the largest decides.
        """
        scores = self._new_scores(X)
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def _extras(self, labels: GivenLabels, validation: Any) -> dict[str, Any]:
        held = None if validation is None else self._held(validation, labels)
        return {"validation": held, "start": self._start(labels)}

    def _held(self, validation: tuple[Any, Any], labels: ClassLabels) -> tuple[Any, Any]:
        """Validation rows and their classes, in the form that the compiled part takes."""
        if not isinstance(validation, tuple) or len(validation) != 2:
            raise TypeError("validation must be a tuple (X, y)")
        rows, y = validation
        refuse_masked(rows, "validation rows")
        rows = widened(rows)
        checked = check_array(rows, input_name="validation rows", **check_options(rows))
        given = column_or_1d(as_label_array(y))
        if given.shape[0] != checked.shape[0]:
            raise ValueError(f"validation has {checked.shape[0]} rows, but {given.shape[0]} labels")
        held = class_labels(given, self.unlabeled, known=labels.classes)
        known = {label: code for code, label in enumerate(labels.classes.tolist())}
        of_held = np.array([known.get(label, -2) for label in held.classes.tolist()] + [-1], dtype=np.int32)
        codes = of_held[held.codes]
        if (codes == -2).any():
            row = int(np.argmax(codes == -2))
            label = held.classes.tolist()[held.codes[row]]
            raise ValueError(f"validation row {row} has label {label!r}, which no row of the fit has")
        return features_argument(checked), (codes, class_names(labels.classes))

    def _start(self, labels: ClassLabels) -> Any:
        """Coefficients and bias of an earlier fit of the same classes, for a warm start."""
        if not isinstance(self.warm_start, (bool, np.bool_)):
            raise TypeError(f"warm_start must be True or False, not {type(self.warm_start).__name__}")
        if not self.warm_start or not hasattr(self, "coefficients_"):
            return None
        return (self.coefficients_, self.bias_) if np.array_equal(self.classes_, labels.classes) else None

    @classmethod
    def _parameters_of(cls, parts: dict[str, Any]) -> dict[str, Any]:
        # Without a kernel the features have weights, as for a linear kernel or given similarities.
        settings, _ = parts["model"].parts([])
        kernel = json.loads(settings)["kernel_machine"].get("kernel", {"kind": "linear"})
        return {"kernel": kernel["kind"], "bandwidth": kernel.get("bandwidth", "auto"), "degree": kernel.get("degree", 3)}


@documented
class LaplacianSVC(LaplacianSVCParameters, KernelClassifier):
    """Laplacian support vector classifier, trained in the primal: a kernel machine that is smooth over a graph of all rows.

    One class against the rest, each minimizes over f = K·α and a bias b (Melacci & Belkin 2011)

        ½·[Σᵢ cᵢ·max(0, 1 − yᵢ(fᵢ + b))² + γ_A·αᵀKα + γ_I·fᵀLᵖf],

    the sum over the labeled rows, cᵢ the trust in their labels, K the Gram matrix and L the Laplacian of the graph. New rows
    are labeled by the kernel alone: they need no graph. Scores are f + b of each class, and −(f + b) and f + b for two classes.

    Warns
    -----
    ConvergenceWarning
        If a problem stopped at `max_iter`.
    UserWarning
        If landmarks approximate the kernel, or the Gram matrix exceeds half of the free memory.

    Notes
    -----
    O(n²·d) time for the Gram matrix, of which half is stored: 4·n² bytes, 2·n² in single precision. Newton: ⅔·n³ once, for all
    classes, and 8·n² bytes. Conjugate gradients: n² for each iteration and class, some √n iterations. With k landmarks:
    O(n·k·(d + k)) and 4·n·k bytes. A fitted estimator keeps a copy of the rows it needs. ``report_["parts"]["lapsvm"]`` has
    storage, solver, objectives, iterations and error vectors of each problem.

    References
    ----------
    S. Melacci, M. Belkin: Laplacian support vector machines trained in the primal, JMLR 12, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import LaplacianSVC
    >>> X, truth = make_moons(300, noise=0.08, random_state=0)
    >>> y = np.full(300, -1)
    >>> given = [int(np.flatnonzero(truth == c)[0]) for c in (0, 1)]
    >>> y[given] = truth[given]
    >>> clf = LaplacianSVC(random_state=0).fit(X, y)
    >>> bool((clf.transduction_ == truth).mean() > 0.95)
    True
    >>> new, truth = make_moons(100, noise=0.08, random_state=1)
    >>> bool((clf.predict(new) == truth).mean() > 0.95)
    True
    """

    _method = "lapsvm"


@documented
class LaplacianRidgeClassifier(LaplacianRidgeClassifierParameters, KernelClassifier):
    """Laplacian regularized least-squares classifier: :class:`LaplacianSVC` with the loss (yᵢ − fᵢ − b)², y = ±1.

    Newton's method is one linear system, in closed form, for all classes (Sindhwani, Niyogi & Belkin 2005).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LaplacianRidgeClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1                     # a hundred labels for 1797 rows
    >>> clf = LaplacianRidgeClassifier(random_state=0).fit(X, y)
    >>> bool((clf.transduction_[100:] == truth[100:]).mean() > 0.9)
    True
    """


@documented
class LaplacianRidgeRegressor(LaplacianRidgeRegressorParameters, KernelEstimator, SpreadingRegressor):
    """Laplacian regularized least squares for values: kernel ridge regression that is smooth over a graph of all rows.

    The objective of :class:`LaplacianRidgeClassifier` with numbers for y. Without a bias, the mean of the given values is
    subtracted before the fit and added back. "auto" parameters are chosen by squared errors, given at least five values. New
    rows get their values by the kernel alone.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LaplacianRidgeRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> y = np.full(101, np.nan)
    >>> y[::10] = np.sin(3 * X[::10, 0])
    >>> reg = LaplacianRidgeRegressor(n_neighbors=2, random_state=0).fit(X, y)
    >>> bool(abs(reg.transduction_ - np.sin(3 * X[:, 0])).max() < 0.1)
    True
    """
