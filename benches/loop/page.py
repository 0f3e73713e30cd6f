"""The page of results: tables between its marks, and plots of three parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import common
import goals

PAGE = common.ROOT / "docs" / "results" / "label-loop.md"
PLOTS = PAGE.with_suffix("")
COUNTS = [50, 70, 100, 200]


def write(name: str, text: str, results: goals.Results) -> None:
    """Put the table of a part into the page, and draw its plot if it has one."""
    common.insert(PAGE, name, text)
    if name not in DRAWN:
        return
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "lapwing"
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    DRAWN[name](axes, results)
    axes.legend(fontsize="small")
    PLOTS.mkdir(exist_ok=True)
    figure.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})


def _rounds(axes: Any, results: goals.Results) -> None:
    """Mean accuracy over the sets that every method has finished, by number of labels."""
    small = [one for one in results if not one["large"]]
    sets = goals.present(small, "set")
    for method in goals.present(small, "method"):
        means = [goals.average([goals.mean(small, f"accuracy.{count}", method, set=name) for name in sets]) for count in COUNTS]
        if means[-1] == means[-1]:
            axes.plot(COUNTS, means, marker="o", markersize=3, linewidth=_width(method), label=method)
    axes.set_xlabel("labels")
    axes.set_ylabel(f"accuracy, mean of {len(sets)} sets")


def _audit(axes: Any, results: goals.Results) -> None:
    """Average precision of each method's best score, by corruption."""
    kinds = list(dict.fromkeys((one["set"], one["noise"]) for one in results))
    for method in goals.present(results, "method"):
        scores = dict.fromkeys(score for one in results if one["method"] == method for score in one.get("average_precision", {}))
        best = [max(goals.mean(results, f"average_precision.{score}", method, set=name, noise=noise) for score in scores)
                for name, noise in kinds]  # fmt: skip
        axes.plot(best, range(len(kinds)), marker="o", markersize=6, linewidth=0, label=method)
    axes.set_yticks(range(len(kinds)), [" ".join(kind) for kind in kinds])
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.3)
    axes.set_xlabel("average precision, best score of each method")


def _sets(axes: Any, results: goals.Results) -> None:
    """Coverage by number of labels: a line for each set and form."""
    counts = [50, 100, 200]
    for method in goals.present([one for one in results if "coverage" in one], "method"):
        for name in goals.present(results, "set"):
            means = [goals.mean(results, f"coverage.{count}", method, set=name) for count in counts]
            style = "-" if method.endswith("out") else ":"
            axes.plot(counts, means, style, marker="o", markersize=3, label=f"{method}, {name}")
    axes.axhline(0.9, linewidth=0.5, color="black")
    axes.set_xlabel("labels")
    axes.set_ylabel("coverage, wanted 0.9")


def _width(method: str) -> int:
    return 2 if method.startswith("lapwing") else 1


DRAWN: dict[str, Callable[[Any, goals.Results], None]] = {"rounds": _rounds, "audit": _audit, "sets": _sets}
