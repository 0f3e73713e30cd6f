"""Unfolded graph networks: against a dense twin, and as estimators."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from datasets import hide
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning

from lapwing import UnfoldedGNNClassifier, UnfoldedGNNRegressor, load_model, save_model
from lapwing.graph import kneighbors, knn_graph


def problem(n=120, d=6, seed=0):
    """Nodes of three classes, most edges within a class: features, classes, a weighted graph."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + 1.5 * np.eye(3, d)[truth]
    rows, columns = rng.integers(0, n, (2, 8 * n))
    kept = (rows != columns) & ((truth[rows] == truth[columns]) | (rng.random(8 * n) < 0.1))
    A = sp.coo_array((rng.random(8 * n)[kept] + 0.5, (rows[kept], columns[kept])), shape=(n, n)).tocsr()
    return X, truth, (A + A.T).tocsr()


def system(A, reg, loop=1.0):
    """H, dense."""
    degree = A.sum(axis=1)
    root = 1 / np.sqrt(degree + loop)
    laplacian = root[:, None] * (np.diag(degree) - A.toarray()) * root
    return np.eye(A.shape[0]) + reg * laplacian


def loss(Z, y, W, b, ridge):
    known = y >= 0
    value = (logsumexp(Z[known], axis=1) - Z[known, y[known]]).sum()
    return value + 0.5 * ridge * ((W**2).sum() + (b**2).sum())


@pytest.mark.parametrize("reg", [1.0, 20.0])
def test_squares_are_those_of_the_dense_system(reg):
    X, truth, A = problem()
    y = hide(truth, 12)
    weights = np.linspace(0.5, 2, len(y))
    clf = UnfoldedGNNClassifier(reg, loss="mse", l2_reg=0.3, tol=1e-12).fit(X, y, weights, graph=A)
    H = system(A, reg)
    Q = np.linalg.solve(H, np.hstack([X, np.ones((len(X), 1))]))
    known = y >= 0
    M = weights[known, None]
    W = np.linalg.solve(Q[known].T @ (M * Q[known]) + 0.3 * np.eye(7), Q[known].T @ (M * np.eye(3)[y[known]]))
    np.testing.assert_allclose(clf.layer_weights_, W[:-1], atol=1e-5)
    np.testing.assert_allclose(clf.bias_, W[-1], atol=1e-5)
    np.testing.assert_allclose(clf.scores_, Q @ W, atol=1e-5)
    best = 0.5 * (M * (Q[known] @ W - np.eye(3)[y[known]]) ** 2).sum() + 0.15 * (W**2).sum()
    np.testing.assert_allclose(clf.loss_curve_[-1], best, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free"])
def test_cross_entropy_is_at_its_optimum(solver):
    X, truth, A = problem()
    y = hide(truth, 12)
    clf = UnfoldedGNNClassifier(5.0, l2_reg=0.1, solver=solver, tol=1e-9, random_state=0).fit(X, y, graph=A)
    Z = np.linalg.solve(system(A, 5.0), X @ clf.layer_weights_ + clf.bias_)
    np.testing.assert_allclose(clf.scores_, Z, atol=1e-5)
    np.testing.assert_allclose(clf.loss_curve_[-1], loss(Z, y, clf.layer_weights_, clf.bias_, 0.1), rtol=1e-7)
    known = y >= 0
    R = np.zeros_like(Z)
    R[known] = np.exp(Z[known] - logsumexp(Z[known], axis=1)[:, None]) - np.eye(3)[y[known]]
    gradient = X.T @ np.linalg.solve(system(A, 5.0), R) + 0.1 * clf.layer_weights_
    assert np.abs(gradient).max() < 1e-3
    assert clf.converged_ and clf.residual_ <= 1e-9
    Z /= clf.report_["chosen"]["temperature"]
    np.testing.assert_allclose(clf.label_distributions_, np.exp(Z - logsumexp(Z, axis=1)[:, None]), atol=1e-4)


def test_the_unfolding_is_its_recursion():
    X, truth, A = problem()
    clf = UnfoldedGNNClassifier(2.0, steps=4, loss="mse", tol=1e-9).fit(X, hide(truth, 12), graph=A)
    F = X @ clf.layer_weights_ + clf.bias_
    Z, H = F.copy(), system(A, 2.0)
    for _ in range(4):
        Z -= (H @ Z - F) / 3
    np.testing.assert_allclose(clf.scores_, Z, atol=1e-10)


def test_report_and_curve():
    X, truth, A = problem()
    clf = UnfoldedGNNClassifier(solver="herta", loss="mse", edges=0.8).fit(X, truth, graph=A)
    part = clf.report_["parts"]["unfolded"]
    assert part["solver"] == "herta" and part["optimizer"] == "cg"
    assert 0 < part["n_kept_edges"] < A.nnz // 2 and part["effective_dimension"] > 0
    assert part["condition"] >= 1 and part["edge_passes"] > 0
    assert len(part["loss"]) == len(part["seconds"]) == clf.n_iter_ + 1 == len(clf.loss_curve_)
    assert np.all(np.diff(part["loss"]) <= 1e-6 * part["loss"][0]) and np.all(np.diff(part["seconds"]) >= 0)
    auto = UnfoldedGNNClassifier(loss="mse").fit(X, truth, graph=A).report_
    names = [route["solver"] for route in auto["parts"]["unfolded"]["routes"]]
    assert auto["chosen"]["solver"] == names[0] and "l2_reg" in auto["chosen"]


def test_new_nodes_take_another_graph():
    X, truth, A = problem(180)
    old = np.arange(120)
    clf = UnfoldedGNNClassifier(5.0).fit(X[old], hide(truth[old], 15), graph=A[old][:, old])
    assert (clf.predict(X, graph=A)[120:] == truth[120:]).mean() > 0.85
    np.testing.assert_array_equal(clf.predict(X[old], graph=A[old][:, old]), clf.transduction_)
    scores = clf.decision_function(X[120:])
    np.testing.assert_allclose(scores, X[120:] @ clf.layer_weights_ + clf.bias_, atol=1e-9)
    with pytest.raises(ValueError, match="60 nodes"):
        clf.predict(X[120:], graph=A)
    with pytest.raises(ValueError, match="features"):
        clf.predict(X[:, :3], graph=A)


def test_features_alone_make_their_graph(tmp_path):
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:900], truth[:900]
    y = hide(truth, 5)
    y[600:] = -1
    clf = UnfoldedGNNClassifier(10.0, random_state=0).fit(X[:600], y[:600])
    assert (clf.transduction_ == truth[:600]).mean() > 0.9
    found = clf.predict(X[600:])
    assert (found == truth[600:]).mean() > 0.75
    given = UnfoldedGNNClassifier(10.0, affinity="precomputed").fit(X[:600], y[:600], graph=knn_graph(X[:600], 15))
    np.testing.assert_array_equal(given.transduction_, clf.transduction_)
    distances, indices = kneighbors(X[:600], 15)
    near = clone(given).fit(X[:600], y[:600], graph=(indices, distances))
    assert (near.transduction_ == clf.transduction_).mean() > 0.99
    for copy in (pickle.loads(pickle.dumps(clf)), clf):
        np.testing.assert_array_equal(copy.predict(X[600:]), found)
    save_model(clf, tmp_path / "digits.lapwing")
    loaded = load_model(tmp_path / "digits.lapwing")
    assert isinstance(loaded, UnfoldedGNNClassifier)
    np.testing.assert_array_equal(loaded.predict(X[600:]), found)
    np.testing.assert_array_equal(loaded.layer_weights_, clf.layer_weights_)


