"""What the error on USPST(B) and COIL20(B) depends on: settings that the paper leaves open, one changed at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import common
import methods
import published
import results
import sets

Setting = dict[str, Any]
DATA = ("usps.npz", "coil20.npz")
AS_RUN = "as run"
CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    "USPST(B)": {
        AS_RUN: {},
        "digits 0–4 against 5–9": {"merged": sets.zeros_to_fours},
        "labels by digit": {"drawn_by": "file"},
        "labels at random": {"drawn_by": "random"},
        "10 neighbors, as quoted": {"n_neighbors": 10},
        "6 neighbors": {"n_neighbors": 6},
        "binary weights": {"weights": "binary"},
        "Laplacian D − W": {"laplacian": "combinatorial"},
        "p = 1": {"power": 1},
        "p = 5": {"power": 5},
        "σ = 4.7": {"kernel": sets.rbf(4.7)},
        "σ = 18.8": {"kernel": sets.rbf(18.8)},
        "all rows in the graph": {"all_rows": True},
    },
    "COIL20(B)": {
        AS_RUN: {},
        "labels by object": {"drawn_by": "file"},
        "labels at random": {"drawn_by": "random"},
        "σ = 0.6, as quoted": {"kernel": sets.rbf(0.6)},
        "binary weights": {"weights": "binary"},
        "Laplacian D − W": {"laplacian": "combinatorial"},
        "all rows in the graph": {"all_rows": True},
    },
}
FAMILIES = ("RLSC", "LapRLSC")
CURVES = results.Curves("RLSC", "LapRLSC", "LapRLSC, paper")


def settings(small: bool) -> list[Setting]:
    """A process for each change."""
    if small:
        return [{"data": "COIL20(B)", "change": AS_RUN, "draws": 2, "small": True}]
    return [
        {"data": name, "change": change, "draws": 12, "small": False}
        for name, some in CHANGES.items()
        for change in some
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Errors of each draw with the weights of the least mean error on V, for least squares without and with the graph."""
    name = setting["data"]
    of = replace(sets.SETS[name], **CHANGES[name][setting["change"]])
    families = [methods.FAMILIES[family] for family in FAMILIES]
    found: dict[tuple[int, methods.Weights], list[common.Record]] = {}
    for task in sets.tasks(of, setting["draws"]):
        for at, family in enumerate(families):
            for weights in methods.pairs(family, setting["small"]):
                fitted = methods.fitted(family, {"solver": "newton"}, weights, task, of)
                found.setdefault((at, weights), []).append(methods.errors(fitted, task))
    records = []
    for at, family in enumerate(FAMILIES):
        of_family = {weights: errors for (which, weights), errors in found.items() if which == at}
        chosen = min(of_family, key=lambda weights: results.mean(of_family[weights], "V"))
        least = min(results.mean(errors, "U") for errors in of_family.values())
        weights = {"ambient_reg": chosen[0], "graph_reg": chosen[1], "least": least}
        records += [
            {"family": family, "draw": draw, **weights, **errors} for draw, errors in enumerate(of_family[chosen])
        ]
    return records


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """Errors on U with each change, and the p-value of the difference from the paper."""
    parts = []
    for name, of_set in results.grouped(records, lambda record: record["data"]).items():
        rows = []
        for change, group in results.grouped(of_set, lambda record: record["change"]).items():
            row = [change]
            for family, of_family in results.grouped(group, lambda record: record["family"]).items():
                paper, errors = published.error(name, family, "U"), [100 * record["U"] for record in of_family]
                row += [results.spread(errors), published.p_value(errors, name, paper) if paper else ""]
                row += [f"{100 * of_family[0]['least']:.2f}"] if family == "LapRLSC" else []
            rows.append(row)
        rows.append(
            [
                "paper",
                *[
                    word
                    for family in FAMILIES
                    for word in (published.text(published.error(name, family, "U") or (0, 0)), "")
                ],
            ]
        )
        head = [
            "changed",
            *[word for family in FAMILIES for word in (f"{family}, %", f"p of {family}")],
            "least of any γ, %",
        ]
        parts.append(common.markdown(f"Protocol of {name}: errors on U", head, rows))
    return "\n".join(parts)


def plot(records: list[common.Record]) -> Any:
    """Errors of LapRLSC by change, a panel for each data set, with a line at the paper's."""
    grouped = results.grouped(records, lambda record: record["data"])
    figure = results.figure(12, 4)
    for panel, (name, of_set) in zip(figure.subplots(1, len(grouped), squeeze=False)[0], grouped.items(), strict=True):
        by_change = results.grouped(of_set, lambda record: record["change"])
        for family in FAMILIES:
            errors = [
                100 * results.mean([r for r in group if r["family"] == family], "U") for group in by_change.values()
            ]
            panel.plot(errors, range(len(errors)), **{**CURVES.style(family), "linestyle": "none", "label": family})
        paper = published.error(name, "LapRLSC", "U")
        if paper:
            panel.axvline(paper[0], color="tab:gray", linestyle=":", label="LapRLSC, paper")
        panel.set(title=name, xlabel="error on U, %")
        panel.set_yticks(range(len(by_change)), list(by_change))
        panel.invert_yaxis()
    figure.axes[0].legend()
    return figure
