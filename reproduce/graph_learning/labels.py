"""Label propagation with a hundredth of the labels, on graphs of as many edges."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import common
import graphs
import results
import sets

Setting = dict[str, Any]
DATA = sets.files(["MNIST"])
DEGREES = (5, 7, 10, 15, 20, 30)
MOST = 40
SHARE = 0.01
"""Labeled rows of each class."""
FORMS: dict[str, dict[str, Any]] = {
    "default": {},
    "clamped": {"form": "plain", "clamp": "hard", "decision": "argmax"},
}
"""Stable-HFS with defaults, and the harmonic function of Zhu et al. (2003)."""


def settings(small: bool) -> list[Setting]:
    """A process for each graph and mean degree."""
    size = {"rows": 2000, "draws": 2} if small else {"rows": sets.TRAINING, "draws": 5}
    degrees = (5, 10) if small else DEGREES
    return [{"kind": kind, "degree": degree, **size} for degree in degrees for kind in graphs.KINDS]


def measure(setting: Setting) -> list[common.Record]:
    """Errors of each draw and form; a row that no label reaches counts as wrong."""
    from lapwing import HarmonicClassifier

    rows, classes = sets.images("MNIST", setting["rows"])
    found = graphs.matched(setting["kind"], graphs.neighbors("MNIST", rows, MOST), setting["degree"])
    records = []
    for draw in range(setting["draws"]):
        given = sets.shown(classes, SHARE, draw)
        hidden = given < 0
        for form, options in FORMS.items():
            classifier = HarmonicClassifier(affinity="precomputed", **options)
            with warnings.catch_warnings(), common.Stopwatch() as watch:
                warnings.simplefilter("ignore")  # of rows out of reach, which are counted
                classifier.fit(found.weights, given)
            wrong = (classifier.transduction_ != classes) | ~classifier.reached_
            rates = {"error": float(wrong[hidden].mean()), "unreached": float(np.mean(~classifier.reached_[hidden]))}
            records.append({**found.sizes, "form": form, "draw": draw, **rates, **results.costs(watch)})
    return records


# --- tables and plots ---------------------------------------------------------------------------------------------------


def table(records: list[common.Record]) -> str:
    """A table for each form: a row for each mean degree, a column for each graph."""
    groups = results.grouped(records, lambda record: record["form"])
    return "\n".join(_table(form, groups[form]) for form in FORMS if form in groups)


def _table(form: str, group: list[common.Record]) -> str:
    kinds = graphs.CURVES.in_order(record["kind"] for record in group)
    rows = []
    for degree, found in results.by(group, "degree").items():
        by_kind = results.grouped(found, lambda record: record["kind"])
        rows.append([str(degree), *[_cell(by_kind.get(kind, [])) for kind in kinds]])
    first = group[0]
    title = f"{first['rows']:,} digits, {100 * SHARE:g} % labeled, {form}: error, % (k; unreached)"
    return common.markdown(title, ["mean degree", *kinds], rows)


def _cell(records: list[common.Record]) -> str:
    if not records:
        return "–"
    found = [100 * record["error"] for record in records]
    spread = f" ± {np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
    unreached = results.mean(records, "unreached")
    return f"{np.mean(found):.2f}{spread} ({records[0]['n_neighbors']}; {100 * unreached:.2f} %)"


def plot(records: list[common.Record]) -> Any:
    """Error over mean degree, a panel for each form."""
    groups = results.grouped(records, lambda record: record["form"])
    figure = results.figure(11, 4)
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for panel, (form, group) in zip(panels, groups.items(), strict=True):
        by_kind = results.grouped(group, lambda record: record["kind"])
        for kind in graphs.CURVES.in_order(by_kind):
            points = results.by(by_kind[kind], "mean_degree")
            errors = [100 * results.mean(found, "error") for found in points.values()]
            panel.plot(list(points), errors, label=kind, **graphs.CURVES.style(kind))
        panel.set(xlabel="mean degree", title=form)
    panels[0].set_ylabel("error on rows without a label, %")
    panels[0].legend()
    return figure
