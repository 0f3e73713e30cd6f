"""Condition numbers after preconditioning, with sparsifiers of several sizes and without."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets
import spectrum

Setting = dict[str, Any]
DATA = sets.files()
PLAIN = "nothing"
SHARES = {"half of the edges": 0.5, "90 %": 0.9, "98 %": 0.98, "99.5 %": 0.995, "all edges": 1.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    **{name: {"edges": share} for name, share in SHARES.items()},
    PLAIN: {},
}
"""Sources of the preconditioner. No set has labels enough for a sketch, which has to be less than half as long as they are many."""
DENSE = ("Cora", "Citeseer", "DBLP")
"""Sets small enough for singular values."""
TOL = 1e-6
BOUND = 4.0
"""Goal for the condition number."""
STYLES = {
    "as it comes": ("tab:red", "s"),
    "half of the edges": ("tab:orange", "^"),
    "90 %": ("tab:olive", "v"),
    "98 %": ("tab:green", "D"),
    "99.5 %": ("tab:cyan", "o"),
    "all edges": ("tab:blue", "x"),
}


def settings(small: bool) -> list[Setting]:
    """A process for each data set, λ and variant; plain gradient descent where it can be computed."""
    return [
        {"data": name, "graph_reg": graph_reg, "variant": variant}
        for name in sets.chosen(small)
        for graph_reg in methods.GRAPH_REGS
        for variant in VARIANTS
        if variant != PLAIN or name in DENSE
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Condition number, and steps of gradient descent to 1e-6; squares."""
    data = sets.load(setting["data"])
    labels = sets.shown(data.classes, 0)
    best = methods.optimum(setting["data"], data, labels, "mse", setting["graph_reg"])
    if setting["variant"] == PLAIN:
        found = spectrum.spectrum(data, labels, setting["graph_reg"], best.l2_reg)
        apart = (best.value - found.optimum) / found.optimum
        return [{"condition": found.condition, "steps": found.steps(TOL), "optimum_apart": apart, "l2_reg": best.l2_reg}]
    options = {"l2_reg": best.l2_reg, "solver": "herta", "optimizer": "gd", "tol": TOL / 10}
    options |= VARIANTS[setting["variant"]]
    said = methods.part(methods.fitted(data, labels, "mse", setting["graph_reg"], **options))
    steps = next((at for at, value in enumerate(said["loss"]) if best.error(value) <= TOL), None)
    entries = ("condition", "n_kept_edges", "effective_dimension", "sketch_size", "rank", "l2_reg")
    facts = {name: said[name] for name in entries}
    return [{**facts, "n_edges": data.graph.nnz // 2, "steps": steps, "seconds": said["seconds"][-1]}]


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each data set and λ, with cells for each variant; then the figures of the sparsifier."""
    return f"{_conditions(records)}\n{_sparsifiers(records)}"


def _conditions(records: list[common.Record]) -> str:
    head = ["data", "λ", "ρ", *[f"{variant}: κ (steps)" for variant in VARIANTS], f"least share with κ ≤ {BOUND:g}"]
    head += ["ℓ* beside that of singular values"]
    rows = []
    for (name, graph_reg), group in _groups(records).items():
        found = {one["variant"]: one for one in group}
        cells = [name, f"{graph_reg:g}", f"{group[0]['l2_reg']:.3g}"]
        cells += [_cell(found.get(variant)) for variant in VARIANTS]
        cells.append(next((name for name in SHARES if found[name]["condition"] <= BOUND), "–"))
        rows.append([*cells, f"{found[PLAIN]['optimum_apart']:+.0e}" if PLAIN in found else "–"])
    title = f"Condition number by what the preconditioner is made of, and steps of gradient descent to {TOL:g}"
    return common.markdown(title, head, rows)


def _cell(one: common.Record | None) -> str:
    if one is None:
        return "–"
    steps = "–" if one["steps"] is None else f"{one['steps']:,}"
    return f"{one['condition']:,.0f} ({steps})" if one["variant"] == PLAIN else f"{one['condition']:.2f} ({steps})"


def _sparsifiers(records: list[common.Record]) -> str:
    head = ["data", "λ", "variant", "edges kept", "of", "effective dimension", "rows of the sketch", "rank", "s"]
    rows = []
    for (name, graph_reg), group in _groups(records).items():
        for one in group:
            if one["variant"] != PLAIN:
                kept = one["n_kept_edges"] if one["n_kept_edges"] is not None else one["n_edges"]
                cells = [name, f"{graph_reg:g}", one["variant"], f"{kept / one['n_edges']:.0%}", f"{one['n_edges']:,}"]
                cells += [_number(one[entry]) for entry in ("effective_dimension", "sketch_size", "rank")]
                rows.append([*cells, common.seconds(one["seconds"])])
    return common.markdown("What the preconditioners are made of", head, rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _groups(records: list[common.Record]) -> dict[Any, list[common.Record]]:
    return results.grouped(records, lambda one: (one["data"], one["graph_reg"]))


def plot(records: list[common.Record]) -> Any:
    """Condition numbers, a panel for each λ, with the bound."""
    figure = results.figure(10, 3.8)
    groups = results.by(records, "graph_reg")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for panel, (graph_reg, group) in zip(panels, groups.items(), strict=True):
        for variant, (color, marker) in STYLES.items():
            found = [one for one in group if one["variant"] == variant]
            style = {"color": color, "marker": marker, "linestyle": "none", "label": variant, "fillstyle": "none"}
            panel.plot([one["data"] for one in found], [one["condition"] for one in found], **style)
        panel.axhline(BOUND, color="black", linewidth=0.8, linestyle="--", label=f"{BOUND:g}")
        panel.set(yscale="log", title=f"λ = {graph_reg:g}")
        panel.tick_params(axis="x", labelrotation=20)
    panels[0].set_ylabel("condition number")
    panels[0].legend()
    return figure
