"""Expected accuracy and confidence, from labels that are held out."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lapwing
from datasets import rule_of
from lapwing import baselines

CLASSIFIERS = [
    lapwing.HarmonicClassifier(),
    lapwing.HarmonicClassifier(form="stable"),
    lapwing.HarmonicClassifier(form="plain", decision="argmax"),
    lapwing.SparseHarmonicClassifier(),
    lapwing.LowRankPropagationClassifier(),
    lapwing.LowRankPropagationClassifier(select="off"),
    lapwing.LaplacianSVC(),
    lapwing.LaplacianRidgeClassifier(),
    lapwing.UnfoldedGNNClassifier(),
    baselines.EigenfunctionClassifier(),
    baselines.SubsamplingHarmonicClassifier(),
    baselines.SimpleHarmonicClassifier(),
    baselines.NearestLabelClassifier(),
]
X, TRUTH = load_digits(return_X_y=True)


def shown(per_class, seed=0):
    """Digits with so many labels of each class, −1 elsewhere."""
    order = np.random.default_rng(seed).permutation(len(TRUTH))
    y = np.full(len(TRUTH), -1)
    for digit in range(10):
        rows = order[TRUTH[order] == digit][:per_class]
        y[rows] = digit
    return y


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_the_accuracy_lies_in_the_expected_interval(classifier):
    y = shown(12)
    fitted = classifier.set_params(random_state=0).fit(X, y)
    value, low, high = expected = fitted.expected_accuracy_
    assert low < value == expected.value < high
    hidden = y < 0
    accuracy = (fitted.transduction_[hidden] == TRUTH[hidden]).mean()
    assert low <= accuracy <= high, (accuracy, expected)
    parts = fitted.report_["parts"]
    assert parts["expected_accuracy"]["level"] == 0.9
    assert sum(part["count"] for part in parts["reliability"]) == parts["expected_accuracy"]["n_held_out"] <= 120
    if rule_of(fitted)["temperature"] is not None:
        assert not parts["confidence"]["is_guess"]
        assert abs(fitted.confidence_[hidden].mean() - accuracy) < 0.12


def test_one_label_of_each_class_is_too_few():
    fitted = lapwing.HarmonicClassifier().fit(X, shown(1))
    assert fitted.expected_accuracy_ is None
    part = fitted.report_["parts"]["confidence"]
    assert part == {"is_guess": True, "reason": "fewer than 5 labels per class"}


def test_given_sizes_decide_held_out_rows_too():
    y = shown(12)
    shares = np.bincount(TRUTH) / len(TRUTH)
    fitted = lapwing.LaplacianRidgeClassifier(decision="sizes", class_prior=shares, random_state=0).fit(X, y)
    hidden = y < 0
    accuracy = (fitted.transduction_[hidden] == TRUTH[hidden]).mean()
    low, high = fitted.expected_accuracy_[1:]
    assert low - 0.02 <= accuracy <= high + 0.02
