"""
A messy table: gaps, texts and dates
====================================

Which of these penguins are male, if a blood test says so for only 40 of them? The field notes of Palmer Station
are a table with missing cells, texts, dates and columns that tell nothing, and lapwing takes it as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import datasets
from lapwing import AutoLabeler, label_frame
from lapwing.prepare import TableEncoder

# %%
# 344 rows. The sex is known for 333; we keep it for 40 of them, drawn at random, and hide the rest.

birds = datasets.load("penguins").frame
birds["Date Egg"] = pd.to_datetime(birds["Date Egg"])
truth = birds["Sex"]
known = truth.dropna().sample(40, random_state=0).index
birds["Sex"] = truth.where(truth.index.isin(known))
birds.iloc[[0, 3, 8, 200], [2, 4, 6, 8, 9, 12, 13, 16]]

# %%
# The plain call: the table comes back with three more columns.

labeled = label_frame(birds, "Sex")
labeled[["Species", "Body Mass (g)", "Sex", "label", "confidence", "reached"]].head()

# %%
# Of the hidden ones, about four in five are right.

hidden = truth.notna() & birds["Sex"].isna()
print(f"true accuracy of {hidden.sum()} birds:", (labeled["label"] == truth)[hidden].mean().round(3))

# %%
# What was done with each column. Gaps are filled from the other numbers of the row and marked; a date becomes
# four numbers; columns without information are left out.

pd.options.display.max_colwidth = 100
encoder = TableEncoder().fit(birds.drop(columns="Sex"), birds["Sex"])
pd.DataFrame(encoder.description_)[["name", "n_missing", "done"]]

# %%
# Some columns do more harm than good: *Individual ID*, *Sample Number* and *studyName* name the row, not the
# bird. ``columns`` names those to use. The same in two steps, which also tell the expected accuracy:

measures = ["Species", *(name for name in birds if "(" in name)]
features = TableEncoder().fit_transform(birds[measures], birds["Sex"])
auto = AutoLabeler(scaling="off", random_state=0).fit(features, birds["Sex"])
right = pd.Series(auto.transduction_, index=birds.index) == truth
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))

# %%
# Males are heavier and have deeper bills, within each species. Errors lie where the two sexes meet.

depth, mass = birds["Culmen Depth (mm)"], birds["Body Mass (g)"]
fig, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained", sharey=True)
for ax, (species, of) in zip(axes, birds.groupby("Species").groups.items()):
    found = pd.Series(auto.transduction_, index=birds.index)[of]
    given, wrong = of[of.isin(known)], of[(hidden & ~right)[of]]
    for sex, color in (("FEMALE", "#e69f00"), ("MALE", "#0072b2")):
        rows = of[found == sex]
        ax.scatter(depth[rows], mass[rows], s=14, color=color, label=f"labeled {sex.lower()}")
    ax.scatter(
        depth[given], mass[given], s=60, facecolors="none", edgecolors="black", label="label was given"
    )
    ax.scatter(depth[wrong], mass[wrong], s=60, marker="x", color="#b3001b", label="wrong")
    ax.set(title=species.split(" (")[0], xlabel="depth of the bill in mm")
axes[0].set_ylabel("body mass in g")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# **When to do otherwise.** If columns are numbers in one unit already, give the array to ``AutoLabeler``. Name
# the columns, as here, whenever you know which ones matter; with few labels lapwing cannot find that out by
# itself. New rows need the fitted encoder: put it into a pipeline, ``make_pipeline(TableEncoder(),
# AutoLabeler(scaling="off"))``, which ``lapwing.save_model`` saves too. More: :doc:`/learn/tables`. The same at
# the shell is ``lapwing label birds.csv --label-column Sex -o labels.csv``: :doc:`/how-to/label-a-table`.
