"""
Handwritten digits from five labels of each
===========================================

Can fifty labeled images label the other 1,747? This example labels the digits of scikit-learn by the plain
call, and shows how sure each label is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lapwing import AutoLabeler
from lapwing.display import CompareDisplay, ConfidenceDisplay, LabelMapDisplay

# %%
# Fifty labels, five of each digit, drawn at random within each digit. All other rows have -1, which marks a row
# without a label.

images, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
given = np.concatenate([rng.choice(np.flatnonzero(truth == digit), 5, replace=False) for digit in range(10)])
y = np.full(len(truth), -1)
y[given] = truth[given]

# %%
# The plain call. It tries several methods, and weighs them by how well they predict labels that were hidden
# from them.

auto = AutoLabeler(random_state=0).fit(images, y)

hidden = y == -1
right = auto.transduction_ == truth
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))

# %%
# The expectation comes from the fifty labels alone, each predicted from the others; with so few its interval is
# wide. The picture shows what each method got right of hidden labels, and its weight in the result.

CompareDisplay.from_estimator(auto)
plt.show()

# %%
# The map lays out the graph of the rows: images that are near neighbors lie together. The fifty given labels
# are outlined.

LabelMapDisplay.from_estimator(auto)
plt.show()

# %%
# Confidence tells which labels to look at first. It does not find all that are wrong: some have a confidence
# near 1.

ConfidenceDisplay.from_estimator(auto, y_true=truth)

wrong = np.flatnonzero(hidden & ~right)
least_sure = np.argsort(auto.confidence_)[:200]
found = np.isin(wrong, least_sure).sum()
print(f"{len(wrong)} labels are wrong; {found} of them are among the 200 rows of least confidence")
plt.show()

# %%
# The ten wrong labels that the fit was surest of. Several of these images would make a person hesitate, too.

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
# ``auto.report("report.html")`` writes these pictures, and what to do next, as one page.
#
# **When to do otherwise.** With fewer than three labels a class there is nothing to weigh methods by, and
# ``harmonic`` labels alone: :doc:`/learn/few-labels`. If you can still choose which images to label, let
# lapwing suggest them: :doc:`plot_active_learning`. What the plain call does in detail: :doc:`/methods/auto`.
# The way from installing to a first result: :doc:`/learn/first-labels`.

# sphinx_gallery_thumbnail_number = 2
