"""What is built from the paper's outlook (section 7.1, appendices D.3 and D.4): hidden layers, attention, and the mixed strategy."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
NAMES, SMALL = ("Cora", "Citeseer"), ("Cora",)
DATA = sets.files(NAMES)
DRAWS = 3
MODELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "linear, HERTA": {"solver": "herta"},
    "linear, HERTA mixed": {"solver": "herta-mixed"},
    "hidden 64": {"hidden": 64},
    "attention 1": {"attention": 1.0},
    "attention 0.5": {"attention": 0.5},
}
LOSSES = ("mse", "cross-entropy")
CURVES = results.Curves(*MODELS)


def settings(small: bool) -> list[Setting]:
    """A process for each data set, loss and model."""
    return [
        {"data": name, "loss": loss, "model": model, "draws": DRAWS if name == "Cora" and not small else 1}
        for name in (SMALL if small else NAMES)
        for loss in LOSSES
        for model in (("linear", "hidden 64") if small else MODELS)
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Loss of a labeled node at the end, steps, seconds, and accuracy on the nodes without a label, at λ = 1 and 20."""
    data = sets.load(setting["data"])
    methods.network()
    records = []
    for draw in range(setting["draws"]):
        labels = sets.shown(data.classes, draw)
        for graph_reg in methods.GRAPH_REGS:
            with common.Stopwatch() as watch:
                options = {"bias": True, **MODELS[setting["model"]]}
                trained = methods.fitted(data, labels, setting["loss"], graph_reg, **options)
            found = {"graph_reg": graph_reg, **methods.judged(trained, data, labels)}
            records.append({"draw": draw, **found, **results.costs(watch)})
    return records


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each data set, loss, λ and model."""
    rows = []
    key = lambda one: (one["data"], methods.LOSSES[one["loss"]], one["graph_reg"], one["model"])  # noqa: E731
    for (name, loss, graph_reg, model), group in results.grouped(records, key).items():
        steps = f"{results.mean(group, 'n_iter'):.0f}"
        costs = [f"{results.mean(group, 'loss_a_node'):.4f}", steps, f"{results.mean(group, 'seconds'):.2f}"]
        rows.append([name, loss, f"{graph_reg:g}", model, results.accuracy(group), *costs])
    head = ["data", "loss", "λ", "model", "accuracy", "ℓ of a labeled node", "steps", "s"]
    return common.markdown("Hidden layers, attention and the mixed strategy: 80 % of the labels", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Accuracy by model, a panel for each data set; cross-entropy."""
    groups = results.grouped([one for one in records if one["loss"] == "cross-entropy"], lambda one: one["data"])
    figure = results.figure(4 * len(groups), 3.4)
    for panel, (name, group) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True):
        for model, found in results.grouped(group, lambda one: one["model"]).items():
            by_reg = results.by(found, "graph_reg")
            means = [results.mean(of, "accuracy") for of in by_reg.values()]
            panel.plot([f"{graph_reg:g}" for graph_reg in by_reg], means, label=model, **CURVES.style(model))
        panel.set(title=name, xlabel="λ")
    figure.axes[0].set_ylabel("accuracy")
    figure.axes[0].legend(fontsize="small")
    return figure
