"""Small data: one call of lapwing beside one of scikit-learn's LabelSpreading, in turns, in one process."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tasks import show_labels

import common

LABELS = 10
"""Labels shown of each class."""


def digits(rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data[:rows], data.target[:rows]


def blobs() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_blobs

    return make_blobs(10_000, 10, centers=10, cluster_std=4.0, random_state=0)


def moons() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_moons

    return make_moons(10_000, noise=0.1, random_state=0)


SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "200 digits": lambda: digits(200),
    "digits": digits,
    "blobs": blobs,
    "moons": moons,
}


def main() -> None:
    args = parse()
    warnings.simplefilter("ignore")
    from sklearn.semi_supervised import LabelSpreading

    from lapwing import HarmonicClassifier

    record: common.Record = {"sets": [], "imports": imports(args.repeats)}
    for name, load in SETS.items():
        features, classes = load()
        shown = show_labels(classes, LABELS, 0)
        peers = {"lapwing": HarmonicClassifier(), "spreading": LabelSpreading(kernel="knn")}
        seconds: dict[str, list[float]] = {peer: [] for peer in peers}
        for repeat in range(args.repeats + 1):
            for peer, model in peers.items():
                start = time.perf_counter()
                model.fit(features, shown)
                # The first fit of each is not counted.
                if repeat:
                    seconds[peer].append(time.perf_counter() - start)
        hidden = shown < 0
        right = {peer: float((model.transduction_ == classes)[hidden].mean()) for peer, model in peers.items()}
        record["sets"].append({"set": name, "shape": features.shape, "seconds": seconds, "accuracy": right})
        common.save(args.out, record)


def imports(repeats: int) -> dict[str, float]:
    """Seconds of a new interpreter that imports a package, less those of one that imports nothing; medians."""

    def median(code: str) -> float:
        found = []
        for _ in range(repeats):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            found.append(time.perf_counter() - start)
        return statistics.median(found)

    empty = median("")
    packages = {"lapwing": "import lapwing", "an estimator of lapwing": "from lapwing import HarmonicClassifier"}
    packages["scikit-learn"] = "import sklearn.base"
    return {name: median(code) - empty for name, code in packages.items()}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", required=True, type=int)
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def table(result: common.Record) -> str:
    """Milliseconds and accuracy on hidden rows, a row for each set; then the imports."""
    if not result.get("sets"):
        return str(result["outcome"])
    head = ["set", "rows × columns", "lapwing ms", "LabelSpreading ms", "ratio", "accuracy", "of LabelSpreading"]
    lines = []
    for one in result["sets"]:
        ours, theirs = (1e3 * statistics.median(one["seconds"][peer]) for peer in ("lapwing", "spreading"))
        right = [f"{one['accuracy'][peer]:.3f}" for peer in ("lapwing", "spreading")]
        shape = "{:,} × {}".format(*one["shape"])
        lines.append([one["set"], shape, f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}", *right])
    fits = common.markdown("Small data, medians", head, lines)
    seconds = [[name, f"{value:.2f}"] for name, value in result["imports"].items()]
    return fits + "\n" + common.markdown("Imports, medians", ["import of", "s"], seconds)


if __name__ == "__main__":
    main()