def test_a_hidden_layer_and_attention():
    X, truth = make_moons(300, noise=0.1, random_state=0)
    clf = UnfoldedGNNClassifier(1.0, hidden=16, l2_reg=0.01, random_state=0).fit(X, truth)
    assert clf.score(X, truth) > 0.97 and len(clf.layer_weights_) == 2
    assert clf.layer_weights_[0].shape == (2, 16) and clf.bias_[1].shape == (2,)
    X, truth, A = problem()
    clf = UnfoldedGNNClassifier(5.0, attention=1.0).fit(X, hide(truth, 10), graph=A)
    assert (clf.transduction_ == truth).mean() > 0.9


@pytest.mark.parametrize("loss", ["mse", "cross-entropy"])
def test_a_hidden_layer_learns_from_few_labels_in_any_unit(loss):
    X, truth, A = problem()
    few = hide(truth, 10)
    clf = UnfoldedGNNClassifier(1.0, loss=loss, hidden=16, random_state=0).fit(X, few, graph=A)
    other = UnfoldedGNNClassifier(1.0, loss=loss, hidden=16, random_state=0).fit(X / 1024, few, graph=A)
    linear = UnfoldedGNNClassifier(1.0, loss=loss).fit(X, few, graph=A)
    right = lambda one: (one.transduction_ == truth).mean()  # noqa: E731
    assert right(clf) > right(linear) - 0.03
    assert right(other) > right(clf) - 0.02 and (other.transduction_ == clf.transduction_).mean() > 0.97


