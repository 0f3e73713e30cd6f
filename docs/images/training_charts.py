"""Charts of methods beside NumPy and PyTorch, from the tables of results."""

from __future__ import annotations

import re
from collections.abc import Callable

import style
from matplotlib.figure import Figure
from style import BESIDE
from tables import number, numbers, tables

PAGE = "results.md"


def learned_graphs() -> Figure:
    """Milliseconds beside NumPy."""
    rows = tables(PAGE, "Learned graphs")[1]
    figure, panels = style.figure(7.6, 1.9, 2)
    for ax, row in zip(panels, rows, strict=True):
        values = [number(row[column]) for column in ("lapwing", "one thread", "NumPy, SciPy")]
        names = ["lapwing", "lapwing, one thread", "NumPy and SciPy"]
        style.bars(ax, names, values, [style.LAPWING, style.LAPWING, BESIDE], [f"{value:g} ms" for value in values])
        ax.set_title(row["method"], fontsize=10)
    return figure


def low_rank() -> Figure:
    """Seconds for ten million rows beside NumPy."""
    rows = tables(PAGE, "Low-rank propagation of 10⁸ rows")[2]
    figure, panels = style.figure(7.6, 1.9, 3)
    for ax, row in zip(panels, rows, strict=True):
        values = [number(row[column]) for column in ("lapwing", "NumPy, chunks", "NumPy, products")]
        names = ["lapwing", "NumPy, chunks", "NumPy, products"]
        style.bars(
            ax,
            names if ax is panels[0] else [""] * 3,
            values,
            [style.LAPWING, BESIDE, BESIDE],
            [f"{v:.2f} s" for v in values],
        )
        ax.set_title(row[""], fontsize=10)
        ax.set(xlim=(0, 11))
    return figure


def lapsvm() -> Figure:
    """Seconds of ways to train, beside NumPy."""
    cg, newton = tables(PAGE, "Laplacian SVM")
    figure, (left, right) = style.figure(7.6, 2.0, 2)
    for ax, rows, title in ((left, cg, "conjugate gradients, stopped early"), (right, newton, "to the optimum")):
        names = [re.sub(r"^lapwing, ", "", next(iter(row.values()))) for row in rows]
        short = {
            "Gram matrix in single precision": "single precision",
            "in double precision": "double precision",
            "l × l": "Newton, l × l",
        }
        names = [short.get(name, "conjugate gradients" if name.startswith("conj") else name) for name in names]
        names = [name.replace("NumPy, n × n", "NumPy: Newton, n × n") for name in names]
        values, colors = numbers(rows, "fit"), [BESIDE if name.startswith("NumPy") else style.LAPWING for name in names]
        style.bars(ax, names, values, colors, [f"{value:.2f} s" if value < 10 else f"{value:.1f} s" for value in values])
        ax.set_title(f"seconds of a fit, {title}", fontsize=10)
    return figure


def unfolded() -> Figure:
    """Seconds of training, by program."""
    rows = tables(PAGE, "Unfolded graph networks")[0]
    columns = {
        "lapwing, auto": "lapwing",
        "HERTA, NumPy": "HERTA, NumPy",
        "HERTA, PyTorch": "HERTA, PyTorch",
        "features first, NumPy": "features first, NumPy",
        "the same, PyTorch": "features first, PyTorch",
        "Adam, PyTorch": "Adam, PyTorch",
    }
    figure, panels = style.figure(7.6, 4.6, 2, 2)
    names = ["communities", "communities", "Coauthor Physics", "Coauthor Physics"]
    for ax, row, name in zip(panels.flat, rows, names, strict=True):
        values = [number(row[column]) for column in columns]
        labels = [f"{v:g} s" if "not in" not in row[c] else f"not in {v:g} s" for v, c in zip(values, columns, strict=True)]
        colors = [style.LAPWING] + [BESIDE] * 5
        style.bars(ax, list(columns.values()) if ax in panels[:, 0] else [""] * 6, values, colors, labels)
        ax.set_title(f"{name}, λ = {row['λ']}", fontsize=10)
        ax.margins(x=0.3)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "learned-graphs": learned_graphs,
    "low-rank-speed": low_rank,
    "lapsvm-speed": lapsvm,
    "unfolded-speed": unfolded,
}
