"""Labels from tables of real kinds, beside classifiers on columns prepared by hand or by skrub: accuracies on hidden rows, and ranks."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import Any

import cells
import common
import kinds
import numpy as np
import pandas as pd
from accuracy import LABELS
from common import Record
from kinds import Table

OURS, HAND = ["lapwing label", "label_frame"], ["hand: logistic", "forest", "boosting"]
METHODS = [*OURS, *HAND, "skrub: logistic", "skrub: forest", "skrub: boosting", "skrub: vote"]
BEHIND = 0.02
"""How far behind the best of those by hand is far."""


def task(args: argparse.Namespace) -> tuple[list[Record], str]:
    warnings.simplefilter("ignore")
    records: list[Record] = []
    for name in args.kinds:
        print(f"tables {name}", file=sys.stderr, flush=True)
        found = kinds.load(name)
        features = by_hand(found), by_skrub(found)
        for cell in LABELS:
            for draw in range(args.draws):
                shown = drawn(found.classes, cell, draw)
                given = [*ours(args.program, found, shown), *theirs(*features[0], shown), *theirs(*features[1], shown, votes=True)]
                hidden = pd.isna(shown)
                for method, labels in zip(METHODS, given, strict=True):
                    accuracy = float((labels == found.classes)[hidden].mean())
                    records.append({"set": name, "cell": cell, "draw": draw, "method": method, "accuracy": accuracy})
    return records, table(pd.DataFrame(records))


def drawn(classes: np.ndarray, cell: str, draw: int) -> np.ndarray:
    """Labels that are shown, None where hidden."""
    names, codes = np.unique(classes, return_inverse=True)
    rng = np.random.default_rng([draw, zlib.crc32(cell.encode())])
    count = int(cell.removesuffix("c"))
    codes = cells.at_random(codes, count * len(names), rng) if cell.endswith("c") else cells.of_each_class(codes, count, rng)
    return np.where(codes < 0, None, names[codes])


def ours(program: Path, found: Table, shown: np.ndarray) -> list[np.ndarray]:
    """The program on a file, and the call on a frame that pandas reads from it; a refusal has no label right."""
    from lapwing import label_frame

    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "table.csv", Path(folder) / "labels.csv"
        found.shown.assign(the_class=shown).to_csv(path, index=False, sep=found.delimiter)
        words = [program, "label", path, "--label-column", "the_class", "-o", out, "-q"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
        labels = pd.read_csv(out, dtype=str, keep_default_na=False)["label"].to_numpy() if out.exists() else np.full(len(shown), "")
        frame = pd.read_csv(path, sep=found.delimiter, dtype={"the_class": str})
        return [labels, label_frame(frame, "the_class")["label"].to_numpy()]


def by_hand(found: Table) -> tuple[Any, Any]:
    """The clean table as someone prepares it who knows what its columns hold: for linear models, and the same for trees."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    clean, sort = found.clean.copy(), found.kinds
    for name in sort.date:
        at = clean.pop(name)
        clean[[f"{name} {part}" for part in ("days", "month", "weekday", "hour")]] = np.c_[
            (at - at.min()) / pd.Timedelta(days=1), at.dt.month, at.dt.dayofweek, at.dt.hour]
    words = [*sort.text, *sort.name, *sort.list]
    numbers = [name for name in clean if pd.api.types.is_numeric_dtype(clean[name]) and name not in sort.code]
    levels = [name for name in clean if name not in {*words, *numbers}]
    clean[words + levels] = clean[words + levels].astype(object).fillna("none").astype(str)
    skewed = [name for name in numbers if clean[name].min() >= 0 and clean[name].astype(float).skew() > 3]
    gaps = SimpleImputer(strategy="median", add_indicator=True)
    names = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, max_features=2000)
    parts = [("skewed", make_pipeline(gaps, FunctionTransformer(np.log1p), StandardScaler()), skewed),
             ("numbers", make_pipeline(gaps, StandardScaler()), [name for name in numbers if name not in skewed]),
             ("levels", OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"), levels),
             *[(name, TfidfVectorizer(min_df=2, sublinear_tf=True), name) for name in sort.text], *[(name, names, name) for name in sort.name],
             *[(name, CountVectorizer(token_pattern="[^,]+", binary=True), name) for name in sort.list]]
    rows = ColumnTransformer(parts, sparse_threshold=0).fit_transform(clean)
    return rows, rows


def by_skrub(found: Table) -> tuple[Any, Any]:
    """What `tabular_pipeline` makes of the table as it is written, for linear models and for trees."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from skrub import tabular_pipeline

    frame = found.shown.replace("", None)
    made = (tabular_pipeline(model)[:-1].fit_transform(frame) for model in (LogisticRegression(), RandomForestClassifier()))
    return tuple(np.nan_to_num(np.asarray(rows, dtype=np.float64)) for rows in made)


def theirs(linear: Any, trees: Any, shown: np.ndarray, *, votes: bool = False) -> list[np.ndarray]:
    """Three classifiers fitted to the labeled rows, then the vote of both kinds of trees, with which AutoML starts.

    One thread: several wait for each other on few rows.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    given, shares = ~pd.isna(shown), []
    boosting = HistGradientBoostingClassifier(early_stopping=False, max_iter=60, min_samples_leaf=3)
    with threadpool_limits(1):
        for model, rows in ((LogisticRegression(max_iter=1000), linear), (RandomForestClassifier(300, random_state=0), trees), (boosting, trees)):
            varied = rows[:, rows[given].std(axis=0) > 0]
            model.fit(varied[given], shown[given].astype(str))
            shares.append(model.predict_proba(varied))
    return [model.classes_[share.argmax(axis=1)] for share in [*shares, *([shares[1] + shares[2]] if votes else [])]]


def table(records: pd.DataFrame) -> str:
    """A row for each table, of means over the numbers of labels; then ranks and differences, each over tables and numbers."""
    frame = records.groupby(["set", "cell", "method"], sort=False)["accuracy"].mean().unstack("method")[METHODS]
    behind = frame.sub(frame[HAND].max(axis=1), axis=0)
    rows = [[f"`{name}`", *[f"{value:.3f}" for value in own.mean()], f"{behind.loc[name][OURS[0]].mean():+.3f}"]
            for name, own in frame.groupby(level="set", sort=False)]
    rows += [["mean", *[f"{value:.3f}" for value in frame.mean()]],
             ["mean rank", *[f"{value:.2f}" for value in frame.rank(axis=1, ascending=False).mean()]],
             ["less the best by hand", *[f"{value:+.3f}" for value in behind.mean()]],
             [f"more than {BEHIND} behind, of {len(frame)}", *[str(value) for value in (behind < -BEHIND).sum()]]]
    head = ["table", *METHODS, "lapwing label less the best by hand"]
    return common.markdown("Accuracy on hidden rows, mean over 5 and 20 labels of each class and 10 for each class at random", head, rows)
