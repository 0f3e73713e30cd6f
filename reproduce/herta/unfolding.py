"""Networks of few steps beside the one whose hidden state is the exact minimum."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
DATA = sets.files()
EXACT = "exact"
STEPS: tuple[int | str, ...] = (2, 5, 10, 20, EXACT)
DRAWS = 3
STYLES = {1.0: ("tab:blue", "o"), 20.0: ("tab:red", "s")}


def settings(small: bool) -> list[Setting]:
    """A process for each data set and λ."""
    draws = 1 if small else DRAWS
    return [
        {"data": name, "graph_reg": graph_reg, "draws": draws}
        for name in sets.chosen(small)
        for graph_reg in methods.GRAPH_REGS
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Cross-entropy of the labeled nodes, and accuracy on the others, for each draw and number of steps."""
    data = sets.load(setting["data"])
    methods.network()
    records = []
    for draw in range(setting["draws"]):
        labels = sets.shown(data.classes, draw)
        for steps in STEPS:
            with common.Stopwatch() as watch:
                trained = methods.fitted(data, labels, "cross-entropy", setting["graph_reg"], steps=steps)
            found = {"steps": steps, **methods.judged(trained, data, labels)}
            records.append({"draw": draw, **found, **results.costs(watch)})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Accuracy and loss, a column for each number of steps."""
    head = ["data", "λ", *[str(steps) for steps in STEPS]]
    groups = results.grouped(records, lambda one: (one["data"], one["graph_reg"]))
    accuracies, losses = [], []
    for (name, graph_reg), group in groups.items():
        by_steps = results.grouped(group, lambda one: one["steps"])
        first = [name, f"{graph_reg:g}"]
        accuracies.append([*first, *[results.accuracy(by_steps[steps]) for steps in STEPS]])
        cells = [f"{results.mean(by_steps[steps], 'loss_a_node'):.4f} ({_seconds(by_steps[steps])})" for steps in STEPS]
        losses.append([*first, *cells])
    shown = common.markdown("Accuracy on the nodes without a label, by steps", head, accuracies)
    return (
        f"{shown}\n{common.markdown('ℓ for each labeled node at the end (seconds of the fit), by steps', head, losses)}"
    )


def _seconds(group: list[common.Record]) -> str:
    return f"{results.mean(group, 'seconds'):.2f}"


def plot(records: list[common.Record]) -> Any:
    """Accuracy over steps, a panel for each data set."""
    groups = results.grouped(records, lambda one: one["data"])
    figure = results.figure(2.8 * len(groups) + 0.5, 3.4)
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, (name, group) in zip(panels, groups.items(), strict=True):
        for graph_reg, found in results.by(group, "graph_reg").items():
            by_steps = results.grouped(found, lambda one: str(one["steps"]))
            means = [results.mean(by_steps[str(steps)], "accuracy") for steps in STEPS]
            color, marker = STYLES[graph_reg]
            panel.plot([str(steps) for steps in STEPS], means, color=color, marker=marker, label=f"λ = {graph_reg:g}")
        panel.set(xlabel="steps", title=name)
    panels[0].set_ylabel("accuracy")
    panels[0].legend()
    return figure
