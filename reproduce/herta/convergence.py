"""How the loss falls with iterations and with seconds, for each method, of one loss and λ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
LEVELS = (1e-2, 1e-4, 1e-6)
"""(ℓ − ℓ*)/ℓ*."""
OWN = "default"
"""The learning rate that a method has without being told one."""
TOL = 1e-8
"""Tolerance of the methods, and the end of the plots."""
SLOW, FAST = 1000, 300
"""Most iterations of methods without a preconditioner, and of the others."""
LONG = 20.0
"""λ from which the wide sets get `FAST` iterations from every method: there a step takes a tenth of a second."""
LARGEST = "Coauthor Physics"
"""Has the default rates alone from that λ on: there a step takes a fifth of a second."""
SMALL_SLOW, SMALL_FAST = 300, 40
AN_OCTAVE = 12
"""Points of a curve between t and 2t iterations."""


@dataclass(frozen=True)
class Convergence:
    """An experiment of the paper."""

    loss: str
    graph_reg: float
    DATA = sets.files()

    def settings(self, small: bool) -> list[Setting]:
        """A process for each data set, method and learning rate."""
        slow, fast = (SMALL_SLOW, SMALL_FAST) if small else (SLOW, FAST)
        return [
            {"data": data, "method": method, "max_iter": slow if self._takes_slow(method, data) else fast, "rate": rate}
            for data in sets.chosen(small)
            for method in methods.of(self.loss, data)
            for rate in (OWN, *self._learning_rates(method, data))
        ]

    def _learning_rates(self, method: str, data: str) -> tuple[float, ...]:
        is_slow = data == LARGEST and self.graph_reg >= LONG
        return methods.RATES if method in methods.RATED and not is_slow else ()

    def _takes_slow(self, method: str, data: str) -> bool:
        return method in methods.PLAIN and (data not in sets.WIDE or self.graph_reg < LONG)

    def measure(self, setting: Setting) -> list[common.Record]:
        """Points of the curve, each with the values of the whole training."""
        data = sets.load(setting["data"])
        labels = sets.shown(data.classes, 0)
        best = methods.optimum(setting["data"], data, labels, self.loss, self.graph_reg)
        options = {"l2_reg": best.l2_reg, "tol": TOL, "max_iter": setting["max_iter"]}
        options |= methods.METHODS[setting["method"]]
        if setting["rate"] != OWN:
            options["learning_rate"] = setting["rate"]
        said = methods.part(methods.fitted(data, labels, self.loss, self.graph_reg, **options))
        whole = {"optimum": best.value, "l2_reg": best.l2_reg, "condition": said["condition"]}
        whole |= {"edge_passes": said["edge_passes"], "n_nodes": data.graph.shape[0], "n_edges": data.graph.nnz // 2}
        whole |= {"n_features": data.features.shape[1], "n_labeled": int((labels >= 0).sum())}
        errors = [best.error(value) for value in said["loss"]]
        points = shown(errors)
        return [{"step": at, "seconds": said["seconds"][at], "error": errors[at], **whole} for at in points]

    def listed(self, records: list[common.Record]) -> list[common.Record]:
        """The curves that are drawn, and the ends of those with other learning rates."""
        lines = []
        for curves in results.grouped(records, lambda one: (one["data"], one["method"])).values():
            drawn = {trial[0]["rate"] for trial in _rates(curves)}
            trials = results.grouped(curves, lambda one: one["rate"])
            lines += [point for rate, trial in trials.items() for point in (trial if rate in drawn else trial[-1:])]
        return lines

    def table(self, records: list[common.Record]) -> str:
        """Steps and seconds to each level, a table for each data set."""
        groups = results.grouped(records, lambda one: one["data"])
        return "\n".join(_table(name, group) for name, group in groups.items())

    def plot(self, records: list[common.Record]) -> Any:
        """Error over iterations, below it over seconds; a column for each data set."""
        groups = results.grouped(records, lambda one: one["data"])
        figure = results.figure(3.2 * len(groups) + 0.5, 6.5)
        panels = figure.subplots(2, len(groups), sharey=True, squeeze=False)
        for at, (name, group) in enumerate(groups.items()):
            by_method = results.grouped(group, lambda one: one["method"])
            for method in methods.CURVES.in_order(by_method):
                shown_rates = _rates(by_method[method])
                for panel, entry in zip(panels[:, at], ("step", "seconds"), strict=True):
                    # The best of the paper's rates; beside it, thin, the default.
                    _curve(panel, shown_rates[-1], entry, method)
                    if len(shown_rates) > 1:
                        _curve(panel, shown_rates[0], entry, method, {"linewidth": 0.6, "label": None, "marker": None})
            panels[0, at].set_title(name)
            panels[0, at].set_xscale("symlog", linthresh=1)
            panels[0, at].set(xlabel="iterations", xlim=(0, None))
            panels[1, at].set(xscale="log", xlabel="seconds")
        panels[0, 0].set(yscale="log", ylim=(TOL, None))
        for panel in panels[:, 0]:
            panel.set_ylabel("(ℓ − ℓ*)/ℓ*")
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6 if len(groups) > 2 else 3
        )
        return figure


def shown(errors: list[float]) -> list[int]:
    """Steps of a drawn curve: all at the beginning, then fewer and fewer, the first ones at each level, and the last."""
    kept = {0, len(errors) - 1}
    kept |= {math.ceil(2 ** (at / AN_OCTAVE)) for at in range(AN_OCTAVE * len(errors).bit_length())}
    kept |= {next((at for at, error in enumerate(errors) if error <= level), 0) for level in LEVELS}
    return sorted(at for at in kept if at < len(errors))


def _table(name: str, group: list[common.Record]) -> str:
    first = group[0]
    head = ["method", "rate", *[f"steps to {level:.0e}".replace("e-0", "e-") for level in LEVELS]]
    head += [*[f"s to {level:.0e}".replace("e-0", "e-") for level in LEVELS], "at the end", "after steps", "s"]
    head += ["condition", "edge passes"]
    by_method = results.grouped(group, lambda one: one["method"])
    rows = [
        _line(method, trial) for method in methods.CURVES.in_order(by_method) for trial in _rates(by_method[method])
    ]
    sizes = f"{first['n_nodes']:,} nodes, {first['n_edges']:,} edges, {first['n_features']:,} features"
    title = f"{name}: {sizes}, {first['n_labeled']:,} labels, ρ = {first['l2_reg']:.3g}, ℓ* = {first['optimum']:.8g}"
    return common.markdown(title, head, rows)


def _rates(points: list[common.Record]) -> list[list[common.Record]]:
    """The trial with the default rate, and that of the least final loss among the rates of the paper, if there are any."""
    trials = results.grouped(points, lambda one: one["rate"])
    own = trials.pop(OWN)
    return [own, *([min(trials.values(), key=lambda trial: trial[-1]["error"])] if trials else [])]


def _line(method: str, points: list[common.Record]) -> list[str]:
    last = points[-1]
    reached = [next((one for one in points if one["error"] <= level), None) for level in LEVELS]
    rate = (
        f"{points[0]['rate']:g}, best of five"
        if points[0]["rate"] != OWN
        else "default"
        if method in methods.RATED
        else ""
    )
    cells = [method, rate, *["–" if one is None else f"{one['step']:,}" for one in reached]]
    cells += ["–" if one is None else f"{one['seconds']:.3g}" for one in reached]
    cells += [f"{last['error']:.1e}", f"{last['step']:,}", f"{last['seconds']:.3g}"]
    return [*cells, f"{last['condition']:.2f}" if last["condition"] else "–", f"{last['edge_passes']:,}"]


def _curve(
    panel: Any, points: list[common.Record], entry: str, method: str, changed: dict[str, Any] | None = None
) -> None:
    style = {**methods.CURVES.style(method), "label": method, "markevery": 0.15, **(changed or {})}
    style["linestyle"] = "--" if method == "direct" else "-"  # same curve as L-BFGS, except for the seconds
    panel.plot([one[entry] for one in points], [max(one["error"], TOL / 10) for one in points], **style)
