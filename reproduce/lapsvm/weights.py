"""The weights γ_A and γ_I of each family of methods: those of the least mean error on the rows for validation."""

from __future__ import annotations

from typing import Any

import common
import methods
import paper
import results
import sets

Setting = dict[str, Any]
DATA = sets.files()
SMALL_SETS = ("G50C",)
SMALL_DRAWS = 3


def names(small: bool) -> tuple[str, ...]:
    """Data sets to measure."""
    return SMALL_SETS if small else tuple(sets.SETS)


def draws(name: str, small: bool) -> int:
    """Splits to measure."""
    return min(SMALL_DRAWS if small else 12, sets.SETS[name].draws)


def settings(small: bool) -> list[Setting]:
    """A process for each data set and family of methods; the dual is too slow to be searched on MNIST."""
    return [
        _setting(name, family, small)
        for name in names(small)
        for family in methods.FAMILIES
        if _source(name, family) == family
    ]


def best(name: str, family: str, small: bool) -> methods.Weights:
    """The chosen weights, from what was measured before."""
    record = paper.earlier("lapsvm", "weights", _setting(name, _source(name, family), small), small)
    return _least(record["measurements"])


def measure(setting: Setting) -> list[common.Record]:
    """The mean errors of every pair of weights over the draws."""
    name, family = setting["data"], methods.FAMILIES[setting["family"]]
    of, params = sets.SETS[name], methods.searched(name, family)
    found: dict[methods.Weights, list[common.Record]] = {
        weights: [] for weights in methods.pairs(family, setting["small"])
    }
    for task in sets.tasks(of, setting["draws"]):
        for weights, errors in found.items():
            errors.append(methods.errors(methods.fitted(family, params, weights, task, of), task))
    return [
        {"ambient_reg": ambient, "graph_reg": graph, **{part: results.mean(errors, part) for part in ("U", "V", "T")}}
        for (ambient, graph), errors in found.items()
    ]


def _setting(name: str, family: str, small: bool) -> Setting:
    return {
        "data": name,
        "family": family,
        "draws": min(draws(name, small), sets.SETS[name].search_draws),
        "small": small,
    }


def _source(name: str, family: str) -> str:
    """The family whose weights this one takes."""
    return "LapSVM" if family == "dual" and sets.SETS[name].searched == "cg" else family


def _least(records: list[common.Record]) -> methods.Weights:
    chosen = min(records, key=lambda record: record["V"])
    return chosen["ambient_reg"], chosen["graph_reg"]


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Chosen weights, and the least error on U among all pairs beside it."""
    rows = []
    for (name, family), group in results.grouped(records, lambda record: (record["data"], record["family"])).items():
        (ambient, graph), found = _least(group), min(group, key=lambda record: record["V"])
        percent = [f"{100 * value:.2f}" for value in (found["V"], found["U"], min(record["U"] for record in group))]
        rows.append([name, family, f"{ambient:g}", f"{graph:g}" if graph else "–", *percent])
    head = ["data", "family", "γ_A", "γ_I", "error on V, %", "error on U, %", "least error on U of any pair, %"]
    return common.markdown("Weights", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Error on V over γ_I at the best γ_A, a panel for each data set."""
    shown = list(dict.fromkeys(record["data"] for record in records))
    figure = results.figure(3 * len(shown), 3)
    for panel, name in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        of_set = [record for record in records if record["data"] == name and record["graph_reg"]]
        for family, group in results.grouped(of_set, lambda record: record["family"]).items():
            by_graph = results.by(group, "graph_reg")
            least = [100 * min(record["V"] for record in found) for found in by_graph.values()]
            style = methods.CURVES.style(next(iter(methods.FAMILIES[family].methods)))
            panel.plot(list(by_graph), least, label=family, **style)
        panel.set(xscale="log", title=name, xlabel="γ_I")
    figure.axes[0].set_ylabel("error on V, %")
    figure.axes[0].legend()
    return figure
