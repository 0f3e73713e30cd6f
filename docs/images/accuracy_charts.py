"""Charts of accuracy, from the tables of results."""

from __future__ import annotations

from collections.abc import Callable

import style
from matplotlib.figure import Figure
from tables import number, numbers, tables

#: Programs on MNIST by the row of the table, and what the chart calls them: of each program its more accurate form.
MNIST = {
    "lapwing": ("lapwing", style.LAPWING),
    "graphlearning-poisson-exact": ("graphlearning, exact neighbors", style.OTHERS[0]),
    "graphlearning-poisson": ("graphlearning, its own neighbors", style.OTHERS[3]),
    "sknetwork-propagation": ("scikit-network", style.OTHERS[2]),
    "pyg-rule": ("rule of PyTorch Geometric", style.OTHERS[1]),
    "sklearn-spreading": ("scikit-learn", style.OTHERS[4]),
}


def mnist() -> Figure:
    """Accuracy over labels for each class, and seconds."""
    rows = {row["peer"].split()[0]: row for row in tables("results.md", "Features to labels on MNIST")[0]}
    columns = [column for column in rows["lapwing"] if column.endswith("per class")]
    labels = numbers([{"n": column} for column in columns], "n")
    figure, (left, right) = style.figure(7.6, 3.4, 2, width_ratios=(1.25, 1))
    for peer, (_, color) in reversed(MNIST.items()):
        accuracy = numbers([{"a": rows[peer][column]} for column in columns], "a")
        width = 2.6 if peer == "lapwing" else 1.5
        left.plot(labels, accuracy, marker="o", color=color, linewidth=width)
    left.set(xscale="log", xlabel="labels of each class", title="share of hidden labels that are right")
    left.set_xticks(labels, [f"{count:.0f}" for count in labels])
    left.minorticks_off()
    seconds = [number(rows[peer]["features → labels s"]) for peer in MNIST]
    names, colors = zip(*MNIST.values(), strict=True)
    style.bars(right, list(names), seconds, list(colors), [f"{value:.1f} s" for value in seconds])
    right.set(title="seconds from rows to labels")
    return figure


#: Kinds of labels in the page of accuracy, and what the chart calls them.
KINDS = {
    "Accuracy, 1 label of each class": "1 label\nof each class",
    "Accuracy, 5 labels of each class": "5 labels\nof each class",
    "Accuracy, 30 labels of each class": "30 labels\nof each class",
    "Accuracy, labels at random, 5 times the classes": "5 × classes,\nat random",
    "Accuracy, labels at random, 20 times the classes": "20 × classes,\nat random",
}
CLASSIFIERS = ("logistic", "svm-linear", "svm-rbf", "random-forest", "boosting", "self-training", "1-nn", "label-spreading")


def accuracy() -> Figure:
    """`auto` beside scikit-learn's classifiers on each data set, and for each kind of labels."""
    figure, panels = style.figure(7.6, 5.4, 5, sharey=True)
    for panel, (heading, title) in zip(panels, KINDS.items(), strict=True):
        rows = tables("results/accuracy.md", heading)[0]
        places = range(len(rows))
        others = [[number(row[name]) for name in CLASSIFIERS if row[name] != "–"] for row in rows]
        panel.hlines(places, list(map(min, others)), list(map(max, others)), color=style.PALE, linewidth=4, alpha=0.55)
        flat = [(value, place) for place, values in zip(places, others, strict=True) for value in values]
        panel.scatter(*zip(*flat, strict=True), color=style.FRAME, s=7, edgecolors="none")
        panel.scatter(numbers(rows, "auto"), places, color=style.LAPWING, s=34, edgecolors="none", zorder=3)
        panel.set_yticks(places, [row["set"] for row in rows])
        panel.set(xlim=(0, 1.03), xticks=(0, 0.5, 1))
        panel.set_title(title, fontsize=9)
        panel.tick_params(axis="y", length=0)
    panels[0].invert_yaxis()
    handles = [
        panels[0].scatter([], [], color=style.LAPWING, s=34, label="lapwing, auto"),
        panels[0].scatter([], [], color=style.FRAME, s=7, label="each of eight methods of scikit-learn"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def regret() -> Figure:
    """Mean distance to the best of all methods."""
    rows = [
        row for row in tables("results/accuracy.md", "Distance to the best of all methods")[0] if "◆" not in row["method"]
    ]
    rows.sort(key=lambda row: number(row["mean"]))
    ours = ("harmonic", "laprls", "lapsvm", "low-rank", "nearest-label", "linear", "forest", "auto")
    figure, ax = style.figure(8.0, 4.4)
    colors = [style.LAPWING if row["method"].startswith(ours) else style.FRAME for row in rows]
    values = numbers(rows, "mean")
    style.bars(ax, [row["method"] for row in rows], values, colors, [f"{value:.3f}" for value in values])
    ax.set(title="mean distance to the best method of each cell (less is better)")
    return figure


def label_loop() -> Figure:
    """Accuracy by suggested and by random labels, mean of seven sets."""
    rows = tables("results/label-loop.md", "Batches")[0]
    mean = next(row for row in rows if row["at 50, 100, 200 labels"] == "mean of 7")
    figure, ax = style.figure(7.0, 3.2)
    for name, values in list(mean.items())[1:]:
        accuracy = list(map(float, values.split()))
        kind = "lapwing-mix" == name, name == "random"
        color = style.LAPWING if kind[0] else style.OTHERS[0] if kind[1] else style.PALE
        ax.plot(
            (50, 100, 200),
            accuracy,
            marker="o",
            color=color,
            linewidth=2.6 if any(kind) else 1.2,
            zorder=3 if any(kind) else 2,
        )
        if any(kind):
            label = "suggested by lapwing" if kind[0] else "rows at random"
            ax.annotate(label, (200, accuracy[-1]), (8, 0), textcoords="offset points", va="center", color=color)
    ax.annotate("other ways to choose", (200, 0.755), (8, 0), textcoords="offset points", va="center", color=style.FRAME)
    ax.set(xscale="log", xlabel="labels", title="accuracy, mean of seven data sets", xlim=(46, 370))
    ax.set_xticks((50, 100, 200), ("50", "100", "200"))
    ax.minorticks_off()
    return figure


def scaling() -> Figure:
    """Accuracy of each data set as it is and scaled in two ways."""
    rows = [row for row in tables("results/scaling.md", "What scaling is worth")[0] if row["set"] != "mean"]
    figure, panels = style.figure(7.6, 4.6, 2, sharey=True)
    kinds = {"as it is": style.FRAME, "one width": style.LAPWING, "one deviation": style.OTHERS[0]}
    for panel, count in zip(panels, ("5", "30"), strict=True):
        values = [[number(row[f"{kind}, {count}"].strip("*")) for kind in kinds] for row in rows]
        panel.hlines(
            range(len(rows)), list(map(min, values)), list(map(max, values)), color=style.PALE, linewidth=3, alpha=0.6
        )
        for at, (kind, color) in enumerate(kinds.items()):
            panel.scatter(
                [one[at] for one in values], range(len(rows)), s=30, color=color, edgecolors="none", zorder=3, label=kind
            )
        panel.set_yticks(range(len(rows)), [row["set"].strip("`") for row in rows])
        panel.set(title=f"accuracy, {count} labels of each class", xlim=(0.25, 1.03))
        panel.tick_params(axis="y", length=0)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "mnist": mnist,
    "accuracy": accuracy,
    "regret": regret,
    "label-choice": label_loop,
    "scaling": scaling,
}
