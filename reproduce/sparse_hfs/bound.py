"""The bound of theorem 1 beside the error that it bounds, and the error of sparsifying beside its share of the bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import common
import law
import results

Setting = dict[str, Any]
DATA: tuple[str, ...] = ()
LABELS = (20, 50, 100, 200, 500, 1000)
DRAWS = 10
GAMMAS = (1.0, 1e-4)
"""γ of the boxes in the paper, and one at which the labels are good."""
DELTA, LARGEST = 0.05, 1.0
"""The chance that the bound fails, and M, the largest |y|."""
EDGES_A_NODE = 40
CURVES = results.Curves("error on U", "bound", "sparsifying", "its share of the bound")


def settings(small: bool) -> list[Setting]:
    """A process for each γ and number of labels."""
    counts, draws = (LABELS[:1], 2) if small else (LABELS, DRAWS)
    return [{"gamma": gamma, "labels": count, "draws": draws} for gamma in GAMMAS for count in counts]


def measure(setting: Setting) -> list[common.Record]:
    """Digits 0–4 against 5–9 on the graph of `law`: errors of Stable-HFS on all edges and on a sparsifier, and the terms of the bound."""
    from lapwing.graph import sparsify
    from sklearn.datasets import load_digits

    truth = np.where(load_digits(return_X_y=True)[1] < 5, -1.0, 1.0)
    whole = law.graph("neighbors")
    laplacian = law.laplacian(whole)
    values = np.linalg.eigvalsh(laplacian)
    n, l, gamma, roots, records = len(truth), setting["labels"], setting["gamma"], law.inverse_root(laplacian), []
    for draw in range(setting["draws"]):
        sparse = law.laplacian(sparsify(whole, edge_budget=EDGES_A_NODE * n, random_state=draw).to_scipy())
        epsilon = law.distortion(roots, sparse)
        shown = np.random.default_rng(draw).choice(n, l, replace=False)
        exact, thinned = (stable(of, truth, shown, gamma) for of in (laplacian, sparse))
        hidden = np.setdiff1d(np.arange(n), shown)
        y = truth - truth[shown].mean()
        errors = {
            "empirical": float(np.mean((exact[shown] - y[shown]) ** 2)),
            "on U": float(np.mean((thinned[hidden] - y[hidden]) ** 2)),
        }
        errors["sparsifying"] = abs(float(np.mean((thinned[shown] - y[shown]) ** 2)) - errors["empirical"])
        errors["accuracy"] = float(np.mean((thinned[hidden] > 0) == (truth[hidden] > 0)))
        bound = terms((l, n - l), gamma, epsilon, (values[1], values[-1]), float(np.abs(thinned - y).max()))
        records.append({"draw": draw, "epsilon": epsilon, **errors, **bound})
    return records


def stable(laplacian: np.ndarray, truth: np.ndarray, shown: np.ndarray, gamma: float) -> np.ndarray:
    """Stable-HFS (n): the least Σ (f − ỹ)² + l·γ·fᵀLf over the functions of mean zero, for centered labels ỹ."""
    n, l = len(truth), len(shown)
    y = np.zeros(n)
    y[shown] = truth[shown] - truth[shown].mean()
    system = l * gamma * laplacian
    system[shown, shown] += 1
    center = np.eye(n) - 1 / n
    return np.linalg.solve(center @ system @ center + 1 / n, center @ y)


def terms(
    rows: tuple[int, int], gamma: float, epsilon: float, eigenvalues: tuple[float, float], distance: float
) -> common.Record:
    """The terms of eq. 3 for (l, u) rows and eigenvalues λ₂ and λₙ, infinite where l·γ·(1 − ε)·λ₂ ≤ 1: there it says nothing."""
    (l, u), (least, largest) = rows, eigenvalues
    gap = l * gamma * (1 - epsilon) * least - 1
    if gap <= 0:
        return {"first": math.inf, "beta": math.inf, "last": math.inf}
    first = (l * gamma * largest * LARGEST * epsilon) ** 2 / gap**4
    beta = 1.5 * LARGEST * math.sqrt(l) / gap**2 + 4 * LARGEST / gap
    most = 2 * max(l, u)
    spread = l * u / (l + u - 0.5) * most / (most - 1)
    last = (2 * beta + distance**2 * (l + u) / (l * u)) * math.sqrt(spread * math.log(1 / DELTA) / 2)
    return {"first": first, "beta": beta, "last": last}


# --- tables and plots ------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each γ and number of labels; means over the draws."""
    rows = []
    for (gamma, labels), group in results.grouped(records, lambda record: (record["gamma"], record["labels"])).items():
        mean = {
            name: results.mean(group, name)
            for name in ("epsilon", "accuracy", "on U", "empirical", "sparsifying", "first", "beta", "last")
        }
        bound = mean["empirical"] + mean["first"] + mean["beta"] + mean["last"]
        row = [f"{value:.2g}" for value in (*mean.values(), bound, bound / mean["on U"])]
        rows.append([f"{gamma:g}", f"{labels:,}", *row])
    head = [
        "γ",
        "labels",
        "ε",
        "accuracy on U",
        "error on U",
        "error on S, all edges",
        "change by sparsifying",
        "its term in the bound",
        "β",
        "last term",
        "bound",
        "bound / error",
    ]
    return common.markdown("Theorem 1: mean squared errors and their bound", head, rows)


def plot(records: list[common.Record]) -> Any:
    """Error and bound over the number of labels, at the γ of the paper."""
    figure = results.figure(5, 3.6)
    panel = figure.subplots()
    groups = results.by([record for record in records if record["gamma"] == GAMMAS[0]], "labels")
    mean = {
        name: [results.mean(group, name) for group in groups.values()]
        for name in ("on U", "empirical", "sparsifying", "first", "beta", "last")
    }
    bound = np.sum([mean[name] for name in ("empirical", "first", "beta", "last")], axis=0)
    for label, values in zip(
        ("error on U", "bound", "sparsifying", "its share of the bound"),
        (mean["on U"], bound, mean["sparsifying"], mean["first"]),
        strict=True,
    ):
        panel.plot(list(groups), values, label=label, **CURVES.style(label))
    panel.set(xscale="log", yscale="log", xlabel="labels", ylabel="mean squared error")
    panel.legend()
    return figure
