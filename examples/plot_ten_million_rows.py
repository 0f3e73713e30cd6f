"""
Ten million rows through landmarks
==================================

How much time and memory does it take to label ten million rows from sixty labels? It takes seconds, and about a
gigabyte, most of it for rows and results. Low-rank propagation compares every row with a hundred landmarks, and
builds no graph.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from lapwing import LowRankPropagationClassifier

# %%
# No real data set of this size comes with this example, so the rows are generated: three arms of a spiral in
# two of eight columns; the other six columns are noise. The arms are well separated, which makes the task easy:
# the example shows time and memory, not accuracy on real data. In single precision the rows take 320 MB.


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
# Twenty labels per arm are drawn at random within the arm. If your rows are in a file, pass
# ``np.load("rows.npy", mmap_mode="r")``; they are then read in blocks, and never all in memory.

rng = np.random.default_rng(1)
given = np.concatenate(
    [rng.choice(np.flatnonzero(arm[:100_000] == kind), 20, replace=False) for kind in range(3)]
)
y = np.full(len(X), -1, dtype=np.int8)
y[given] = arm[given]

# %%
# This is the plain call of the method. ``AutoLabeler`` would search neighbors first, which takes minutes at
# this size. If the example runs alone, its peak of resident memory is 1.2 GiB: rows, results, and little else.

start = time.perf_counter()
clf = LowRankPropagationClassifier(random_state=0).fit(X, y)
seconds = time.perf_counter() - start

results = sum(array.nbytes for array in vars(clf).values() if isinstance(array, np.ndarray))
print(f"{seconds:.1f} s; the rows take {X.nbytes / 1e6:.0f} MB, the results {results / 1e6:.0f} MB")
print("expected accuracy and its interval:", np.round(clf.expected_accuracy_, 2))
print("true accuracy:", (clf.transduction_ == arm).mean().round(4))

# %%
# The left picture shows the rows in the color of their label; pale pixels have few rows. The arms bend around
# each other, so no plane separates them, but a hundred landmarks follow them.

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
# Up to a few hundred thousand rows most of the time is for finding the landmarks, on a sample. Beyond that, the
# time grows with the number of rows.
#
# **When to use something else.** Up to about a million rows, a neighbor graph takes seconds, and is more
# accurate where classes have complicated shapes (:doc:`/methods/harmonic`). If landmarks are too coarse, first
# try more of them: ``n_landmarks=500``. The program also labels files that do not fit in memory,
# ``lapwing label rows.npy --method low-rank`` (:doc:`/learn/millions-of-rows`), and can divide the work among
# several machines (:doc:`/learn/many-machines`). :doc:`/methods/low-rank` explains what is computed.
