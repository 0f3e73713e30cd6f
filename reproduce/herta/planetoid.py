"""Accuracy on the standard splits of Cora and Citeseer: few labels, linear networks, λ chosen by validation."""

from __future__ import annotations

from typing import Any

import numpy as np

import common
import methods
import results
import sets

Setting = dict[str, Any]
NAMES = ("Cora", "Citeseer")
DATA = sets.files(NAMES)
GRAPH_REGS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
SMALL_GRAPH_REGS = (1.0, 5.0, 20.0)
MODELS: dict[str, dict[str, Any]] = {
    "squares": {"loss": "mse"},
    "cross-entropy": {"loss": "cross-entropy"},
    "squares, attention": {"loss": "mse", "attention": 1.0},
    "cross-entropy, attention": {"loss": "cross-entropy", "attention": 1.0},
    "squares, hidden 64": {"loss": "mse", "hidden": 64},
    "cross-entropy, hidden 64": {"loss": "cross-entropy", "hidden": 64},
    "squares, HERTA mixed": {"loss": "mse", "solver": "herta-mixed"},
}
PUBLISHED = {"cora": 84.1, "citeseer": 74.2}
"""Test accuracy of TWIRLS in percent: Yang et al., *Graph neural networks inspired by classical iterative
algorithms*, ICML 2021."""
STYLES = dict(
    zip(MODELS, ("tab:blue", "tab:red", "tab:green", "tab:olive", "tab:purple", "tab:pink", "tab:gray"), strict=True)
)


def settings(small: bool) -> list[Setting]:
    """A process for each data set and model."""
    graph_regs = list(SMALL_GRAPH_REGS if small else GRAPH_REGS)
    return [{"data": name, "model": model, "graph_regs": graph_regs} for name in NAMES for model in MODELS]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy on each part for each λ, all else of the model at its default."""
    data = sets.load(setting["data"])
    labels = np.where(data.parts["train"], data.classes, -1)
    records = []
    for graph_reg in setting["graph_regs"]:
        trained = methods.network()(graph_reg, random_state=0, **MODELS[setting["model"]])
        with common.Stopwatch() as watch:
            trained.fit(data.features, labels, graph=data.graph)
        right = trained.transduction_ == data.classes
        ends = {
            "loss_a_node": float(trained.loss_curve_[-1]) / int((labels >= 0).sum()),
            "n_iter": len(trained.loss_curve_) - 1,
        }
        shares = {part: float(right[mask].mean()) for part, mask in data.parts.items()}
        sizes = {f"n_{part}": int(mask.sum()) for part, mask in data.parts.items()}
        records.append({"graph_reg": graph_reg, **shares, **ends, **sizes, **results.costs(watch)})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """The chosen values, and the candidates."""
    groups = results.grouped(records, lambda one: (one["data"], one["model"]))
    head = ["data", "model", "labels / validation / test", "λ", "validation, %", "test, %"]
    head += ["TWIRLS, published, %", "apart", "ℓ of a labeled node", "steps", "s"]
    rows = []
    for (name, model), group in groups.items():
        best = max(group, key=lambda one: one["val"])
        published = PUBLISHED[name.lower()]
        sizes = " / ".join(f"{best[f'n_{part}']:,}" for part in ("train", "val", "test"))
        cells = [name, model, sizes, f"{best['graph_reg']:g}", f"{100 * best['val']:.1f}", f"{100 * best['test']:.1f}"]
        cells += [
            f"{published:.1f}",
            f"{100 * best['test'] - published:+.1f}",
            f"{best['loss_a_node']:.4f}",
            str(best["n_iter"]),
        ]
        rows.append([*cells, f"{best['seconds']:.2f}"])
    values = [f"{graph_reg:g}" for graph_reg in results.by(records, "graph_reg")]
    every = [
        [*key, *[f"{100 * one['val']:.1f} / {100 * one['test']:.1f}" for one in group]] for key, group in groups.items()
    ]
    first = common.markdown("Standard splits, λ by validation", head, rows)
    return f"{first}\n{common.markdown('Validation / test, %, by λ', ['data', 'model', *values], every)}"


def plot(records: list[common.Record]) -> Any:
    """Accuracy over λ, a panel for each data set; broken lines are of the validation."""
    figure = results.figure(9, 3.8)
    groups = results.grouped(records, lambda one: one["data"])
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, (name, group) in zip(panels, groups.items(), strict=True):
        for model, found in results.grouped(group, lambda one: one["model"]).items():
            at = [one["graph_reg"] for one in found]
            panel.plot(at, [100 * one["test"] for one in found], color=STYLES[model], marker="o", label=model)
            panel.plot(at, [100 * one["val"] for one in found], color=STYLES[model], linestyle="--", linewidth=0.8)
        panel.axhline(PUBLISHED[name.lower()], color="black", linestyle=":", linewidth=0.8, label="TWIRLS, published")
        panel.set(xscale="log", xlabel="λ", title=name)
    panels[0].set_ylabel("accuracy, %")
    panels[0].legend()
    return figure
