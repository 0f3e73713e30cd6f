"""The solvers compared: setup once, then solve for one or ten right-hand sides to a relative residual of 10⁻⁸."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from systems import System

TOL = 1e-8


class OutOfTime(Exception):
    """An iteration went on for longer than the limit."""


class Peer:
    """The interface for the worker; figures that a solver reports go into `notes`."""

    package: str
    about: str

    def __init__(self, limit: float, threads: int) -> None:
        self.limit, self.threads = limit, threads
        self.notes: dict[str, Any] = {}

    def accept(self, system: System) -> Any:
        """The system in the form the solver wants; not timed."""
        return system.matrix()

    def setup(self, matrix: Any) -> Any:
        """Everything that does not depend on a right-hand side."""
        raise NotImplementedError

    def solve(self, prepared: Any, right_sides: np.ndarray) -> np.ndarray:
        """Solutions (n, c), column after column unless the solver takes blocks."""
        self.notes["iterations"] = []
        return np.column_stack([self.solve_one(prepared, np.ascontiguousarray(b)) for b in right_sides.T])

    def solve_one(self, prepared: Any, b: np.ndarray) -> np.ndarray:
        """The solution for one right-hand side."""
        raise NotImplementedError

    def conjugate_gradients(self, matrix: Any, b: np.ndarray, preconditioner: Any) -> np.ndarray:
        """Conjugate gradients of SciPy, ended by the limit."""
        end, count = time.perf_counter() + self.limit, 0

        def each(_: np.ndarray) -> None:
            nonlocal count
            count += 1
            if time.perf_counter() > end:
                raise OutOfTime(f"not there after {count} iterations and {self.limit:.0f} s")

        x, _ = spla.cg(matrix, b, rtol=TOL, atol=0, maxiter=1_000_000, M=preconditioner, callback=each)
        self.notes["iterations"].append(count)
        return x


class Lapwing(Peer):
    """lapwing's solver of one preconditioner, all right-hand sides in one block."""

    package = "lapwing"

    def __init__(self, preconditioner: str, limit: float, threads: int) -> None:
        super().__init__(limit, threads)
        self.preconditioner = preconditioner
        self.about = f'`LaplacianSolver(W, g, preconditioner="{preconditioner}", tol=1e-8)`'

    def accept(self, system: System) -> Any:
        import lapwing

        if not hasattr(lapwing, "LaplacianSolver"):
            raise RuntimeError("this build of lapwing has no LaplacianSolver")
        return system

    def setup(self, matrix: System) -> Any:
        from lapwing import LaplacianSolver

        options = {"preconditioner": self.preconditioner, "tol": TOL, "n_jobs": self.threads}
        return LaplacianSolver(matrix.adjacency, matrix.diagonal, **options)

    def solve(self, prepared: Any, right_sides: np.ndarray) -> np.ndarray:
        solution = prepared.solve(right_sides)
        info = prepared.info_
        self.notes |= {key: info[key] for key in ("iterations", "preconditioners", "fill") if key in info}
        return solution


class Jacobi(Peer):
    """Conjugate gradients of SciPy with the diagonal."""

    package = "scipy"
    about = "`scipy.sparse.linalg.cg` with the inverse diagonal"

    def setup(self, matrix: Any) -> Any:
        return matrix, sp.diags(1 / matrix.diagonal())

    def solve_one(self, prepared: Any, b: np.ndarray) -> np.ndarray:
        return self.conjugate_gradients(prepared[0], b, prepared[1])


class SmoothedAggregation(Peer):
    """Algebraic multigrid of PyAMG inside its conjugate gradients."""

    package = "pyamg"
    about = '`smoothed_aggregation_solver(A).solve(b, accel="cg")`'

    def setup(self, matrix: Any) -> Any:
        import pyamg

        return pyamg.smoothed_aggregation_solver(matrix)

    def solve_one(self, prepared: Any, b: np.ndarray) -> np.ndarray:
        residuals: list[float] = []
        x = prepared.solve(b, tol=TOL, maxiter=1000, accel="cg", residuals=residuals)
        self.notes["iterations"].append(len(residuals) - 1)
        return x


class ApproxChol(Peer):
    """approx-chol, a factor in Rust, inside conjugate gradients of SciPy."""

    package = "approx-chol"

    def __init__(self, split: int | None, limit: float, threads: int) -> None:
        super().__init__(limit, threads)
        self.split = split
        self.about = f"`approx_chol.factorize`, split={split}, as the preconditioner of `scipy.sparse.linalg.cg`"

    def setup(self, matrix: Any) -> Any:
        import approx_chol

        return matrix, approx_chol.factorize(sp.csr_array(matrix), approx_chol.Config(seed=0, split=self.split))

    def solve_one(self, prepared: Any, b: np.ndarray) -> np.ndarray:
        matrix, factor = prepared
        return self.conjugate_gradients(matrix, b, factor)


class Apxchol(Peer):
    """apxchol, a parallel factor in C++ with its own conjugate gradients."""

    package = "apxchol"
    about = "`apxchol.factorize(A, keep_factor=False).solve(b, rtol=1e-8)`"

    def setup(self, matrix: Any) -> Any:
        import apxchol

        return apxchol.factorize(matrix, keep_factor=False)

    def solve_one(self, prepared: Any, b: np.ndarray) -> np.ndarray:
        result = prepared.solve(b, rtol=TOL, maxiter=10_000)
        self.notes["iterations"].append(result.iters)
        self.notes["claimed_residual"] = result.residual
        return result.x


class Cholmod(Peer):
    """Sparse Cholesky of CHOLMOD through cholespy; in a singular system, the last node is fixed at zero."""

    package = "cholespy"
    about = "`cholespy.CholeskySolverD` (CHOLMOD with its own BLAS), all right-hand sides in one block"

    def accept(self, system: System) -> Any:
        matrix = system.matrix().tocsr()
        self.nodes = matrix.shape[0]
        return matrix[:-1, :-1].tocsr() if system.singular else matrix

    def setup(self, matrix: Any) -> Any:
        from cholespy import CholeskySolverD, MatrixType

        indptr, indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
        return CholeskySolverD(matrix.shape[0], indptr, indices, matrix.data, MatrixType.CSR), matrix.shape[0]

    def solve(self, prepared: Any, right_sides: np.ndarray) -> np.ndarray:
        factor, size = prepared
        x = np.zeros((self.nodes, right_sides.shape[1]))
        held = np.zeros((size, right_sides.shape[1]))
        factor.solve(np.ascontiguousarray(right_sides[:size]), held)
        x[:size] = held
        return x


PEERS: dict[str, Callable[[float, int], Peer]] = {
    "lapwing": partial(Lapwing, "auto"),
    "lapwing-approx-cholesky": partial(Lapwing, "approx-cholesky"),
    "lapwing-jacobi": partial(Lapwing, "jacobi"),
    "apxchol": Apxchol,
    "approx-chol": partial(ApproxChol, None),
    "approx-chol-2": partial(ApproxChol, 2),
    "pyamg": SmoothedAggregation,
    "scipy-jacobi": Jacobi,
    "cholmod": Cholmod,
}
DEFAULT = ["lapwing", "apxchol", "approx-chol", "approx-chol-2", "pyamg", "scipy-jacobi", "cholmod"]
QUICK = ["lapwing", "apxchol", "approx-chol"]
