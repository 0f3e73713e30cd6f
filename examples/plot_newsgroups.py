"""
Newsgroups: counts of terms or embeddings?
==========================================

Which vectors of a text should labels spread over: counts of its terms, or an embedding from a file? The expected
accuracy answers that before any truth is known. Here the counts win clearly, because the embedding is a weak one.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import datasets
from lapwing import AutoLabeler
from lapwing.display import CompareDisplay, LabelMapDisplay

# %%
# 7,532 posts to twenty newsgroups, those of the test part; ten labels of each group, drawn at random within the
# group.

news = datasets.load("newsgroups20")
posts = np.flatnonzero(news.test_mask) if "test_mask" in news else np.arange(len(news.y) // 2)
counts, truth = news.X[posts], np.array(news.class_names)[news.y[posts]]
rng = np.random.default_rng(0)
given = np.concatenate([rng.choice(np.flatnonzero(truth == group), 10, replace=False) for group in news.class_names])
y = np.full(len(truth), None)  # None marks a row without a label
y[given] = truth[given]
hidden = y == None  # noqa: E711

# %%
# The plain call takes the sparse counts as they are, and weighs them by TF-IDF itself.

by_terms = AutoLabeler(random_state=0).fit(counts, y)
print("what was done with the counts:", by_terms.report_["parts"]["scaling"])
CompareDisplay.from_estimator(by_terms)
plt.show()

# %%
# An embedding comes from a file. This one is the mean of the Google News vectors of the words of a post, rare words
# weighing more; it is made here, so that the example needs no network. A sentence encoder writes such a file just as
# well: ``np.save("embeddings.npy", SentenceTransformer("all-MiniLM-L6-v2").encode(texts))``.

vectors = datasets.load("word2vec_googlenews_8k")
place = {word.lower(): row for row, word in reversed(list(enumerate(vectors.vocab)))}
known = [column for column, word in enumerate(news.vocab) if word in place]
rarity = np.log(len(posts) / (1 + counts[:, known].count_nonzero(axis=0)))
weights = counts[:, known].log1p().multiply(rarity).tocsr()
embeddings = weights @ vectors.X[[place[news.vocab[column]] for column in known]]
file = Path(tempfile.mkdtemp()) / "embeddings.npy"
np.save(file, (embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-9)).astype(np.float32))

# %%
# A file in single precision is mapped, and used in place.

by_embedding = AutoLabeler(random_state=0).fit(np.load(file, mmap_mode="r"), y)

fits = {"counts of terms": by_terms, "mean word vectors": by_embedding}
true = np.array([(fit.transduction_ == truth)[hidden].mean() for fit in fits.values()])
value, low, high = np.array([fit.expected_accuracy_ for fit in fits.values()]).T
for line, name in enumerate(fits):
    print(f"{name:<18} expected {value[line]:.1%} ({low[line]:.0%} to {high[line]:.0%}), true accuracy {true[line]:.1%}")

# %%
# The intervals are far apart: the labels at hand suffice to choose the vectors.

fig, ax = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
interval = [value - low, high - value]
ax.errorbar(value, [0, 1], xerr=interval, fmt="o", color="#0072b2", capsize=4, label="expected, 90 % interval")
ax.plot(true, [0, 1], "D", color="#d55e00", label="true")
ax.set(yticks=[0, 1], yticklabels=list(fits), ylim=(1.5, -0.5), xlim=(0, 1), xlabel="accuracy on hidden labels")
ax.legend(frameon=False, loc="lower left", fontsize="small")
plt.show()

# %%
# The map of the graph of terms. Groups with one subject lie together, such as the five *comp.* groups on the right,
# and are taken for each other.

LabelMapDisplay.from_estimator(by_terms, point_size=5)
plt.show()

# %%
# **When to do otherwise.** Short texts share few terms: try an embedding by a sentence encoder there, and compare as
# above. Texts in a column of a table are encoded by ``label_frame``: :doc:`plot_messy_table`. More on texts:
# :doc:`/learn/texts`.

# sphinx_gallery_thumbnail_number = 3
