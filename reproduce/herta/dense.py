"""Where the sparsified graph could gain: graphs of many edges at a node; and how the seconds grow with the edges."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(sets.DENSE)
SHARES = {"half of the edges": 0.5, "25 %": 0.25, "10 %": 0.1}
VARIANTS: dict[str, dict[str, Any]] = {
    "CG without P": {"solver": "matrix-free"},
    "direct": {"solver": "direct"},
    "HERTA": {"solver": "herta"},
    "all edges": {"solver": "herta", "edges": 1.0},
    **{name: {"solver": "herta", "edges": share} for name, share in SHARES.items()},
}
CURVES = results.Curves(*VARIANTS)
GENERATED = {"degree 100": (10_000, 100, 1000), "degree 400": (10_000, 400, 1000), "degree 1,000": (10_000, 1000, 1000)}
"""Nodes, edges at a node and features of generated graphs."""
GROWTH = (50_000, 200_000, 800_000, 3_200_000, 12_800_000)
"""Edges of the graphs of 20 edges at a node and 64 features, over which seconds grow."""
GROWN = ("CG without P", "HERTA", "all edges", "half of the edges")
TOL = 1e-6
PATIENCE = 10.0


def settings(small: bool) -> list[Setting]:
    """A process for each graph, λ and variant."""
    if small:
        return [{"part": "dense", "data": "degree 100", "graph_reg": 20.0, "variant": "all edges", "size": [1000, 50, 50]}]
    graphs: dict[str, Any] = {**dict.fromkeys(sets.DENSE), **GENERATED}
    dense = [
        {"part": "dense", "data": name, "graph_reg": graph_reg, "variant": variant, "size": size}
        for name, size in graphs.items()
        for graph_reg in methods.GRAPH_REGS
        for variant in VARIANTS
    ]
    growth = [
        {"part": "growth", "data": f"{edges:,} edges", "graph_reg": 20.0, "variant": name, "size": [edges // 10, 20, 64]}
        for edges in GROWTH
        for name in GROWN
    ]
    return dense + growth


def measure(setting: Setting) -> list[common.Record]:
    """Steps and seconds to 10⁻⁶ above the optimum with squares, and what P is made of."""
    data = sets.generated(*setting["size"]) if setting["size"] else sets.load(setting["data"])
    labels = sets.shown(data.classes, 0)
    fit = functools.partial(methods.fitted, data, labels, "mse", setting["graph_reg"])
    best = _optimum(setting, fit)
    common.wait_for_quiet(PATIENCE)
    trained = fit(l2_reg=best.l2_reg, tol=TOL / 10, max_iter=300, **VARIANTS[setting["variant"]])
    said = methods.part(trained)
    step = next((at for at, value in enumerate(said["loss"]) if best.error(value) <= TOL), None)
    facts = {name: said[name] for name in ("condition", "n_kept_edges", "sketch_size", "edge_passes", "effective_dimension")}
    sizes = {"n_nodes": data.graph.shape[0], "n_edges": data.graph.nnz // 2, "n_features": data.features.shape[1]}
    seconds = None if step is None else said["seconds"][step]
    return [{**sizes, **facts, "l2_reg": best.l2_reg, "step": step, "seconds": seconds}]


def _optimum(setting: Setting, fit: Callable[..., Any]) -> methods.Optimum:
    """The optimum to all digits, kept under `target/` for all variants of a graph and λ."""

    def trained() -> Any:
        return fit(solver="matrix-free", tol=1e-12, max_iter=2000)

    name = "-".join(map(str, [setting["data"], *(setting["size"] or ()), f"{setting['graph_reg']:g}"]))
    return methods.Optimum.kept(f"herta-dense-optimum-{name.replace(' ', '_').replace(',', '')}.npy", trained)


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Condition, steps and seconds of each variant, a row for each graph and λ; then seconds over edges."""
    parts = results.grouped(records, lambda one: one["part"])
    return "\n".join({"dense": _dense, "growth": _growth}[part](group) for part, group in parts.items())


def _dense(records: list[common.Record]) -> str:
    head = ["data", "nodes", "edges at a node", "features", "λ", *[f"{name}: κ (steps), s" for name in VARIANTS]]
    rows = []
    for (name, graph_reg), group in results.grouped(records, lambda one: (one["data"], one["graph_reg"])).items():
        found, one = {each["variant"]: each for each in group}, group[0]
        sizes = [f"{one['n_nodes']:,}", f"{2 * one['n_edges'] / one['n_nodes']:.0f}", f"{one['n_features']:,}"]
        rows.append([name, *sizes, f"{graph_reg:g}", *[_cell(found.get(variant)) for variant in VARIANTS]])
    return common.markdown("Squares to 10⁻⁶ on dense graphs", head, rows)


def _cell(one: common.Record | None) -> str:
    if one is None or one["step"] is None:
        return "–"
    condition = f"{one['condition']:.2f} " if one["condition"] else ""
    kept = one["n_kept_edges"]
    share = f"; {kept / one['n_edges']:.0%} kept" if one["variant"] == "HERTA" and kept else ""
    return f"{condition}({one['step']:,}), {common.seconds(one['seconds'])}{share}"


def _growth(records: list[common.Record]) -> str:
    head = ["edges", "nodes", *[f"{name}, s" for name in GROWN]]
    by_edges = results.by(records, "n_edges")
    found = [{one["variant"]: one for one in group} for group in by_edges.values()]
    rows = [
        [f"{edges:,}", f"{group[0]['n_nodes']:,}", *[_seconds(of.get(name)) for name in GROWN]]
        for (edges, group), of in zip(by_edges.items(), found, strict=True)
    ]
    rows.append(["exponent", "", *[_exponent([of[name] for of in found if name in of]) for name in GROWN]])
    return common.markdown("Seconds to 10⁻⁶ over the edges: 20 at a node, 64 features, λ = 20", head, rows)


def _seconds(one: common.Record | None) -> str:
    return "–" if one is None or one["seconds"] is None else common.seconds(one["seconds"])


def _exponent(group: list[common.Record]) -> str:
    """Of the seconds between the smallest and the largest graph."""
    done = [one for one in group if one["seconds"]]
    if len(done) < 2:
        return "–"
    ratio = math.log(done[-1]["seconds"] / done[0]["seconds"]) / math.log(done[-1]["n_edges"] / done[0]["n_edges"])
    return f"{ratio:.2f}"


def plot(records: list[common.Record]) -> Any:
    """Seconds of each variant relative to those of HERTA on all edges, by graph, at λ = 20."""
    chosen = [one for one in records if one["part"] == "dense" and one["graph_reg"] == 20.0 and one["seconds"]]
    figure = results.figure(9, 4)
    panel = figure.subplots()
    whole = {one["data"]: one["seconds"] for one in chosen if one["variant"] == "all edges"}
    for variant, group in results.grouped(chosen, lambda one: one["variant"]).items():
        points = [(one["data"], one["seconds"] / whole[one["data"]]) for one in group if one["data"] in whole]
        panel.plot(*zip(*points, strict=True), label=variant, **{**CURVES.style(variant), "linestyle": "none"})
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set(yscale="log", ylabel="seconds to 10⁻⁶ / those with all edges", title="λ = 20")
    panel.tick_params(axis="x", labelrotation=20)
    panel.legend(ncols=4)
    return figure
