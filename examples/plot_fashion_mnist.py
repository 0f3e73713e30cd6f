"""
Fashion-MNIST: when pixels say too little
=========================================

How accurate are 10,000 labels of pictures of clothes, if there are 200 given labels and only raw pixels? Less
accurate than for digits: about three in four labels are right. The example shows how to see this without
knowing the truth, and where the errors are.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay

import datasets
from lapwing import AutoLabeler
from lapwing.display import LabelMapDisplay

# %%
# We use the 10,000 test images, and 200 labels drawn at random among all rows.

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
right = auto.transduction_ == names[truth]
print("true accuracy:", right[hidden].mean().round(3))

# %%
# The table shows the methods that were tried. The graph adds almost nothing: ``harmonic``, which spreads
# labels over it, is hardly better than a linear method that uses the 200 labeled images alone. The reason is
# that images with similar pixels are often of different kinds. ``laprls`` predicts a few more hidden labels
# right, but gets no weight, because weights depend on the probabilities that a method gave to the right labels,
# not on how many it predicted right.

pd.DataFrame(auto.results_)[["name", "estimate", "interval", "weight"]]

# %%
# The map shows why. Shoes, bags and trousers are separate. Pullovers, coats and shirts are in one cloud,
# because their pixels are similar.

LabelMapDisplay.from_estimator(auto)
plt.show()

# %%
# The table shows which kinds are confused with which, in percent of each kind. Fewer than three in ten shirts
# are labeled as shirts, and half of the pullovers are labeled as coats.

fig, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    names[truth][hidden], auto.transduction_[hidden], labels=names, normalize="true", values_format=".0%",
    xticks_rotation=45, cmap="Blues", colorbar=False, text_kw={"fontsize": "x-small"}, ax=ax,
)  # fmt: skip
plt.show()

# %%
# Labels of higher confidence are more often right. In the middle of its range, confidence is somewhat too high
# here: of labels with a confidence of 0.65, only a little more than half are right.

CalibrationDisplay.from_predictions(
    right[hidden], auto.confidence_[hidden], n_bins=10, strategy="quantile", name="labels"
)
plt.show()

# %%
# **When to use something else.** Images need better features than pixels: embed them with a pretrained network,
# and give lapwing the vectors (:doc:`/learn/images`). The graph is only as good as the distances. If a person
# can check some labels, start with those of low confidence (:doc:`/learn/label-next`).

# sphinx_gallery_thumbnail_number = 1
