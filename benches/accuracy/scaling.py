"""What scaling is worth to `HarmonicClassifier`, by data set: the table of `docs/results/scaling.md`.

    python benches/accuracy/scaling.py [SET …]

Draws and labels are those of the table of accuracy (`cells.py`), but rows are in the scale of their files.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import cells
import numpy as np
from lapwing import HarmonicClassifier
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer

DRAWS = 3
OF_EACH = (5, 30)
OF_SKLEARN = ("wine", "breast_cancer", "iris", "digits")


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    for name in names or [*OF_SKLEARN, *cells.SETS]:
        is_text = cells.SCALES.get(name) == cells.TEXT
        rows: dict[int, list[list[float]]] = {of_each: [] for of_each in OF_EACH}
        measures = (0.0, 0.0)
        for draw in range(DRAWS):
            features, classes = _draw(name, draw)
            measures = measures if draw or is_text else (largest_over_median(features), deviation_of_logs(features))
            for of_each in OF_EACH:
                shown = cells.of_each_class(classes, of_each, cells._rng(name, draw, 1))
                forms = _weighed(features) if is_text else _scaled(features)
                rows[of_each].append([_accuracy(form, options, classes, shown) for form, options in forms])
        means = [f"{mean:.3f}" for of_each in OF_EACH for mean in np.mean(rows[of_each], axis=0)]
        told = [] if is_text else [f"{measures[0]:.3g}", f"{measures[1]:.2f}"]
        print(f"| {' | '.join([f'`{name}`', *told, *means])} |", flush=True)


def largest_over_median(features: np.ndarray) -> float:
    """The largest spread of a column over the median one."""
    widths = spreads(features)
    return float(widths[-1] / widths[(len(widths) - 1) // 2])


def deviation_of_logs(features: np.ndarray) -> float:
    """The standard deviation of the decimal logarithms of the spreads, the smallest tenth of them left out."""
    widths = spreads(features)
    return float(np.log10(widths[math.ceil(len(widths) / 10) :]).std())


def spreads(features: np.ndarray) -> np.ndarray:
    """The widths of the middle nine tenths of the columns, ascending, those that are not 0."""
    low, high = np.quantile(features, [0.05, 0.95], axis=0)
    return np.sort((high - low)[high > low])


def widths(features: np.ndarray) -> np.ndarray:
    """What scaling makes the same: the range, but at most three times the width of the middle 98 hundredths."""
    low, high = np.quantile(features, [0.01, 0.99], axis=0)
    whole = np.ptp(features, axis=0)
    return np.where(high > low, np.minimum(whole, 3 * (high - low)), whole)


def _draw(name: str, draw: int) -> tuple[Any, np.ndarray]:
    if name in OF_SKLEARN:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    scale, cells.SCALES[name] = cells.SCALES[name], cells.SCALES[name].replace(cells.TABLE, cells.AS_IT_IS)
    try:
        return cells.load(name, draw)
    finally:
        cells.SCALES[name] = scale


def _scaled(features: np.ndarray) -> list[tuple[Any, dict[str, Any]]]:
    exact = features.astype(np.float64)
    centered = exact - exact.mean(axis=0)
    return [(exact, {}), *[(centered / np.where(size > 0, size, 1), {}) for size in (widths(exact), exact.std(axis=0))]]


def _weighed(counts: Any) -> list[tuple[Any, dict[str, Any]]]:
    weighed = TfidfTransformer(sublinear_tf=True).fit_transform(counts.astype(np.float64))
    return [(counts, {"metric": "euclidean"}), (counts, {"metric": "cosine"}), (weighed, {"metric": "cosine"})]


def _accuracy(features: Any, options: dict[str, Any], classes: np.ndarray, shown: np.ndarray) -> float:
    found = HarmonicClassifier(random_state=0, **options).fit(features.astype(np.float32), shown).transduction_
    hidden = shown < 0
    return float((found[hidden] == classes[hidden]).mean())


if __name__ == "__main__":
    main(sys.argv[1:])
