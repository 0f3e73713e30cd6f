"""
Ten million rows through landmarks
==================================

How long does it take to label ten million rows from sixty labels, and how much memory? Seconds, and about a
gigabyte, most of it rows and results: low-rank propagation compares every row with a hundred landmarks, and
builds no graph.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from lapwing import LowRankPropagationClassifier

# %%
# No real set of this size comes with this example, so the rows are generated: three arms of a spiral, in two of
# eight columns; the other six are noise. The arms lie apart, which makes the task easy: it shows time and
# memory, not accuracy on real data. In single precision the rows take 320 MB.


def spiral(n, seed=0):
    """Rows (n, 8) and the arm of each."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8), dtype=np.float32)
    X *= np.float32(0.12)
    arm = rng.integers(0, 3, n, dtype=np.int8)
    radius = np.sqrt(rng.random(n, dtype=np.float32)) * np.float32(3.5) + np.float32(0.25)
    angle = arm * np.float32(2 * np.pi / 3) + radius * np.float32(1.6)
    X[:, 0] += radius * np.cos(angle)
    X[:, 1] += radius * np.sin(angle)
    return X, arm


X, arm = spiral(10_000_000)

# %%
# Twenty labels of each arm, drawn at random within it. Rows in a file are given as ``np.load("rows.npy",
# mmap_mode="r")``; they are read in blocks, and never all held.

rng = np.random.default_rng(1)
given = np.concatenate(
    [rng.choice(np.flatnonzero(arm[:100_000] == kind), 20, replace=False) for kind in range(3)]
)
y = np.full(len(X), -1, dtype=np.int8)
y[given] = arm[given]

# %%
# The plain call of this method. ``AutoLabeler`` would search neighbors first, which takes minutes at this size.
# Run alone, the example has a peak of 1.2 GiB of resident memory: rows, results, and little else.

start = time.perf_counter()
clf = LowRankPropagationClassifier(random_state=0).fit(X, y)
seconds = time.perf_counter() - start

results = sum(array.nbytes for array in vars(clf).values() if isinstance(array, np.ndarray))
print(f"{seconds:.1f} s; the rows take {X.nbytes / 1e6:.0f} MB, the results {results / 1e6:.0f} MB")
print("expected accuracy and its interval:", np.round(clf.expected_accuracy_, 2))
print("true accuracy:", (clf.transduction_ == arm).mean().round(4))

# %%
# Where the rows are, by the arm that they were given: the arms bend around each other, so that no plane
# separates them, yet a hundred landmarks follow them. Pale pixels hold few rows.

colors = np.array([[0, 114, 178], [230, 159, 0], [0, 158, 115]]) / 255
edges = np.linspace(-4.2, 4.2, 421)
sample = slice(0, 2_000_000)
counts = np.stack([
    np.histogram2d(*X[sample][clf.transduction_[sample] == kind, :2].T, bins=(edges, edges))[0] for kind in range(3)
])  # fmt: skip
total = counts.sum(axis=0)
shade = np.sqrt(np.minimum(total / np.quantile(total[total > 0], 0.98), 1))[..., None]
picture = 1 - shade + shade * np.einsum("kxy,kc->xyc", counts / np.maximum(total, 1), colors)

fig, axes = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
axes[0].imshow(picture.swapaxes(0, 1), origin="lower", extent=(-4.2, 4.2, -4.2, 4.2))
axes[0].scatter(*X[given, :2].T, s=22, c=colors[arm[given]], edgecolors="black", linewidths=0.8)
axes[0].scatter(*clf.landmarks_[:, :2].T, s=14, marker="+", color="black", linewidths=0.8)
axes[0].set(xlabel="column 0", ylabel="column 1", title="labels; given ones outlined, landmarks +")

sizes = np.array([10_000, 100_000, 1_000_000])
times = []
for n in sizes:
    labels = np.full(n, -1, dtype=np.int8)
    labels[given % n] = arm[given % n]
    start = time.perf_counter()
    LowRankPropagationClassifier(random_state=0).fit(X[:n], labels)
    times.append(time.perf_counter() - start)
axes[1].loglog([*sizes, len(X)], [*times, seconds], "o-", color="#0072b2")
axes[1].set(xlabel="rows", ylabel="seconds", title="time of a fit")
axes[1].set(ylim=(0.05, 20), yticks=[0.1, 1, 10], yticklabels=["0.1", "1", "10"])
axes[1].grid(alpha=0.3)
plt.show()

# %%
# Up to some hundred thousand rows the time goes into finding the landmarks, on a sample; beyond, it grows with
# the rows.
#
# **When to do otherwise.** Up to a million rows or so, the neighbor graph is affordable and more accurate where
# classes are intricate: :doc:`/methods/harmonic`. If landmarks are too coarse, take more of them first:
# ``n_landmarks=500``. The program labels files that do not fit in memory, ``lapwing label rows.npy --method
# low-rank``, and several machines share the work: :doc:`/learn/millions-of-rows`, :doc:`/learn/many-machines`.
# What is computed: :doc:`/methods/low-rank`.
