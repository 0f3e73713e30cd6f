"""
Cora: a graph whose nodes have features
=======================================

How much does it help to use the citations and the words of a paper together? Cora has 2,708 papers in seven
fields and 5,278 citations between them, and says which of 1,433 words each paper contains. We give 140 labels,
and label the other papers by both, by the citations alone, and by the words alone.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp

import datasets
from lapwing import AutoLabeler
from lapwing.display import LabelMapDisplay
from lapwing.exceptions import UnreachedWarning

# %%
# The labels are those of the published split: twenty per field, drawn at random.

cora = datasets.load("cora")
n_papers = len(cora.y)
ends = cora.edges.T
citations = sp.coo_array((np.ones(len(cora.edges)), (ends[0], ends[1])), shape=(n_papers, n_papers))
citations = (citations + citations.T).tocsr()
names = "theory, reinforcement learning, genetic algorithms, neural networks, probabilistic, case-based, rule learning"
fields = np.array(names.split(", "))[cora.y]
y = np.where(cora.train_mask, fields, "")  # an empty text marks a row without a label
hidden = y == ""

# %%
# The plain call gets the graph in addition to the features.

auto = AutoLabeler(random_state=0).fit(cora.X, y, graph=citations)

right = auto.transduction_ == fields
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))
print("on the thousand papers of the published test split:", right[cora.test_mask].mean())

# %%
# The two graph networks (*unfolded*) have all the weight. The *joined* candidates add edges between papers with
# similar words.

pd.DataFrame(auto.results_)[["name", "estimate", "interval", "weight"]]

# %%
# The best candidate is kept as a separate estimator. Its loss is convex, and training ends at the optimum after
# a few dozen steps.

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(auto.best_estimator_.loss_curve_, color="#0072b2")
ax.set(xlabel="iteration", ylabel="loss")
plt.show()

# %%
# Without the words, some papers are not reached: they lie in parts of the graph without a label. They get the
# most likely field. A warning counts them; it is switched off here. Without the citations every paper is
# reached, but words alone predict the field less well.

warnings.simplefilter("ignore", UnreachedWarning)
by_citations = AutoLabeler(random_state=0).fit(None, y, graph=citations)
by_words = AutoLabeler(random_state=0).fit(cora.X, y)
print("papers that no label reaches:", (~by_citations.reached_).sum())

fits = {"both": auto, "citations": by_citations, "words": by_words}
true = [(fit.transduction_ == fields)[hidden].mean() for fit in fits.values()]
value, low, high = np.array([fit.expected_accuracy_ for fit in fits.values()]).T
fig, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
ax.errorbar(
    value, [0, 1, 2], xerr=[value - low, high - value], fmt="o", capsize=4, label="expected, 90 % interval"
)
ax.plot(true, [0, 1, 2], "D", label="true")
ax.set(
    yticks=[0, 1, 2],
    yticklabels=list(fits),
    ylim=(2.5, -0.5),
    xlim=(0, 1),
    xlabel="accuracy on hidden labels",
)
ax.legend(frameon=False, loc="lower left", fontsize="small")
plt.show()

# %%
# This map lays out the papers by their citations.

LabelMapDisplay.from_estimator(auto)
plt.show()

# %%
# **When to use something else.** If there is only a graph, or neighbors predict the class better than features
# do, use ``HarmonicClassifier`` (:doc:`/methods/harmonic`). For the network alone, with its own parameters, see
# :doc:`/methods/unfolded-gnn`. If linked nodes are mostly of *different* classes, the graph misleads every
# method that uses it, and ``linear`` gets the weight. There is more in :doc:`/learn/graphs`.

# sphinx_gallery_thumbnail_number = 3
