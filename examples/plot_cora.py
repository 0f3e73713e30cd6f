"""
Cora: a graph whose nodes have features
=======================================

What is it worth to use the citations and the words of a paper together? Cora has 2,708 papers in seven fields,
5,278 citations between them, and which of 1,433 words each contains. We give 140 labels, and label with both,
with the citations, and with the words.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import datasets
from lapwing import AutoLabeler
from lapwing.display import CompareDisplay, LabelMapDisplay, LossCurveDisplay
from lapwing.exceptions import UnreachedWarning

# %%
# The labels are those of the published split: twenty of each field, drawn at random.

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
# The plain call takes the graph beside the features.

auto = AutoLabeler(random_state=0).fit(cora.X, y, graph=citations)

right = auto.transduction_ == fields
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))
print("on the thousand papers of the published test split:", right[cora.test_mask].mean())

# %%
# The two graph networks (*unfolded*) have all the weight. The *joined* candidates add edges between papers with
# similar words.

CompareDisplay.from_estimator(auto)
plt.show()

# %%
# The best candidate is kept as an estimator of its own. Its loss is convex, and training ends at the optimum
# after some tens of steps.

LossCurveDisplay.from_estimator(auto.best_estimator_)
plt.show()

# %%
# Without the words, some papers are not reached: they lie in parts of the graph that hold no label. A warning
# counts them, which is switched off here, and they get the likeliest field. Without the citations every paper
# is reached, but words alone say less.

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
# The papers in a layout of the citations.

LabelMapDisplay.from_estimator(auto)
plt.show()

# %%
# **When to do otherwise.** If there is a graph alone, or neighbors tell more than features do, take
# ``HarmonicClassifier``: :doc:`/methods/harmonic`. For the network by itself, with parameters of its own:
# :doc:`/methods/unfolded-gnn`. If linked nodes are mostly of *different* classes, the graph misleads every
# method here, and ``linear`` gets the weight. More: :doc:`/learn/graphs`.

# sphinx_gallery_thumbnail_number = 4
