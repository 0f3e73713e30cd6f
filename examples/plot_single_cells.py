"""
Single cells on a neighbor graph from elsewhere
===============================================

Can lapwing spread labels over a neighbor graph that another program has built? Pipelines for single cells find
the neighbors of each cell anyway. This example uses the neighbors that scanpy found for 700 blood cells, and
spreads the types of 60 cells over this graph.
"""

import matplotlib.pyplot as plt
import numpy as np

import datasets
from lapwing import AutoLabeler, HarmonicClassifier

# %%
# ``distances`` is the sparse matrix that ``scanpy.pp.neighbors`` leaves in ``adata.obsp["distances"]``, with 9
# neighbors for each cell. We turn it into two arrays with a line for each cell: which cells are its neighbors,
# nearest first, and how far they are.

cells = datasets.load("cells")
n_cells = len(cells.y)
distances = cells.distances.data.reshape(n_cells, -1)
nearest_first = np.argsort(distances, axis=1)
neighbors = (
    np.take_along_axis(cells.distances.indices.reshape(n_cells, -1), nearest_first, axis=1),
    np.take_along_axis(distances, nearest_first, axis=1),
)

# %%
# The types of 60 cells, drawn at random, are given. The rarest of the ten types has 8 cells, so it may get no
# label.

truth = np.array(cells.class_names)[cells.y]
given = np.random.default_rng(0).choice(n_cells, 60, replace=False)
y = np.full(n_cells, "", dtype=truth.dtype)
y[given] = truth[given]
hidden = y == ""
print(f"types without a label: {', '.join(sorted(set(truth) - set(y))) or 'none'}")

# %%
# With ``affinity="precomputed"`` a graph is given instead of features.

clf = HarmonicClassifier(affinity="precomputed", random_state=0).fit(neighbors, y)

right = clf.transduction_ == truth
print("expected accuracy and its interval:", np.round(clf.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))

# %%
# ``AutoLabeler`` gets the same graph as a separate argument, together with features if there are any. Here the
# features are the 50 principal components that the graph was built from. With both, there are more methods to
# choose from.

auto = AutoLabeler(random_state=0).fit(cells.X, y, graph=neighbors)

print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", (auto.transduction_ == truth)[hidden].mean().round(3))

# %%
# Both pictures show the cells in a UMAP layout of the same graph, as is usual in this field. The left one shows
# the predicted types, with given labels outlined; the right one shows whether the type is right.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharex=True, sharey=True)
for color, name in enumerate(clf.classes_):
    of = clf.transduction_ == name
    axes[0].scatter(*cells.umap[of].T, s=8, color=plt.cm.tab10(color), label=name)
    axes[0].scatter(*cells.umap[of & ~hidden].T, s=45, color=plt.cm.tab10(color), edgecolors="black")
axes[0].set_title("type found")
for wrong, color, name in ((False, "#c4cdd3", "right"), (True, "#d55e00", "wrong")):
    axes[1].scatter(*cells.umap[hidden & (right != wrong)].T, s=8 + 10 * wrong, color=color, label=name)
axes[1].set_title("hidden labels")
axes[1].legend(frameon=False)
for ax in axes:
    ax.set(xticks=[], yticks=[])
fig.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize="small"
)
plt.show()

# %%
# One hidden label in four is wrong. Most errors are among the T cells and NK cells, and between monocytes and
# dendritic cells, which this graph hardly separates. Types with one or two labels are often missed.

types = [name for name in clf.classes_ if (truth[hidden] == name).sum() >= 5]
shares = [right[hidden & (truth == name)].mean() for name in types]
order = np.argsort(shares)
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.barh([types[at] for at in order], [shares[at] for at in order], color="#0072b2")
ax.set(xlabel="share of hidden labels that is right", xlim=(0, 1))
plt.show()

# %%
# **When to use something else.** If you have no graph, give the principal components, and lapwing searches the
# neighbors, for a million rows in seconds. You can give a matrix of weights instead of distances
# (:doc:`/how-to/a-graph-of-my-own`). To find new types, let ``suggest(..., explore=0.2)`` choose rows far from
# all labels (:doc:`/learn/label-next`). There is more in :doc:`/learn/graphs`.
