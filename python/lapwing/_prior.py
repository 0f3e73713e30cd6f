"""The start of a harmonic fit: shares of the classes in every row, given or from a classifier of scikit-learn."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from ._inputs import refuse_masked

if TYPE_CHECKING:
    from ._base import Problem
    from ._shared import GivenLabels

#: Folds in which labeled rows get shares from a classifier that did not see their labels.
FOLDS = 5


def is_classifier(prior: Any) -> bool:
    """Whether a prior is a classifier that is to be fitted."""
    return hasattr(prior, "fit")


def given_prior(prior: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Shares as an array; a data frame whose columns are named by all the classes is put into their order."""
    names = [str(name) for name in classes.tolist()]
    columns = [str(name) for name in getattr(prior, "columns", [])]
    refuse_masked(prior, "prior")
    shares = np.asarray(prior, dtype=np.float64)
    if shares.ndim != 2:
        raise ValueError(f"prior has shape {shares.shape}; expected shares of shape (n_samples, {len(names)})")
    if sorted(columns) == sorted(names):
        shares = shares[:, [columns.index(name) for name in names]]
    return np.ascontiguousarray(shares)


def fitted_prior(
    prior: Any, X: Any, labels: GivenLabels, n_samples: int, seed: int
) -> tuple[Any, NDArray[np.float64]]:
    """A clone fitted to the labeled rows of X, and its shares (n, c).

    Labeled rows get them from clones that did not see their label, if every class has two labels.
    """
    if not isinstance(labels.argument, tuple):
        raise ValueError("a classifier as prior takes one class a row, not soft labels; give its shares as an array")
    if _num_samples(X) != n_samples:
        raise ValueError(f"X has {_num_samples(X)} rows; expected {n_samples}, as the graph has")
    given = np.flatnonzero(labels.codes >= 0)
    codes = labels.codes[given]
    model = _fit(prior, X, given, labels, seed)
    shares = _shares(model, X, labels.classes)
    counts = np.bincount(codes, minlength=labels.classes.size)
    if counts.size > 1 and counts.min() >= 2:
        folds = StratifiedKFold(min(FOLDS, int(counts.max())), shuffle=True, random_state=seed % 2**32)
        with warnings.catch_warnings():
            # A class with fewer labels than folds is in every training set all the same.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(folds.split(codes, codes))
        for seen, hidden in splits:
            other = _fit(prior, X, given[seen], labels, seed)
            shares[given[hidden]] = _shares(other, _safe_indexing(X, given[hidden]), labels.classes)
    return model, shares


def _fit(prior: Any, X: Any, rows: NDArray[np.intp], labels: GivenLabels, seed: int) -> Any:
    """A clone fitted to some labeled rows. What it leaves to chance gets our seed."""
    model = clone(prior)
    chances = {
        name: seed % 2**32
        for name, value in model.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    if chances:
        model.set_params(**chances)
    options = {}
    if labels.weights is not None and has_fit_parameter(model, "sample_weight"):
        options["sample_weight"] = labels.weights[rows]
    return model.fit(_safe_indexing(X, rows), labels.classes[labels.codes[rows]], **options)


def _shares(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Shares (m, c) in the order of `classes`; 0 for a class that the model does not know."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    shares = np.zeros((found.shape[0], classes.size))
    shares[:, np.searchsorted(classes, model.classes_)] = found
    return shares


class StartsFromPrior:
    """Mixin of classifiers with the parameter `prior`."""

    prior: Any
    report_: dict[str, Any]
    prior_: Annotated[Any, """classifier or None
        The classifier given as `prior`, fitted to all labeled rows."""]

    def _check_prior(self, X: Any, graph: Any) -> None:
        """Refuse a class instead of its instance, texts, a classifier without shares, and one without features to fit it to."""
        prior, kind = self.prior, type(self.prior).__name__
        if isinstance(prior, type):
            raise TypeError(f"prior is the class {prior.__name__}; give an instance, {prior.__name__}()")
        if isinstance(prior, (str, bytes)):
            raise TypeError("prior is text; expected an array of shares (n_samples, n_classes), a classifier or None")
        if not is_classifier(prior):
            return
        if not hasattr(prior, "predict_proba"):
            raise TypeError(
                f"prior is {kind}(), which has no predict_proba; give a classifier that has, or wrap it as "
                f"sklearn.calibration.CalibratedClassifierCV({kind}())"
            )
        if X is None or (graph is None and getattr(self, "affinity", "knn") != "knn"):
            raise ValueError(
                f"prior is {kind}(), which is fitted to features; give them as X and the graph as fit(X, y, graph=...)"
            )

    def _prior_argument(self, problem: Problem, X: Any, graph: Any, labels: GivenLabels) -> dict[str, Any]:
        self.prior_ = None
        if self.prior is None:
            return {}
        if not is_classifier(self.prior):
            return {"prior": given_prior(self.prior, labels.classes)}
        start = time.perf_counter()
        self.prior_, shares = fitted_prior(self.prior, X, labels, problem.n_samples, problem.control["seed"])
        self._prior_seconds = time.perf_counter() - start
        return {"prior": shares}

    def _note_prior(self) -> None:
        """Add the time of fitting the prior to the report."""
        seconds = self.__dict__.pop("_prior_seconds", None)
        if seconds is not None:
            self.report_["phases"].insert(0, {"name": "prior", "seconds": seconds})
