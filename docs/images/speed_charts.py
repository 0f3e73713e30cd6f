"""Charts of seconds and memory, from the tables of results."""

from __future__ import annotations

import re
from collections.abc import Callable

import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import number, numbers, tables

PAGE = "results.md"
BESIDE, PART = style.BESIDE, "#7cc3c5"


def _pairs(ax: Axes, names: list[str], ours: list[float], theirs: list[float], labels: list[tuple[str, str]]) -> None:
    """Two bars for each name: lapwing's above the other's."""
    places = range(len(names))
    for values, shift, color, at in ((ours, -0.2, style.LAPWING, 0), (theirs, 0.2, BESIDE, 1)):
        ax.barh([place + shift for place in places], values, color=color, height=0.36)
        for place, value, label in zip(places, values, labels, strict=True):
            ax.annotate(label[at], (value, place + shift), (4, 0), textcoords="offset points", va="center", fontsize=8.5)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.3)


def _legend(ax: Axes, theirs: str) -> None:
    handles = [ax.barh([0], [0], color=style.LAPWING, label="lapwing"), ax.barh([0], [0], color=BESIDE, label=theirs)]
    ax.figure.legend(handles=handles, loc="outside lower center", ncols=2)


def _dots(ax: Axes, names: list[str], ours: list[float], theirs: list[float], text: str) -> None:
    """Two dots for each name, joined by a line."""
    places = range(len(names))
    ax.hlines(places, ours, theirs, color=style.PALE, linewidth=2)
    for values, others, color in ((ours, theirs, style.LAPWING), (theirs, ours, BESIDE)):
        ax.scatter(values, places, color=color, s=46, edgecolors="none", zorder=3)
        for place, value, other in zip(places, values, others, strict=True):
            if color == style.LAPWING or value != other:
                side = ((-7, 0), "right") if value < other else ((7, 0), "left")
                label = text.format(value) if value != other else f"both {text.format(value)}"
                ax.annotate(label, (value, place), side[0], textcoords="offset points", va="center", ha=side[1], fontsize=9)
    ax.set_yticks(places, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)


def small_data() -> Figure:
    """Milliseconds of a call, and accuracy."""
    rows = tables(PAGE, "Small data")[0]
    names = [f"{row['set'].removesuffix(', the first 200')}\n{row['rows × columns']}" for row in rows]
    figure, (left, right) = style.figure(7.6, 3.2, 2)
    _dots(left, names, numbers(rows, "lapwing ms"), numbers(rows, "LabelSpreading 1.9.1 ms"), "{:g} ms")
    _dots(right, [""] * len(rows), numbers(rows, "accuracy"), numbers(rows, "of LabelSpreading"), "{:.3f}")
    left.set(title="milliseconds", xscale="log", xlim=(0.8, 3000))
    left.set_xticks((2, 10, 100, 1000), ("2", "10", "100", "1,000"))
    left.minorticks_off()
    right.set(title="accuracy", xlim=(0.42, 1.14), xticks=(0.6, 0.8, 1))
    _legend(left, "scikit-learn, LabelSpreading")
    return figure


