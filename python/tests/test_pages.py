"""The Python examples in README and docs run, in the order of each page."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

import lapwing
from lapwing.graph import knn_graph

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.exists() and blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_examples_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = what_examples_take_as_given()
    np.save("huge.npy", names["X"].astype(np.float32))
    u, v = sparse.triu(names["A"]).nonzero()
    np.save("edges.npy", np.column_stack([u, v]))
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), names)


def what_examples_take_as_given() -> dict[str, object]:
    """Data of the user, under the names that the pages give to them."""
    X, truth = load_digits(return_X_y=True)
    A = knn_graph(X, n_neighbors=10).to_scipy()
    u, v = sparse.triu(A).nonzero()
    edges, weights = np.column_stack([u, v]), np.asarray(A[u, v]).ravel()

    def portions():
        return ((edges[at : at + 500], weights[at : at + 500]) for at in range(0, len(edges), 500))

    return {
        "np": np, "X": X, "y": np.where(np.arange(len(X)) < 100, truth, -1), "n_samples": len(X),
        "new": X[:5], "new_rows": X[:5], "X_all": X, "A": A, "A_all": A, "W": A, "K": rbf_kernel(X, gamma=1e-3),
        "edges": edges, "sq_distances": ((X[u] - X[v]) ** 2).sum(axis=1), "portions": portions, "chunks": portions,
        "diagonal": np.ones(len(X)), "B": np.ones((len(X), 2)), "HarmonicClassifier": lapwing.HarmonicClassifier,
    }  # fmt: skip
