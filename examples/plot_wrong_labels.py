"""
Wrong labels, found
===================

Which of ten thousand labels are wrong? An audit compares each label with what the other labels predict for its
row, without training a model. We audit the test images of MNIST with their published labels, and then with 500
labels made wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

import datasets
from lapwing.audit import audit
from lapwing.graph import knn_graph

# %%
# Every row has a label here. The graph is built once, for both audits.

mnist = datasets.load("mnist")
images, labels = mnist.X[60_000:], mnist.y[60_000:]
graph = knn_graph(images, 15, random_state=0)

# %%
# The plain call reports ``foretold``, the share of labels that the other labels predict. If it is far below 1,
# classes overlap, and most doubtful labels are in the overlap rather than wrong.

found = audit(images, labels, graph=graph, random_state=0)
print(
    f"{found.flagged.sum()} labels of {len(labels)} are flagged; {found.report_['foretold']:.1%} are predicted by the others"
)

# %%
# These are the most doubtful of the published labels. There is no truth to compare with, so judge yourself. A
# few are probably wrong, such as the 4 that may be a 6; most are right, but the digit is written in an unusual
# way.

fig, axes = plt.subplots(3, 7, figsize=(9, 5), layout="constrained")
for row, ax in zip(found.ranked(), axes.flat):
    ax.imshow(images[row].reshape(28, 28), cmap="gray_r")
    ax.set_title(f"given {found.given[row]}, or {found.proposed[row]}?", fontsize="small")
    ax.axis("off")
plt.show()

# %%
# Now 500 labels, drawn at random, become another digit, so that there is a truth to compare with.

rng = np.random.default_rng(0)
spoiled = rng.choice(len(labels), 500, replace=False)
wrong = np.zeros(len(labels), bool)
wrong[spoiled] = True
noisy = np.where(wrong, (labels + rng.integers(1, 10, len(labels))) % 10, labels)

found = audit(images, noisy, graph=graph, random_state=0)
flagged = found.flagged
print(f"{flagged.sum()} labels are flagged; {wrong[flagged].mean():.1%} of them are wrong")
print(f"{flagged[wrong].mean():.1%} of the wrong labels are flagged")
print(
    f"for {(found.proposed == labels)[flagged & wrong].mean():.1%} of these the proposed class is the right one"
)

# %%
# If a person checks the labels in this order, nearly all of the first 400 are wrong, and after 600 checks
# nearly all errors are found. In random order this would take nearly ten thousand checks.

looks = np.arange(1, 1501)
hits = np.cumsum(wrong[found.ranked()[:1500]])
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(looks, hits / 500, color="#0072b2", label="by the audit")
ax.plot(looks, looks / len(labels), color="#8a8a8a", label="in random order")
ax.plot(looks[:500], looks[:500] / 500, color="#d55e00", linestyle=":", label="if one knew")
ax.axvline(flagged.sum(), color="#8a8a8a", linewidth=0.8)
ax.annotate("flagged", (flagged.sum(), 0.02), xytext=(4, 0), textcoords="offset points", color="#6a6a6a")
ax.set(xlabel="labels looked at", ylabel="share of the wrong labels found", ylim=(0, 1.02))
ax.legend(frameon=False, loc="center right")
plt.show()

# %%
# **When to use something else.** Random errors, as here, are the easy case. If two similar classes were
# confused, or if classes overlap, the audit finds fewer errors. If only a few rows have labels, use the audit
# of a fitted classifier, ``clf.audit()``. An audit does not change labels; check them, correct them, and fit
# again (:doc:`/learn/wrong-labels`). :doc:`/methods/label-loop` explains how it is computed.
