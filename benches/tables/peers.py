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
from common import Record
from kinds import Table

LABELS = ["5", "20", "10c"]
"""Labels of each class; or at random, so many times the number of classes."""
OURS, HAND = ["lapwing label", "label_frame"], ["hand, logistic", "hand, forest", "hand, boosting"]
METHODS = [*OURS, *HAND, "skrub, logistic", "skrub, forest", "skrub, boosting", "skrub, vote"]
BEHIND = 0.02
"""How far behind the best of those by hand is far."""


def task(args: argparse.Namespace) -> tuple[list[Record], str]:
    warnings.simplefilter("ignore")
    records: list[Record] = []
    for name in args.kinds:
        print(f"tables {name}", file=sys.stderr, flush=True)
        found = kinds.load(name)
        features = {"hand": by_hand(found), "skrub": by_skrub(found)}
        for cell in LABELS:
            for draw in range(args.draws):
                shown = drawn(found.classes, cell, draw)
                given = ours(args.program, found, shown) | {f"{how}, {key}": value for how, rows in features.items() for key, value in theirs(rows, shown, how).items()}
                hidden = shown == None  # noqa: E711
                records += [{"set": name, "cell": cell, "draw": draw, "method": method, "accuracy": float((labels == found.classes)[hidden].mean())}
                            for method, labels in given.items()]
    return records, table(records)


def drawn(classes: np.ndarray, cell: str, draw: int) -> np.ndarray:
    """Labels that are shown, None where hidden."""
    names, codes = np.unique(classes, return_inverse=True)
    rng = np.random.default_rng([draw, zlib.crc32(cell.encode())])
    codes = cells.at_random(codes, int(cell[:-1]) * len(names), rng) if cell.endswith("c") else cells.of_each_class(codes, int(cell), rng)
    return np.where(codes < 0, None, names[codes])


def ours(program: Path, found: Table, shown: np.ndarray) -> dict[str, np.ndarray]:
    """The program on a file, and the call on a frame that pandas reads from it; a failure has no label right."""
    from lapwing import label_frame

    given: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "table.csv", Path(folder) / "labels.csv"
        text = found.shown.assign(the_class=shown).to_csv(index=False, sep="\x01")
        path.write_text(text.replace("\x01", found.delimiter) if len(found.delimiter) > 1 else found.shown.assign(the_class=shown).to_csv(index=False, sep=found.delimiter))
        words = [program, "label", path, "--label-column", "the_class", "-o", out, "-q"]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
        given[OURS[0]] = pd.read_csv(out, dtype=str, keep_default_na=False)["label"] if out.exists() else None
        frame = pd.read_csv(path, sep=found.delimiter, engine="python", dtype={"the_class": str})
        given[OURS[1]] = label_frame(frame, "the_class")["label"]
    return {name: np.asarray(labels) if labels is not None and len(labels) == len(shown) else np.full(len(shown), "") for name, labels in given.items()}


# --- features ----------------------------------------------------------------------------------------------------------


def by_hand(found: Table) -> tuple[Any, np.ndarray]:
    """The clean table as someone prepares it who knows what its columns hold; once for linear models, once for trees."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    clean, sort = found.clean.drop(columns=list(found.kinds.out)).copy(), found.kinds
    for name in sort.date:
        at = clean.pop(name)
        clean[[f"{name} {part}" for part in ("days", "month", "weekday", "hour")]] = np.c_[at.astype("int64") / 8.64e13, at.dt.month, at.dt.dayofweek, at.dt.hour]
    words = [name for name in (*sort.text, *sort.name, *sort.list) if name in clean]
    clean[words] = clean[words].astype(object).fillna("").astype(str)
    numbers = [name for name in clean.columns.difference(words) if pd.api.types.is_numeric_dtype(clean[name]) and name not in sort.code]
    clean[numbers] = clean[numbers].astype(float)
    levels = [name for name in clean.columns.difference([*words, *numbers])]
    clean[levels] = clean[levels].astype(object).fillna("none").astype(str)
    skewed = [name for name in numbers if clean[name].min() >= 0 and clean[name].skew() > 3]
    gaps = lambda: SimpleImputer(strategy="median", add_indicator=True)
    parts = [("skewed", make_pipeline(gaps(), FunctionTransformer(np.log1p), StandardScaler()), skewed),
             ("numbers", make_pipeline(gaps(), StandardScaler()), [name for name in numbers if name not in skewed]),
             ("levels", OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"), levels),
             *[(name, TfidfVectorizer(min_df=2, sublinear_tf=True), name) for name in sort.text],
             *[(name, TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, max_features=2000), name) for name in sort.name],
             *[(name, CountVectorizer(token_pattern="[^,]+", binary=True), name) for name in sort.list]]
    rows = ColumnTransformer(parts, sparse_threshold=0).fit_transform(clean)
    return rows, rows


def by_skrub(found: Table) -> tuple[Any, Any]:
    """What `tabular_pipeline` makes of the table as it is written, for linear models and for trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from skrub import tabular_pipeline

    frame = found.shown.replace("", None)
    linear, trees = (tabular_pipeline(model)[:-1].fit_transform(frame) for model in (LogisticRegression(), HistGradientBoostingClassifier()))
    return linear, trees


def theirs(features: tuple[Any, Any], shown: np.ndarray, how: str) -> dict[str, np.ndarray]:
    """Three classifiers fitted to the labeled rows, and with skrub the vote of the two of trees, as AutoML starts."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    models = {"logistic": LogisticRegression(max_iter=1000), "forest": RandomForestClassifier(300, random_state=0), "boosting": HistGradientBoostingClassifier(early_stopping=False, max_iter=60, min_samples_leaf=3)}
    given, shares, known = shown != None, {}, {}  # noqa: E711
    for name, model in models.items():
        rows = features[0 if name == "logistic" else 1]
        rows = rows.fillna(0) if name == "logistic" and isinstance(rows, pd.DataFrame) else rows
        if name == "forest" and isinstance(rows, pd.DataFrame):
            rows = rows.apply(lambda column: column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column)
        model.fit(rows[given], shown[given].astype(str))
        shares[name], known = model.predict_proba(rows), model.classes_
    if how == "skrub":
        shares["vote"] = shares["forest"] + shares["boosting"]
    return {name: known[share.argmax(axis=1)] for name, share in shares.items()}


# --- tables ------------------------------------------------------------------------------------------------------------


def table(records: list[Record]) -> str:
    """A row for each table and number of labels is too much: means over the numbers, then ranks and differences over all of them."""
    frame = pd.DataFrame(records).groupby(["set", "cell", "method"], sort=False)["accuracy"].mean().unstack("method")[METHODS]
    best = frame[HAND].max(axis=1)
    behind = frame.sub(best, axis=0)
    rows = [[f"`{name}`", *[f"{value:.3f}" for value in own.mean()], *[f"{value:+.3f}" for value in behind.loc[name][OURS].mean()]] for name, own in frame.groupby(level="set", sort=False)]
    ranks = frame.rank(axis=1, ascending=False).mean()
    rows += [["mean", *[f"{value:.3f}" for value in frame.mean()]], ["mean rank", *[f"{value:.2f}" for value in ranks]],
             ["less the best by hand", *[f"{value:+.3f}" for value in behind.mean()]],
             [f"cells more than {BEHIND} behind, of {len(frame)}", *[str(value) for value in (behind < -BEHIND).sum()]]]
    return common.markdown("Accuracy on hidden rows, mean over 5, 20 of each class and 10 times the classes at random", ["table", *METHODS, *[f"{name} less the best by hand" for name in OURS]], rows)
