"""Kernel machines on a graph: against a dense twin, scikit-learn's own machines, and as estimators."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from datasets import hide
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from lapwing import (
    LaplacianRidgeClassifier,
    LaplacianRidgeRegressor,
    LaplacianSVC,
    load_model,
    save_model,
)
from lapwing.graph import kneighbors, knn_graph
from lapwing.model_selection import labeled_folds

CLASSIFIERS = [LaplacianSVC, LaplacianRidgeClassifier]


def moons(n=200, per_class=2):
    X, truth = make_moons(n, noise=0.07, random_state=0)
    return X, truth, hide(truth, per_class)


def estimator(kind=LaplacianSVC, **params):
    return kind(**{"bandwidth": 0.4, "ambient_reg": 1e-3, "graph_reg": 0.1, "random_state": 0, **params})


def laplacian(W, normalized=True):
    degree = W.sum(axis=1)
    return np.eye(len(W)) - W / np.sqrt(np.outer(degree, degree)) if normalized else np.diag(degree) - W


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_least_squares_are_those_of_the_dense_system(kind, power, bias):
    X, _, y = moons(120, 4)
    graph = knn_graph(X, 8)
    clf = estimator(LaplacianRidgeClassifier, laplacian=kind, laplacian_power=power, bias=bias).fit(X, y, graph=graph)
    K = rbf_kernel(X, gamma=1 / (2 * 0.4**2))
    L = np.linalg.matrix_power(laplacian(graph.to_scipy().toarray(), kind == "normalized"), power)
    known = np.flatnonzero(y >= 0)
    signs = 2.0 * y[known] - 1
    # Normal equations in (α, b) of the objective itself, by least squares on its square roots.
    roots = [K[known], np.sqrt(1e-3) * np.linalg.cholesky(K + 1e-12 * np.eye(120)).T]
    values, vectors = np.linalg.eigh(L)
    roots.append(np.sqrt(0.1) * (np.sqrt(np.maximum(values, 0))[:, None] * vectors.T) @ K)
    design = np.vstack(roots)
    ones = np.zeros((len(design), 1))
    ones[: len(known)] = float(bias)
    target = np.concatenate([signs, np.zeros(240)])
    found = np.linalg.lstsq(np.hstack([design, ones]), target, rcond=1e-14)[0]
    np.testing.assert_allclose(clf.decision_function(X), K @ found[:-1] + bias * found[-1], atol=2e-5)
    residual = np.hstack([design, ones]) @ found - target
    np.testing.assert_allclose(clf.objective_, [0.5 * residual @ residual], rtol=1e-5)


def test_without_a_graph_it_is_scikit_learns_machine():
    X, truth, y = moons(200, 15)
    known = y >= 0
    gram = rbf_kernel(X, gamma=1 / (2 * 0.4**2))
    dual = estimator(solver="dual", graph_reg=0, ambient_reg=0.05, bias=True, tol=1e-14).fit(X, y)
    # C = 1 and the Gram matrix over 2·γ_A.
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(gram[known][:, known] / 0.1, y[known])
    np.testing.assert_allclose(dual.decision_function(X), svc.decision_function(gram[:, known] / 0.1), atol=1e-5)
    ridge = estimator(LaplacianRidgeClassifier, graph_reg=0, ambient_reg=0.05).fit(X, y)
    other = KernelRidge(alpha=0.05, kernel="rbf", gamma=1 / (2 * 0.4**2)).fit(X[known], 2.0 * y[known] - 1)
    np.testing.assert_allclose(ridge.decision_function(X), other.predict(X), atol=1e-8)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_moons_are_told_apart_and_new_rows_labeled(kind, solver):
    X, truth, y = moons()
    clf = kind(solver=solver, random_state=0).fit(X, y)
    assert (clf.transduction_ == truth).mean() > 0.95
    new, expected = make_moons(100, noise=0.07, random_state=5)
    assert clf.score(new, expected) > 0.93
    assert clf.decision_function(new).shape == (100,) and clf.scores_.shape == (200, 2)
    np.testing.assert_array_equal(clf.predict(new), (clf.decision_function(new) > 0).astype(int))
    np.testing.assert_allclose(clf.predict_proba(X), clf.label_distributions_, atol=1e-6)
    assert clf.coefficients_.shape == (200, 1) and clf.bias_.shape == clf.objective_.shape == (1,)
    assert clf.reached_.all() and clf.report_["parts"]["lapsvm"]["solver"] == solver
    assert set(clf.report_["chosen"]) >= {"bandwidth", "ambient_reg", "graph_reg", "temperature"}


def test_many_classes_and_kernels():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:900], truth[:900]
    y = hide(truth, 6)
    graph = knn_graph(X, 10)
    for params in [{}, {"kernel": "poly", "degree": 2}, {"kernel": "low-rank", "n_landmarks": 200}, {"solver": "cg"}]:
        clf = LaplacianSVC(random_state=0, **params).fit(X, y, graph=graph)
        assert (clf.transduction_ == truth)[y < 0].mean() > 0.85, params
        assert clf.decision_function(X[:3]).shape == (3, 10) and clf.objective_.shape == (10,)
    linear = LaplacianSVC("linear", random_state=0).fit(X, y, graph=graph)
    assert linear.coefficients_.shape == (64, 10)
    np.testing.assert_allclose(linear.decision_function(X[:5]), X[:5] @ linear.coefficients_, atol=1e-6)
    sparse = LaplacianSVC("linear", random_state=0).fit(sp.csr_array(X), y, graph=graph)
    np.testing.assert_allclose(sparse.scores_, linear.scores_, atol=1e-4)


def test_a_gram_matrix_stands_for_the_features():
    X, _, y = moons()
    graph = knn_graph(X, 8)
    gram = polynomial_kernel(X, degree=2, gamma=1, coef0=0)
    by_gram = estimator(kernel="precomputed").fit(gram, y, graph=graph)
    by_features = estimator(kernel="poly", degree=2).fit(X, y, graph=graph.to_scipy())
    np.testing.assert_allclose(by_gram.scores_, by_features.scores_, atol=1e-8)
    np.testing.assert_allclose(by_gram.decision_function(gram[:7]), by_features.decision_function(X[:7]), atol=1e-8)
    assert by_gram.__sklearn_tags__().input_tags.pairwise
    alone = estimator(kernel="precomputed", graph_reg=0).fit(gram, y)
    same = estimator(kernel="poly", degree=2, graph_reg=0).fit(X, y)
    np.testing.assert_allclose(alone.decision_function(gram), same.decision_function(X), atol=1e-8)
    with pytest.raises(ValueError, match="no graph can be built from a Gram matrix"):
        estimator(kernel="precomputed").fit(gram, y)
    with pytest.raises(ValueError, match="symmetric"):
        estimator(kernel="precomputed").fit(gram + np.triu(np.ones_like(gram), 1), y, graph=graph)
    with pytest.raises(ValueError, match="expected the graph"):
        estimator(affinity="precomputed").fit(X, y)
    distances, indices = kneighbors(X, 8)
    estimator(affinity="precomputed").fit(X, y, graph=(indices, distances))
    with pytest.raises(ValueError, match="graph has 199 nodes, but X has 200 rows"):
        estimator().fit(X, y, graph=graph.to_scipy()[:199, :199])


@pytest.mark.parametrize("spread", [1.5, 3.0])
def test_early_stopping_costs_little_accuracy_with_many_classes(spread):
    """Twenty overlapping classes with five labels each: the problems of the classes become stable at different times."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(20), 75)
    X = 4 * rng.normal(size=(20, 30))[truth] / np.sqrt(spread) + spread * rng.normal(size=(1500, 30))
    y = hide(truth, 5)
    right, steps = {}, {}
    for stopping in ["stability", "gradient"]:
        clf = LaplacianSVC(solver="cg", stopping=stopping, random_state=0).fit(X, y)
        right[stopping] = (clf.transduction_ == truth)[y < 0].mean()
        steps[stopping] = clf.n_iter_
    assert right["gradient"] > 0.3
    assert steps["stability"] < steps["gradient"]
    assert right["stability"] > right["gradient"] - 0.03, (right, steps)


