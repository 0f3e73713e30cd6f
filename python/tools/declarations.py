"""What only Python has (`OWN`), and which estimator or function takes what (`SIGNATURES`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A parameter as Python shows it."""

    name: str
    annotation: str
    default: str | None
    """As source text; None for a parameter that must be given."""
    values: str
    """The values that it takes, as documentation has them."""
    doc: str
    choices: tuple[str, ...] = ()
    """The words among the values, with their meanings."""


@dataclass(frozen=True)
class Signature:
    """What an estimator or a function takes."""

    name: str
    of: tuple[str, ...]
    """Method or groups of the library whose parameters it takes."""
    own: tuple[str, ...] = ()
    """Keys of `OWN`: the parameters after those of the library."""
    before: tuple[str, ...] = ()
    """Keys of `OWN`: the parameters before them."""
    without: tuple[str, ...] = ()
    fixed: dict[str, Any] = field(default_factory=dict)
    """Parameters of the library that have one value here."""
    first: str | None = None
    """The parameter that may be given by position; the first one unless it is named here."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Defaults that differ from those of the library."""
    no_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words that make no sense here."""
    by_hand: bool = False
    """Whether the signature stands in the source of the function or class, and only its documentation is generated."""
    apart: tuple[str, ...] = ()
    """Parameters that overloads name one by one; all others become a dict of options, by which the overloads name them."""


def _own(name: str, annotation: str, default: str | None, values: str, doc: str) -> Parameter:
    return Parameter(name, annotation, default, values, " ".join(doc.split()))


_GRAPH_VALUES = "a symmetric matrix of weights (n, n), a :class:`lapwing.graph.Graph`, or a tuple ``(indices, distances)`` of a \
    neighbor search, both (n, k)"

OWN = {
    "affinity": _own("affinity", 'Literal["knn", "precomputed"]', '"knn"', '{"knn", "precomputed"}', f"""
        Build the graph from the features X, or take X as the graph: {_GRAPH_VALUES}."""),
    "affinity:edges": _own("affinity", 'Literal["knn", "precomputed", "edges"]', '"knn"', '{"knn", "precomputed", "edges"}', f"""
        Build the graph from the features X, or take X as the graph: {_GRAPH_VALUES}. With "edges" X is a stream of edges: the
        path of an edge list (``.npy``, ``.parquet``, ``.csv``, also ``.csv.gz`` and ``.csv.zst``), an array of edges (m, 2) or,
        with weights, (m, 3), a data frame with such columns, a tuple ``(edges, weights)`` with weights (m,), or an iterable of these
        or of single edges. Each undirected edge comes once."""),
    "affinity:beside": _own("affinity", 'Literal["knn", "precomputed"]', '"knn"', '{"knn", "precomputed"}', """
        Build the graph from X unless one is given to `fit`, or require that one is given."""),
    "scaling": _own("scaling", 'Literal["auto", "off"]', '"auto"', '{"auto", "off"}', """
        Whether columns in very different units are standardized, and counts of terms weighed by how rare each term is (TF-IDF); or
        features are taken as they are."""),
    "fit_rows": _own("fit_rows", "int | None", "None", "int >= 1 or None", """
        Number of rows to fit, about: all labeled rows, rows near them, others drawn at random, and some that none of these are near. All
        rows are then labeled by the fitted model, in blocks, and rows beyond those fitted are not reached. None fits all."""),
    "unlabeled": _own("unlabeled", "Any", "None", "object", """
        What marks a row without a label in y. None, NaN, NaT, NA, masked cells and empty texts always do; without a marker of your
        own, so does -1, unless some rows are marked in one of these ways: then it is a class, with a warning."""),
    "unlabeled:values": _own("unlabeled", "float | None", "None", "float or None", """
        A number that marks rows without a value, besides NaN and all else that is missing."""),
    "prior": _own("prior", "Any", "None", "array-like of shape (n_samples, n_classes), classifier or None", """
        Where the fit starts: shares of the classes in every row, in the order of `classes_`, whose rows sum to 1; or a
        classifier of scikit-learn with `predict_proba`, which is cloned and fitted to the labeled rows of X. Labeled rows then
        get their shares in 5 folds, from clones that did not see their labels, if every class has two labels. Given shares of
        labeled rows should be made in that way too. Every row is reached then. New rows are labeled by their neighbors, as without a
        prior."""),
    "prior:auto": _own("prior", "Any", "None", "array-like of shape (n_samples, n_classes), classifier or None", """
        A further candidate: shares of the classes in every row, in the order of `classes_`, whose rows sum to 1; or a classifier of
        scikit-learn with `predict_proba`, which is cloned and fitted to the labeled rows of X. Labeled rows then get their shares in
        5 folds, from clones that did not see their labels. Given shares of labeled rows should be made in that way too."""),
    "abstain": _own("abstain", "bool", "False", "bool", """
        Whether rows that no label reaches get the marker instead of the likeliest class of the prior."""),
    "abstain:values": _own("abstain", "bool", "False", "bool", """
        Whether rows that no value reaches get NaN instead of the weighted mean of the given values."""),
    "adjacency": _own("adjacency", "Any", None, "sparse matrix, Graph or array-like of shape (n_samples, n_samples)", """
        W: finite weights of at least 0, equal to their mirror within 1e-12 relative; what stands on the diagonal has no
        effect."""),
    "diagonal": _own("diagonal", "ArrayLike | None", "None", "array-like of shape (n_samples,) or None", """
        Added to the diagonal of L; at least 0. None is all zeros."""),
    "random_state:solver": _own("random_state", "Seed", "0", "int, RandomState, Generator or None", """
        Seed of the approximate Cholesky factor. None draws one from NumPy's global generator."""),
    "random_state": _own("random_state", "Seed", "None", "int, RandomState, Generator or None", """
        Seed of everything random: approximate neighbor searches and factors, samples, starting points and folds. None draws
        one from NumPy's global generator."""),
    "n_jobs": _own("n_jobs", "int | None", "None", "int or None", """
        Threads; None and -1 take every processor. Results are the same, bit for bit, for any number."""),
    "verbose": _own("verbose", "int | bool", "0", "int or bool", """
        Whether to write the time of each phase to standard error."""),
    "callback": _own("callback", "Callback | None", "None", "callable or None", """
        Called with a dict of `phase`, `done`, `total`, `note` as the work goes on; if it raises, the work stops."""),
    "warm_start": _own("warm_start", "bool", "False", "bool", """
        Whether conjugate gradients start from the coefficients of the last fit, where those are of as many rows and the same
        classes."""),
    "warm_start:graph": _own("warm_start", "bool", "False", "bool", """
        Whether a fit starts from the solution of the fit before, which saves steps where parameters or data changed a little.
        Needs the same number of rows."""),
    "model": _own("model", 'Literal["log", "l2"]', '"log"', '{"log", "l2"}', """
        f(W) = −1ᵀlog(W1) + ½‖W‖²_F, which gives every row a positive degree; or ½‖W1‖² + ½‖W‖²_F at total weight ‖W‖₁,₁ =
        n_samples, which makes degrees alike and may leave rows far from all others without edges. Both have θZ for Z: the
        papers' α and β are both 1/θ, for "l2" the papers' α is 1/(2θ)."""),
    "X": _own("X", "Any", None, "array-like or sparse matrix of shape (n_samples, n_features)", """
        Features. C-contiguous float32, float64 and uint8 arrays are used in place, all else is converted once."""),
    "X:graph": _own("X", "Any", None, "array-like or sparse matrix of shape (n_samples, n_features), or Graph", """
        Features; or the graph of the rows, where it is a :class:`lapwing.graph.Graph` or `affinity` says so."""),
    "y:none": _own("y", "Any", "None", "array-like of shape (n_samples,) or None", """
        Labels so far, with the marker in rows that have none; None for no labels."""),
    "y:audit": _own("y", "Any", None, "array-like of shape (n_samples,) or (n_samples, n_classes)", """
        Labels, with the marker in rows that have none; or shares of the classes, of which the largest is judged."""),
    "n": _own("n", "int", "20", "int", "Number of rows wanted, at least 1 and at most the number of rows that may be chosen."),
    "graph": _own("graph", "Any", "None", "Graph, sparse matrix of shape (n_samples, n_samples) or None", """
        The graph of the rows. None builds it from X; X may be None beside it."""),
    "candidates": _own("candidates", "ArrayLike | None", "None", "mask of shape (n_samples,), row numbers or None", """
        Rows that may be chosen; None for all without a label."""),
    "exclude": _own("exclude", "ArrayLike | None", "None", "mask of shape (n_samples,), row numbers or None", """
        Rows that may not be chosen."""),
    "cost": _own("cost", "ArrayLike | None", "None", "array-like of shape (n_samples,) or None", """
        Cost of labeling each row, above 0. What a row gains is divided by it."""),
    "affinity:row": _own("affinity", 'Literal["knn", "precomputed"]', '"knn"', '{"knn", "precomputed"}', """
        Whether X is features, from which the graph is built, or the graph."""),
    "sample_weight": _own("sample_weight", "ArrayLike | None", "None", "array-like of shape (n_samples,) or None", """
        Trust in each label, at least 0; None for 1. A row of weight 0 counts as unlabeled."""),
    "A": _own("A", "Any", None, "Graph, sparse matrix or array-like of shape (n_samples, n_samples), or path", """
        Symmetric weights; or a file of edges u, v[, weight] as `.npy`, `.parquet`, `.csv`, `.csv.gz` or `.csv.zst`, nodes
        counted from 0 and each undirected edge in one row, which is read in blocks and may be of any size."""),
    "n_samples": _own("n_samples", "int", None, "int", "Number of nodes."),
    "n_samples:file": _own("n_samples", "int | None", "None", "int or None", """
        Number of nodes of a file; None reads it once more to find the largest. Not for matrices."""),
    "n_samples:rows": _own("n_samples", "int", None, "int", "Number of rows."),
    "probes": _own("probes", "ArrayLike | None", "None", "array-like of shape (n_samples, n_probes) or None", """
        Up to 16 vectors whose xᵀLx is compared at the end, such as indicators of clusters; None takes vectors that are large
        over weak cuts."""),
    "return_report": _own("return_report", "bool", "False", "bool", """
        Whether to return the report as a further result."""),
    "edges": _own("edges", "ArrayLike", None, "array-like of int of shape (n_pairs, 2)", """
        Pairs that may carry weight, each once, either way round. For "log" every row needs one."""),
    "sq_distances": _own("sq_distances", "ArrayLike", None, "array-like of shape (n_pairs,)", """
        **Squared** distances, finite and at least 0; zero is allowed. Single precision is kept, all else becomes double."""),
    "alpha": _own("alpha", "float", "1.0", "float > 0", "α of both models."),
    "beta": _own("beta", "float", "1.0", "float > 0", """
        β of "log"; it stays 1 with "l2". Multiplying z by θ and leaving `alpha` and `beta` at 1 is
        ``GraphLearner(sparsity=θ)``."""),
    "start": _own("start", "ArrayLike | None", "None", "array-like of shape (n_samples + 1,) or None", """
        Multipliers of a similar problem, from its report; Newton then needs fewer steps."""),
}  # fmt: skip

