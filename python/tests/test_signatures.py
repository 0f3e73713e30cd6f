"""Signatures and documentation are those that the library declares."""

import inspect
from operator import attrgetter

import generate
import lapwing
import pytest
import signatures
from declarations import SIGNATURES
from lapwing import _lapwing, active, audit, baselines, graph


def public(name):
    home = next(module for module in (active, audit, lapwing, baselines, graph) if hasattr(module, name.partition(".")[0]))
    return attrgetter(name)(home)


def test_generated_files_are_up_to_date():
    outputs = generate.outputs(_lapwing.parameters)
    stale = [str(path.relative_to(generate.ROOT)) for path, text in outputs if path.read_text(encoding="utf-8") != text]
    assert not stale, f"not what the parameters declare: {', '.join(stale)}; run `cargo xtask generate`"


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.name)
def test_every_parameter_is_declared_and_documented(signature):
    named = {name: found for name, found in inspect.signature(public(signature.name)).parameters.items() if name != "self"}
    expected = {parameter.name: parameter for parameter in signatures.parameters(signature, _lapwing.parameters)}
    assert set(named) == set(expected)
    doc = inspect.getdoc(public(signature.name))
    for name, parameter in expected.items():
        empty = inspect.Parameter.empty
        default = empty if parameter.default is None else eval(parameter.default)
        assert named[name].default == default, name
        assert doc.count(f"\n{name} : {parameter.values}") == 1 and len(parameter.doc) > 10, name


@pytest.mark.parametrize("name", ["HarmonicClassifier", "LaplacianRidgeRegressor", "UnfoldedGNNClassifier"])
def test_docstrings_have_every_section_once(name):
    doc = inspect.getdoc(public(name))
    assert all(doc.count(f"\n{heading}\n-") == 1 for heading in ("Parameters", "Attributes", "Examples"))
    assert "As in :class:" not in doc and "report_ : dict" in doc


def test_words_for_which_python_has_none():
    X, y = [[0.0], [1.0], [9.0], [10.0]], [0, None, None, 1]
    for given in ({"bandwidth": None, "graph_reg": None}, {"certify": False}, {"class_prior": "labeled"}):
        assert lapwing.HarmonicClassifier(2, **given).fit(X, y).transduction_.tolist() == [0, 0, 1, 1]
    for given in ({"steps": None}, {"hidden": None, "attention": None}):
        assert lapwing.UnfoldedGNNClassifier(n_neighbors=2, **given).fit(X, y).converged_
    with pytest.raises(TypeError, match="form must be a string, not NoneType"):
        lapwing.HarmonicClassifier(2, form=None).fit(X, y)
    with pytest.raises(ValueError, match="graph_bandwidth is -1"):
        lapwing.LaplacianSVC(n_neighbors=2, graph_bandwidth=-1.0).fit(X, y)


@pytest.mark.parametrize("cls", [lapwing.HarmonicClassifier, baselines.SimpleHarmonicClassifier])
def test_a_graph_may_stand_for_the_features(cls):
    edges = graph.knn_graph([[0.0], [1.0], [9.0], [10.0]], 1)
    y = [0, None, None, 1]
    by_graph = cls().fit(None, y, graph=edges)
    as_features = cls(affinity="precomputed").fit(edges, y)
    assert by_graph.transduction_.tolist() == as_features.transduction_.tolist() == [0, 0, 1, 1]
    assert by_graph.predict([[0.0, 1.0, 0.0, 0.0]]).tolist() == [0]
    with pytest.raises(ValueError, match="give one of them"):
        cls(affinity="precomputed").fit(edges, y, graph=edges)
    with pytest.raises(ValueError, match="takes no graph"):
        baselines.NearestLabelClassifier().fit([[0.0], [1.0], [9.0], [10.0]], y, graph=edges)
