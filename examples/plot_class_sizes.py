"""
Uneven classes: say how large they are
======================================

What if one class is four times as large as the other, and the labels do not show it? One in five of these
pixels from photos is skin. Ten labels, five per class, do not show this. If you know the sizes of the classes,
you can pass them, and most of the errors disappear.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import datasets
from lapwing import AutoLabeler, HarmonicClassifier
from lapwing.exceptions import UnreachedWarning

# %%
# The rows are 5,000 of 245,057 pixels, drawn at random: their blue, green and red. Five labels per class are
# drawn at random within the class.

skin = datasets.load("skin")


def draw(seed):
    """Pixels, their true labels (0: skin), and the labels that are given."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(skin.y), 5_000, replace=False)
    truth = skin.y[rows]
    given = np.concatenate([rng.choice(np.flatnonzero(truth == kind), 5, replace=False) for kind in (0, 1)])
    y = np.full(len(truth), -1)
    y[given] = truth[given]
    return skin.X[rows], truth, y


# %%
# The plain call. Some pixels lie in parts of the graph without a label, so their class is only guessed. A
# warning counts them; it is switched off here.

warnings.simplefilter("ignore", UnreachedWarning)
pixels, truth, y = draw(0)
hidden = y == -1
auto = AutoLabeler(random_state=0).fit(pixels, y)
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", (auto.transduction_ == truth)[hidden].mean().round(3))
print(f"labeled as skin: {(auto.transduction_ == 0).mean():.1%}, in truth: {(truth == 0).mean():.1%}")

# %%
# Now we pass the shares of the classes, in the order of ``classes_``. They have to be known: here they come
# from the description of the data. Labels are refined on the graph until the classes have these sizes. Such a
# fit does not estimate its accuracy.

sized = HarmonicClassifier(decision="sizes", class_prior=[0.2, 0.8], random_state=0).fit(pixels, y)
print("expected accuracy:", sized.expected_accuracy_)
print("true accuracy:", (sized.transduction_ == truth)[hidden].mean().round(3))

# %%
# The pictures show the pixels in their own colors, and which of them get the wrong label. Without sizes, bright
# reds and pale tones are labeled as skin, too.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharex=True, sharey=True)
green, red = pixels[:, 1].astype(int), pixels[:, 2].astype(int)
axes[0].scatter(red, green, s=5, c=pixels[:, ::-1] / 255)
axes[0].set(title="the pixels", xlabel="red", ylabel="green")
for ax, clf, name in ((axes[1], auto, "without sizes"), (axes[2], sized, "with sizes")):
    for code, color, kind in ((0, "#d9822b", "labeled skin"), (1, "#9fb4c0", "labeled other")):
        of = clf.transduction_ == code
        ax.scatter(red[of], green[of], s=5, color=color, label=kind)
    wrong = clf.transduction_ != truth
    ax.scatter(red[wrong], green[wrong], s=14, marker="x", linewidths=0.8, color="#8a0f2e", label="wrong")
    ax.set(title=name, xlabel="red")
fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# One draw of ten labels may be luck. So we compare the harmonic method without and with sizes on six draws:

accuracies = []
for seed in range(6):
    pixels, truth, y = draw(seed)
    without = HarmonicClassifier(random_state=0).fit(pixels, y)
    sized = HarmonicClassifier(decision="sizes", class_prior=[0.2, 0.8], random_state=0).fit(pixels, y)
    accuracies.append([(clf.transduction_ == truth)[y == -1].mean() for clf in (without, sized)])
without, known = np.array(accuracies).T
print(f"without sizes {without.mean():.1%}, with sizes {known.mean():.1%} on average over six draws")

fig, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
ax.hlines(range(6), without, known, color="#b5b5b5")
ax.plot(without, range(6), "o", color="#8a8a8a", label="without sizes")
ax.plot(known, range(6), "o", color="#0072b2", label="with sizes")
ax.set(xlabel="accuracy on hidden labels", ylabel="draw", yticks=range(6))
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# **When to use something else.** If the labels were drawn at random, they show the sizes themselves: pass
# ``labels_drawn="random"``; the default ``auto`` notices it if there are enough labels. Wrong sizes do harm: if
# you know them only roughly, pass ``size_slack`` as well. There is more in :doc:`/learn/uneven-classes`;
# :doc:`/methods/harmonic` explains how sizes are used.
