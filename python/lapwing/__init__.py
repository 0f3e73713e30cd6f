"""Labels for millions of rows from a handful of labeled ones.

lapwing builds a nearest-neighbor graph of the rows and spreads the given labels over it. Estimators are
scikit-learn estimators; -1 (or None, NaN, or what ``unlabeled=`` says) marks the rows without a label.

>>> import numpy as np
>>> from sklearn.datasets import make_moons
>>> from lapwing import HarmonicClassifier
>>> X, truth = make_moons(500, noise=0.05, random_state=0)
>>> y = np.full(500, -1)
>>> given = [int(np.flatnonzero(truth == c)[0]) for c in (0, 1)]
>>> y[given] = truth[given]
>>> clf = HarmonicClassifier(n_neighbors=10).fit(X, y)
>>> float((clf.transduction_ == truth).mean()) > 0.95
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._lapwing import build_info as _build_info
from ._lapwing import published_name as _published_name

if TYPE_CHECKING:
    from . import active, audit, baselines, display, exceptions, graph, metrics, model_selection, prepare
    from ._auto import AutoLabeler
    from ._frames import label_frame
    from ._harmonic import HarmonicClassifier, HarmonicRegressor
    from ._lapsvm import LaplacianRidgeClassifier, LaplacianRidgeRegressor, LaplacianSVC
    from ._low_rank import LowRankPropagationClassifier
    from ._model_file import load_model, save_model
    from ._solver import LaplacianSolver
    from ._sparse_harmonic import SparseHarmonicClassifier
    from ._stream import StreamingHarmonicClassifier
    from ._unfolded import UnfoldedGNNClassifier, UnfoldedGNNRegressor
    from ._versions import show_versions

__version__: str = str(_build_info()["version"])

__all__ = [
    "AutoLabeler",
    "HarmonicClassifier",
    "HarmonicRegressor",
    "LaplacianRidgeClassifier",
    "LaplacianRidgeRegressor",
    "LaplacianSVC",
    "LaplacianSolver",
    "LowRankPropagationClassifier",
    "SparseHarmonicClassifier",
    "StreamingHarmonicClassifier",
    "UnfoldedGNNClassifier",
    "UnfoldedGNNRegressor",
    "active",
    "audit",
    "baselines",
    "display",
    "exceptions",
    "graph",
    "label_frame",
    "load_model",
    "metrics",
    "model_selection",
    "prepare",
    "save_model",
    "show_versions",
]

# Where each name is defined. A module is imported when one of its names is first used: scikit-learn, which estimators
# need, takes longer to import than most fits.
_MODULES = {
    "AutoLabeler": "_auto",
    "HarmonicClassifier": "_harmonic",
    "HarmonicRegressor": "_harmonic",
    "LaplacianRidgeClassifier": "_lapsvm",
    "LaplacianRidgeRegressor": "_lapsvm",
    "LaplacianSVC": "_lapsvm",
    "LaplacianSolver": "_solver",
    "LowRankPropagationClassifier": "_low_rank",
    "SparseHarmonicClassifier": "_sparse_harmonic",
    "StreamingHarmonicClassifier": "_stream",
    "UnfoldedGNNClassifier": "_unfolded",
    "UnfoldedGNNRegressor": "_unfolded",
    "label_frame": "_frames",
    "load_model": "_model_file",
    "save_model": "_model_file",
    "show_versions": "_versions",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what is asked for."""
        if name in _MODULES:
            value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        elif name in __all__:
            value = import_module(f"{__name__}.{name}")
        else:
            known = None if name.startswith("_") else _published_name(name)
            hint = f"; {known[0]} is {__name__}.{known[1]} here" if known else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Names in use and those not imported yet."""
        return sorted({*globals(), *__all__})
