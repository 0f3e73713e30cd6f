"""Systems of graph Laplacians."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from . import _lapwing
from ._control import Callback, Seed, Unpack, run_control
from ._inputs import csr_parts
from ._parameters import NamedParameters, documented
from ._signatures import LAPLACIAN_SOLVER_PARAMETERS, LaplacianSolverOptions
from ._warnings import warn


@documented
class LaplacianSolver(NamedParameters):
    """Solve (L + diag(diagonal))·x = b, with L = D − W the Laplacian of a symmetric non-negative W.

    The preconditioner is built once and serves any number of right-hand sides, which are solved as a block by
    conjugate gradients. Without a diagonal L is singular on each connected component: the part of b that is constant
    there is dropped and reported, and the solution of least norm is returned.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lapwing import LaplacianSolver
    >>> path = sp.diags_array([np.ones(4), np.ones(4)], offsets=[-1, 1])
    >>> x = LaplacianSolver(path).solve([1.0, 0.0, 0.0, 0.0, -1.0])
    >>> (x - x[-1]).round(6).tolist()
    [4.0, 3.0, 2.0, 1.0, 0.0]
    """

    _parameters_doc = LAPLACIAN_SOLVER_PARAMETERS
    _regularization: float | None = None

    info_: Annotated[dict[str, Any], """dict
        After the preparation `setup_seconds`, `fill` (entries of the factor), `bytes`, `n_singular_components`; after a
        solve also, of the last one, `iterations` and recomputed `residuals` of each column, `converged`, `reason`,
        `discarded` (share of each b that is outside of the range), `preconditioners` used, `residual_curve`,
        `solve_seconds`."""]
    preconditioner_: Annotated[str, """str
        The preconditioner in use."""]
    shape: tuple[int, int]

    def __init__(
        self,
        adjacency: Any,
        diagonal: ArrayLike | None = None,
        *,
        preconditioner: Literal["auto", "jacobi", "two-level", "approx-cholesky", "cholesky", "none"] = "auto",
        tol: float = 1e-8,
        max_iter: int = 10_000,
        max_fill: float = 32.0,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        callback: Callback | None = None,
    ) -> None:
        given = None if diagonal is None else np.ascontiguousarray(diagonal, dtype=np.float64)
        if given is not None and given.ndim != 1:
            raise ValueError(f"diagonal has shape {given.shape}; expected one value per row")
        parameters = {"preconditioner": preconditioner, "tol": tol, "max_iter": max_iter, "max_fill": max_fill}
        if hasattr(adjacency, "to_scipy"):
            adjacency = adjacency.to_scipy()
        self._control = run_control(n_jobs, random_state, verbose, callback)
        parts = csr_parts(adjacency, np.float64)
        self._solver = _lapwing.Solver(parts, given, self._regularization, parameters, self._control)
        self.info_ = self._solver.facts()
        self.preconditioner_ = self.info_["preconditioner"]
        self.shape = (self.info_["n_samples"], self.info_["n_samples"])

    @classmethod
    def normalized(cls, adjacency: Any, regularization: float, **options: Unpack[LaplacianSolverOptions]) -> LaplacianSolver:
        """Solver of (I + regularization·L̂)·x = b with L̂ = I − D^(−1/2)·W·D^(−1/2).

        Parameters
        ----------
        adjacency : sparse matrix, Graph or array-like of shape (n_samples, n_samples)
            W, as for the class.
        regularization : float >= 0
            The weight of L̂.
        **options
            Parameters of the class: `preconditioner`, `tol`, `max_iter`, `max_fill`, `random_state`, `n_jobs`, `verbose` and
            `callback`.

        Returns
        -------
        LaplacianSolver
            The solver of that system.

        Examples
        --------
        >>> import numpy as np
        >>> from lapwing import LaplacianSolver
        >>> LaplacianSolver.normalized(np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0).solve([3.0, 0.0]).round(6).tolist()
        [2.0, 1.0]
        """
        solver = cls.__new__(cls, adjacency, **options)
        solver._regularization = float(regularization)
        cls.__init__(solver, adjacency, **options)
        return solver

    def solve(self, B: ArrayLike, x0: ArrayLike | None = None) -> NDArray[np.float64]:
        """Solution for the right-hand sides B.

        Parameters
        ----------
        B : array-like of shape (n_samples,) or (n_samples, n_columns)
            Right-hand sides.
        x0 : array-like of the shape of B or None, default=None
            Where to start; None is zero.

        Returns
        -------
        ndarray of the shape of B
            The solution, column by column.

        Warns
        -----
        ConvergenceWarning
            If a column reached neither `tol` nor the least residual that f64 allows (reason "rounding"); what was
            reached is in ``info_["residuals"]``.
        """
        b, start = np.asarray(B, dtype=np.float64), None if x0 is None else np.asarray(x0, dtype=np.float64)
        if b.ndim not in (1, 2):
            raise ValueError(f"B has {b.ndim} dimensions; expected one or two")
        if start is not None and start.shape != b.shape:
            raise ValueError(f"x0 has shape {start.shape}; expected {b.shape}, as B")
        x, info = self._solver.solve(_block(b), None if start is None else _block(start), self._control)
        self.info_ = {**self._solver.facts(), **info}
        if not info["converged"]:
            worst = max(info["residuals"])
            warn(
                f"stopped ({info['reason']}) after {max(info['iterations'])} iterations at relative residual {worst:.1e}; "
                "raise max_iter or tol",
                ConvergenceWarning,
            )
        return x.reshape(b.shape)

    def precondition(self, R: ArrayLike) -> NDArray[np.float64]:
        """Apply the preconditioner once.

        Parameters
        ----------
        R : array-like of shape (n_samples,) or (n_samples, n_columns)
            Vectors.

        Returns
        -------
        ndarray of the shape of R
            The preconditioned vectors.
        """
        r = np.asarray(R, dtype=np.float64)
        return self._solver.precondition(_block(r), self._control).reshape(r.shape)

    def aslinearoperator(self, *, action: Literal["solve", "precondition"] = "solve") -> LinearOperator:
        """The solver as a `scipy.sparse.linalg.LinearOperator` of shape (n_samples, n_samples).

        Parameters
        ----------
        action : {"solve", "precondition"}, default="solve"
            Effect on a vector: solve to `tol`, or apply the preconditioner once, as SciPy's iterations need it for M.

        Returns
        -------
        LinearOperator of shape (n_samples, n_samples)
            An operator that calls this solver.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> from scipy.sparse.linalg import cg
        >>> from lapwing import LaplacianSolver
        >>> W = sp.diags_array([np.ones(99), np.ones(99)], offsets=[-1, 1]).tocsr()
        >>> ground = np.zeros(100); ground[0] = 1.0
        >>> A = sp.diags_array(W.sum(axis=1) + ground) - W
        >>> M = LaplacianSolver(W, ground).aslinearoperator(action="precondition")
        >>> x, status = cg(A, np.ones(100), M=M, maxiter=5)
        >>> status
        0
        """
        actions = {"solve": self.solve, "precondition": self.precondition}
        if action not in actions:
            raise ValueError(f"action is {action!r}; expected 'solve' or 'precondition'")
        apply = actions[action]
        return LinearOperator(self.shape, matvec=apply, rmatvec=apply, matmat=apply, rmatmat=apply, dtype=np.float64)

    def __repr__(self) -> str:
        return f"LaplacianSolver(n_samples={self.shape[0]}, preconditioner={self.preconditioner_!r})"


def _block(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(values if values.ndim == 2 else values.reshape(-1, 1))
