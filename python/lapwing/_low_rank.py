"""Low-rank label propagation as a scikit-learn estimator."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from ._classifier import SpreadingClassifier
from ._parameters import documented
from ._shared import GivenLabels
from ._signatures import LowRankPropagationClassifierParameters

__all__ = ["LowRankPropagationClassifier"]


@documented
class LowRankPropagationClassifier(LowRankPropagationClassifierParameters, SpreadingClassifier):
    """Classifier that spreads labels over all pairs of rows, through similarities to a few landmarks.

    Local and global consistency (Zhou et al. 2003): f = α·S·f + (1−α)·f₀ with S = D^(−1/2)·W·D^(−1/2) and f₀ the given
    labels. The affinity W ≈ F·Fᵀ is never formed: F (n, k) is computed row by row from the landmarks, and the fixed
    point is found on matrices (k, k). The fit takes one or two passes over the rows, labeling one more; only the results of
    rows are stored.

    The factor F has the shares of the nearest landmarks (anchor graph, Liu et al. 2010), is the Nyström approximation of a
    Gaussian kernel (Petegrosso et al. 2017), or is learned from the rows so that each is a combination of the others (global
    linear neighborhoods, Tian & Kuang 2012; do not center its features).

    Warns
    -----
    UnreachedWarning
        If some rows have no evidence: they are so far from all landmarks, or their own landmarks are so far from those of any
        label, that similarities are 0 in single precision.
    ConvergenceWarning
        If the iteration stopped at `max_iter`.
    UserWarning
        If there are fewer rows than landmarks, or if degrees had to be raised or landmarks left out.

    Notes
    -----
    O(n·k·d) time for anchors of few landmarks, O(n·k·d + n·k²) for all landmarks and for Nyström, two passes then; O(k³)
    to solve. GLNP: O(n·k·(d + k)) an iteration. Memory: n·(16·c + 13) bytes for the results, the sample, and 4·k² bytes for
    each thread and 32 blocks. A memory-mapped float32 array in C order is read from its file and never held; sparse rows are
    made dense block by block. A fitted estimator keeps the landmarks and k·c coefficients, whatever n is, and scores new rows
    as rows of the fit; with ``factor="glnp"`` new rows are placed by non-negative least squares, which is a little less
    accurate. The factor is described in ``report_["parts"]["low_rank"]``, and in ``["glnp"]`` with the objective of each
    iteration.

    Classes that curve around each other need the neighborhoods of :class:`lapwing.HarmonicClassifier`, or many landmarks.

    References
    ----------
    R. Petegrosso, W. Zhang, Z. Li, Y. Saad, R. Kuang: Low-rank label propagation for semi-supervised learning with 100
    millions samples, 2017, arXiv 1702.08884.

    Z. Tian, R. Kuang: Global linear neighborhoods for efficient label propagation, 2012.

    W. Liu, J. He, S.-F. Chang: Large graph construction for scalable semi-supervised learning, 2010.

    D. Zhou, O. Bousquet, T. N. Lal, J. Weston, B. Schölkopf: Learning with local and global consistency, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LowRankPropagationClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1                     # a hundred labels for 1797 rows
    >>> clf = LowRankPropagationClassifier(200, random_state=0).fit(X, y)
    >>> bool((clf.transduction_[100:] == truth[100:]).mean() > 0.9)
    True
    >>> clf.landmarks_.shape
    (200, 64)
    >>> clf.predict(X[:3]).tolist()
    [0, 1, 2]
    """

    _method = "low-rank"
    _takes_graph_as = ""
    _least_iterations = 1

    landmarks_: Annotated[NDArray[np.float64] | None, """ndarray of shape (n_landmarks, n_features) or None
        The landmarks, in the units of X; None for ``factor="glnp"``."""]
    bandwidth_: Annotated[float | None, """float or None
        σ; None for ``factor="glnp"``."""]

    def _parameters(self) -> dict[str, Any]:
        parameters = super()._parameters()
        landmarks = self._given_landmarks()
        if landmarks is not None:
            parameters.update(landmarks="kmeans", n_landmarks=len(landmarks))
        return parameters

    def _extras(self, labels: GivenLabels, validation: Any) -> dict[str, Any]:
        return {"landmarks": self._given_landmarks()}

    def _stream_extras(self) -> dict[str, Any]:
        return {**super()._stream_extras(), "landmarks": self._given_landmarks()}

    def _given_landmarks(self) -> NDArray[np.float64] | None:
        """Given landmarks; None if a rule finds them."""
        if self.landmarks is None or isinstance(self.landmarks, str):
            return None
        given: NDArray[np.float64] = check_array(
            self.landmarks, dtype=np.float64, order="C", ensure_all_finite=False, input_name="landmarks"
        )
        return given

    def _keep_parts(self) -> None:
        """Store the landmarks, in the units of X."""
        text, arrays = self._model.parts(["landmarks", "center"])
        settings = json.loads(text)
        self.bandwidth_, self.landmarks_ = settings["low_rank"].get("width"), None
        # A learned factor has a basis instead.
        if self.bandwidth_ is not None:
            self.landmarks_ = arrays["landmarks"] + arrays["center"].astype(np.float64)
            if isinstance(settings["scaling"], dict) and "Standardize" in settings["scaling"]:
                scaling = settings["scaling"]["Standardize"]
                self.landmarks_ = self.landmarks_ * np.array(scaling["scale"]) + np.array(scaling["mean"])

    @classmethod
    def _parameters_of(cls, parts: dict[str, Any]) -> dict[str, Any]:
        text, arrays = parts["model"].parts(["coefficients"])
        own = json.loads(text)["low_rank"]
        kept = {
            "n_landmarks": len(arrays["coefficients"]),
            "factor": "glnp" if "offset" in own else "anchor" if "n_nearest" in own else "nystrom",
            "bandwidth": own.get("width"),
            "n_nearest": own.get("n_nearest"),
        }
        return {name: value for name, value in kept.items() if value is not None}