def test_values_and_soft_labels():
    X, truth, A = problem()
    values = np.where(np.arange(len(X)) % 2 == 0, 100 + truth, np.nan)
    reg = UnfoldedGNNRegressor(l2_reg=1.0).fit(X, values, graph=A)
    assert abs(reg.transduction_ - 100 - truth).mean() < 0.5
    assert reg.predict(X, graph=A).shape == (len(X),)
    shares = np.where((np.arange(len(X)) < 60)[:, None], 0.1 + 0.7 * np.eye(3)[truth], 0.0)
    clf = UnfoldedGNNClassifier(l2_reg=1e-3).fit(X, shares, graph=A)
    assert abs(clf.label_distributions_[:60] - shares[:60]).mean() < 0.25


def test_sparse_features_are_the_dense_ones():
    X, truth, A = problem()
    X = np.where(np.abs(X) > 1, X, 0).astype(np.float32)
    dense = UnfoldedGNNClassifier(tol=1e-8).fit(X, hide(truth, 10), graph=A)
    sparse = UnfoldedGNNClassifier(tol=1e-8).fit(sp.csr_array(X), hide(truth, 10), graph=A)
    np.testing.assert_allclose(sparse.scores_, dense.scores_, atol=2e-3)
    np.testing.assert_array_equal(sparse.transduction_, dense.transduction_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"graph_reg": -1.0}, "graph_reg is -1;"),
        ({"l2_reg": -1.0}, "l2_reg is -1;"),
        ({"loss": "hinge"}, "cross-entropy, mse"),
        ({"solver": "sgd"}, "rough-pcg"),
        ({"optimizer": "cg"}, "optimizer is cg;"),
        ({"steps": "many"}, "steps is 'many'"),
        ({"steps": 0}, "steps is 0;"),
        ({"edges": 1.5}, "edges is 1.5;"),
        ({"attention": 2.0}, "attention is 2;"),
        ({"affinity": "precomputed"}, "graph="),
        ({"tol": 0.0}, "tol is 0;"),
    ],
)
def test_what_cannot_be_is_named(params, message):
    X, truth, A = problem(30)
    graph = None if "affinity" in params else A
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        UnfoldedGNNClassifier(**params).fit(X, truth, graph=graph)


def test_graphs_that_do_not_fit():
    X, truth, A = problem(30)
    with pytest.raises(ValueError, match="graph has 20 nodes, but X has 30 rows"):
        UnfoldedGNNClassifier().fit(X, truth, graph=A[:20][:, :20])
    with pytest.raises(ValueError, match="[Nn]egative"):
        UnfoldedGNNClassifier().fit(X, truth, graph=-A)
    with pytest.raises(ValueError, match="mirror|symmetric"):
        UnfoldedGNNClassifier().fit(X, truth, graph=sp.triu(A).tocsr())


def test_too_few_iterations_are_said():
    X, truth, A = problem()
    with pytest.warns(ConvergenceWarning, match="suboptimality"):
        clf = UnfoldedGNNClassifier(solver="adam", max_iter=3).fit(X, truth, graph=A)
    assert not clf.converged_


def test_the_weight_of_smoothness_is_chosen(tmp_path):
    X, truth, A = problem()
    y = hide(truth, 6)
    clf = UnfoldedGNNClassifier(random_state=0).fit(X, y, graph=A)
    tried = clf.report_["chosen"]["cross_validation"]
    assert [row["graph_reg"] for row in tried] == [1, 2, 5, 10, 20]
    assert clf.graph_reg_ == clf.report_["chosen"]["graph_reg"]
    given = UnfoldedGNNClassifier(clf.graph_reg_, random_state=0).fit(X, y, graph=A)
    np.testing.assert_array_equal(given.scores_, clf.scores_)
    save_model(clf, tmp_path / "nodes.lapwing")
    assert load_model(tmp_path / "nodes.lapwing").graph_reg_ == clf.graph_reg_
    # Two labels a class: nothing to choose by.
    few = UnfoldedGNNClassifier(random_state=0).fit(X, hide(truth, 2), graph=A)
    assert few.graph_reg_ == 10 and "cross_validation" not in few.report_["chosen"]
    values = np.where(np.arange(len(X)) % 3 == 0, X[:, 0], np.nan)
    reg = UnfoldedGNNRegressor(random_state=0).fit(X, values, graph=A)
    assert reg.graph_reg_ == reg.report_["chosen"]["graph_reg"] == 1
