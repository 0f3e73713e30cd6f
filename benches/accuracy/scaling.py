"""What scaling is worth to `HarmonicClassifier`, by data set: the table of `docs/results/scaling.md`.

    python benches/accuracy/scaling.py [SET …]

Draws and labels are those of the table of accuracy (`cells.py`), but rows are in the scale of their files.
"""

from __future__ import annotations

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
        ratio = 0.0
        for draw in range(DRAWS):
            features, classes = _draw(name, draw)
            ratio = ratio or (0.0 if is_text else largest_over_median(features))
            for of_each in OF_EACH:
                shown = cells.of_each_class(classes, of_each, cells._rng(name, draw, 1))
                forms = _weighed(features) if is_text else _standardized(features)
                rows[of_each].append([_accuracy(form, options, classes, shown) for form, options in forms])
        means = [f"{mean:.3f}" for of_each in OF_EACH for mean in np.mean(rows[of_each], axis=0)]
        print(f"| `{name}` | {'' if is_text else f'{ratio:.3g}'} | {' | '.join(means)} |", flush=True)


def largest_over_median(features: np.ndarray) -> float:
    """The largest width of the middle nine tenths of a column over the median one."""
    low, high = np.quantile(features, [0.05, 0.95], axis=0)
    widths = np.sort((high - low)[high > low])
    return float(widths[-1] / widths[(len(widths) - 1) // 2])


def _draw(name: str, draw: int) -> tuple[Any, np.ndarray]:
    if name in OF_SKLEARN:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    scale, cells.SCALES[name] = cells.SCALES[name], cells.SCALES[name].replace(cells.TABLE, cells.AS_IT_IS)
    try:
        return cells.load(name, draw)
    finally:
        cells.SCALES[name] = scale


def _standardized(features: np.ndarray) -> list[tuple[Any, dict[str, Any]]]:
    exact = features.astype(np.float64)
    spread = exact.std(axis=0)
    return [(exact, {}), ((exact - exact.mean(axis=0)) / np.where(spread > 0, spread, 1), {})]


def _weighed(counts: Any) -> list[tuple[Any, dict[str, Any]]]:
    weighed = TfidfTransformer(sublinear_tf=True).fit_transform(counts.astype(np.float64))
    return [(counts, {"metric": "euclidean"}), (counts, {"metric": "cosine"}), (weighed, {"metric": "cosine"})]


def _accuracy(features: Any, options: dict[str, Any], classes: np.ndarray, shown: np.ndarray) -> float:
    found = HarmonicClassifier(random_state=0, **options).fit(features.astype(np.float32), shown).transduction_
    hidden = shown < 0
    return float((found[hidden] == classes[hidden]).mean())


if __name__ == "__main__":
    main(sys.argv[1:])
