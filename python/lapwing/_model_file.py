"""The model file, common to Python, Rust and the command line."""

from __future__ import annotations

import copy
import json
from functools import cache
from os import PathLike
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import _lapwing
from ._classifier import SpreadingClassifier
from .prepare import TableEncoder


@cache
def classifiers() -> dict[str, type[SpreadingClassifier]]:
    """The classifier of each method. The program has a name for each factor of low-rank propagation."""
    import lapwing

    homes = {lapwing: lapwing._MODULES, lapwing.baselines: lapwing.baselines.__all__}
    public = [getattr(home, name) for home, names in homes.items() for name in names]
    found = {kind._method: kind for kind in public if isinstance(kind, type) and issubclass(kind, SpreadingClassifier)}
    return found | dict.fromkeys(("anchor", "nystrom", "glnp"), found["low-rank"])


def save_model(model: SpreadingClassifier | Pipeline, path: str | PathLike[str]) -> None:
    """Save a fitted classifier for :func:`load_model`, ``lapwing predict`` and Rust's ``Model::load``.

    The file holds the parts that label new rows (features, scores, widths, or landmarks; classes), not the results of the fit,
    which pickle keeps too. It is written completely or not at all, and contains no code.

    Parameters
    ----------
    model : a classifier of :mod:`lapwing` or :mod:`lapwing.baselines`
        Fitted on features, with integer or string classes; or a pipeline of a :class:`lapwing.prepare.TableEncoder` and such a
        classifier.
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
    if isinstance(model, Pipeline):
        model = _of_pipeline(model)
    if not isinstance(model, SpreadingClassifier):
        raise TypeError(f"save_model takes a classifier of lapwing, not {type(model).__name__}; pickle keeps others")
    check_is_fitted(model)
    if not model._model.takes_features:
        raise ValueError("a classifier fitted on a precomputed graph cannot be saved as a model: it has no features")
    model._model.save(path, model._names(), model._control(quiet=True))


def _of_pipeline(pipeline: Pipeline) -> SpreadingClassifier:
    """The classifier of a pipeline that encodes a table and labels its rows, which prepares the columns itself."""
    steps = [step for _, step in pipeline.steps if step is not None and step != "passthrough"]
    kinds = [type(step).__name__ for step in steps]
    if len(steps) != 2 or not isinstance(steps[0], TableEncoder) or not isinstance(steps[1], SpreadingClassifier):
        raise TypeError(
            f"save_model takes a pipeline of a TableEncoder and a classifier of lapwing, not of {', '.join(kinds)}; pickle keeps others"
        )
    check_is_fitted(steps[0])
    check_is_fitted(steps[1])
    classifier = copy.copy(steps[1])
    classifier._prepare_by(json.dumps(steps[0].recipe_))
    return classifier


def load_model(path: str | PathLike[str]) -> SpreadingClassifier:
    """Load a model that Python, Rust or the command line saved.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    the classifier of that method
        Ready to predict. It has ``classes_``; ``landmarks_`` and ``bandwidth_``, ``layer_weights_``, or ``coefficients_`` and
        ``bias_`` of its method; and if the model keeps all rows of the fit, ``scores_``, ``reached_`` and their labels. It has
        no ``report_``, ``n_iter_``, ``residual_`` and ``converged_``, which are not in the file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is truncated, not a model, or of a newer version.

    Examples
    --------
    See :func:`save_model`.
    """
    parts = _lapwing.load_model(path)
    cls = classifiers()[parts["method"]]
    model = cls(**cls._parameters_of(parts))
    model._restore(parts)
    return model
