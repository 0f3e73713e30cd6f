"""Measured distortion over the number of edges kept, beside the law that chooses the size and beside lemma 1 of the paper.

The distortion ε is the largest |λ − 1| over the eigenvalues λ of L_H·x = λ·L_G·x on the vectors that G does not join.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

import common
import results

Setting = dict[str, Any]
DATA: tuple[str, ...] = ()
GRAPHS = ("neighbors", "complete", "cliques")
SAMPLERS = ("streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle")
EDGES_A_NODE = (5, 10, 20, 40, 80)
SEEDS = 3
NEIGHBORS = 300
CURVES = results.Curves(*SAMPLERS, "law")


def settings(small: bool) -> list[Setting]:
    """A process for each graph and sampler."""
    sizes, samplers = ((10, 20), SAMPLERS[:2]) if small else (EDGES_A_NODE, SAMPLERS)
    graphs = GRAPHS[1:2] if small else GRAPHS
    return [
        {"graph": graph, "sampler": name, "sizes": list(sizes), "seeds": 1 if small else SEEDS}
        for graph in graphs
        for name in samplers
    ]


def graph(name: str) -> sp.csr_array:
    """The digits with 300 neighbors each; 1,000 nodes that are all joined; two cliques of 500 joined by ten edges of weight 0.01."""
    if name == "neighbors":
        from lapwing.graph import knn_graph
        from sklearn.datasets import load_digits

        rows = load_digits(return_X_y=True)[0]
        return sp.csr_array(knn_graph(rows, NEIGHBORS, weights="binary", symmetrize="union").to_scipy())
    if name == "complete":
        return sp.csr_array(np.ones((1000, 1000)) - np.eye(1000))
    block = np.ones((500, 500)) - np.eye(500)
    weights = scipy.linalg.block_diag(block, block)
    weights[np.arange(10), 500 + np.arange(10)] = weights[500 + np.arange(10), np.arange(10)] = 0.01
    return sp.csr_array(weights)


def laplacian(weights: Any) -> np.ndarray:
    """D − W, dense."""
    dense = np.asarray(weights.todense(), dtype=np.float64)
    return np.diag(dense.sum(axis=1)) - dense


def distortion(roots: np.ndarray, kept: np.ndarray) -> float:
    """Of a Laplacian of `kept` edges, beside the one whose pseudo-inverse has the square root `roots` (n, r)."""
    values = np.linalg.eigvalsh(roots.T @ kept @ roots)
    return float(np.abs(values - 1).max())


def inverse_root(whole: np.ndarray) -> np.ndarray:
    """R (n, r) with RᵀL·R = I for a Laplacian L of rank r."""
    values, vectors = np.linalg.eigh(whole)
    is_joined = values > 1e-9 * values[-1]
    return vectors[:, is_joined] / np.sqrt(values[is_joined])


def measure(setting: Setting) -> list[common.Record]:
    """Distortion and edges of each size and seed."""
    from lapwing.graph import sparsify

    whole = graph(setting["graph"])
    n, roots = whole.shape[0], inverse_root(laplacian(whole))
    records = []
    for size in setting["sizes"]:
        for seed in range(setting["seeds"]):
            with common.Stopwatch() as watch:
                kept, report = sparsify(
                    whole, sampler=setting["sampler"], edge_budget=size * n, random_state=seed, return_report=True
                )
            found = {
                "distortion": distortion(roots, laplacian(kept.to_scipy())),
                "kept": report["n_kept"],
                "rounds": report["rounds"],
            }
            records.append(
                {"edges_a_node": size, "seed": seed, "n": n, "n_edges": whole.nnz // 2, **found, **results.costs(watch)}
            )
    return records


# --- tables and plots ------------------------------------------------------------------------------------------------


def law(edges_a_node: float) -> float:
    """The law by which lapwing chooses a size: ε ≈ 1.56·(2√(n/q) + n/q)."""
    x = math.sqrt(1 / edges_a_node)
    return 1.56 * (2 * x + x * x)


def table(records: list[common.Record]) -> str:
    """A table for each graph: a row for each size."""
    parts = []
    for name, group in results.grouped(records, lambda record: record["graph"]).items():
        n, m = group[0]["n"], group[0]["n_edges"]
        samplers = list(dict.fromkeys(record["sampler"] for record in group))
        rows = []
        for size, of_size in results.by(group, "edges_a_node").items():
            cells = []
            for sampler in samplers:
                found = [record for record in of_size if record["sampler"] == sampler]
                cells.append(
                    f"{results.spread([record['distortion'] for record in found])} ({results.mean(found, 'kept') / n:.1f})"
                )
            rows.append([str(size), *cells, f"{law(size):.2f}", f"{math.log(n) / math.sqrt(size):.2f}"])
        head = ["q / n", *samplers, "law", "ε of q = n·ln²n/ε²"]
        parts.append(common.markdown(f"Distortion of the graph {name}: {n:,} nodes, {m:,} edges", head, rows))
    return "\n".join(parts)


def plot(records: list[common.Record]) -> Any:
    """Distortion over edges a node, a panel for each graph, with the law."""
    groups = results.grouped(records, lambda record: record["graph"])
    figure = results.figure(4 * len(groups), 3.4)
    for panel, (name, group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        for sampler, found in results.grouped(group, lambda record: record["sampler"]).items():
            by_size = results.by(found, "edges_a_node")
            means = [results.mean(of_size, "distortion") for of_size in by_size.values()]
            panel.plot(list(by_size), means, label=sampler, **CURVES.style(sampler))
        sizes = list(results.by(group, "edges_a_node"))
        panel.plot(sizes, [law(size) for size in sizes], label="law", **{**CURVES.style("law"), "linestyle": "--"})
        panel.set(xscale="log", yscale="log", title=name, xlabel="edges kept for each node")
    figure.axes[0].set_ylabel("distortion ε")
    figure.axes[0].legend(fontsize="small")
    return figure
