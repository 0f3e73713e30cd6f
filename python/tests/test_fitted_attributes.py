"""Attributes after a fit: those that are there are declared and documented, and have the declared type."""

import inspect
import re
import types
import typing

import lapwing
import numpy as np
import pytest
import public
import scipy.sparse as sp
from lapwing import baselines, graph, model_selection, prepare
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

X, TRUTH = make_moons(60, noise=0.05, random_state=3)
Y = np.where(np.arange(60) % 5 == 0, TRUTH, -1)
VALUES = np.where(Y < 0, np.nan, X[:, 0])
RING = sp.csr_array(np.roll(np.eye(60), 1, axis=1) + np.roll(np.eye(60), -1, axis=1))
EDGES = np.array([(row, row + 1) for row in range(59)])
LABELED = (np.flatnonzero(Y >= 0), Y[Y >= 0])

#: Attributes that are there in some cases only, as their documentation says.
SOMETIMES = {"feature_names_in_"}

#: Fitted estimators of every class, and of those parameters that change what attributes hold.
FITS = {
    **{
        f"{classifier.__name__}()": lambda classifier=classifier: classifier().fit(X, Y)
        for classifier in (
            lapwing.AutoLabeler, lapwing.HarmonicClassifier, lapwing.LaplacianRidgeClassifier, lapwing.LaplacianSVC,
            lapwing.SparseHarmonicClassifier, lapwing.UnfoldedGNNClassifier,
            *(getattr(baselines, name) for name in baselines.__all__),
        )
    },
    "LowRankPropagationClassifier()": lambda: lapwing.LowRankPropagationClassifier(20).fit(X, Y),
    "HarmonicRegressor()": lambda: lapwing.HarmonicRegressor().fit(X, VALUES),
    "LaplacianRidgeRegressor()": lambda: lapwing.LaplacianRidgeRegressor().fit(X, VALUES),
    "UnfoldedGNNRegressor()": lambda: lapwing.UnfoldedGNNRegressor().fit(X, VALUES),
    "a graph": lambda: lapwing.HarmonicClassifier().fit(None, Y, graph=RING),
    "no certificate": lambda: lapwing.HarmonicClassifier(certify="off").fit(X, Y),
    "few values": lambda: lapwing.HarmonicRegressor(certify="off").fit(X, np.where(np.arange(60) < 4, X[:, 0], np.nan)),
    "names of classes": lambda: lapwing.HarmonicClassifier().fit(X, np.where(Y < 0, None, Y.astype(str))),
    "a prior": lambda: lapwing.AutoLabeler(prior=LogisticRegression()).fit(X, Y),
    "few labels": lambda: lapwing.AutoLabeler().fit(X, np.where(np.arange(60) < 2, [0, 1] * 30, -1)),
    "edges": lambda: lapwing.SparseHarmonicClassifier(affinity="edges").fit(EDGES, Y),
    "glnp": lambda: lapwing.LowRankPropagationClassifier(5, factor="glnp").fit(abs(X), Y),
    "linear kernel": lambda: lapwing.LaplacianSVC("linear").fit(X, Y),
    "hidden layer": lambda: lapwing.UnfoldedGNNClassifier(hidden=3).fit(X, Y),
    "NeighborIndex()": lambda: graph.NeighborIndex(3).fit(X),
    "GraphLearner()": lambda: graph.GraphLearner(4).fit(X),
    "given sparsity": lambda: graph.GraphLearner(4, sparsity=1.0).fit(X),
    "StreamingSparsifier()": lambda: graph.StreamingSparsifier(60).fit(EDGES),
    "StreamingHarmonicClassifier()": lambda: lapwing.StreamingHarmonicClassifier(40).fit(EDGES, Y),
    "Transductive()": lambda: model_selection.Transductive(lapwing.HarmonicClassifier(), X).fit(*LABELED),
    "TableEncoder()": lambda: prepare.TableEncoder().fit(X),
    "LaplacianSolver()": lambda: lapwing.LaplacianSolver(RING),
}  # fmt: skip


def documented(cls):
    """Names in the section of attributes."""
    section = re.search(r"^Attributes\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(cls), re.MULTILINE | re.DOTALL)[1]
    return set(filter(public.is_fitted_name, re.findall(r"^(\w+) : ", section, re.MULTILINE)))


def is_of(value, hint):
    """Whether a value has the type that an annotation says."""
    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return any(is_of(value, part) for part in parts)
    if kind is typing.Any:
        return True
    if kind is typing.Literal:
        return value in parts
    if kind is np.ndarray:
        (scalar,) = typing.get_args(parts[1])
        return isinstance(value, np.ndarray) and (scalar is typing.Any or np.issubdtype(value.dtype, scalar))
    if kind is tuple:
        return isinstance(value, tuple) and all(map(is_of, value, parts))
    if kind is list:
        return isinstance(value, list) and all(is_of(item, parts[0]) for item in value)
    return type(value) is kind


def faults(estimator):
    """What declarations say of an estimator and what is not so."""
    stored = set(filter(public.is_fitted_name, vars(estimator)))
    for name, hint in public.fitted(type(estimator)).items():
        if hasattr(estimator, name):
            stored.add(name)
            if not is_of(getattr(estimator, name), hint):
                yield f"{name} is {getattr(estimator, name)!r}, not {hint}"
        elif name not in SOMETIMES:
            yield f"{name} is missing"
    yield from (f"{name} is not declared" for name in sorted(stored - public.fitted(type(estimator)).keys()))


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore")
def test_attributes_are_those_that_are_declared(name):
    assert list(faults(FITS[name]())) == []


@pytest.mark.parametrize("name", [name for name in FITS if name.endswith("()")])
def test_documented_attributes_are_those_that_are_declared(name):
    cls = next(member.value for member in public.objects() if f"{member.path}()" == name)
    assert documented(cls) == public.fitted(cls).keys()


@pytest.mark.parametrize(
    "cls", [lapwing.HarmonicClassifier, lapwing.HarmonicRegressor, graph.NeighborIndex, prepare.TableEncoder]
)
def test_names_of_columns_are_kept(cls):
    pandas = pytest.importorskip("pandas")
    fitted = cls().fit(pandas.DataFrame(X, columns=["east", "north"]), TRUTH)
    assert fitted.feature_names_in_.tolist() == ["east", "north"]
    assert list(faults(fitted)) == []


def test_every_estimator_is_here():
    classes = (member for member in public.objects() if inspect.isclass(member.value))
    estimators = {member.path for member in classes if hasattr(member.value, "fit")}
    assert estimators <= {name.removesuffix("()") for name in FITS}
