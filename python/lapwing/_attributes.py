"""Attributes that estimators share, as sections of their docstrings."""

#: Of every fit.
FIT = """\
reached_ : ndarray of shape (n_samples,), bool
    Whether a label or value reaches the row.
n_iter_, residual_, converged_ : int, float, bool
    Iterations of the slowest column or problem, largest relative residual, whether all of them reached `tol`; 0 or 1, 0 and
    True where nothing is iterated.
report_ : dict
    The summary: rows, edges, components, unreached rows, seconds of each phase, peak bytes, everything "auto" chose.
n_features_in_ : int
    Columns of X; rows of the graph if a graph was given instead of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where X had string names for all.
"""

#: Of classifiers.
CLASSES = """\
transduction_ : ndarray of shape (n_samples,)
    Label of every row of the fit.
label_distributions_ : ndarray of shape (n_samples, n_classes)
    Shares of the classes; rows are finite and sum to 1. The prior in rows that no label reaches.
scores_ : ndarray of shape (n_samples, n_classes)
    Scores before any normalizing; NaN in rows that no label reaches.
confidence_ : ndarray of shape (n_samples,)
    Share of the chosen class in the label distribution.
expected_accuracy_ : tuple (value, low, high), or None
    Accuracy that rows without a label are expected to have, and its 90 % interval, from labels that were held out; None with
    fewer than two labels a class, and where holding out would cost too much. ``report_["parts"]`` has more in
    ``"expected_accuracy"``, ``"reliability"`` and ``"confidence"``.
classes_ : ndarray of shape (n_classes,)
    Distinct given labels, ascending; 0..c−1 for soft labels.
"""

#: Of regressors.
VALUES = """\
transduction_ : ndarray of shape (n_samples,)
    Value of every row of the fit.
scores_ : ndarray of shape (n_samples,)
    The same, NaN in rows that no value reaches.
uncertainty_ : ndarray of shape (n_samples,) or None
    Half-width of an interval around each value of `transduction_`, in the unit of y: about 90 % of the true values of the rows
    without one lie within ``transduction_ ± uncertainty_``. It comes from the errors of given values that were held out and is wider
    where these are larger nearby in the graph. NaN in rows that no value reaches; 0 only if at least 90 % of the held-out values were
    exact. None if fewer than 10 values were held out. ``report_["parts"]["uncertainty"]`` has the ``level``, the number of errors
    (``n_held_out``) and their ``source``, ``"leave-one-out"`` or ``"folds"``.
"""

#: Where a fit may start from a prior.
PRIOR = """\
prior_ : classifier or None
    The classifier given as `prior`, fitted to all labeled rows.
"""

#: Where labels may be certified.
CERTIFIED = """\
certified_ : ndarray of shape (n_samples,), bool, or None
    Whether the label equals that of the exact solution of this graph, whatever the solver; never so for ties and for rows that
    no label reaches. None without `certify`, and where labels of a sparsified graph are refined on all edges.
n_uncertified_ : int or None
    Rows that a label reaches and whose label is not certified.
score_radius_ : ndarray of shape (n_samples,) or None
    Bound on the error that the solver leaves in the row's scores, infinite where none is known.
"""

#: Of kernel machines.
MACHINE = """\
coefficients_ : ndarray of shape (n_rows, n_problems)
    α of the rows that are kept: all of the fit, those with a coefficient where there is no graph, or the landmarks; the weights
    of the features for a linear kernel. One problem for values and for two classes, else one for each class.
bias_ : ndarray of shape (n_problems,)
    b; for values without a fitted bias the subtracted mean.
objective_ : ndarray of shape (n_problems,)
    Value of the objective; in the dual that with the hinge and without the ½.
"""

#: Of linear models.
LINEAR = """\
coefficients_ : ndarray of shape (n_features, n_classes)
    W, in the units of the features: scores are X·W + b.
bias_ : ndarray of shape (n_classes,)
    b.
"""

#: Of networks.
NETWORK = """\
layer_weights_ : ndarray of shape (n_features, n_columns)
    W, of a column for values and of one for each class; with a hidden layer a list of both.
bias_ : ndarray of shape (n_columns,)
    b; with a hidden layer a list of both.
graph_reg_ : float
    λ, as given or chosen.
loss_curve_ : ndarray of shape (n_iter_ + 1,)
    Loss with penalty at W = 0 and after each iteration. `residual_` is the estimated suboptimality.
"""

#: Of the automatic choice.
CHOICE = """\
results_ : list of dict
    A row for each candidate: `name`, `method`, `parameters`, `estimate` (share of held-out labels that it gets right), the
    ends of its 90 % `interval`, `log_loss`, `seconds`, and its `weight` in the labels. `estimate` and `interval` are None for candidates
    that were not tried.
best_estimator_ : estimator
    The candidate of the largest weight, fitted.
"""
