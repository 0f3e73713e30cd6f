"""Parts of all experiments: kept measurements, groups of records, curves, files of results."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import common


#: Colours and markers, the most distinct first.
STYLES = [
    ("black", "o"), ("tab:red", "s"), ("tab:blue", "^"), ("tab:green", "D"), ("tab:orange", "v"), ("tab:gray", "x"),
    ("tab:purple", "P"), ("tab:cyan", "<"), ("tab:brown", ">"), ("tab:pink", "+"),
]  # fmt: skip


class Curves:
    """Curves in the order of all plots; each has the same color and marker in every plot.

    Curves in one tuple look alike: no plot has two of them.
    """

    def __init__(self, *curves: str | tuple[str, ...]) -> None:
        groups = [(curve,) if isinstance(curve, str) else curve for curve in curves]
        self._styles = {name: style for group, style in zip(groups, STYLES) for name in group}

    def style(self, name: str) -> dict[str, Any]:
        """Color and marker of a curve."""
        color, marker = self._styles[name]
        return {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.2}

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Distinct curves, in the order of all plots."""
        return sorted(set(names), key=list(self._styles).index)


def figure(width: float, height: float) -> Any:
    """An empty figure, with its size in inches; equal figures give equal files."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "lapwing"
    return Figure(figsize=(width, height), layout="constrained")


def costs(watch: common.Stopwatch) -> common.Record:
    """Seconds of a fit: wall time, CPU time of all threads, and CPU time of other programs."""
    return watch.record("seconds")


def grouped(records: Iterable[common.Record], key: Callable[[common.Record], Any]) -> dict[Any, list[common.Record]]:
    """Records by key, in the order keys first occur."""
    groups: dict[Any, list[common.Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def by(records: Iterable[common.Record], entry: str) -> dict[Any, list[common.Record]]:
    """Records by one of their entries, in its order."""
    return dict(sorted(grouped(records, lambda record: record[entry]).items()))


def mean(records: Sequence[common.Record], entry: str) -> float:
    """Mean of one entry."""
    return statistics.mean(record[entry] for record in records)


def accuracy(records: Sequence[common.Record]) -> str:
    """Mean ± standard deviation over the draws."""
    found = [record["accuracy"] for record in records]
    if not found:
        return "–"
    return spread(found, 3)


def write_csv(path: Path, records: Sequence[common.Record]) -> None:
    """One line for each measurement."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow({key: _short(value) for key, value in record.items()})


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def write_plot(path: Path, figure: Any) -> None:
    """An SVG without a date."""
    figure.savefig(path, metadata={"Date": None})


def kept_path(folder: Path, setting: dict[str, Any]) -> Path:
    """The file of the measurement of a setting."""
    words = (str(value).strip("[]()").replace(", ", "+").replace(" ", "_") for value in setting.values())
    return folder / f"{'-'.join(words)}.json"


def kept_record(folder: Path, setting: dict[str, Any], measure: Callable[[], common.Record]) -> common.Record:
    """The measurement of a setting: kept from an earlier run, or made now and kept if it was finished."""
    path = kept_path(folder, setting)
    if path.exists():
        return json.loads(path.read_text())
    record = measure()
    if record["outcome"] == "finished":
        folder.mkdir(parents=True, exist_ok=True)
        common.save(path, record)
    return record


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation."""
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def p_value(found: Sequence[float], mean: float, deviation: float, count: int) -> str:
    """Of Welch's test whether the mean of what was found is one that is published with its deviation; "–" for a single value."""
    from scipy import stats

    if len(found) < 2:
        return "–"
    own = statistics.mean(found), statistics.stdev(found), len(found)
    p = stats.ttest_ind_from_stats(*own, mean, deviation, count, equal_var=False).pvalue
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0")
