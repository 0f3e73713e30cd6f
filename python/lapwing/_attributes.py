"""What estimators have after a fit: each attribute with its type, for editors and type checkers, and its text, which `documented` writes
into the docstrings of the classes that inherit it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


class ExpectedAccuracy(NamedTuple):
    """Accuracy that rows without a label are expected to have, and the ends of its 90 % interval."""

    value: float
    low: float
    high: float


class Fitted:
    """What every fit has."""

    reached_: Annotated[NDArray[np.bool_], """ndarray of shape (n_samples,), bool
        Whether a label or value reaches the row."""]
    n_iter_: Annotated[int, """int
        Iterations of the slowest column or problem; 0 or 1 where nothing is iterated."""]
    residual_: Annotated[float, """float
        Largest relative residual; 0 where nothing is iterated."""]
    converged_: Annotated[bool, """bool
        Whether all columns or problems reached `tol`; True where nothing is iterated."""]
    report_: Annotated[dict[str, Any], """dict
        The summary: rows, edges, components, unreached rows, seconds of each phase, peak bytes, everything "auto" chose."""]
    n_features_in_: Annotated[int, """int
        Columns of X; rows of the graph if a graph was given instead of features."""]
    feature_names_in_: Annotated[NDArray[np.object_], """ndarray of shape (`n_features_in_`,)
        Names of the columns; only if X had string names for all."""]


class Classes:
    """What classifiers have."""

    transduction_: Annotated[NDArray[Any], """ndarray of shape (n_samples,)
        Label of every row of the fit."""]
    label_distributions_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples, n_classes)
        Shares of the classes; rows are finite and sum to 1. The prior in rows that no label reaches."""]
    scores_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples, n_classes)
        Scores before any normalizing; NaN in rows that no label reaches."""]
    confidence_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        Share of the chosen class in the label distribution."""]
    expected_accuracy_: Annotated[ExpectedAccuracy | None, """tuple (value, low, high), or None
        Accuracy that rows without a label are expected to have, and its 90 % interval, from labels that were held out; None with
        fewer than two labels a class, where holding out would cost too much, and where labels were held to given class sizes after
        they had been held out. ``report_["parts"]`` has more in
        ``"expected_accuracy"``, ``"reliability"`` and ``"confidence"``."""]
    classes_: Annotated[NDArray[Any], """ndarray of shape (n_classes,)
        Distinct given labels, ascending; 0..c−1 for soft labels."""]


class Values:
    """What regressors have."""

    transduction_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        Value of every row of the fit."""]
    scores_: Annotated[NDArray[np.float64], """ndarray of shape (n_samples,)
        The same, NaN in rows that no value reaches."""]
    uncertainty_: Annotated[NDArray[np.float64] | None, """ndarray of shape (n_samples,) or None
        Half-width of an interval around each value of `transduction_`, in the unit of y: about 90 % of the true values of the rows
        without one lie within ``transduction_ ± uncertainty_``. It comes from the errors of given values that were held out and is wider
        where these are larger nearby in the graph. NaN in rows that no value reaches; 0 only if at least 90 % of the held-out values were
        exact. None if fewer than 10 values were held out. ``report_["parts"]["uncertainty"]`` has the ``level``, the number of errors
        (``n_held_out``) and their ``source``, ``"leave-one-out"`` or ``"folds"``."""]


class FromPrior:
    """What classifiers have whose fit may start from a prior."""

    prior_: Annotated[Any, """classifier or None
        The classifier given as `prior`, fitted to all labeled rows."""]


class Calibrated:
    """What the harmonic classifiers have, whose labels may be left out one by one."""

    calibration_: Annotated[Literal["leave-one-out", "folds", "none"], """{"leave-one-out", "folds", "none"}
        How labels were held out to fit the confidence to them: one by one, or in folds; "none" if it is not fitted."""]


class Certified:
    """What classifiers have whose labels may be certified."""

    certified_: Annotated[NDArray[np.bool_] | None, """ndarray of shape (n_samples,), bool, or None
        Whether the label equals that of the exact solution of this graph, whatever the solver; never so for ties and for rows that
        no label reaches. None without `certify`, and where labels of a sparsified graph are refined on all edges."""]
    n_uncertified_: Annotated[int | None, """int or None
        Rows that a label reaches and whose label is not certified."""]
    score_radius_: Annotated[NDArray[np.float64] | None, """ndarray of shape (n_samples,) or None
        Bound on the error that the solver leaves in the row's scores, infinite where none is known."""]


class Machine:
    """What kernel machines have."""

    coefficients_: Annotated[NDArray[np.float64], """ndarray of shape (n_rows, n_problems)
        α of the rows that are kept: all of the fit, those with a coefficient where there is no graph, or the landmarks; the weights
        of the features for a linear kernel. One problem for values and for two classes, else one for each class."""]
    bias_: Annotated[NDArray[np.float64], """ndarray of shape (n_problems,)
        b; for values without a fitted bias the subtracted mean."""]
    objective_: Annotated[NDArray[np.float64], """ndarray of shape (n_problems,)
        Value of the objective; in the dual that with the hinge and without the ½."""]


class Linear:
    """What linear models have."""

    coefficients_: Annotated[NDArray[np.float64], """ndarray of shape (n_features, n_classes)
        W, in the units of the features: scores are X·W + b."""]
    bias_: Annotated[NDArray[np.float64], """ndarray of shape (n_classes,)
        b."""]


class Network:
    """What networks have."""

    layer_weights_: Annotated[NDArray[np.float64] | list[NDArray[np.float64]], """ndarray of shape (n_features, n_columns)
        W, of a column for values and of one for each class; with a hidden layer a list of both."""]
    bias_: Annotated[NDArray[np.float64] | list[NDArray[np.float64]], """ndarray of shape (n_columns,)
        b; with a hidden layer a list of both."""]
    graph_reg_: Annotated[float, """float
        λ, as given or chosen."""]
    loss_curve_: Annotated[NDArray[np.float64], """ndarray of shape (`n_iter_` + 1,)
        Loss with penalty at W = 0 and after each iteration. `residual_` is the estimated suboptimality."""]


class Chosen:
    """What the automatic choice has."""

    results_: Annotated[list[dict[str, Any]], """list of dict
        A row for each candidate: `name`, `method`, `parameters`, `estimate` (share of held-out labels that it gets right), the
        ends of its 90 % `interval`, `log_loss`, `n_rows` (rows on which it was tried: all, or a sample), `seconds`, and its `weight` in the
        labels. `estimate`, `interval` and `n_rows` are None for candidates that were not tried."""]
    best_estimator_: Annotated[Any, """estimator
        The candidate of the largest weight, fitted."""]
