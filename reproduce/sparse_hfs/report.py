"""Parts of both experiments: curves, and edges of a graph in a record."""

from __future__ import annotations

from typing import Any

import common
import results

CURVES = results.Curves(
    "all edges", "all edges, hard",
    ("sparse 25n", "sparse 10n", "sparse"), ("sparse 100n", "sparse 20n", "sparse, refined"), "sparse 20n, refined",
    ("uniform 25n", "uniform 10n"), ("uniform 100n", "uniform 20n"),
    "eigenfunctions", "subsampling", "nearest label",
)  # fmt: skip


def edges(facts: dict[str, Any]) -> common.Record:
    """Rows, edges of the graph, and edges that were kept, from the report of a fit; 0 without a graph."""
    kept = (facts.get("graph") or {}).get("n_edges", 0)
    read = facts["parts"].get("sparsify", {}).get("n_edges", kept)
    return {"n_samples": facts["n_samples"], "n_edges": read, "n_kept": kept}
