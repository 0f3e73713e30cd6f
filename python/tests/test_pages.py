"""The examples in README and docs run, in Python and at the shell, in the order of each page, and print what the page says.

Those at the shell need the program: that of LAPWING_BIN, or target/release/lapwing. Without it they are left out.
"""

import numpy as np
import pytest
from page_blocks import ROOT, blocks, missing, run
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

import lapwing
from lapwing.graph import knn_graph

DOCS = ROOT / "docs"
#: Folders with pages that are made when the site is built.
GENERATED = [DOCS / "gallery", DOCS / "reference" / "cli", DOCS / "reference" / "python"]
EXAMPLES = [page for page in sorted(DOCS.rglob("*.md")) if not any(page.is_relative_to(folder) for folder in GENERATED)]
PAGES = [page for page in [ROOT / "README.md", *EXAMPLES] if any(block.runs for block in blocks(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_examples_of_a_page(page, tmp_path):
    for block, after, printed in run(page, tmp_path, what_examples_take_as_given()):
        if not after.note.startswith("varies"):
            line = missing(after.code, printed)
            assert line is None, f"no line like this is printed:\n{line}\n\nby\n{block.code}\nwhich prints\n{printed}"


def what_examples_take_as_given() -> dict[str, object]:
    """Data of the user, under the names that the pages give to them."""
    X, truth = load_digits(return_X_y=True)
    A = knn_graph(X, n_neighbors=10).to_scipy()
    u, v = sparse.triu(A).nonzero()
    edges, weights = np.column_stack([u, v]), np.asarray(A[u, v]).ravel()

    def portions():
        return ((edges[at : at + 500], weights[at : at + 500]) for at in range(0, len(edges), 500))

    return {
        "np": np, "X": X, "truth": truth, "y": np.where(np.arange(len(X)) < 100, truth, -1), "n_samples": len(X),
        "new": X[:5], "new_rows": X[:5], "X_all": X, "A": A, "A_all": A, "W": A, "K": rbf_kernel(X, gamma=1e-3),
        "edges": edges, "sq_distances": ((X[u] - X[v]) ** 2).sum(axis=1), "portions": portions, "chunks": portions,
        "diagonal": np.ones(len(X)), "B": np.ones((len(X), 2)), "HarmonicClassifier": lapwing.HarmonicClassifier,
    }  # fmt: skip
