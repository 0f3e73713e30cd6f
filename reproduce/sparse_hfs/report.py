"""Parts of both experiments: curves, and edges of a graph in a record."""

from __future__ import annotations

from typing import Any

import common
import results

CURVES = results.Curves(
    {
        "all edges": ("black", "o"),
        "all edges, hard": ("tab:brown", "o"),
        "sparse 25n": ("tab:orange", "s"),
        "sparse 100n": ("tab:red", "s"),
        "sparse 10n": ("tab:orange", "s"),
        "sparse 20n": ("tab:red", "s"),
        "sparse": ("tab:orange", "s"),
        "sparse, refined": ("tab:red", "s"),
        "sparse 20n, refined": ("tab:pink", "P"),
        "uniform 25n": ("tab:cyan", "^"),
        "uniform 100n": ("tab:blue", "^"),
        "uniform 10n": ("tab:cyan", "^"),
        "uniform 20n": ("tab:blue", "^"),
        "eigenfunctions": ("tab:green", "D"),
        "subsampling": ("tab:purple", "v"),
        "nearest label": ("tab:gray", "x"),
    }
)


def edges(facts: dict[str, Any]) -> common.Record:
    """Rows, edges of the graph, and edges that were kept, from the report of a fit; 0 without a graph."""
    kept = (facts.get("graph") or {}).get("n_edges", 0)
    read = facts["parts"].get("sparsify", {}).get("n_edges", kept)
    return {"n_samples": facts["n_samples"], "n_edges": read, "n_kept": kept}
