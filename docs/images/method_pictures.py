"""A picture of each method on rows in the plane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import rows
import style
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from lapwing import (
    AutoLabeler,
    HarmonicClassifier,
    LaplacianSVC,
    LowRankPropagationClassifier,
    UnfoldedGNNClassifier,
    baselines,
)
from lapwing.graph import GraphLearner, knn_graph


def harmonic() -> Figure:
    """Given labels on a graph, and the scores that the harmonic function gives to all rows."""
    X, _, y = rows.moons(n_samples=200, n_labels=1, seed=4)
    graph = knn_graph(X, n_neighbors=7, n_jobs=1)
    clf = HarmonicClassifier(n_neighbors=7, form="plain", clamp="hard", random_state=0, n_jobs=1).fit(X, y)
    scores = clf.scores_[:, 1] - clf.scores_[:, 0]
    figure, (left, right) = style.figure(7.6, 2.5, 2)
    for ax in (left, right):
        rows.draw_edges(ax, X, graph)
    rows.draw_rows(left, X, y)
    marks = rows.draw_scores(right, X, scores)
    for ax, title in ((left, "two labels, and edges of the graph"), (right, "scores of all rows")):
        rows.draw_given(ax, X, y)
        style.map_axes(ax, title)
    bar = figure.colorbar(marks, ax=right, ticks=(-1, 0, 1), shrink=0.8)
    bar.ax.set_yticklabels(("first label", "undecided", "second label"))
    bar.outline.set_visible(False)
    return figure


def low_rank() -> Figure:
    """Rows, the landmarks that they are compared through, and labels by few and by more landmarks."""
    X, truth, y = rows.moons(n_samples=500, n_labels=3, seed=1)
    figure, panels = style.figure(7.6, 2.1, 3)
    for ax, count in zip(panels, (6, 12, 40), strict=True):
        clf = LowRankPropagationClassifier(count, random_state=0, n_jobs=1, select="off").fit(X, y)
        rows.draw_rows(ax, X, clf.transduction_, size=7)
        rows.draw_given(ax, X, y, size=50)
        ax.scatter(*clf.landmarks_.T, marker="D", s=26, color="white", edgecolors="#222222", linewidths=1.1, zorder=5)
        right = (clf.transduction_ == truth)[y < 0].mean()
        style.map_axes(ax, f"{count} landmarks: {100 * right:.0f} % right")
    return figure


def lapsvm() -> Figure:
    """Decision lines of a Laplacian SVM and of an SVM, from the same two labels of each class."""
    X, truth, y = rows.moons(n_labels=2, seed=5)
    low, high = X.min(axis=0) - 0.35, X.max(axis=0) + 0.35
    across, up = np.meshgrid(np.linspace(low[0], high[0], 90), np.linspace(low[1], high[1], 60))
    figure, panels = style.figure(7.6, 2.6, 2)
    for ax, options, name in (
        (panels[0], {"graph_reg": 0.0}, "SVM, the labeled rows alone"),
        (panels[1], {}, "Laplacian SVM, all rows"),
    ):
        clf = LaplacianSVC(bandwidth=0.35, random_state=0, n_jobs=1, **options).fit(X, y)
        values = clf.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
        ax.contourf(across, up, values > 0, levels=(-0.5, 0.5, 1.5), colors=(style.FIRST, style.SECOND), alpha=0.16)
        ax.contour(across, up, values, levels=(0.0,), colors=style.TEXT, linewidths=1.6)
        rows.draw_rows(ax, X, truth, size=12)
        rows.draw_given(ax, X, y)
        right = (clf.predict(X) == truth)[y < 0].mean()
        style.map_axes(ax, f"{name}: {100 * right:.0f} % right")
    return figure


def unfolded_gnn() -> Figure:
    """States of the nodes after steps of the unfolding: noisy features become smooth over the graph."""
    X, truth, _ = rows.moons(n_samples=120, noise=0.06, seed=2)
    graph = knn_graph(X, n_neighbors=6, n_jobs=1)
    rng = np.random.default_rng(0)
    features = (2.0 * truth - 1)[:, None] + rng.normal(scale=2.0, size=(len(X), 1))
    y = np.where(rng.random(len(X)) < 0.4, truth, -1)
    figure, panels = style.figure(7.6, 1.55, 4)
    for ax, steps in zip(panels, (1, 3, 10, None), strict=True):
        clf = UnfoldedGNNClassifier(steps="exact" if steps is None else steps, graph_reg=20.0, n_jobs=1, random_state=0)
        clf.fit(features, y, graph=graph.to_scipy())
        scores = clf.scores_[:, 1] - clf.scores_[:, 0]
        rows.draw_edges(ax, X, graph, 0.5)
        rows.draw_scores(ax, X, np.clip(scores / np.median(abs(scores)), -1, 1), size=20)
        right = (clf.transduction_ == truth)[y < 0].mean()
        name = "exact" if steps is None else f"{steps} step" + "s" * (steps > 1)
        style.map_axes(ax, f"{name}: {100 * right:.0f} % right")
    return figure


def graph_learning() -> Figure:
    """Edges of a learned graph beside those of nearest neighbors, as many of them."""
    rng = np.random.default_rng(4)
    X = np.concatenate(
        [
            rng.normal(scale=0.25, size=(45, 2)),
            rng.normal(scale=0.7, size=(45, 2)) + (3.2, 0.3),
            [(1.5, 2.4), (5.4, -1.6)],
        ]
    )
    truth = np.repeat([0, 1, 2], [45, 45, 2])
    neighbors = knn_graph(X, n_neighbors=4, weights="binary", symmetrize="union", n_jobs=1)
    learned = GraphLearner(n_neighbors=7, n_jobs=1).fit(X).graph_
    figure, panels = style.figure(7.6, 3.1, 2)
    for ax, graph, name in ((panels[0], neighbors, "nearest neighbors"), (panels[1], learned, "learned")):
        weights = graph.to_scipy()
        upper = np.asarray(weights[np.triu(weights.toarray()).nonzero()]).ravel()
        widths = 0.3 + 2.2 * upper / np.quantile(upper, 0.95) if graph is learned else 1.0
        rows.draw_edges(ax, X, graph, widths, style.LAPWING if graph is learned else style.FRAME)
        rows.draw_rows(ax, X, truth, size=20)
        style.map_axes(ax, f"{name}: {graph.n_edges} edges")
    return figure


def label_loop() -> Figure:
    """Rows that are suggested, and labels that are doubted."""
    X, truth, y = rows.moons(n_samples=260, n_labels=2, noise=0.11, seed=8)
    figure, (left, right) = style.figure(7.6, 2.6, 2)
    clf = HarmonicClassifier(n_neighbors=8, random_state=0, n_jobs=1).fit(X, y)
    suggested, _ = clf.suggest(8)
    rows.draw_rows(left, X, clf.transduction_)
    rows.draw_given(left, X, y)
    left.scatter(*X[suggested].T, marker="s", s=110, color="none", edgecolors=style.LAPWING, linewidths=2.2, zorder=5)
    style.map_axes(left, "squares: label these eight next")
    rng = np.random.default_rng(1)
    many = np.where(rng.random(len(X)) < 0.3, truth, -1)
    wrong = rng.choice(np.flatnonzero(many >= 0), 8, replace=False)
    many[wrong] = 1 - many[wrong]
    audit = HarmonicClassifier(n_neighbors=8, random_state=0, n_jobs=1).fit(X, many).audit()
    rows.draw_rows(right, X[many < 0], many[many < 0], size=8)
    rows.draw_rows(right, X[many >= 0], many[many >= 0], size=26)
    flagged = np.flatnonzero(audit.flagged)
    right.scatter(*X[flagged].T, marker="o", s=130, color="none", edgecolors="#c0392b", linewidths=2, zorder=5)
    found = len(set(flagged) & set(wrong))
    style.map_axes(right, f"circles: {len(flagged)} labels doubted, {found} of the {len(wrong)} wrong ones")
    return figure


def auto() -> Figure:
    """What candidates get right of held-out labels, and their weights, on digits with 50 labels."""
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(len(X)) < 50, truth, -1)
    fitted = AutoLabeler(random_state=0, n_jobs=1).fit(X, y)
    results = fitted.results_
    names = [one["name"] for one in results]
    figure, (left, right) = style.figure(7.6, 2.9, 2)
    shares, weights = [[100 * one[key] for one in results] for key in ("estimate", "weight")]
    colors = [style.LAPWING if weight > 0 else style.FRAME for weight in weights]
    style.bars(left, names, shares, colors, [f"{share:.0f} %" for share in shares])
    style.bars(
        right, [""] * len(names), weights, colors, [f"{weight:.0f} %" if weight else "left out" for weight in weights]
    )
    left.set(title="held-out labels that are right", xlim=(0, 112))
    right.set(title="weight in the labels")
    return figure


def compared() -> Figure:
    """The same two moons by all baselines."""
    X, truth, y = rows.moons(n_samples=300, n_labels=4, seed=5)
    fits = {
        "harmonic": HarmonicClassifier,
        "nearest-label": baselines.NearestLabelClassifier,
        "subsampling": lambda **o: baselines.SubsamplingHarmonicClassifier(n_subsample=100, **o),
        "simple-harmonic": baselines.SimpleHarmonicClassifier,
        "eigenfunction": baselines.EigenfunctionClassifier,
        "linear": baselines.LinearClassifier,
        "forest": baselines.ForestClassifier,
        "majority": baselines.MajorityClassifier,
    }
    figure, panels = style.figure(7.6, 3.2, 4, 2)
    for ax, (name, make) in zip(panels.flat, fits.items(), strict=True):
        clf = make(n_jobs=1)
        if "random_state" in clf.get_params():
            clf.set_params(random_state=0)
        labels = clf.fit(X, y).transduction_
        rows.draw_rows(ax, X, labels, size=8)
        rows.draw_given(ax, X, y, size=42)
        style.map_axes(ax)
        ax.set_title(f"{name}: {100 * (labels == truth)[y < 0].mean():.0f} %", fontsize=10)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "harmonic": harmonic,
    "low-rank": low_rank,
    "lapsvm": lapsvm,
    "unfolded-gnn": unfolded_gnn,
    "graph-learning": graph_learning,
    "label-loop": label_loop,
    "auto": auto,
    "baselines": compared,
}
