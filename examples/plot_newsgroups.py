"""
Newsgroups: counts of terms or an embedding?
============================================

Which vectors are better for labeling texts: counts of terms, or an embedding from a file? The expected accuracy
helps to choose while the truth is unknown. In this example both are good, and 200 labels are too few to tell
which is better.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import datasets
from lapwing import AutoLabeler
from lapwing.display import LabelMapDisplay

# %%
# The rows are the 7,532 posts of the test part of twenty newsgroups. Ten labels per group are drawn at random
# within the group.

news = datasets.load("newsgroups20")
counts, truth = news.X[news.test_mask], np.array(news.class_names)[news.y[news.test_mask]]
rng = np.random.default_rng(0)
y = np.full(len(truth), "", dtype=truth.dtype)  # an empty text marks a row without a label
for group in news.class_names:
    y[rng.choice(np.flatnonzero(truth == group), 10, replace=False)] = group
hidden = y == ""

# %%
# The plain call gets the sparse counts as they are. It notices that they are counts, and weights them by
# TF-IDF.

by_terms = AutoLabeler(random_state=0).fit(counts, y)

print("what was done:", by_terms.report_["parts"]["scaling"]["text"])
print("expected accuracy and its interval:", np.round(by_terms.expected_accuracy_, 2))
print("true accuracy:", (by_terms.transduction_ == truth)[hidden].mean().round(3))

# %%
# Spreading labels over the graph helps much here: ``linear`` and the methods below it use the 200 labeled posts
# alone.

pd.DataFrame(by_terms.results_)[["name", "estimate", "interval", "weight"]]

# %%
# The map lays out the graph. Groups with one subject, such as the five *comp.* groups, lie together and are
# confused with each other.

LabelMapDisplay.from_estimator(by_terms, point_size=5)
plt.show()

# %%
# Now an embedding from a file. This one has a hundred numbers for each post, from latent semantic analysis. It
# is computed here, so that the example needs no network. You can also write such a file with a sentence
# encoder: ``np.save("embedding.npy", SentenceTransformer("all-MiniLM-L6-v2").encode(texts))``.

analysis = make_pipeline(
    TfidfTransformer(sublinear_tf=True), TruncatedSVD(100, n_iter=2, random_state=0), Normalizer()
)
file = Path(tempfile.mkdtemp()) / "embedding.npy"
np.save(file, analysis.fit_transform(counts).astype(np.float32))

by_embedding = AutoLabeler(random_state=0).fit(np.load(file, mmap_mode="r"), y)

# %%
# The two intervals overlap almost completely. The truth, which is unknown in practice, is that the counts are a
# few points better.

fits = {"counts of terms": by_terms, "embedding": by_embedding}
value, low, high = np.array([fit.expected_accuracy_ for fit in fits.values()]).T
true = [(fit.transduction_ == truth)[hidden].mean() for fit in fits.values()]
fig, ax = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
ax.errorbar(
    value, [0, 1], xerr=[value - low, high - value], fmt="o", capsize=4, label="expected, 90 % interval"
)
ax.plot(true, [0, 1], "D", label="true")
ax.set(
    yticks=[0, 1], yticklabels=list(fits), ylim=(1.5, -0.5), xlim=(0, 1), xlabel="accuracy on hidden labels"
)
ax.legend(frameon=False, loc="lower left", fontsize="small")
plt.show()

# %%
# **When to use something else.** Counts suit long texts, which share many terms, and they show which terms a
# label depends on. Short texts share few terms: try a sentence encoder for these, and compare as above; with
# more labels the intervals are narrower. ``label_frame`` encodes texts in a column of a table
# (:doc:`plot_messy_table`). There is more in :doc:`/learn/texts`.

# sphinx_gallery_thumbnail_number = 1
