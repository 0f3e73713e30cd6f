"""The model file that Python, Rust and the shell share."""

from __future__ import annotations

from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._classifier import FeatureClassifier, SpreadingClassifier
from ._harmonic import HarmonicClassifier
from ._inputs import csr_from_parts
from ._lapsvm import KernelClassifier, LaplacianRidgeClassifier, LaplacianSVC
from ._low_rank import LowRankPropagationClassifier
from ._sparse_harmonic import SparseHarmonicClassifier
from ._unfolded import UnfoldedGNNClassifier
from .baselines import (
    EigenfunctionClassifier,
    NearestLabelClassifier,
    SimpleHarmonicClassifier,
    SubsamplingHarmonicClassifier,
)


_Model = TypeVar("_Model", FeatureClassifier, KernelClassifier, UnfoldedGNNClassifier)


def save_model(model: SpreadingClassifier, path: str | PathLike[str]) -> None:
    """Save a fitted classifier for :func:`load_model`, ``lapwing predict`` and Rust's ``Model::load``.

    The file holds what labels new rows (features, scores, widths, or landmarks; classes), not the results of the fit; pickle keeps
    those too. It appears whole or not at all, and contains no code.

    Parameters
    ----------
    model : a classifier of :mod:`lapwing` or :mod:`lapwing.baselines`
        Fitted on features, with integer or string classes.
    path : str or path-like
        Where to write; an existing file is replaced.

    Raises
    ------
    TypeError
        For another estimator, or classes that are neither integers nor strings.
    ValueError
        For a classifier fitted on a graph: it has no features to compare new rows with.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from lapwing import HarmonicClassifier, load_model, save_model
    >>> clf = HarmonicClassifier(n_neighbors=1).fit([[0.0], [1.0], [9.0]], ["low", None, "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sizes.lapwing")
    ...     save_model(clf, path)
    ...     load_model(path).predict([[0.6], [8.0]]).tolist()
    ['low', 'high']
    """
    if not isinstance(model, SpreadingClassifier):
        raise TypeError(f"save_model takes a classifier of lapwing, not {type(model).__name__}; pickle keeps others")
    check_is_fitted(model)
    extension = model._extension()
    if extension is None:
        raise ValueError("a classifier fitted on a precomputed graph cannot be saved as a model: it has no features")
    names = getattr(model, "feature_names_in_", None)
    parts = {
        "method": model._method,
        "classes": _class_names(model.classes_),
        "feature_names": None if names is None else [str(name) for name in names],
        "standardizer": model._standardizer,
        "rule": model._rule,
        "extension": extension,
    }
    _lapwing.save_model(path, parts, model._control(quiet=True))


def load_model(path: str | PathLike[str]) -> SpreadingClassifier:
    """Load a model that any face of lapwing saved.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    the classifier of that method
        Ready to predict. ``classes_`` is there, ``landmarks_`` and ``bandwidth_``, ``layer_weights_``, or ``coefficients_`` and ``bias_``, if it has them, and where a model keeps all rows of the fit ``scores_``, ``reached_``
        and their labels; what only the fit knew (``report_``, ``n_iter_``, ``residual_``, ``converged_``) is not.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is truncated, not a model, or of a newer version.
    """
    parts = _lapwing.load_model(path)
    model = _estimator(parts["method"], parts["extension"])
    model._standardizer = parts["standardizer"]
    model._rule = parts["rule"]
    model.classes_ = np.asarray(parts["classes"])
    model._marker = -1 if model.classes_.dtype.kind == "i" else None
    model.n_features_in_ = parts["n_features"]
    if parts["feature_names"] is not None:
        model.feature_names_in_ = np.asarray(parts["feature_names"], dtype=object)
    if isinstance(model, LowRankPropagationClassifier):
        model._keep_landmarks()
    if isinstance(model, KernelClassifier):
        model._keep_coefficients()
    elif isinstance(model, UnfoldedGNNClassifier):
        model._keep_layers()
    elif not isinstance(model, FeatureClassifier):
        _label_rows(model, parts["extension"]["scores"])
    return model


def _estimator(method: str, extension: Any) -> SpreadingClassifier:
    """The estimator of a method, with what labels new rows."""
    if method == "eigenfunction":
        return _with_extension(EigenfunctionClassifier(), extension)
    if isinstance(extension, _lapwing.Landmarks):
        return _with_extension(_low_rank(extension), extension)
    if isinstance(extension, _lapwing.KernelMachine):
        return _with_extension(_kernel_machine(method, extension), extension)
    if isinstance(extension, _lapwing.Network):
        return _with_extension(UnfoldedGNNClassifier(), extension)
    graph = extension["graph"]
    search = {"metric": graph["metric"], "zero_rows": graph["zero_rows"]}
    if method == "nearest-label":
        return _with_extension(NearestLabelClassifier(**search), extension)
    if method == "subsampling":
        return _with_extension(SubsamplingHarmonicClassifier(**search), extension)
    kinds = {"simple-harmonic": SimpleHarmonicClassifier, "sparse-harmonic": SparseHarmonicClassifier}
    model = kinds.get(method, HarmonicClassifier)(
        graph["n_neighbors"],
        weights=graph["weights"],
        symmetrize=graph["symmetrize"],
        bandwidth="auto" if graph["bandwidth"] is None else graph["bandwidth"],
        recall_target=graph["recall_target"],
        **search,
    )
    features = extension["features"]
    model._fit_X = csr_from_parts(features) if isinstance(features, tuple) else features
    model._fit_options = graph
    model._widths = extension["widths"]
    model._index = extension["index"]
    model._errors = extension["errors"]
    return model


def _low_rank(landmarks: _lapwing.Landmarks) -> LowRankPropagationClassifier:
    width, n_nearest = landmarks.bandwidth(), landmarks.n_nearest()
    options: dict[str, Any] = {"factor": landmarks.factor()}
    if width is not None:
        options["bandwidth"] = width
    if n_nearest is not None:
        options["n_nearest"] = n_nearest
    return LowRankPropagationClassifier(landmarks.n_landmarks(), **options)


def _kernel_machine(method: str, machine: _lapwing.KernelMachine) -> KernelClassifier:
    kind = LaplacianRidgeClassifier if method == "laprls" else LaplacianSVC
    kernel = machine.kernel()
    if kernel is None:
        # Weights of the features: those of a linear kernel, or of similarities that were given.
        return kind("linear")
    name, bandwidth, degree = kernel
    return kind(name, bandwidth=bandwidth or "auto", degree=degree or 3)


def _with_extension(model: _Model, extension: Any) -> _Model:
    model._fitted_extension = extension
    return model


def _label_rows(model: SpreadingClassifier, scores: NDArray[np.float64]) -> None:
    """The labels of the rows of the fit."""
    labeling = _lapwing.apply_rule(scores, None, model._rule, model._control(quiet=True))
    model.scores_ = scores
    model.reached_ = labeling["reached"]
    model.label_distributions_ = labeling["label_distributions"]
    model.confidence_ = labeling["confidence"]
    model.transduction_ = model._decode(labeling)


def _class_names(classes: Any) -> list[int] | list[str]:
    kind = classes.dtype.kind
    if kind in "iu" or kind == "f":
        return [int(name) for name in classes]
    if kind == "U" or all(isinstance(name, str) for name in classes):
        return [str(name) for name in classes]
    raise TypeError(f"a model file holds integer or string classes, not {classes.dtype}")
