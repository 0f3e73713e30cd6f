"""How every picture looks: sizes, colors, and files that are small and the same on every machine.

Pictures have no background, and text in a gray that can be read on white and on dark pages alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import shorten
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent

TEXT = "#767676"
FRAME = "#9a9a9a"
LAPWING = "#0f8b91"
#: Colors of other programs, and of whatever stands beside one another.
OTHERS = ("#d55e00", "#cc79a7", "#5f86b8", "#c98a00", "#8a8a8a", "#6a4fb3", "#7a9a3a", "#a0522d")
#: Color of the one program that stands beside lapwing.
BESIDE = OTHERS[3]
#: Colors of classes.
FIRST, SECOND, THIRD = "#0072b2", "#e07b00", "#009e73"
PALE = "#b4b4b4"

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "lapwing",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "axes.titlecolor": TEXT,
        "axes.labelcolor": TEXT,
        "axes.edgecolor": FRAME,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#808080",
        "grid.alpha": 0.22,
        "grid.linewidth": 0.8,
        "text.color": TEXT,
        "xtick.color": TEXT,
        "ytick.color": TEXT,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "figure.facecolor": "none",
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
    }
)


def figure(width: float, height: float, columns: int = 1, rows: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure of so many inches, and its axes."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    return drawn, drawn.subplots(rows, columns, **options)


def map_axes(ax: Axes, title: str = "") -> None:
    """Axes of rows in the plane: no ticks, no frame."""
    ax.set(xticks=[], yticks=[], title=title)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.set_aspect("equal", adjustable="datalim")


def bars(ax: Axes, names: list[str], values: list[float], colors: list[str], labels: list[str]) -> None:
    """Horizontal bars, the first on top, each with its value behind it and its name in its color."""
    places = range(len(names))
    ax.barh(places, values, color=colors, height=0.66)
    for place, value, label in zip(places, values, labels, strict=True):
        ax.annotate(label, (value, place), (4, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_yticks(places, names)
    for tick, color in zip(ax.get_yticklabels(), colors, strict=True):
        tick.set_color(color)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.18)


def save(drawn: Figure, name: str) -> Path:
    """Write the picture of this name, without date and in few bytes."""
    path = FOLDER / f"{name}.svg"
    drawn.savefig(path, transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    path.write_text(shorten.svg(path.read_text(encoding="utf-8")), encoding="utf-8")
    return path