def million_rows() -> Figure:
    """Seconds by phase; programs that did not finish have an open bar."""
    rows = tables(PAGE, "A million rows")[0]
    names = {
        "`lapwing label`, with its default: certified labels": "lapwing, certified labels",
        "`lapwing label --certify off`": "lapwing, not certified",
        "graphlearning 1.7.5, Laplace learning": "graphlearning",
        "scikit-network 0.33.5, diffusion, on scikit-learn's neighbors": "scikit-network",
    }
    figure, ax = style.figure(8.0, 2.6)
    chosen = [row for row in rows if row["program"] in names]
    for place, row in enumerate(chosen):
        cell = row["features → labels"] or row["accuracy"]
        if "did not finish" in cell:
            limit = number(cell)
            ax.barh(place, limit, color="none", edgecolor=BESIDE, hatch="////", height=0.6)
            ax.annotate(
                f"did not finish in {limit:.0f} s",
                (limit, place),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
            continue
        total, *parts = number(cell), *map(float, re.findall(r"(?:graph|solve) ([\d.]+)", cell))
        ax.barh(place, total, color=style.LAPWING, height=0.6)
        ax.barh(place, parts[0], color=PART, height=0.6)
        label = f"{total:g} s: graph {parts[0]:g}, solve {parts[1]:g}; accuracy {row['accuracy']}; {row['peak memory']}"
        ax.annotate(label, (total, place), (4, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_yticks(range(len(chosen)), [names[row["program"]] for row in chosen])
    ax.set(title="a million rows: seconds from rows to labels", xlim=(0, 150), xticks=(0, 25, 50, 75, 100))
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    return figure


def certified() -> Figure:
    """Seconds of a fit with certified labels and without."""
    rows = tables(PAGE, "Certified labels")[0]
    cells = [[float(part) for part in re.findall(r"[\d.]+", row["whole fit s"])] for row in rows]
    figure, ax = style.figure(8.0, 2.0)
    _pairs(
        ax, [row["rows"] for row in rows], *map(list, zip(*cells, strict=True)), [(f"{a:g} s", f"{b:g} s") for a, b in cells]
    )
    ax.set(title="seconds of a whole fit")
    handles = [
        ax.barh([0], [0], color=style.LAPWING, label="certified"),
        ax.barh([0], [0], color=BESIDE, label="not certified"),
    ]
    figure.legend(handles=handles, loc="outside right")
    return figure


def neighbors() -> Figure:
    """Seconds beside the fastest other program of the same recall."""
    rows = tables(PAGE, "Nearest neighbors")[0]
    names = [f"{row['data'].split(', ')[0]}\nrecall {row['recall wanted']}" for row in rows]
    ours = numbers(rows, "lapwing s (recall, MiB)")
    peers = [re.match(r"(PyNNDescent|scikit-learn)[^\d]*([\d.]+)", row["best peer s (recall, MiB)"]) for row in rows]
    theirs = [float(found[2]) for found in peers if found]
    figure, ax = style.figure(8.0, 4.2)
    labels = [(f"{a:.2f} s", f"{found[1]} {found[2]} s") for a, found in zip(ours, peers, strict=True) if found]
    _pairs(ax, names, ours, theirs, labels)
    ax.set(title="seconds to find 15 neighbors of every row", xlim=(0, 60))
    _legend(ax, "the fastest other program that reached the recall")
    return figure


def laplacian_systems() -> Figure:
    """Seconds of setup and solve beside the best other program."""
    rows = tables(PAGE, "Laplacian systems")[0]
    rows[3]["system"] = "chimera, unequal weights"
    figure, ax = style.figure(8.4, 4.2)
    names, ours, theirs, labels = [], [], [], []
    for row in rows:
        setup, solve = re.findall(r"[\d.]+", row["lapwing `auto`"])
        peer, peer_setup, peer_solve = re.match(r"(.*?) ([\d.]+) \+ ([\d.]+)", row["best peer"]).groups()
        name, _, rest = row["system"].partition(", ")
        names.append(f"{name}\n{rest}")
        ours.append(float(setup) + float(solve))
        theirs.append(float(peer_setup) + float(peer_solve))
        labels.append((f"{setup} + {solve} s", f"{peer} {peer_setup} + {peer_solve} s"))
    _pairs(ax, names, ours, theirs, labels)
    ax.set(title="seconds of setup + solve to a residual of 10⁻⁸", xlim=(0, 34))
    _legend(ax, "the fastest other program")
    return figure


def large_graphs() -> Figure:
    """Accuracy, seconds and memory of a graph that is thinned."""
    rows = tables(PAGE, "Graphs too large to hold")[0]
    names = [
        f"{row['run'].replace('sparse-harmonic', 'sparse')}\n{number(row['edges']) / 1e6:.0f} million edges" for row in rows
    ]
    figure, panels = style.figure(7.6, 3.6, 3)
    colors = [style.LAPWING] * 4 + [BESIDE]
    for ax, column, text in zip(panels, ("seconds", "peak MiB"), ("{:g}", "{:,.0f}"), strict=False):
        values = numbers(rows, column)
        style.bars(ax, names if ax is panels[0] else [""] * 5, values, colors, [text.format(value) for value in values])
    for place, (row, color) in enumerate(zip(rows, colors, strict=True)):
        accuracy = number(row["accuracy"])
        panels[2].scatter([accuracy], [place], color=color, s=46, edgecolors="none", zorder=3)
        panels[2].annotate(f"{accuracy:.3f}", (accuracy, place), (7, 0), textcoords="offset points", va="center", fontsize=9)
    panels[2].set_yticks(range(5), [""] * 5)
    panels[2].tick_params(axis="y", length=0)
    panels[2].set(xlim=(0.97, 1.01), xticks=(0.97, 0.98, 0.99, 1.0))
    panels[2].set_ylim(panels[0].get_ylim())
    for ax, title in zip(panels, ("seconds", "peak memory, MiB", "accuracy"), strict=True):
        ax.set(title=title)
    return figure


def memory() -> Figure:
    """Memory needed, as a share of what the plan says."""
    rows = tables(PAGE, "Memory, planned and needed")[0]
    figure, ax = style.figure(8.0, 4.8)
    for place, row in enumerate(rows):
        for column, cell in list(row.items())[1:]:
            if cell:
                small = column.startswith("1,000")
                share = float(re.search(r"\(([\d.]+)\)", cell)[1])
                ax.scatter(
                    [share],
                    [place],
                    color="none" if small else style.LAPWING,
                    edgecolors=style.LAPWING,
                    s=26,
                    linewidths=0.8,
                )
    ax.axvline(1, color=BESIDE, linewidth=1.4)
    ax.set_yticks(range(len(rows)), [row["method"] for row in rows])
    ax.set(title="peak memory as a share of the plan; open circles: 1,000 rows", xlim=(0.5, 1.05))
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    return figure


def reading() -> Figure:
    """Seconds to read a table."""
    figure, panels = style.figure(7.6, 2.2, 2)
    for ax, heading in zip(panels, ("CSV, 242 MB, 900,000 × 32", "Parquet, 115 MB, 900,000 × 32"), strict=True):
        rows = tables("results/tables.md", heading)[0]
        names, seconds = [row["reader"].split(" 2")[0] for row in rows], numbers(rows, "s")
        colors = [style.LAPWING if name.startswith("lapwing") else BESIDE for name in names]
        style.bars(ax, names, seconds, colors, [f"{value:.2f} s" for value in seconds])
        ax.set_title(heading.rsplit(",", 2)[0], fontsize=10)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "small-data": small_data,
    "million-rows": million_rows,
    "certified": certified,
    "neighbors": neighbors,
    "laplacian-systems": laplacian_systems,
    "large-graphs": large_graphs,
    "memory": memory,
    "reading": reading,
}
