"""Simple classifiers, as baselines for others.

>>> import numpy as np
>>> from sklearn.datasets import load_digits
>>> from lapwing import HarmonicClassifier
>>> from lapwing.baselines import NearestLabelClassifier
>>> X, truth = load_digits(return_X_y=True)
>>> y = truth.copy()
>>> y[50:] = -1
>>> right = {
...     type(clf).__name__: float((clf.fit(X, y).transduction_[50:] == truth[50:]).mean())
...     for clf in (NearestLabelClassifier(), HarmonicClassifier())
... }
>>> right["HarmonicClassifier"] > right["NearestLabelClassifier"] > 0.8
True
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ._classifier import SpreadingClassifier
from ._parameters import documented
from ._signatures import (
    EigenfunctionClassifierParameters,
    ForestClassifierParameters,
    LinearClassifierParameters,
    MajorityClassifierParameters,
    NearestLabelClassifierParameters,
    SimpleHarmonicClassifierParameters,
    SubsamplingHarmonicClassifierParameters,
)

__all__ = [
    "EigenfunctionClassifier",
    "ForestClassifier",
    "LinearClassifier",
    "MajorityClassifier",
    "NearestLabelClassifier",
    "SimpleHarmonicClassifier",
    "SubsamplingHarmonicClassifier",
]


@documented
class NearestLabelClassifier(NearestLabelClassifierParameters, SpreadingClassifier):
    """Classifier that gives every row the label of the nearest labeled row.

    Rows without a label are not used: the gain of other classifiers over this one comes from those rows. Of
    equally near rows the first decides; a labeled row keeps its label.

    Notes
    -----
    O(l·n·d) time for l labeled rows. A fitted estimator keeps a copy of these.
    The scores are the given labels themselves, one-hot or shares: the confidence of a hard label is always 1.

    Examples
    --------
    >>> from lapwing.baselines import NearestLabelClassifier
    >>> clf = NearestLabelClassifier().fit([[0.0], [0.4], [0.7], [1.0]], ["low", None, None, "high"])
    >>> clf.transduction_.tolist()
    ['low', 'low', 'high', 'high']
    """

    _method = "nearest-label"
    _takes_graph_as = ""


@documented
class SubsamplingHarmonicClassifier(SubsamplingHarmonicClassifierParameters, SpreadingClassifier):
    """Harmonic classifier on a sample of the rows; other rows get the label of the nearest sampled row.

    The sample holds all labeled rows, and others drawn uniformly.

    Notes
    -----
    The time of :class:`lapwing.HarmonicClassifier` for s rows, and O(s·n·d). A fitted estimator keeps a copy of the
    sample; new rows take the answer of the nearest row in it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing.baselines import SubsamplingHarmonicClassifier
    >>> X, truth = make_moons(5000, noise=0.05, random_state=0)
    >>> y = np.where(np.arange(5000) < 10, truth, -1)
    >>> clf = SubsamplingHarmonicClassifier(500, random_state=0).fit(X, y)
    >>> bool((clf.transduction_ == truth).mean() > 0.9)
    True
    """

    _method = "subsampling"
    _takes_graph_as = ""


@documented
class SimpleHarmonicClassifier(SimpleHarmonicClassifierParameters, SpreadingClassifier):
    """Classifier by least squares on the smoothest eigenvectors of the graph of all rows (Ji et al. 2012).

    References
    ----------
    M. Ji, T. Yang, B. Lin, R. Jin, J. Han: A simple algorithm for semi-supervised learning with improved generalization
    error bound, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.baselines import SimpleHarmonicClassifier
    >>> ring = np.roll(np.eye(12), 1, axis=1)
    >>> ring[5, 6] = ring[11, 0] = 0.1          # two halves, weakly tied
    >>> y = ["left"] + [None] * 10 + ["right"]
    >>> SimpleHarmonicClassifier(affinity="precomputed").fit(ring + ring.T, y).transduction_[[5, 6]].tolist()
    ['left', 'right']
    """

    _method = "simple-harmonic"
    _keeps_rows = True


@documented
class EigenfunctionClassifier(EigenfunctionClassifierParameters, SpreadingClassifier):
    """Classifier by least squares on smooth functions of the principal axes (EigFun; Fergus et al. 2009).

    The histogram of each axis defines functions that vary where few rows are. The smoothest ones of all axes are fitted
    to the labels. No graph of the rows is needed, and the size of the model does not depend on their number. Clusters
    that no single axis separates get the same label.

    References
    ----------
    R. Fergus, Y. Weiss, A. Torralba: Semi-supervised learning in gigantic image collections, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing.baselines import EigenfunctionClassifier
    >>> X, truth = make_blobs(1000, centers=[[-4, 0], [4, 0]], random_state=0)
    >>> y = np.full(1000, -1)
    >>> given = [int(np.flatnonzero(truth == c)[0]) for c in (0, 1)]
    >>> y[given] = truth[given]
    >>> clf = EigenfunctionClassifier(n_eigenfunctions=1).fit(X, y)
    >>> bool((clf.transduction_ == truth).mean() > 0.98)
    True
    """

    _method = "eigenfunction"
    _takes_graph_as = ""


@documented
class ForestClassifier(ForestClassifierParameters, SpreadingClassifier):
    """Trees on the labeled rows alone: extremely randomized (Geurts et al. 2006) and bagged (Breiman 2001), half of each.

    Rows without a label are not used. With five labels of every class, the confidence is fitted to labeled rows that were held
    out; otherwise it is the mean of the trees' shares.

    Notes
    -----
    For each split, √d columns are drawn. An extremely randomized tree sees all labeled rows and takes random thresholds; a bagged one
    sees a bootstrap sample and takes the best thresholds. Sparse rows of which fewer than a tenth of the
    values are given have the first kind alone. Values are compared in single precision. Units and scales of the columns do not
    matter.

    References
    ----------
    L. Breiman: Random forests, 2001; P. Geurts, D. Ernst, L. Wehenkel: Extremely randomized trees, 2006.

    Examples
    --------
    >>> from lapwing.baselines import ForestClassifier
    >>> clf = ForestClassifier(random_state=0).fit([[0.0], [0.1], [0.9], [1.0]], ["low", None, None, "high"])
    >>> clf.transduction_.tolist()
    ['low', 'low', 'high', 'high']
    """

    _method = "forest"
    _takes_graph_as = ""
    _takes_any_scale = True


@documented
class LinearClassifier(LinearClassifierParameters, SpreadingClassifier):
    """Logistic regression on the labeled rows alone.

    Rows without a label are not used. With five labels of every class, the weight of the penalty is chosen by cross-validation
    on the labeled rows, and the confidence is fitted to rows that were held out.

    Notes
    -----
    The features are divided by the root of the mean squared distance of the labeled rows from their mean, so that `l2_reg` does
    not depend on units. Columns keep their relative scale: columns of different units need ``StandardScaler`` first.

    Examples
    --------
    >>> from lapwing.baselines import LinearClassifier
    >>> clf = LinearClassifier().fit([[0.0], [0.4], [0.7], [1.0]], ["low", None, None, "high"])
    >>> clf.transduction_.tolist()
    ['low', 'low', 'high', 'high']
    """

    coefficients_: Annotated[NDArray[np.float64], """ndarray of shape (n_features, n_classes)
        W, in the units of the features: scores are X·W + b."""]
    bias_: Annotated[NDArray[np.float64], """ndarray of shape (n_classes,)
        b."""]

    _method = "linear"
    _takes_graph_as = ""

    def _keep_parts(self) -> None:
        whole = self._model.parts(["coefficients"])[1]["coefficients"]
        self.coefficients_, self.bias_ = whole[:-1], whole[-1]


@documented
class MajorityClassifier(MajorityClassifierParameters, SpreadingClassifier):
    """Classifier that gives every row the most frequent class of the labels, with its share of them as confidence.

    A useful method must be better than this one.

    Examples
    --------
    >>> from lapwing.baselines import MajorityClassifier
    >>> clf = MajorityClassifier().fit([[0.0], [0.4], [0.7], [1.0]], ["low", "low", None, "high"])
    >>> clf.transduction_.tolist()
    ['low', 'low', 'low', 'low']
    """

    _method = "majority"
    _takes_graph_as = ""
    _takes_any_scale = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
