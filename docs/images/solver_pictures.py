"""Pictures of sparsifiers and of the Laplacian solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import rows
import style
from matplotlib.figure import Figure
from scipy import sparse

from lapwing import HarmonicClassifier, LaplacianSolver, SparseHarmonicClassifier
from lapwing.graph import knn_graph, sparsify


def _clouds(n_samples: int, seed: int) -> tuple[Any, Any, Any]:
    """Two clouds, all pairs within each joined, and six light edges between them."""
    rng = np.random.default_rng(seed)
    half = n_samples // 2
    X = np.concatenate([rng.normal(size=(half, 2)), rng.normal(size=(half, 2)) + (6.5, 0)])
    within = np.zeros((n_samples, n_samples))
    within[:half, :half] = within[half:, half:] = 1.0
    across = zip(rng.choice(half, 6, replace=False), half + rng.choice(half, 6, replace=False), strict=True)
    for u, v in across:
        within[u, v] = within[v, u] = 0.5
    np.fill_diagonal(within, 0)
    return X, np.repeat([0, 1], half), sparse.csr_array(within)


def sparsifiers() -> Figure:
    """Edges before and after, as wide as they are heavy."""
    X, _, graph = _clouds(60, seed=1)
    figure, panels = style.figure(7.6, 2.5, 2)
    kept = sparsify(graph, edge_budget=150, random_state=2, n_jobs=1)
    for ax, one, name in ((panels[0], graph, "{} edges"), (panels[1], kept.to_scipy(), "{} edges kept, heavier")):
        u, v = sparse.triu(one).nonzero()
        weights = np.asarray(one[u, v]).ravel()
        is_across = (u < 30) != (v < 30)
        for edges, color in ((~is_across, style.FRAME), (is_across, style.SECOND)):
            part = sparse.coo_array((weights[edges], (u[edges], v[edges])), shape=one.shape)
            rows.draw_edges(ax, X, part, 0.35 * part.data + (0.4 if color == style.SECOND else 0), color)
        rows.draw_rows(ax, X, np.zeros(len(X), dtype=int), size=16)
        style.map_axes(ax, f"{name.format(len(u))}, {is_across.sum()} between the halves")
    return figure


def sparse_harmonic() -> Figure:
    """How far labels from some of the edges are from those of all edges, by passes of refinement."""
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(4, 6))
    truth = np.repeat(np.arange(4), 300)
    X = (centers[truth] + 0.9 * rng.normal(size=(len(truth), 6))).astype(np.float32)
    graph = knn_graph(X, n_neighbors=150, n_jobs=1).to_scipy()
    y = np.where(np.isin(np.arange(len(truth)), rng.choice(len(truth), 40, replace=False)), truth, -1)
    shared = {
        "affinity": "precomputed",
        "form": "stable",
        "graph_reg": 0.0077,
        "decision": "centered",
        "random_state": 0,
        "n_jobs": 1,
    }
    whole = HarmonicClassifier(**shared, tol=1e-10).fit(graph, y)
    figure, (left, right) = style.figure(7.6, 2.7, 2)
    for share, color in ((0.05, style.SECOND), (0.1, style.FIRST), (0.2, style.LAPWING)):
        budget = round(share * graph.nnz / 2)
        errors, differ = [], []
        for passes in range(7):
            clf = SparseHarmonicClassifier(**shared, edge_budget=budget, refinements=passes).fit(graph, y)
            errors.append(np.linalg.norm(clf.scores_ - whole.scores_) / np.linalg.norm(whole.scores_))
            differ.append(100 * (clf.transduction_ != whole.transduction_).mean())
        left.plot(range(7), differ, marker="o", color=color, label=f"{100 * share:.0f} % of the edges")
        right.semilogy(range(7), errors, marker="o", color=color)
    left.legend()
    left.set(title="labels that differ from those of all edges, %", xlabel="passes of refinement", ylim=(0, None))
    right.set(title="relative error of the scores", xlabel="passes of refinement")
    return figure


def laplacian_solver() -> Figure:
    """Residual by iteration, for each preconditioner, on two graphs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) @ rng.normal(size=(4, 12)) + 0.1 * rng.normal(size=(20_000, 12))
    neighbors = knn_graph(X.astype(np.float32), n_neighbors=10, n_jobs=1).to_scipy()
    side = 120
    path = sparse.diags_array([np.ones(side - 1)], offsets=[1])
    grid = sparse.triu(sparse.kron(sparse.eye_array(side), path) + sparse.kron(path, sparse.eye_array(side))).tocoo()
    grid.data = 10.0 ** rng.uniform(0, 6, grid.nnz)
    grid = (grid + grid.T).tocsr()
    figure, panels = style.figure(7.6, 3.0, 2, sharey=True)
    colors = {"none": style.FRAME, "jacobi": style.SECOND, "two-level": style.FIRST, "approx-cholesky": style.LAPWING}
    for ax, graph, name in (
        (panels[0], neighbors, "neighbor graph, 20,000 rows"),
        (panels[1], grid, "grid, weights over six orders"),
    ):
        diagonal = np.zeros(graph.shape[0])
        diagonal[rng.choice(len(diagonal), 20, replace=False)] = graph.sum() / len(diagonal)
        b = rng.normal(size=len(diagonal))
        for kind, color in colors.items():
            solver = LaplacianSolver(graph, diagonal, preconditioner=kind, max_iter=250, random_state=0, n_jobs=1)
            solver.solve(b)
            curve = [1.0, *solver.info_["residual_curve"]]
            ax.semilogy(curve, color=color, label=kind, marker="o" if len(curve) < 5 else None)
        ax.set(title=name, xlabel="iteration", ylim=(1e-9, 100), xlim=(0, 250))
    panels[0].set_ylabel("‖b − Ax‖ / ‖b‖")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "sparsifiers": sparsifiers, "sparse-harmonic": sparse_harmonic, "laplacian-solver": laplacian_solver,
}  # fmt: skip
