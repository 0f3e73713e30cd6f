"""Shows how well the tables of this folder can be labeled after a preparation by hand, and without one.

Run: python tests/tables/check.py      (needs scikit-learn besides what make.py needs)

`prepared`: the useful columns, numbers standardized, categories as indicators, texts as weighted words; then the five nearest known rows
(knn) or label spreading over a graph of ten neighbors (spread). `as numbers`: every column that pandas reads as numbers, as it stands,
with gaps filled by the median; then the five nearest known rows. `largest class`: the share of the most frequent class.
All figures are shares of the rows whose label is not given.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

HERE = Path(__file__).resolve().parent
warnings.simplefilter("ignore")


def numbers(*columns):
    out = np.column_stack([pd.to_numeric(c).astype(float) for c in columns])
    out = np.where(np.isnan(out), np.nanmedian(out, axis=0), out)
    return (out - out.mean(axis=0)) / out.std(axis=0)


def levels(column, weight=1.0):
    return weight * pd.get_dummies(column.fillna("missing").astype(str)).to_numpy(dtype=float)


def date(column, form=None):
    stamps = pd.to_datetime(column, format=form)
    return (stamps - pd.Timestamp("2000-01-01")).dt.total_seconds()


def positive_log(column):
    return np.log(pd.to_numeric(column).astype(float).clip(lower=1e-6))


def german(column):
    return pd.to_numeric(column.str.replace(".", "").str.replace(",", "."))


def money(column):
    return pd.to_numeric(column.str.replace("[$,%]", "", regex=True))


def score(features, shown, truth):
    known = shown.notna().to_numpy()
    truth = truth.to_numpy().astype(str)
    near = KNeighborsClassifier(5).fit(features[known], truth[known]).predict(features[~known])
    names, codes = np.unique(truth, return_inverse=True)
    spread = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.9).fit(features, np.where(known, codes, -1))
    found = names[spread.transduction_[~known]]
    return (near == truth[~known]).mean(), (found == truth[~known]).mean()


def naive(table, label, shown, truth):
    kept = table.drop(columns=[label]).select_dtypes("number")
    kept = kept.loc[:, kept.notna().any()].astype(float)
    if not kept.shape[1]:
        return np.nan
    known = shown.notna().to_numpy()
    values = kept.fillna(kept.median()).to_numpy()
    found = KNeighborsClassifier(5).fit(values[known], truth[known].astype(str)).predict(values[~known])
    return (found == truth[~known].astype(str)).mean()


def main():
    def read(name, **options):
        return pd.read_csv(HERE / name, **options)

    cases = []
    t = read("messy.csv")
    cases.append(("messy", t, "y", np.hstack([
        numbers(positive_log(t.income), t.visits_per_week, positive_log(t.minutes), t.satisfaction, date(t.signup)),
        levels(t.plan, 0.7), levels(t.active, 0.7)])))
    t = read("european.csv", sep=";", dtype=str)
    cases.append(("european", t, "klasse", np.hstack([
        numbers(np.log(german(t["Umsatz (€)"])), german(t["Größe (m²)"]), german(t["Rabatt"]), date(t["Kunde seit"], "%d.%m.%Y")),
        levels(t["Ort"], 0.7), levels(t["Geprüft"], 0.7)])))
    t = read("survey.csv")
    scale = {"strongly disagree": 1, "disagree": 2, "neutral": 3, "agree": 4, "strongly agree": 5}
    cases.append(("survey", t, "segment", np.hstack([
        numbers(*[t[c].map(scale) for c in t.columns[1:13]]), levels(t["age group"], 0.7)])))
    t = read("sensors.csv")
    cases.append(("sensors", t, "state", np.hstack([
        numbers(t.temp_in, t.pressure_pa, positive_log(t.vibration), t.rpm, t.current_a), levels(t.status, 0.7)])))
    t = read("shop.tsv", sep="\t", quoting=3)
    words = normalize(TfidfVectorizer(sublinear_tf=True).fit_transform(t.title + " " + t.description)).toarray()
    cases.append(("shop", t, "department", words))
    t = pq.read_table(HERE / "embeddings.parquet").to_pandas()
    cases.append(("embeddings", t, "y", normalize(np.stack(t.vector.to_numpy()))))
    t = read("bank.csv", sep=";")
    cases.append(("bank", t, "deposit", np.hstack([
        numbers(t.age, np.arcsinh(t.balance / 300), t.calls), levels(t.mortgage, 0.7), levels(t.last_answer, 0.7),
        levels(t.reached_by, 0.5), levels(t.month, 0.7)])))
    t = pd.DataFrame([json.loads(line) for line in (HERE / "log.jsonl").read_text().splitlines()])
    cases.append(("log", t, "verdict", np.hstack([
        numbers(positive_log(t.millis), t.tries, t.entropy), levels(t.agent, 0.7), levels(t.status, 0.7), levels(t.signed_in, 0.7)])))
    t = read("wide.csv")
    cases.append(("wide", t, "target", numbers(*[t[c] for c in t.columns[:-1]])))
    t = pd.concat([pq.read_table(p).to_pandas() for p in sorted((HERE / "parts").glob("*.parquet"))], ignore_index=True)
    cases.append(("parts", t, "outcome", np.hstack([
        numbers(np.log(t.amount.astype(float)), positive_log(t.income), t.rate, date(t.opened)),
        levels(t.insured, 0.7), levels(t.purpose, 0.7)])))
    t = read("spreadsheet.csv", encoding="utf-8-sig")
    cases.append(("spreadsheet", t, "Churned?", np.hstack([
        numbers(money(t["Usage %"]), np.log(money(t["Open balance"])), t["Months"]), levels(t["Plan, tier"], 0.7),
        levels(t["Auto renew"], 0.7)])))

    print(f"{'table':12} {'rows':>5} {'known':>5} {'fewest':>6} {'largest class':>14} {'as numbers':>11} {'knn':>6} {'spread':>7}")
    for name, table, label, features in cases:
        truth = read(f"truth/{name}.csv", keep_default_na=False).label
        shown = table[label]
        known = shown.notna()
        assert len(truth) == len(table) and (shown[known] == truth[known]).all(), name
        fewest = shown[known].value_counts().reindex(truth.unique()).min()
        largest = truth[~known].value_counts(normalize=True).max()
        knn, spread = score(features, shown, truth)
        print(f"{name:12} {len(truth):5} {known.sum():5} {fewest:6.0f} {largest:14.3f} {naive(table, label, shown, truth):11.3f} {knn:6.3f} {spread:7.3f}")

    edges, truth, given = read("friends.csv"), read("truth/friends.csv"), read("friends_labels.csv")
    people = {p: i for i, p in enumerate(truth.person)}
    assert set(edges.person) | set(edges.friend) == set(people)
    graph = np.zeros((len(people), len(people)))
    for a, b, c in edges.itertuples(index=False):
        graph[people[a], people[b]] = graph[people[b], people[a]] = c
    degree = graph.sum(axis=1)
    graph /= np.sqrt(np.outer(degree, degree))
    names, codes = np.unique(truth.group, return_inverse=True)
    start = np.zeros((len(people), len(names)))
    known = truth.person.isin(given.person).to_numpy()
    assert (given.set_index("person").group == truth.set_index("person").group[given.person]).all()
    start[known, codes[known]] = 1 / np.bincount(codes[known])[codes[known]]
    spread = np.linalg.solve(np.eye(len(people)) - 0.9 * graph, start).argmax(axis=1)
    print(f"{'friends':12} {len(truth):5} {known.sum():5} {np.bincount(codes[known]).min():6} "
          f"{np.bincount(codes[~known]).max() / (~known).sum():14.3f} {'':11} {'':6} {(spread == codes)[~known].mean():7.3f}")


if __name__ == "__main__":
    main()
