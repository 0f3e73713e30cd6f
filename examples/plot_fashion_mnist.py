"""
Fashion-MNIST: when pixels say too little
=========================================

How far do 200 labels go for 10,000 pictures of clothes, if all there is are raw pixels? Not as far as for
digits: about three in four labels come out right. The example shows how to see that without knowing the truth,
and where the errors are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

import datasets
from lapwing import AutoLabeler
from lapwing.display import CompareDisplay, LabelMapDisplay, ReliabilityDisplay

# %%
# The 10,000 test images, and 200 labels, drawn at random among all rows.

fashion = datasets.load("fashion_mnist")
images, truth = fashion.X[60_000:], fashion.y[60_000:]
names = np.array(
    ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
)
given = np.random.default_rng(0).choice(len(truth), 200, replace=False)
y = np.full(len(truth), "", dtype=names.dtype)  # an empty text marks a row without a label
y[given] = names[truth[given]]

# %%
# The plain call.

auto = AutoLabeler(random_state=0).fit(images, y)

hidden = y == ""
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", (auto.transduction_ == names[truth])[hidden].mean().round(3))

# %%
# What was tried. The graph adds next to nothing: ``harmonic``, which spreads labels over it, is hardly better
# than a linear method that sees the 200 labeled images alone. Images that are near each other pixel by pixel
# are often of different kinds. ``laprls`` gets a few more hidden labels right, but is left out: weights follow
# how probable each method found the right labels, not how many it hit.

CompareDisplay.from_estimator(auto)
plt.show()

# %%
# The map shows why. Shoes, bags and trousers lie apart. Pullovers, coats and shirts share one cloud: as pixels
# they are alike.

LabelMapDisplay.from_estimator(auto)
plt.show()

# %%
# Which kinds are taken for which, in percent of each kind. Of the shirts fewer than three in ten are found, and
# half of the pullovers pass for coats.

fig, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    names[truth][hidden], auto.transduction_[hidden], labels=names, normalize="true", values_format=".0%",
    xticks_rotation=45, cmap="Blues", colorbar=False, text_kw={"fontsize": "x-small"}, ax=ax,
)  # fmt: skip
plt.show()

# %%
# Confidence sorts the labels well. It is somewhat too high here in the middle: of labels with a confidence of
# 0.65, little more than half are right.

ReliabilityDisplay.from_estimator(auto, y_true=names[truth])
plt.show()

# %%
# **When to do otherwise.** Images deserve better features than pixels: embed them by a pretrained network, and
# give lapwing the vectors: :doc:`/learn/images`. The graph is only as good as the distances. Low confidence
# sorts the rows that a person should look at: :doc:`/learn/label-next`.

# sphinx_gallery_thumbnail_number = 2
