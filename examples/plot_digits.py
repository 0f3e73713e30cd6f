"""
Handwritten digits from five labels of each
===========================================

Can fifty labels be spread to the other 1,747 images? This example labels the digits of scikit-learn by the
plain call, and shows how sure each label is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from lapwing import AutoLabeler
from lapwing.display import LabelMapDisplay

# %%
# There are fifty labels, five of each digit, drawn at random within the digit. All other rows have -1, which
# marks a row without a label.

images, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
given = np.concatenate([rng.choice(np.flatnonzero(truth == digit), 5, replace=False) for digit in range(10)])
y = np.full(len(truth), -1)
y[given] = truth[given]

# %%
# The plain call tries several methods, and gives each a weight by how well it predicts labels that were hidden
# from it.

auto = AutoLabeler(random_state=0).fit(images, y)

hidden = y == -1
right = auto.transduction_ == truth
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))

# %%
# The expected accuracy comes from the fifty labels alone, each predicted from others. With so few labels its
# interval is wide. The table shows the share of hidden labels that each method predicts right, and the weight
# of each method in the result.

pd.DataFrame(auto.results_)[["name", "estimate", "interval", "weight"]]

# %%
# The map lays out the graph of the rows: images that are near neighbors lie together. The fifty given labels
# are outlined.

LabelMapDisplay.from_estimator(auto)
plt.show()

# %%
# Confidence tells which labels to check first. It does not find all wrong labels: some have a confidence near
# 1.

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
parts = [auto.confidence_[hidden & right], auto.confidence_[hidden & ~right]]
ax.hist(parts, np.linspace(0, 1, 21), color=["#0072b2", "#d55e00"], label=["right", "wrong"], stacked=True)
ax.set(xlabel="confidence", ylabel="rows")
ax.legend(frameon=False)

wrong = np.flatnonzero(hidden & ~right)
least_sure = np.argsort(auto.confidence_)[:200]
found = np.isin(wrong, least_sure).sum()
print(f"{len(wrong)} labels are wrong; {found} of them are among the 200 rows of least confidence")
plt.show()

# %%
# These are the wrong labels with the highest confidence. Several of these images would make a person hesitate,
# too.

surest = wrong[np.argsort(-auto.confidence_[wrong])][:10]
fig, axes = plt.subplots(2, 5, figsize=(7, 3.6), layout="constrained")
for row, ax in zip(surest, axes.flat):
    ax.imshow(images[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(
        f"{auto.transduction_[row]}, is a {truth[row]}\n{auto.confidence_[row]:.0%} sure", fontsize="small"
    )
    ax.axis("off")
plt.show()

# %%
# ``auto.report("report.html")`` writes one page with these pictures and with what to do next.
#
# **When to use something else.** With fewer than three labels per class on average, methods cannot be compared,
# and only ``harmonic`` runs (:doc:`/learn/few-labels`). If you can still choose which images to label, let
# lapwing suggest them (:doc:`plot_active_learning`). :doc:`/methods/auto` explains the plain call in detail,
# and :doc:`/learn/first-labels` leads from installing to a first result.

# sphinx_gallery_thumbnail_number = 1