def test_iterations_stop_by_what_they_are_told():
    X, truth, y = moons(600, 10)
    # Checks are √n / 2 iterations apart.
    checked = round(np.sqrt(600) / 2)
    held = make_moons(80, noise=0.07, random_state=3)
    full = estimator(solver="cg", stopping="gradient", tol=1e-10).fit(X, y)
    for stopping in ["stability", "validation", "mixed"]:
        clf = estimator(solver="cg", stopping=stopping)
        given = None if stopping == "stability" else held
        assert clf.fit(X, y, validation=given).n_iter_ <= full.n_iter_ and clf.n_iter_ % checked == 0
        assert (clf.transduction_ == truth).mean() > 0.9
        assert clf.fit(X, y).converged_
    with pytest.raises(ValueError, match="no row of the fit has"):
        clf.fit(X, y, validation=(held[0], held[1] + 7))
    with pytest.raises(TypeError, match=r"a tuple \(X, y\)"):
        clf.fit(X, y, validation=held[0])
    with pytest.warns(UserWarning, match="are not used by solver newton"):
        estimator(stopping="validation").fit(X, y, validation=held)
    with pytest.raises(ValueError, match="1 columns"):
        clf.fit(X, y, validation=(held[0][:, :1], held[1]))
    with pytest.warns(ConvergenceWarning, match="after 3 iterations"):
        short = estimator(solver="cg", stopping="gradient", max_iter=3, warm_start=True).fit(X, y)
    assert not short.converged_
    short.set_params(max_iter=10000).fit(X, y)
    assert short.converged_
    again = short.fit(X, y)
    assert again.n_iter_ <= 5
    # Of a machine of landmarks, or of other rows, there is nothing to start from.
    few = estimator(kernel="low-rank", n_landmarks=20, solver="cg", warm_start=True)
    few.fit(X, y).fit(X, y)
    short.fit(X[:500], y[:500])


