"""Products and systems of the peers, in single precision: by SciPy, whose sparse products take one thread, or PyTorch.

    H·Z = B for many columns by conjugate gradients, Jacobi-preconditioned, each column with steps of its own.

The Jacobi preconditioner is applied by scaling the matrix beforehand. Blocks of columns fit the cache: on 170,000 nodes, a
product takes 0.9 ms a column in blocks of ten, and three times that with forty at once.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

import objective
from problem import Problem, narrow

CACHE = 8 << 20
"""Bytes of one of the arrays of a block of columns, about."""
TOL = 1e-6
"""Relative residual that is always enough."""
MAX_ITER = 1000


class Engine(ABC):
    """XW, XᵀU and H⁻¹B of a problem."""

    package: str

    def __init__(self, problem: Problem, graph_reg: float) -> None:
        matrix, scales = objective.system(problem.graph, graph_reg)
        self.n_nodes, self.n_features = problem.features.shape
        self.features = problem.features
        self.iterations = 0
        """Of conjugate gradients, times columns."""
        self._scales = scales.astype(np.float32)[:, None]
        self._block = int(np.clip(CACHE // (4 * self.n_nodes), 4, 64))
        self._prepare(narrow(matrix.astype(np.float32)))

    def solve(
        self, rhs: np.ndarray, start: np.ndarray | None = None, tol: float = TOL, reduce: float = 0.0
    ) -> np.ndarray:
        """H⁻¹B (n, c) from a start near it, until residuals are `tol` of B or `reduce` of those of the start."""
        solution = np.empty(rhs.shape, np.float32)
        count = -(-rhs.shape[1] // self._block)
        for block in np.array_split(np.arange(rhs.shape[1]), count):
            columns = slice(block[0], block[-1] + 1)
            first = None if start is None else start[:, columns] / self._scales
            found = self._conjugate(self._scales * rhs[:, columns], first, tol, reduce)
            np.multiply(found, self._scales, out=solution[:, columns])
        return solution

    @abstractmethod
    def forward(self, layer: np.ndarray) -> np.ndarray:
        """XW (n, c)."""

    @abstractmethod
    def backward(self, states: np.ndarray) -> np.ndarray:
        """XᵀU (d, c)."""

    @abstractmethod
    def _prepare(self, matrix: sp.csr_array) -> None:
        """Take the scaled H, and the features."""

    @abstractmethod
    def _conjugate(self, rhs: np.ndarray, start: np.ndarray | None, tol: float, reduce: float) -> np.ndarray:
        """A block of columns of the scaled system."""


class SciPy(Engine):
    """Products of `scipy.sparse`, the rest by NumPy."""

    package = "scipy"

    def _prepare(self, matrix: sp.csr_array) -> None:
        self._matrix = matrix
        features = self.features
        # Reading rows of the transpose in order is faster than scattering.
        self._transposed = narrow(sp.csr_array(features.T)) if sp.issparse(features) else features.T

    def forward(self, layer: np.ndarray) -> np.ndarray:
        return self.features @ layer.astype(np.float32)

    def backward(self, states: np.ndarray) -> np.ndarray:
        return self._transposed @ states

    def _conjugate(self, rhs: np.ndarray, start: np.ndarray | None, tol: float, reduce: float) -> np.ndarray:
        solution = np.zeros_like(rhs) if start is None else start
        residuals = rhs.copy() if start is None else rhs - self._matrix @ start
        squares = _squares(residuals)
        goals = np.maximum(tol**2 * _squares(rhs), reduce**2 * squares)
        direction = residuals.copy()
        for _ in range(MAX_ITER):
            if (squares <= goals).all():
                break
            product = self._matrix @ direction
            steps = objective.ratio(squares, np.einsum("ij,ij->j", direction, product))
            solution += steps * direction
            residuals -= steps * product
            new = _squares(residuals)
            direction *= objective.ratio(new, squares)
            direction += residuals
            squares = new
            self.iterations += rhs.shape[1]
        return solution


def _squares(columns: np.ndarray) -> np.ndarray:
    """Squared lengths (c)."""
    return np.einsum("ij,ij->j", columns, columns)


class Torch(Engine):
    """Products and all arithmetic on long arrays by PyTorch, whose sparse products take all threads."""

    package = "torch"

    def _prepare(self, matrix: sp.csr_array) -> None:
        import torch

        self._torch: Any = torch
        self._matrix = self._sparse(matrix)
        if sp.issparse(self.features):
            self._features = self._sparse(self.features)
            self._transposed = self._sparse(narrow(sp.csr_array(self.features.T)))
        else:
            self._features = torch.from_numpy(self.features)
            self._transposed = self._features.T

    def _sparse(self, matrix: sp.csr_array) -> Any:
        parts = map(self._torch.from_numpy, (matrix.indptr, matrix.indices, matrix.data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns that its sparse matrices are in beta
            return self._torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=False)

    def forward(self, layer: np.ndarray) -> np.ndarray:
        product: np.ndarray = (self._features @ self._torch.from_numpy(layer.astype(np.float32))).numpy()
        return product

    def backward(self, states: np.ndarray) -> np.ndarray:
        product: np.ndarray = (self._transposed @ self._torch.from_numpy(states)).numpy()
        return product

    def _conjugate(self, rhs: np.ndarray, start: np.ndarray | None, tol: float, reduce: float) -> np.ndarray:
        torch = self._torch
        given = torch.from_numpy(np.ascontiguousarray(rhs))
        solution = torch.zeros_like(given) if start is None else torch.from_numpy(np.ascontiguousarray(start))
        residuals = given.clone() if start is None else given - self._matrix @ solution
        squares = residuals.square().sum(0)
        goals = torch.maximum(tol**2 * given.square().sum(0), reduce**2 * squares)
        direction = residuals.clone()
        for _ in range(MAX_ITER):
            if bool((squares <= goals).all()):
                break
            product = self._matrix @ direction
            steps = self._ratio(squares, (direction * product).sum(0))
            solution.addcmul_(steps, direction)
            residuals.addcmul_(steps, product, value=-1)
            new = residuals.square().sum(0)
            direction.mul_(self._ratio(new, squares)).add_(residuals)
            squares = new
            self.iterations += rhs.shape[1]
        found: np.ndarray = solution.numpy()
        return found

    def _ratio(self, above: Any, below: Any) -> Any:
        return self._torch.where(below > 0, above / below, 0.0)


ENGINES: dict[str, type[Engine]] = {"numpy": SciPy, "torch": Torch}
