"""Accuracy against α, for raw and balanced columns of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

import common
import methods
import results
import sets

Setting = dict[str, Any]
NAME = "mnist"
DATA = sets.files([NAME])
ALPHAS = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
LABELED = {"1 per class": [1] * 10, "10 per class": [10] * 10, "50, 50, 8 × 5": [50] * 2 + [5] * 8}
"""Labels of each class; in the last case the order of the classes is random."""
N_LANDMARKS = 100


def settings(small: bool) -> list[Setting]:
    """A process for each factor and balance."""
    size = {"rows": 2000, "draws": 2} if small else {"rows": 30_000, "draws": 10}
    return [
        {"method": method, "balance": balance, **size}
        for method in ("anchor", "nystrom")
        for balance in ("raw", "balanced")
    ]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy for each α and draw of labels."""
    rows, classes = sets.load(NAME, setting["rows"])
    cases = [(labeled, draw) for labeled in LABELED for draw in range(setting["draws"])]
    draws = [
        sets.shown(classes, np.random.default_rng(draw).permutation(LABELED[labeled]).tolist(), draw)
        for labeled, draw in cases
    ]
    records = []
    for alpha in ALPHAS:
        fitted = methods.classifier(setting["method"], N_LANDMARKS, 0, alpha=alpha, balance=setting["balance"])
        for (labeled, draw), shown, found in zip(cases, draws, methods.together(fitted, rows, draws), strict=True):
            case = {"alpha": alpha, "labeled": labeled, "draw": draw}
            records.append({**case, **methods.rightness(classes, shown, found)})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each factor, draw and balance; a column for each α."""
    groups = results.grouped(records, lambda record: (record["method"], record["labeled"], record["balance"]))
    rows = []
    for key in sorted(groups, key=lambda key: (key[0], list(LABELED).index(key[1]), key[2] == "balanced")):
        by_alpha = results.by(groups[key], "alpha")
        rows.append([*key, *[results.accuracy(by_alpha[alpha]) for alpha in ALPHAS]])
    return common.table(["factor", "labels", "columns", *[f"α = {alpha}" for alpha in ALPHAS]], rows)


def plot(records: list[common.Record]) -> Any:
    """Accuracy over α, a panel for each kind of draw; raw columns are dashed."""
    figure = results.figure(12, 3.8)
    panels = figure.subplots(1, len(LABELED), sharey=True)
    for panel, labeled in zip(panels, LABELED, strict=True):
        chosen = [record for record in records if record["labeled"] == labeled]
        for (method, balance), group in results.grouped(chosen, lambda one: (one["method"], one["balance"])).items():
            by_alpha = results.by(group, "alpha")
            accuracy = [results.mean(found, "accuracy") for found in by_alpha.values()]
            dashes = {"linestyle": "--" if balance == "raw" else "-", "label": f"{method}, {balance}"}
            panel.plot(list(by_alpha), accuracy, **methods.CURVES.style(method), **dashes)
        panel.set(xscale="logit", xlabel="α", title=labeled)
        panel.set_xticks(ALPHAS, map(str, ALPHAS))
        panel.minorticks_off()
    panels[0].set_ylabel("accuracy on rows without a label")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
