"""Cross-validation of α, factor and head beside the defaults that it starts from."""

from __future__ import annotations

from typing import Any

import common
import methods
import results
import sets

Setting = dict[str, Any]
KNOWN = [("mnist", 10, 100), ("mnist", 100, 100), ("fashion", 10, 100), ("usps", 10, 100)]
KNOWN += [("cover", 50, 300), ("magic", 50, 100)]
"""Data, labels of each class and landmarks that the rule was found on."""
NEW = [("fashion", 100, 100), ("usps", 100, 100), ("mnist 4, 9", 50, 100), ("protein", 50, 100), ("donors", 50, 100)]
DATA = sets.files([name for name, *_ in KNOWN + NEW])
SELECT = {"off": "default", "auto": "chosen"}
DEFAULTS = {"n_nearest": 3, "alpha": 0.9, "head": "propagation"}


def settings(small: bool) -> list[Setting]:
    """A process for each data set and number of labels."""
    size = {"rows": 2000, "draws": 2} if small else {"rows": 12_000, "draws": 10}
    cases = [case for case in KNOWN + NEW if not small or case[1] == 10]
    return [{"data": name, "per_class": count, "n_landmarks": k, **size} for name, count, k in cases]


def measure(setting: Setting) -> list[common.Record]:
    """Accuracy with and without selection, for each draw of labels."""
    rows, classes = sets.load(setting["data"], setting["rows"])
    records = []
    for draw in range(setting["draws"]):
        shown = sets.shown(classes, setting["per_class"], draw)
        for select in SELECT:
            classifier = methods.classifier("anchor", setting["n_landmarks"], draw, select=select)
            seconds, fitted = common.timed(methods.fit, classifier, rows, shown)
            right = methods.rightness(classes, shown, fitted.transduction_)
            chosen = {key: fitted.report_["chosen"].get(key, default) for key, default in DEFAULTS.items()}
            records.append({"select": select, "draw": draw, **right, **chosen, "seconds": seconds})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A row for each data set and number of labels."""
    head = ["data", "per class", "k", *SELECT.values(), "changed", "points gained", "least", "s", "s, chosen"]
    rows = []
    groups = results.grouped(records, lambda one: (one["data"], one["per_class"], one["n_landmarks"]))
    for (data, count, k), group in groups.items():
        found = results.grouped(group, lambda one: one["select"])
        gains = [100 * gain for gain in _gains(found)]
        changed = sum(any(a[key] != b[key] for key in DEFAULTS) for a, b in zip(*found.values(), strict=True))
        accuracy = [results.accuracy(found[select]) for select in SELECT]
        cost = [common.seconds(results.mean(found[select], "seconds")) for select in SELECT]
        gained = [f"{sum(gains) / len(gains):+.1f}", f"{min(gains):+.1f}"]
        rows.append([data, str(count), str(k), *accuracy, f"{changed} of {len(gains)}", *gained, *cost])
    return common.table(head, rows)


def plot(records: list[common.Record]) -> Any:
    """Percentage points gained by cross-validation, a dot for each draw."""
    groups = results.grouped(records, lambda one: (one["data"], one["per_class"]))
    figure = results.figure(7, 0.35 * len(groups) + 1)
    panel = figure.subplots()
    for at, group in enumerate(groups.values()):
        gains = _gains(results.grouped(group, lambda one: one["select"]))
        panel.plot([100 * gain for gain in gains], [at] * len(gains), "o", color="tab:red", markersize=4, alpha=0.5)
    panel.set_yticks(range(len(groups)), [f"{data}, {count} per class" for data, count in groups])
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set(xlabel="points gained by cross-validation")
    panel.invert_yaxis()
    return figure


def _gains(found: dict[str, list[common.Record]]) -> list[float]:
    """Accuracy with cross-validation minus that of the default, draw by draw."""
    pairs = zip(found["off"], found["auto"], strict=True)
    return [chosen["accuracy"] - default["accuracy"] for default, chosen in pairs]
