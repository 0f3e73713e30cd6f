"""The cost of certified labels: the same fit with and without certificate, in turn, in one process."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from tasks import show_labels

import common
import mixture

SETS = {"mnist_vae": 10, "mixture": 100}
"""Sets, and the labels shown of each class."""


def main() -> None:
    args = parse()
    features, classes = load(args.set)
    shown = show_labels(classes, SETS[args.set], 0)
    record: common.Record = {"set": args.set, "shape": features.shape, "fits": []}
    for _ in range(args.repeats):
        for certify in ("auto", False):
            common.wait_for_quiet(30)
            record["fits"].append(fit(features, shown, certify))
            common.save(args.out, record)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of a set, all rows."""
    if name == "mixture":
        return mixture.load()
    with np.load(common.data_file(f"{name}.npz")) as arrays:
        return arrays["X"].astype(np.float32), arrays["y"].astype(np.int64)


def fit(features: np.ndarray, shown: np.ndarray, certify: str | bool) -> common.Record:
    """One fit from features to labels."""
    from lapwing import HarmonicClassifier

    with common.Stopwatch() as watch:
        model = HarmonicClassifier(certify=certify, random_state=0).fit(features, shown)
    phases = {phase["name"]: phase["seconds"] for phase in model.report_["phases"]}
    return {
        "certified": bool(certify),
        "wall_seconds": watch.wall,
        "foreign_seconds": watch.foreign,
        "solve_seconds": phases["solve"],
        "iterations": int(model.n_iter_),
        "open": model.n_uncertified_,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", required=True, choices=SETS)
    parser.add_argument("--repeats", required=True, type=int)
    parser.add_argument("--out", required=True, type=Path)
    return parser.parse_args()


def table(results: list[common.Record]) -> str:
    """Seconds with and without certificate, and their ratio."""
    head = ["set", "rows × columns", "", "iterations", "rows left open", "solve s", "whole fit s", "ratio of whole fits"]
    lines = []
    for result in results:
        fits = {certified: [one for one in result["fits"] if one["certified"] == certified] for certified in (True, False)}
        if not all(fits.values()):
            lines.append([result["set"], result["outcome"]])
            continue
        ratio = common.median(fits[True], "wall_seconds") / common.median(fits[False], "wall_seconds")
        for certified, ones in fits.items():
            rows, columns = result["shape"]
            lines.append([
                result["set"],
                f"{rows:,} × {columns}",
                "certified" if certified else "not certified",
                str(ones[0]["iterations"]),
                str(ones[0]["open"]) if certified else "",
                common.seconds(common.median(ones, "solve_seconds")),
                common.seconds(common.median(ones, "wall_seconds")) + common.disturbed(ones),
                f"{ratio:.2f}" if certified else "",
            ])
    return common.markdown("Cost of certified labels, medians", head, lines)


if __name__ == "__main__":
    main()
