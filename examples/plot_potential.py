"""
A potential between two electrodes
==================================

Can the solver behind the labels solve a problem of physics? A plate conducts current between two electrodes,
and contains two insulating and two metallic discs. Its potential is the solution of a Laplacian system on a
grid. ``LaplacianSolver`` solves this system in a number of iterations that hardly depends on the size of the
grid.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from lapwing import LaplacianSolver

# %%
# The plate has conductivity 1, the discs 10⁻⁴ and 10³. Neighboring grid points are joined by the harmonic mean
# of their conductivities. On the left and right edge the potential is given, 1 and 0 (Dirichlet condition).
# Nothing flows through the other two edges (Neumann condition), because no point lies beyond them. The weights
# that join free points to given ones are added to a diagonal d and to the right-hand side: (L + diag(d))·x = b.

DISCS = [(0.3, 0.35, 0.13, 1e-4), (0.68, 0.66, 0.16, 1e-4), (0.68, 0.25, 0.1, 1e3), (0.28, 0.75, 0.12, 1e3)]


def plate(n):
    """Conductivities (n, n); weights among the free points, their diagonal, and the right-hand side."""
    y, x = np.mgrid[0:n, 0:n] / (n - 1)
    conductivity = np.ones((n, n))
    for disc_x, disc_y, radius, value in DISCS:
        conductivity[(x - disc_x) ** 2 + (y - disc_y) ** 2 < radius**2] = value
    points = np.arange(n * n).reshape(n, n)
    left = np.concatenate([points[:, :-1].ravel(), points[:-1].ravel()])
    right = np.concatenate([points[:, 1:].ravel(), points[1:].ravel()])
    a, b = conductivity.ravel()[left], conductivity.ravel()[right]
    weights = sp.coo_array((2 * a * b / (a + b), (left, right)), shape=(n * n, n * n))
    weights = (weights + weights.T).tocsr()
    free, at_one, at_zero = points[:, 1:-1].ravel(), points[:, 0], points[:, -1]
    among, to_one, to_zero = (weights[free][:, ends] for ends in (free, at_one, at_zero))
    return conductivity, among, to_one.sum(axis=1) + to_zero.sum(axis=1), to_one.sum(axis=1)


# %%
# The plain call solves a grid of 300 x 300, and SciPy's direct solver solves it again. The difference comes
# from the default tolerance, a relative residual of 10⁻⁸.

n = 300
conductivity, weights, diagonal, b = plate(n)
solver = LaplacianSolver(weights, diagonal)
x = solver.solve(b)

laplacian = sp.csc_array(sp.diags_array(weights.sum(axis=1) + diagonal) - weights)
difference = np.abs(x - spsolve(laplacian, b)).max()
print(
    f"{solver.preconditioner_}: {solver.info_['iterations'][0]} iterations, residual {solver.info_['residuals'][0]:.1e}"
)
print(f"largest difference to scipy.sparse.linalg.spsolve: {difference:.1e}")

# %%
# The picture shows lines of equal potential, and the current. The current flows around the insulating discs and
# through the metallic ones.

potential = np.hstack([np.ones((n, 1)), x.reshape(n, n - 2), np.zeros((n, 1))])
slopes = np.gradient(potential)
current_y, current_x = (np.ma.masked_where(conductivity < 0.5, -conductivity * slope) for slope in slopes)
place = np.linspace(0, 1, n)
fig, ax = plt.subplots(figsize=(6.6, 5.4), layout="constrained")
shown = ax.imshow(potential, origin="lower", extent=(0, 1, 0, 1), cmap="RdYlBu_r")
ax.contour(place, place, potential, levels=np.arange(0.05, 1, 0.05), colors="white", linewidths=0.7)
ax.contour(place, place, conductivity, levels=[0.5, 2], colors="black", linewidths=1)
ax.streamplot(place, place, current_x, current_y, color="#333333", density=1.1, linewidth=0.7, arrowsize=0.9)
ax.set(xticks=[], yticks=[], xlabel="electrode at 1 on the left, at 0 on the right", xlim=(0, 1), ylim=(0, 1))
fig.colorbar(shown, ax=ax, label="potential")
plt.show()

# %%
# On finer grids we compare the time of both solvers, including the setup, and the number of iterations, also
# with the diagonal alone as a preconditioner. With the diagonal the iterations double when the resolution
# doubles. lapwing uses a complete factor on small grids, which needs one or two iterations, and an approximate
# factor on large grids, which needs about thirty.

sizes = np.array([50, 100, 200, 400, 500])
seconds, iterations = ({"spsolve": [], "LaplacianSolver": []}, {"diagonal alone": [], "LaplacianSolver": []})
for n in sizes:
    _, weights, diagonal, b = plate(n)
    laplacian = sp.csc_array(sp.diags_array(weights.sum(axis=1) + diagonal) - weights)
    start = time.perf_counter()
    spsolve(laplacian, b, permc_spec="MMD_AT_PLUS_A")  # the better order for symmetric matrices
    seconds["spsolve"].append(time.perf_counter() - start)
    start = time.perf_counter()
    solver = LaplacianSolver(weights, diagonal)
    solver.solve(b)
    seconds["LaplacianSolver"].append(time.perf_counter() - start)
    iterations["LaplacianSolver"].append(solver.info_["iterations"][0])
    if n <= 200:
        solver = LaplacianSolver(weights, diagonal, preconditioner="jacobi")
        solver.solve(b)
        iterations["diagonal alone"].append(solver.info_["iterations"][0])

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, curves, unit in ((axes[0], seconds, "seconds"), (axes[1], iterations, "iterations")):
    for (name, values), color in zip(curves.items(), ("#8a8a8a", "#0072b2")):
        ax.loglog((sizes * (sizes - 2))[: len(values)], values, "o-", color=color, label=name)
    ax.set(xlabel="unknowns", ylabel=unit)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
plt.show()

# %%
# **When to use something else.** For a few thousand unknowns any direct solver is good enough. One
# ``LaplacianSolver`` can be used for any number of right-hand sides: give ``solve`` a matrix with a column for
# each. The steps of an implicit heat equation are such systems, where ``diagonal`` is the capacities divided by
# the time step. You can also use the preconditioner in SciPy's iterations:
# ``cg(A, b, M=solver.aslinearoperator(action="precondition"))``. The solver refuses matrices with positive
# off-diagonal entries. There is more in :doc:`/how-to/solve-laplacian-systems` and
# :doc:`/methods/laplacian-solver`.
