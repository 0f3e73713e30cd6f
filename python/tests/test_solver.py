"""LaplacianSolver against dense solutions, and what it says of systems it cannot solve."""

import numpy as np
import pytest
import scipy.sparse as sp
from lapwing import LaplacianSolver
from lapwing.graph import Graph
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning


def random_graph(n: int, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    upper = sp.random_array((n, n), density=6 / n, rng=rng, format="coo")
    chain = sp.diags_array(np.ones(n - 1), offsets=1)
    upper = sp.triu(upper, 1) + chain
    return sp.csr_array(upper + upper.T)


def laplacian(W: sp.csr_array) -> np.ndarray:
    return np.diag(W.sum(axis=1)) - W.toarray()


@pytest.mark.parametrize("preconditioner", ["auto", "jacobi", "approx-cholesky", "cholesky", "none"])
def test_solutions_are_those_of_numpy(preconditioner):
    W = random_graph(300, 1)
    diagonal = np.where(np.arange(300) % 10 == 0, 2.0, 0.0)
    B = np.random.default_rng(0).normal(size=(300, 4))
    solver = LaplacianSolver(W, diagonal, preconditioner=preconditioner, tol=1e-12)
    expected = np.linalg.solve(laplacian(W) + np.diag(diagonal), B)
    np.testing.assert_allclose(solver.solve(B), expected, atol=1e-8)
    np.testing.assert_allclose(solver.solve(B[:, 2]), expected[:, 2], atol=1e-8)
    assert solver.info_["converged"]
    assert len(solver.info_["iterations"]) == 1
    singular = LaplacianSolver(W, preconditioner=preconditioner, tol=1e-12)
    np.testing.assert_allclose(singular.solve(B), np.linalg.pinv(laplacian(W)) @ B, atol=1e-8)
    np.testing.assert_allclose(singular.info_["discarded"], np.abs(B.mean(axis=0)) * np.sqrt(300) / np.linalg.norm(B, axis=0))


def test_normalized_systems():
    W = random_graph(200, 2)
    degree = W.sum(axis=1)
    scaled = np.diag(degree**-0.5) @ W.toarray() @ np.diag(degree**-0.5)
    b = np.random.default_rng(1).normal(size=200)
    solver = LaplacianSolver.normalized(W, 3.0, tol=1e-12)
    np.testing.assert_allclose(solver.solve(b), np.linalg.solve(np.eye(200) + 3.0 * (np.eye(200) - scaled), b), atol=1e-9)


def test_linear_operators_solve_and_precondition():
    W = random_graph(250, 3)
    solver = LaplacianSolver(Graph.from_scipy(W), np.ones(250))
    inverse = solver.aslinearoperator()
    assert isinstance(inverse, LinearOperator)
    B = np.random.default_rng(2).normal(size=(250, 3))
    np.testing.assert_allclose(inverse @ B, solver.solve(B))
    M = solver.aslinearoperator(action="precondition")
    dense = M @ np.eye(250)
    np.testing.assert_allclose(dense, dense.T, atol=1e-12)
    assert np.linalg.eigvalsh(dense).min() > 0
    with pytest.raises(ValueError, match="action is 'multiply'"):
        solver.aslinearoperator(action="multiply")


def test_threads_do_not_change_bits():
    W = random_graph(5000, 4)
    b = np.random.default_rng(3).normal(size=5000)
    one, two = (LaplacianSolver(W, preconditioner="approx-cholesky", n_jobs=jobs).solve(b) for jobs in (1, 2))
    assert (one == two).all()


def test_warm_starts_cost_nothing():
    W = random_graph(1000, 5)
    b = np.random.default_rng(4).normal(size=1000)
    solver = LaplacianSolver(W, np.full(1000, 0.1))
    x = solver.solve(b)
    solver.solve(b, x0=x)
    assert solver.info_["iterations"] == [0]
    with pytest.raises(ValueError, match="x0 has shape"):
        solver.solve(b, x0=x[:-1])


def test_what_is_not_reached_is_said():
    path = sp.diags_array([np.ones(2999), np.ones(2999)], offsets=[-1, 1]).tocsr()
    b = np.zeros(3000)
    b[0], b[-1] = 1.0, -1.0
    solver = LaplacianSolver(path, preconditioner="jacobi", max_iter=20)
    with pytest.warns(ConvergenceWarning, match="max-iter"):
        solver.solve(b)
    assert not solver.info_["converged"]
    assert solver.info_["residuals"][0] > 1e-8


def test_bad_systems_are_named():
    with pytest.raises(ValueError, match=r"edge \(0, 1\) has weight 1 but \(1, 0\) has 2"):
        LaplacianSolver(np.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(ValueError, match="row 1 of diagonal holds -1"):
        LaplacianSolver(np.ones((2, 2)), [1.0, -1.0])
    with pytest.raises(ValueError, match="preconditioner"):
        LaplacianSolver(np.ones((2, 2)), preconditioner="ilu")
    with pytest.raises(ValueError, match="tol is 2"):
        LaplacianSolver(np.ones((2, 2)), tol=2.0)
    solver = LaplacianSolver(np.ones((2, 2)))
    with pytest.raises(ValueError, match="right-hand side"):
        solver.solve(np.ones(3))
    with pytest.raises(ValueError, match="row 1 of right-hand side holds NaN"):
        solver.solve([1.0, np.nan])
