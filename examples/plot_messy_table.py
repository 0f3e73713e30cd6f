"""
A messy table: gaps, texts and dates
====================================

Which of these penguins are male, if a blood test says so for only 40 of them? The field notes of Palmer Station
are a table with missing cells, texts, dates and useless columns. lapwing reads this table as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import datasets
from lapwing import AutoLabeler, label_frame
from lapwing.prepare import TableEncoder

# %%
# The table has 344 rows. The sex is known for 333 birds; we keep it for 40 of them, drawn at random, and hide
# the rest.

birds = datasets.load("penguins").frame
birds["Date Egg"] = pd.to_datetime(birds["Date Egg"])
truth = birds["Sex"]
known = truth.dropna().sample(40, random_state=0).index
birds["Sex"] = truth.where(truth.index.isin(known))
birds.iloc[[0, 3, 8, 200], [2, 4, 6, 8, 9, 12, 13, 16]]

# %%
# The plain call returns the table with three more columns.

labeled = label_frame(birds, "Sex")
labeled[["Species", "Body Mass (g)", "Sex", "label", "confidence", "reached"]].head()

# %%
# About four in five hidden labels are predicted right.

hidden = truth.notna() & birds["Sex"].isna()
print(f"true accuracy of {hidden.sum()} birds:", (labeled["label"] == truth)[hidden].mean().round(3))

# %%
# This table says what was done with each column. Missing numbers are estimated from the other numbers of the
# row and marked; a date becomes four numbers; columns without information are left out.

pd.options.display.max_colwidth = 100
encoder = TableEncoder().fit(birds.drop(columns="Sex"), birds["Sex"])
pd.DataFrame(encoder.description_)[["name", "n_missing", "done"]]

# %%
# Some columns do harm: *Individual ID*, *Sample Number* and *studyName* name the row and do not describe the
# bird. ``label_frame`` has the parameter ``columns`` for the columns to use. Here we do the same in two steps,
# which also give the expected accuracy:

measures = ["Species", *(name for name in birds if "(" in name)]
features = TableEncoder().fit_transform(birds[measures], birds["Sex"])
auto = AutoLabeler(scaling="off", random_state=0).fit(features, birds["Sex"])
right = pd.Series(auto.transduction_, index=birds.index) == truth
print("expected accuracy and its interval:", np.round(auto.expected_accuracy_, 2))
print("true accuracy:", right[hidden].mean().round(3))

# %%
# Within each species, males are heavier and have deeper bills. The errors are where the two sexes overlap.

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
# **When to use something else.** If all columns are numbers in one unit, give the array to ``AutoLabeler``.
# Name the columns, as here, whenever you know which ones matter; with few labels lapwing cannot find out which.
# New rows need the fitted encoder: put it into a pipeline,
# ``make_pipeline(TableEncoder(), AutoLabeler(scaling="off"))``, which ``lapwing.save_model`` can save, too.
# There is more in :doc:`/learn/tables`. At the shell the same is
# ``lapwing label birds.csv --label-column Sex -o labels.csv`` (:doc:`/how-to/label-a-table`).
