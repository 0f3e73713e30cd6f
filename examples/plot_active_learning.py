"""
Which rows to label next
========================

How many labels does it save if lapwing chooses the rows to label? We label 5,000 images in rounds of twenty
rows: once the rows that lapwing suggests, and three times random rows. For digits the suggestions save more
than half of the labels; for clothes they help only at first.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import datasets
from lapwing import HarmonicClassifier
from lapwing.active import suggest
from lapwing.graph import knn_graph

ROUNDS = 5

# %%
# The plain loop. Before there are labels, ``suggest`` finds rows that cover the graph; afterwards the fitted
# classifier has a function of that name, and ``add_labels`` fits again on the same graph. In practice a person
# gives the labels; here they come from ``truth``.


def by_suggestion(graph, truth):
    """Accuracy after each round of suggested rows."""
    y = np.full(len(truth), -1)
    rows, _ = suggest(graph, n=20, affinity="precomputed", random_state=0)
    y[rows] = truth[rows]
    clf = HarmonicClassifier(affinity="precomputed", random_state=0).fit(graph, y)
    accuracy = [(clf.transduction_ == truth).mean()]
    while len(accuracy) < ROUNDS:
        rows, _ = clf.suggest(20)
        clf.add_labels(rows, truth[rows])
        accuracy.append((clf.transduction_ == truth).mean())
    return accuracy


# %%
# The same loop with random rows.


def at_random(graph, truth, seed):
    """Accuracy after each round of random rows."""
    order = np.random.default_rng(seed).permutation(len(truth))[: 20 * ROUNDS].reshape(ROUNDS, 20)
    accuracy = []
    for last in range(ROUNDS):
        y = np.full(len(truth), -1)
        y[order[: last + 1]] = truth[order[: last + 1]]
        clf = HarmonicClassifier(affinity="precomputed", random_state=0).fit(graph, y)
        accuracy.append((clf.transduction_ == truth).mean())
    return accuracy


# %%
# A fit warns that suggested rows are no random sample, so its expected accuracy is too low. We know the truth,
# and switch this warning off.

warnings.filterwarnings("ignore", message="labels were suggested")

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
labels = 20 * np.arange(1, ROUNDS + 1)
for ax, name in zip(axes, ("digits", "clothes")):
    images = datasets.load("mnist") if name == "digits" else datasets.load("fashion_mnist")
    truth = images.y[60_000:65_000]
    graph = knn_graph(images.X[60_000:65_000], 15, random_state=0)
    chosen = by_suggestion(graph, truth)
    drawn = np.array([at_random(graph, truth, seed) for seed in range(3)])
    ax.fill_between(labels, drawn.min(axis=0), drawn.max(axis=0), color="#8a8a8a", alpha=0.25, linewidth=0)
    ax.plot(labels, drawn.mean(axis=0), color="#8a8a8a", marker="o", label="rows at random, three draws")
    ax.plot(labels, chosen, color="#0072b2", marker="o", label="rows suggested")
    ax.set(title=f"{name}, 5,000 images", xlabel="labels", xticks=labels)
    ax.grid(alpha=0.3)
    print(f"{name}: suggested {np.round(chosen, 3)}, at random {drawn.mean(axis=0).round(3)}")
axes[0].set_ylabel("accuracy on all rows")
axes[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
# **When to use something else.** Suggestions help where the graph separates the classes, because a label then
# tells the class of the rows around it. Where classes overlap, as among clothes, random rows are soon as good,
# and they measure accuracy without bias. ``clf.suggest(20, check=0.2)`` draws a fifth of the rows at random for
# this purpose. To look for new classes, pass ``explore=0.2``. A tutorial is :doc:`/learn/label-next`;
# :doc:`/methods/label-loop` explains what is computed.
