"""The page of results: tables between its marks, and a plot of accuracy by number of labels."""

from __future__ import annotations

import common
import goals

PAGE = common.ROOT / "docs" / "results" / "label-loop.md"
PLOT = PAGE.with_suffix("") / "rounds.svg"
COUNTS = [50, 70, 100, 200]


def write(name: str, text: str, results: goals.Results) -> None:
    """Put the table of a part into the page; of `rounds` also the plot."""
    common.insert(PAGE, name, text)
    if name == "rounds":
        _plot([one for one in results if not one["large"]])


def _plot(results: goals.Results) -> None:
    """Mean accuracy over the sets that every method has finished."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "lapwing"
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    sets = goals.present(results, "set")
    for method in goals.present(results, "method"):
        means = [goals.average([goals.mean(results, f"accuracy.{count}", method, set=name) for name in sets]) for count in COUNTS]
        if means[-1] == means[-1]:
            is_ours = method.startswith("lapwing")
            axes.plot(COUNTS, means, marker="o", markersize=3, linewidth=2 if is_ours else 1, label=method)
    axes.set_xlabel("labels")
    axes.set_ylabel(f"accuracy, mean of {len(sets)} sets")
    axes.legend(fontsize="small")
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})