#: What Python adds to a parameter of the library: annotation, values, documentation.
ADDED = {
    "LowRankPropagationClassifier.landmarks": (
        "HasArray | Sequence[Sequence[float]]",
        "array-like of shape (n_landmarks, n_features)",
        "An array holds the landmarks themselves; then `n_landmarks` means nothing.",
    ),
    "GraphLearner.n_neighbors": (
        "",
        "",
        "They are wanted on average, and decide the sparsity θ where that is auto. At most n_samples − 2 then.",
    ),
    "GraphLearner.metric": ('Literal["precomputed"]', '"precomputed"', '"precomputed" takes squared distances as X.'),
}

_RUN = ("random_state", "n_jobs", "verbose", "callback")
_LABELS = ("fit_rows", "unlabeled", "abstain", *_RUN)
_VALUES_OWN = ("unlabeled:values", "abstain:values", *_RUN)
_REACHED = ("fit_rows", "unlabeled", *_RUN)
_SIZES = ("decision", "class_prior", "size_slack", "labels_drawn")
_LEAST_SQUARES = {"solver": ("dual",)}

SIGNATURES = (
    Signature("AutoLabeler", ("auto",), ("prior:auto", "scaling", "affinity:beside", *_LABELS)),
    Signature("HarmonicClassifier", ("harmonic",), ("prior", "affinity", *_LABELS)),
    Signature("HarmonicRegressor", ("harmonic",), ("affinity", *_VALUES_OWN), without=(*_SIZES, "prior_weight")),
    Signature("SparseHarmonicClassifier", ("sparse-harmonic",), ("prior", "affinity:edges", *_LABELS)),
    Signature(
        "StreamingHarmonicClassifier", ("stream",), _LABELS[1:],
        without=("form", "clamp", "prior_weight", "certify"), first="window",
    ),
    Signature("LowRankPropagationClassifier", ("low-rank",), _LABELS),
    Signature("LaplacianSVC", ("lapsvm",), ("affinity:beside", "warm_start", *_REACHED)),
    Signature("LaplacianRidgeClassifier", ("laprls",), ("affinity:beside", "warm_start", *_REACHED), no_words=_LEAST_SQUARES),
    Signature(
        "LaplacianRidgeRegressor", ("laprls",), ("affinity:beside", "unlabeled:values", *_RUN), no_words=_LEAST_SQUARES,
        without=(*_SIZES, "stopping"), fixed={"stopping": "gradient"},
    ),
    Signature("UnfoldedGNNClassifier", ("unfolded-gnn",), ("affinity:beside", *_REACHED)),
    Signature(
        "UnfoldedGNNRegressor", ("unfolded-gnn",), ("affinity:beside", "unlabeled:values", *_RUN),
        without=(*_SIZES, "loss"), fixed={"loss": "mse"},
    ),
    Signature("NearestLabelClassifier", ("nearest-label",), _LABELS, without=_SIZES),
    Signature("SubsamplingHarmonicClassifier", ("subsampling",), _LABELS, without=("certify",), fixed={"certify": "off"}),
    Signature("SimpleHarmonicClassifier", ("simple-harmonic",), ("affinity", *_LABELS), first="n_neighbors"),
    Signature("EigenfunctionClassifier", ("eigenfunction",), _LABELS),
    Signature("ForestClassifier", ("forest",), _LABELS),
    Signature("LinearClassifier", ("linear",), _LABELS),
    Signature("MajorityClassifier", ("majority",), _LABELS),
    Signature("NeighborIndex", ("knn",), _RUN),
    Signature(
        "GraphLearner", ("knn", "learn"), ("model", "warm_start:graph", *_RUN), defaults={"n_neighbors": "10"},
        no_words={"metric": ("inner-product",)},
    ),
    Signature("StreamingSparsifier", ("sparsify",), ("probes", *_RUN), before=("n_samples",)),
    Signature(
        "LaplacianSolver", ("laplacian",), ("random_state:solver", "n_jobs", "verbose", "callback"),
        before=("adjacency", "diagonal"), by_hand=True, apart=("adjacency", "diagonal"),
    ),
    Signature("kneighbors", ("knn",), (*_RUN, "return_report"), before=("X",), by_hand=True),
    Signature("knn_graph", ("graph",), _RUN, before=("X",), by_hand=True),
    Signature(
        "suggest", ("suggest", "graph"), (*_RUN, "return_report"),
        before=("X:graph", "y:none", "n", "graph", "candidates", "exclude", "cost", "unlabeled", "affinity:row"), by_hand=True,
    ),
    Signature(
        "Suggester.next", ("suggest",), ("return_report",), before=("y:none", "n", "candidates", "exclude", "cost", "unlabeled"),
        by_hand=True,
    ),
    Signature(
        "HarmonicClassifier.suggest", ("suggest",), ("return_report",), before=("n", "candidates", "exclude", "cost"), by_hand=True,
    ),
    Signature("HarmonicClassifier.audit", ("audit",), by_hand=True),
    Signature(
        "audit", ("audit", "graph"), _RUN, before=("X:graph", "y:audit", "graph", "sample_weight", "unlabeled", "affinity:row"),
        by_hand=True,
    ),
    Signature("sparsify", ("sparsify",), ("probes", *_RUN, "return_report"), before=("A", "n_samples:file"), by_hand=True),
    Signature(
        "learn_weights", ("learn",), ("start", "n_jobs", "verbose", "callback"),
        before=("edges", "sq_distances", "n_samples:rows", "alpha", "beta", "model"),
        without=("support_factor", "sparsity", "repair"), by_hand=True,
    ),
)  # fmt: skip