def test_models_and_pickles_say_the_same(tmp_path):
    X, truth, y = moons()
    names = np.array(["left", "right"])
    texts = [None if label < 0 else names[label] for label in y]
    for params in [{}, {"kernel": "low-rank", "n_landmarks": 30}, {"kernel": "linear"}, {"graph_reg": 0}]:
        for kind in CLASSIFIERS:
            clf = estimator(kind, **params).fit(X, texts)
            path = tmp_path / "machine.lapwing"
            save_model(clf, path)
            loaded, copied = load_model(path), pickle.loads(pickle.dumps(clf))
            assert type(loaded) is type(copied) is kind
            for other in (loaded, copied):
                np.testing.assert_array_equal(other.predict_proba(X[:9]), clf.predict_proba(X[:9]))
                np.testing.assert_array_equal(other.coefficients_, clf.coefficients_)
            assert set(loaded.predict(X)) <= {"left", "right"}
    assert estimator(graph_reg=0).fit(X, y).coefficients_.shape[0] <= 4


def test_values_are_regressed():
    x = np.linspace(0, 6, 300).reshape(-1, 1)
    truth = 40 + np.sin(x[:, 0])
    y = np.where(np.arange(300) % 12 == 0, truth, np.nan)
    reg = LaplacianRidgeRegressor(random_state=0).fit(x, y)
    assert np.abs(reg.transduction_ - truth).max() < 0.1
    np.testing.assert_allclose(reg.predict(x), reg.transduction_, atol=1e-8)
    assert reg.score(x, truth) > 0.99 and reg.bias_ == pytest.approx(np.nanmean(y))
    cg = LaplacianRidgeRegressor(solver="cg", ambient_reg=1e-3, graph_reg=1e-3, random_state=0).fit(x, y)
    newton = clone(cg).set_params(solver="newton").fit(x, y)
    np.testing.assert_allclose(cg.predict(x), newton.predict(x), atol=1e-3)
    assert cg.objective_ == pytest.approx(newton.objective_, rel=1e-9)


def test_results_do_not_depend_on_threads_and_searches_work():
    X, truth, y = moons(300, 20)
    one, other = (LaplacianSVC(n_jobs=n, random_state=0).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.scores_, other.scores_)
    search = GridSearchCV(
        LaplacianSVC(random_state=0), {"graph_reg": [0.0, 0.1]}, cv=labeled_folds(y, 3)
    )
    assert search.fit(X, y).best_score_ > 0.9


def test_gram_matrices_that_are_not_positive_definite_are_refused():
    X, _, y = moons(40)
    graph = knn_graph(X, n_neighbors=5)
    clf = LaplacianSVC(kernel="precomputed", solver="cg")
    with pytest.raises(np.linalg.LinAlgError, match="Gram matrix is not positive definite"):
        clf.fit(-np.eye(40), y, graph=graph)


def test_landmarks_stand_in_where_asked():
    X, _, y = moons()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = estimator(n_landmarks=40).fit(X, y)
    assert clf.coefficients_.shape == (40, 1) and clf.report_["parts"]["lapsvm"]["storage"] == "landmarks"


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"kernel": "sigmoid"}, ValueError, "rbf, poly, linear, precomputed, low-rank"),
        ({"ambient_reg": 0.0}, ValueError, "ambient_reg is 0"),
        ({"graph_reg": -1}, ValueError, "graph_reg is -1"),
        ({"degree": 0}, ValueError, "degree is 0"),
        ({"degree": 2.5}, TypeError, "degree must be an integer"),
        ({"bias": "yes"}, TypeError, "bias must be True or False"),
        ({"warm_start": "no"}, TypeError, "warm_start must be True or False"),
        ({"degree": 2**32}, ValueError, "degree is 4294967296"),
        ({"kernel": "poly", "degree": 101}, ValueError, "degree is 101"),
        ({"n_landmarks": "many"}, ValueError, "n_landmarks is 'many'"),
        ({"n_landmarks": 0}, ValueError, "n_landmarks is 0"),
        ({"laplacian": "random-walk"}, ValueError, "normalized, combinatorial"),
        ({"laplacian_power": 0}, ValueError, "laplacian_power is 0"),
        ({"solver": "sgd"}, ValueError, "auto, newton, cg, dual"),
        ({"stopping": "never"}, ValueError, "stability, sides, validation, mixed, gradient"),
        ({"affinity": "rbf"}, ValueError, "knn, precomputed"),
        ({"graph_bandwidth": -1.0}, ValueError, "bandwidth is -1"),
    ],
)
def test_bad_parameters_are_named(params, error, match):
    X, _, y = moons(40)
    with pytest.raises(error, match=match):
        LaplacianSVC(**params).fit(X, y)
