"""Signatures of the estimators, and the documentation of their parameters. Written by `cargo xtask generate`: do not edit.

The library declares every parameter once, in Rust. These signatures are written from the declarations, and checked in,
because editors and type checkers read Python's source: parameters that were made at the time of the import would be unknown
to them. A test compares this file with what the library declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, TypedDict

from numpy.typing import ArrayLike

from ._control import Callback, HasArray, Seed


def _documentation(*keys: str) -> str:
    return "\n".join(_DOCUMENTATION[key] for key in keys)


#: Each parameter as a section of a docstring has it. A parameter that differs among estimators stands here once for each text,
#: the later ones under its name, a colon and the first estimator that has it.
_DOCUMENTATION = {
    "budget": """budget : float > 0 or None, default=None
    Time after which no further candidate is started. The first candidate is always tried. With a budget, the result
    depends on the speed of the machine.""",
    "candidates": """candidates : "auto", "harmonic", "harmonic-plain", "harmonic-joined", "harmonic-prior", "prior", "majority", "nearest-label", "linear", "forest", "unfolded-gnn", "unfolded-joined", "laprls", "low-rank" or a list of these, default="auto"
    Methods that are tried. Auto uses the methods that suit the rows: harmonic in two forms and majority; with features
    also nearest-label and linear; with features alone also forest and laprls; with features and a graph also
    unfolded-gnn. The candidates joined work on the sum of the given graph and that of the neighbors by features. A
    prior is a candidate too, alone and as the start of harmonic.""",
    "n_neighbors": """n_neighbors : int >= 1, default=15
    Neighbors of each row. With fewer other rows than this, all of them are neighbors; learned weights refuse that.""",
    "metric": """metric : {"auto", "euclidean", "cosine", "inner-product"}, default="auto"
    Distance between rows. Auto is cosine for sparse rows (rows of zeros are then allowed), and euclidean for dense rows
    and for gaussian weights.

    - "euclidean": ‖x − y‖.
    - "cosine": 1 − xᵀy / (‖x‖‖y‖), in [0, 2].
    - "inner-product": −xᵀy: the nearest rows are those of the largest product. Not a distance: it may be negative, and
      a row need not be nearest to itself.
""",
    "weights": """weights : {"self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"}, default="self-tuning"
    How a distance becomes an edge weight.

    - "self-tuning": exp(−d²/(h²·σᵢσⱼ)), σᵢ the distance of row i to its last neighbor, h the bandwidth (Zelnik-Manor &
      Perona 2004, who have h = 1).
    - "gaussian": exp(−d²/(2σ²)) with one σ, the bandwidth.
    - "cosine": max(0, 1 − d), for the cosine metric.
    - "binary": 1 for every edge.
    - "learned": Learned from the distances by the log-degree model, under which the features are smooth; which pairs
      are edges is learned as well.
    - "learned-l2": Learned by the l2-degree model.
""",
    "symmetrize": """symmetrize : {"union", "mean", "mutual"}, default="mean"
    How the directed neighbor relation becomes an undirected graph.

    - "union": An edge if either row is a neighbor of the other; the larger weight.
    - "mean": (W + Wᵀ) / 2: an edge in one direction counts half. Fewer errors than the union on most data sets of
      `docs/results.md`.
    - "mutual": An edge only if each row is a neighbor of the other; the smaller weight.
""",
    "bandwidth": """bandwidth : float > 0 or "auto", default="auto"
    Width of the weights: σ of gaussian weights, in the unit of distances; for self-tuning weights a factor h of the
    width of each row. Auto is σ = the median distance to the last neighbor, and h = 0.5. Has an effect only with
    `weights` "self-tuning" or "gaussian".""",
    "knn_method": """knn_method : {"auto", "exact", "partitions"}, default="auto"
    Neighbor search. Auto uses the faster one.

    - "auto": Whichever is faster for the size.
    - "exact": All distances.
    - "partitions": Overlapping partitions, repeated until the measured recall reaches its target.
""",
    "recall_target": """recall_target : float in (0, 1], default=0.95
    Share of the true neighbors that an approximate search must find. Has an effect only with `knn_method` "auto" or
    "partitions".""",
    "zero_rows": """zero_rows : {"error", "allow"}, default="error"
    Rows of zeros under the cosine metric: an error, or at distance 1 from every row. Has an effect only with `metric`
    "cosine".

    - "error": They are an error, which names the first one.
    - "allow": They are at distance 1 from every row, as if orthogonal to it.
""",
    "decision": """decision : {"auto", "sizes"}, default="auto"
    How scores become a class.

    - "auto": The decision of the method itself.
    - "sizes": Largest score after an offset for each class, so that class sizes are within bounds.
""",
    "class_prior": """class_prior : array-like of shape (n_classes,) or None, default=None
    Shares of the classes, one for each class in the order of their names. None estimates them from the given labels.
    Shares are positive and add up to 1. Has an effect only with `decision` "sizes".""",
    "size_slack": """size_slack : float in [0, 1), default=0.0
    How far the size of a class may be from its given share, as a share of the rows. Has an effect only with `decision`
    "sizes" and `class_prior` given.""",
    "labels_drawn": """labels_drawn : {"auto", "random", "balanced"}, default="auto"
    How the labeled rows were chosen: at random, so that their shares estimate the class sizes, or balanced. Without
    effect if shares are given. Has an effect only with `decision` "sizes".

    - "auto": Tested: balanced if the counts are more even than those of 95 % of random draws from equal classes, or if
      a component of the graph has far more labels than its share of the rows, or if labeled rows have larger degrees
      than random ones, as rows that were suggested have; else random.
    - "random": At random among all rows, so that their shares estimate the sizes of the classes.
    - "balanced": About as many of every class, whatever its size.
""",
    "prior": """prior : array-like of shape (n_samples, n_classes), classifier or None, default=None
    A further candidate: shares of the classes in every row, in the order of `classes_`, whose rows sum to 1; or a
    classifier of scikit-learn with `predict_proba`, which is cloned and fitted to the labeled rows of X. Labeled rows
    then get their shares in 5 folds, from clones that did not see their labels. Given shares of labeled rows should be
    made in that way too.""",
    "scaling": """scaling : {"auto", "off"}, default="auto"
    Whether columns in very different units are standardized, and counts of terms weighed by how rare each term is
    (TF-IDF); or features are taken as they are.""",
    "affinity": """affinity : {"knn", "precomputed"}, default="knn"
    Build the graph from X unless one is given to `fit`, or require that one is given.""",
    "fit_rows": """fit_rows : int >= 1 or None, default=None
    Number of rows to fit, about: all labeled rows, rows near them, others drawn at random, and some that none of these
    are near. All rows are then labeled by the fitted model, in blocks, and rows beyond those fitted are not reached.
    None fits all.""",
    "unlabeled": """unlabeled : object, default=None
    What marks a row without a label in y. None, NaN, NaT, NA, masked cells and empty texts always do; without a marker
    of your own, so does -1, unless some rows are marked in one of these ways: then it is a class, with a warning.""",
    "abstain": """abstain : bool, default=False
    Whether rows that no label reaches get the marker instead of the likeliest class of the prior.""",
    "random_state": """random_state : int, RandomState, Generator or None, default=None
    Seed of everything random: approximate neighbor searches and factors, samples, starting points and folds. None draws
    one from NumPy's global generator.""",
    "n_jobs": """n_jobs : int or None, default=None
    Threads; None and -1 take every processor. Results are the same, bit for bit, for any number.""",
    "verbose": """verbose : int or bool, default=0
    Whether to write the time of each phase to standard error.""",
    "callback": """callback : callable or None, default=None
    Called with a dict of `phase`, `done`, `total`, `note` as the work goes on; if it raises, the work stops.""",
    "graph_reg": """graph_reg : float in (0, ∞] or "auto", default="auto"
    Weight γ of smoothness fᵀLf against the given labels. Auto depends on m, the number of labels per class; in units of
    1 / mean weighted degree it is 1/m for the stable form (0.1 in regression) and 0.01 for the plain form. For form
    auto it is max(0.01, m^(−3/2)), or max(0.01, m^(−3)) if labels look drawn at random. With a prior it is 1 / the
    number of labels. Infinity drops the label term (f = L⁺ỹ, stable form).""",
    "form": """form : {"auto", "stable", "plain"}, default="auto"
    Form of the harmonic function.

    - "auto": Classification: plain, with a smoothness weight that depends on the number of labels and how they were
      drawn. Regression: form and smoothness weight are chosen by cross-validation; stable for fewer than 5 values.
    - "stable": Stable-HFS: scores have zero mean over the rows of each component of the graph (Calandriello et al.
      2015).
    - "plain": Plain HFS (Belkin et al. 2004), or Zhu's harmonic function when labels are clamped hard.
""",
    "clamp": """clamp : {"soft", "hard"}, default="soft"
    Whether given labels are kept exactly (hard, with form plain) or may be overruled (soft).

    - "soft": Labels are fitted, with a weight against smoothness; a given label may be overruled.
    - "hard": Labels are kept exactly (plain form only).
""",
    "decision:HarmonicClassifier": """decision : {"auto", "centered", "row-mean", "argmax", "mass", "sizes"}, default="auto"
    How scores become a class.

    - "auto": For form auto: row-mean, plus what the labels say about the sizes of the classes: little if leave-one-out
      scores get most labels right, else much. If labels look drawn at random, class sizes are also held within bounds
      that follow from the labels. For other forms: centered.
    - "centered": Largest score above the mean of the labels.
    - "row-mean": Largest score above the mean over the rows that labels reach; for the stable form the same as
      centered.
    - "argmax": Largest score.
    - "mass": Largest score after class mass normalization to the prior (plain form only).
    - "sizes": Largest score after an offset for each class, so that class sizes are within bounds.
""",
    "class_prior:HarmonicClassifier": """class_prior : array-like of shape (n_classes,) or None, default=None
    Shares of the classes, one for each class in the order of their names. None uses the frequencies of the given
    labels. Shares are positive and add up to 1. Rows that no label reaches get this distribution, and the decisions
    mass and sizes aim at it.""",
    "prior_weight": """prior_weight : float in (0, 1000] or "auto", default="auto"
    Weight κ of a prior against the graph, if the fit starts from one: in the score of a row, its neighbors and the
    prior are weighted 1 : κ. Auto is 0.03, or the one of 0.01, 0.1, 0.3, 1 and 10 that predicts the labels clearly
    better when each is left out, if every class has three labels.""",
    "tol": """tol : float in (0, 1), default=1e-06
    Relative residual at which the solver stops.""",
    "max_iter": """max_iter : int >= 1, default=10000
    Most iterations of the solver.""",
    "calibration": """calibration : {"auto", "leave-one-out", "venn-abers", "none"}, default="auto"
    How the temperature of the confidence is chosen.

    - "auto": A temperature fitted to labels that are left out one by one, or to five parts of the labels where that
      costs less; a typical one with fewer than five labels per class.
    - "leave-one-out": A temperature fitted to labels that are all left out one by one, for any form.
    - "venn-abers": The same, and then the largest share by Venn–Abers calibration (Vovk & Petej 2014).
    - "none": A typical temperature: confidence is an order, not a probability.
""",
    "certify": """certify : {"auto", "first", "off"}, default="auto"
    Whether labels are certified to be those of the exact solution of the graph.

    - "auto": The solve ends once its residual is within the tolerance and no more labels can be certified. Off for a
      tolerance above 1e-4.
    - "first": The solve ends as soon as every label is certified, whatever its residual.
    - "off": No label is certified.
""",
    "labels_drawn:HarmonicClassifier": """labels_drawn : {"auto", "random", "balanced"}, default="auto"
    How the labeled rows were chosen: at random, so that their shares estimate the class sizes, or balanced. Without
    effect if shares are given.

    - "auto": Tested: balanced if the counts are more even than those of 95 % of random draws from equal classes, or if
      a component of the graph has far more labels than its share of the rows, or if labeled rows have larger degrees
      than random ones, as rows that were suggested have; else random.
    - "random": At random among all rows, so that their shares estimate the sizes of the classes.
    - "balanced": About as many of every class, whatever its size.
""",
    "prior:HarmonicClassifier": """prior : array-like of shape (n_samples, n_classes), classifier or None, default=None
    Where the fit starts: shares of the classes in every row, in the order of `classes_`, whose rows sum to 1; or a
    classifier of scikit-learn with `predict_proba`, which is cloned and fitted to the labeled rows of X. Labeled rows
    then get their shares in 5 folds, from clones that did not see their labels, if every class has two labels. Given
    shares of labeled rows should be made in that way too. Every row is reached then. New rows are labeled by their
    neighbors, as without a prior.""",
    "affinity:HarmonicClassifier": """affinity : {"knn", "precomputed"}, default="knn"
    Build the graph from the features X, or take X as the graph: a symmetric matrix of weights (n, n), a
    :class:`lapwing.graph.Graph`, or a tuple ``(indices, distances)`` of a neighbor search, both (n, k).""",
    "unlabeled:HarmonicRegressor": """unlabeled : float or None, default=None
    A number that marks rows without a value, besides NaN and all else that is missing.""",
    "abstain:HarmonicRegressor": """abstain : bool, default=False
    Whether rows that no value reaches get NaN instead of the weighted mean of the given values.""",
    "refinements": """refinements : int >= 0 or "auto", default="auto"
    Passes over the edges that refine the labels on the whole graph. Auto is 3 if the edges can be read again, else 0.
    For a graph of features, each pass searches the neighbors again.""",
    "sampler": """sampler : {"streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"}, default="streaming"
    How edges are drawn.

    - "streaming": By leverage score, block by block: an edge is kept with a probability proportional to its weight
      times its effective resistance. Safe where few edges hold parts of the graph together.
    - "kelner-levin": The published routine (Calandriello et al. 2015, figure 2, after Kelner & Levin 2013) with its
      errors corrected: copies of edges, no spanning forest, no hysteresis.
    - "leverage": By leverage score, all edges at once: they must fit in memory.
    - "uniform": Every edge with the same probability: no system is solved; for dense graphs without weak cuts.
    - "degree": By weight × (1/dᵤ + 1/dᵥ), which bounds the leverage score within a constant on expanders; no system is
      solved.
    - "bundle": Edge-disjoint spanning forests are kept, a quarter of the rest, and again (Koutis 2014, with forests for
      spanners).
    - "ridge": By ridge leverage score, blocks merged in pairs (Calandriello, Koutis, Lazaric & Valko 2018): for systems
      L + ρI.
    - "auto": By degree where a pilot finds no weak cut, else by leverage score.
""",
    "capacity": """capacity : int >= 0 or "auto", default="auto"
    Edges held before they are thinned, at least twice those kept. Auto is four times those kept. More room means fewer
    rounds, less distortion and less work for each edge.""",
    "n_projections": """n_projections : int in [1, 1024], default=32
    Random projections that estimate resistances. Their relative standard deviation is √(2/projections); below 24
    projections it dominates the distortion.""",
    "ridge": """ridge : float > 0 or "auto", default="auto"
    ρ, added to the diagonal of the Laplacian by the ridge sampler. Auto is a tenth of the mean weighted degree. Has an
    effect only with `sampler` "ridge".""",
    "distortion": """distortion : float in (0, 10) or None, default=None
    Keep as many edges as it takes for xᵀLx within a factor 1 ± this of what it was, as far as measurements tell. 0.5
    where no budget is given.""",
    "epsilon": """epsilon : float in (0, 1) or None, default=None
    Keep n·ln²n/ε² edges of n nodes: the size for which a distortion of ε is proved, up to a constant. It is far more
    than the distortion takes (Calandriello et al. 2015), and often more than there are.""",
    "edge_budget": """edge_budget : int >= 1 or None, default=None
    Number of copies of edges to keep, about. An important edge has several copies and counts once among the edges kept,
    so these are fewer.""",
    "memory": """memory : int >= 1 or None, default=None
    Keep as many edges as can be worked with in so many bytes.""",
    "affinity:SparseHarmonicClassifier": """affinity : {"knn", "precomputed", "edges"}, default="knn"
    Build the graph from the features X, or take X as the graph: a symmetric matrix of weights (n, n), a
    :class:`lapwing.graph.Graph`, or a tuple ``(indices, distances)`` of a neighbor search, both (n, k). With "edges" X
    is a stream of edges: the path of an edge list (``.npy``, ``.parquet``, ``.csv``, also ``.csv.gz`` and
    ``.csv.zst``), an array of edges (m, 2) or, with weights, (m, 3), a data frame with such columns, a tuple ``(edges,
    weights)`` with weights (m,), or an iterable of these or of single edges. Each undirected edge comes once.""",
    "window": """window : int >= 1, default=1000000
    Edges of the window: when one more comes, the oldest leaves.""",
    "settle": """settle : float in (0, 1), default=0.02
    How far the score of a row may be from the mean of its neighbors, as a share of the spread of the scores, for an
    answer between two fits.""",
    "n_landmarks": """n_landmarks : int in [1, 65,536], default=100
    Number of landmarks k. More are more accurate and take longer. If there are fewer rows, all are taken, with a
    warning.""",
    "factor": """factor : {"anchor", "nystrom", "glnp"}, default="anchor"
    Factor F of the affinity F·Fᵀ.

    - "anchor": Shares of the nearest landmarks (anchor graph): one pass to fit, all degrees 1.
    - "nystrom": Nyström approximation of a Gaussian kernel: two passes to fit.
    - "glnp": Global linear neighborhoods (GLNP): learned so that each row is a combination of the others. Each
      iteration is a pass over the rows, and k numbers are held for each row of the fit.
""",
    "landmarks": """landmarks : {"kmeans", "uniform"} or array-like of shape (n_landmarks, n_features), default="kmeans"
    How landmarks are chosen. An array holds the landmarks themselves; then `n_landmarks` means nothing.

    - "kmeans": Centers of k-means on a sample of the rows; on images accuracy is several points higher.
    - "uniform": Rows drawn without replacement.
""",
    "n_nearest": """n_nearest : int >= 0, default=3
    Number of nearest landmarks that each row is a mixture of. 0 means all. Has an effect only with `factor` "anchor".""",
    "bandwidth:LowRankPropagationClassifier": """bandwidth : float > 0 or "auto", default="auto"
    Width σ of exp(−D/(2σ²)), D the squared distance to a landmark. Auto follows from the distances of rows to their
    nearest landmark.""",
    "alpha": """alpha : float in [0, 1), default=0.9
    Share α of a row's score that comes from the other rows.""",
    "balance": """balance : {"balanced", "raw", "prior"}, default="balanced"
    How label columns are scaled before they are propagated.

    - "balanced": Each class divided by the sum of √d of its labels, so that no class gains from having more labels.
    - "raw": Not scaled.
    - "prior": Balanced, times the class prior.
""",
    "class_prior:LowRankPropagationClassifier": """class_prior : array-like of shape (n_classes,) or None, default=None
    Shares of the classes, one for each class in the order of their names. None uses the frequencies of the given
    labels. Shares are positive and add up to 1. For balance prior, and for rows without evidence.""",
    "head": """head : {"propagation", "regression"}, default="propagation"
    How scores are computed from landmarks. Has an effect only with `factor` "anchor".

    - "propagation": Propagation (local and global consistency).
    - "regression": Least squares on the shares of landmarks, smooth over the graph (anchor graph regularization);
      anchors only.
""",
    "select": """select : {"auto", "off"}, default="auto"
    Whether n_nearest, bandwidth, alpha and head are chosen by cross-validation.

    - "auto": Chosen if every class has two labels. The given values stay unless others are better by more than a
      standard error.
    - "off": The given values stay.
""",
    "solver": """solver : {"closed", "iterative"}, default="closed"
    How the propagation is solved; both give the same.

    - "closed": In closed form, by the eigenvalues of a matrix (k, k).
    - "iterative": By iteration, on the same small matrix.
""",
    "glnp_solver": """glnp_solver : {"apgd", "mu", "apgd-paper"}, default="apgd"
    How a factor is learned. Has an effect only with `factor` "glnp".

    - "apgd": Accelerated projected gradient with a quadratic upper bound and restarts: lowest Q for the passes spent.
    - "mu": Multiplicative updates: a third of the memory and no step size, but slow after the first few. The minimum of
      negative data is subtracted first, which changes the problem.
    - "apgd-paper": The published accelerated gradient (Petegrosso et al. 2017) with its errors corrected, for
      comparison.
""",
    "glnp_start": """glnp_start : {"kmeans", "uniform"}, default="kmeans"
    Where a learned factor starts. Has an effect only with `factor` "glnp".

    - "kmeans": The clusters of k-means: Q starts at their inertia.
    - "uniform": Uniform in (0, 1], scaled: close to a saddle with equal columns, which takes tens of iterations to
      leave. With a large tolerance the iteration ends there.
""",
    "glnp_max_iter": """glnp_max_iter : int >= 0, default=1000
    Most iterations of learning a factor, each of which reads all rows. It usually converges within 500. Has an effect
    only with `factor` "glnp".""",
    "glnp_tol": """glnp_tol : float in [0, 1), default=1e-05
    Learning ends once five iterations lower the objective by less than this share of the squared norm of the rows. Has
    an effect only with `factor` "glnp".""",
    "kernel": """kernel : {"rbf", "poly", "linear", "precomputed", "low-rank"}, default="rbf"
    Kernel: how similar two rows are.

    - "rbf": exp(−‖x − x′‖²/(2σ²)), σ the bandwidth.
    - "poly": (xᵀx′)^degree.
    - "linear": xᵀx′.
    - "precomputed": Features are similarities to the rows of the fit: (n, n) to fit (with graph_reg 0, or a graph), (m,
      n) to predict.
    - "low-rank": The rbf kernel by similarities to landmarks (Nyström), for any number of rows.
""",
    "bandwidth:LaplacianSVC": """bandwidth : float > 0 or "auto", default="auto"
    Width σ of the rbf kernel, in the unit of distances. Auto is half the median distance of two rows. Has an effect
    only with `kernel` "rbf" or "low-rank".""",
    "degree": """degree : int in [1, 100], default=3
    Degree of the polynomial kernel. Has an effect only with `kernel` "poly".""",
    "n_landmarks:LaplacianSVC": """n_landmarks : int in [1, 2048], "auto" or None, default="auto"
    Number of landmarks that approximate the kernel. Auto is none up to 30,000 rows and 500 beyond. None takes the exact
    kernel for any number of rows. Has an effect only with `kernel` "rbf", "poly" or "low-rank".""",
    "ambient_reg": """ambient_reg : float > 0 or "auto", default="auto"
    Weight γ_A of the squared norm in the RKHS of the kernel. Auto chooses by cross-validation if every class has two
    labels; otherwise it is 1e-4 of the mean similarity of a row with itself.""",
    "graph_reg:LaplacianSVC": """graph_reg : float >= 0 or "auto", default="auto"
    Weight γ_I of smoothness fᵀLᵖf over the graph. 0 leaves the supervised machine. Auto chooses by cross-validation if
    every class has two labels; otherwise it is the number of labels divided by the number of rows.""",
    "laplacian": """laplacian : {"normalized", "combinatorial"}, default="normalized"
    Laplacian of the graph.

    - "normalized": I − D^(−1/2)·W·D^(−1/2); a node without edges counts as 1.
    - "combinatorial": D − W.
""",
    "laplacian_power": """laplacian_power : int in [1, 100], default=1
    Power p of the Laplacian.""",
    "bias": """bias : bool, default=False
    Whether a bias is fitted. It is neither in the norm nor smoothed.""",
    "solver:LaplacianSVC": """solver : {"auto", "newton", "cg", "dual"}, default="auto"
    How the problem is solved.

    - "auto": Newton if a factorization is cheap, else conjugate gradients.
    - "newton": Newton on matrices of labeled rows, or of weights where there are fewer; least squares in closed form.
    - "cg": Preconditioned conjugate gradients with exact line search.
    - "dual": The hinge loss instead of the squared hinge, in the dual (lapsvm).
""",
    "stopping": """stopping : {"stability", "sides", "validation", "mixed", "gradient"}, default="stability"
    When conjugate gradients stop. Has an effect only with `solver` "auto" or "cg".

    - "stability": When hardly any unlabeled row changes its side or class any more, and the objective hardly falls.
    - "sides": When hardly any unlabeled row changes its side any more: the published rule, which stops early with many
      classes.
    - "validation": When the error on a validation set no longer falls.
    - "mixed": When both hold at the same check.
    - "gradient": When the gradient has vanished.
""",
    "tol:LaplacianSVC": """tol : float in (0, 1), default=1e-08
    Gradient √(gᵀKg), relative to the one at zero, at which any iteration ends. The dual ends when no optimality
    condition is violated by more than √tol.""",
    "max_iter:LaplacianSVC": """max_iter : int >= 1, default=10000
    Most iterations.""",
    "graph_bandwidth": """graph_bandwidth : float > 0 or "auto", default="auto"
    Width of the weights: σ of gaussian weights, in the unit of distances; for self-tuning weights a factor h of the
    width of each row. Auto is σ = the median distance to the last neighbor, and h = 0.5. Has an effect only with
    `weights` "self-tuning" or "gaussian".""",
    "warm_start": """warm_start : bool, default=False
    Whether conjugate gradients start from the coefficients of the last fit, where those are of as many rows and the
    same classes.""",
    "solver:LaplacianRidgeClassifier": """solver : {"auto", "newton", "cg"}, default="auto"
    How the problem is solved.

    - "auto": Newton if a factorization is cheap, else conjugate gradients.
    - "newton": Newton on matrices of labeled rows, or of weights where there are fewer; least squares in closed form.
    - "cg": Preconditioned conjugate gradients with exact line search.
""",
    "graph_reg:UnfoldedGNNClassifier": """graph_reg : float >= 0 or "auto", default="auto"
    Weight λ of smoothness over the graph. 0 leaves a linear model of the features. Auto is the best of 1, 2, 5, 10 and
    20 for labels that are held out, and 10 if a class has fewer than three labels.""",
    "self_loop": """self_loop : float > 0, default=1.0
    Number added to every degree. 1 as in Yang et al. 2021.""",
    "loss": """loss : {"cross-entropy", "mse"}, default="cross-entropy"
    Loss over the labeled nodes.

    - "cross-entropy": Σ mᵤ·(logsumexp zᵤ − yᵤᵀzᵤ).
    - "mse": ½·Σ mᵤ·‖zᵤ − yᵤ‖².
""",
    "l2_reg": """l2_reg : float >= 0 or "auto", default="auto"
    Weight ρ of the squared norm of the weights, (ρ/2)·‖W‖², beside sums (not means) over the labeled nodes. With a
    hidden layer V also (ρκ/2)·‖V‖², κ the mean of ‖x‖². Auto is 0.1 for cross-entropy or a hidden layer and 0.7 for
    mse, times the mean squared distance of the smoothed labeled rows from their mean.""",
    "solver:UnfoldedGNNClassifier": """solver : {"auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"}, default="auto"
    How the weights are found.

    - "auto": Whichever is estimated to be fastest; the estimates are reported.
    - "direct": Features are smoothed once, one solve for each column or labeled node, and a linear model is fitted to
      them.
    - "rough-pcg": Iterations on the graph, with a preconditioner from roughly smoothed features.
    - "herta": HERTA: iterations on the graph, with a preconditioner from features that are roughly smoothed on a
      sparsified graph and sketched.
    - "herta-mixed": HERTA, with iterations on the sparsified graph first, as long as they make progress (the mixed
      strategy of the paper).
    - "matrix-free": Iterations on the graph, with an estimate of the diagonal as preconditioner.
    - "gd": Gradient descent.
    - "adam": Adam.
""",
    "optimizer": """optimizer : {"auto", "cg", "l-bfgs", "gd", "adam"}, default="auto"
    Iteration of solvers with a preconditioner.

    - "auto": Conjugate gradients for squares, L-BFGS for cross-entropy.
    - "cg": Conjugate gradients on the normal equations, for squares.
    - "l-bfgs": L-BFGS with an exact line search.
    - "gd": Gradient descent, as published.
    - "adam": Adam on the preconditioned weights, as published.
""",
    "steps": """steps : int >= 1 or "exact", default="exact"
    Steps of the unfolding. Exact solves the propagation instead.""",
    "hidden": """hidden : int in [1, 4096] or None, default=None
    Units of a hidden layer, with rectifiers. None leaves the network linear.""",
    "attention": """attention : float in (0, 2) or None, default=None
    Power p by which edges are reweighted: an edge counts less, the farther apart its ends are after smoothing. None
    keeps the weights.""",
    "bias:UnfoldedGNNClassifier": """bias : bool, default=True
    Whether a constant column is added to the features.""",
    "learning_rate": """learning_rate : float > 0 or "auto", default="auto"
    Step of gradient descent and Adam. Auto is 2/(ν₁ + ν_d) of estimated extreme eigenvalues, and 0.05 for Adam. Has an
    effect only with `solver` "gd" or "adam", or `optimizer` "gd" or "adam", or `hidden` a number.""",
    "edges": """edges : float in (0, 1] or "auto", default="auto"
    Share of the edges that HERTA keeps. Auto is 6n·(1 + λ/20) edges if that is less than half of all, else all. Has an
    effect only with `solver` "auto", "herta" or "herta-mixed".""",
    "tol:UnfoldedGNNClassifier": """tol : float in (0, 1), default=1e-06
    Suboptimality (ℓ − ℓ*)/ℓ* at which training stops, as bounded or estimated. With a hidden layer it stops when ten
    steps together lower the loss by less than √tol of it.""",
    "max_iter:UnfoldedGNNClassifier": """max_iter : int >= 1, default=1000
    Most iterations of the training.""",
    "metric:NearestLabelClassifier": """metric : {"auto", "euclidean", "cosine", "inner-product"}, default="auto"
    Distance between rows. Auto is cosine for sparse rows, where it allows rows of zeros, and euclidean for dense ones.

    - "euclidean": ‖x − y‖.
    - "cosine": 1 − xᵀy / (‖x‖‖y‖), in [0, 2].
    - "inner-product": −xᵀy: the nearest rows are those of the largest product. Not a distance: it may be negative, and
      a row need not be nearest to itself.
""",
    "n_subsample": """n_subsample : int >= 1 or "auto", default="auto"
    Rows in the graph, at least the labeled ones. Auto is the larger of 2000 and four times the labeled rows. More than
    all rows means all.""",
    "n_eigenvectors": """n_eigenvectors : int >= 1 or "auto", default="auto"
    Number of eigenvectors q of the graph, at most that of rows. Auto is the least of l/2, 3·√l and 100 for l labeled
    rows, but at least one for each class.""",
    "n_eigenfunctions": """n_eigenfunctions : int >= 1, default=64
    Number of functions q. If there are fewer, all are used.""",
    "n_trees": """n_trees : int >= 1, default=200
    Number of trees.""",
    "l2_reg:LinearClassifier": """l2_reg : float > 0 or "auto", default="auto"
    Weight ρ of the squared norm of the coefficients, (ρ/2)·‖W‖², beside the sum of the losses, for features in units of
    their spread. Auto is the best of 1, 0.1, 0.01, 0.001 and 0.0001 for labels that are held out, and 0.01 if a class
    has fewer than five labels.""",
    "n_neighbors:NeighborIndex": """n_neighbors : int >= 1, default=15
    Neighbors of each row, below the number of rows.""",
    "metric:NeighborIndex": """metric : {"auto", "euclidean", "cosine", "inner-product"}, default="auto"
    Distance between rows. Auto is cosine for sparse rows (rows of zeros are then allowed) and euclidean for dense rows.

    - "euclidean": ‖x − y‖.
    - "cosine": 1 − xᵀy / (‖x‖‖y‖), in [0, 2].
    - "inner-product": −xᵀy: the nearest rows are those of the largest product. Not a distance: it may be negative, and
      a row need not be nearest to itself.
""",
    "method": """method : {"auto", "exact", "partitions"}, default="auto"
    Neighbor search. Auto uses the faster one.

    - "auto": Whichever is faster for the size.
    - "exact": All distances.
    - "partitions": Overlapping partitions, repeated until the measured recall reaches its target.
""",
    "recall_target:NeighborIndex": """recall_target : float in (0, 1], default=0.95
    Share of the true neighbors that an approximate search must find. Has an effect only with `method` "auto" or
    "partitions".""",
    "n_neighbors:GraphLearner": """n_neighbors : int >= 1, default=10
    Neighbors of each row, below the number of rows. They are wanted on average, and decide the sparsity θ where that is
    auto. At most n_samples − 2 then.""",
    "metric:GraphLearner": """metric : {"auto", "euclidean", "cosine", "precomputed"}, default="auto"
    Distance between rows. Auto is cosine for sparse rows (rows of zeros are then allowed) and euclidean for dense rows.
    "precomputed" takes squared distances as X.

    - "euclidean": ‖x − y‖.
    - "cosine": 1 − xᵀy / (‖x‖‖y‖), in [0, 2].
""",
    "support_factor": """support_factor : float >= 1 or None, default=3.0
    Pairs of a row that may carry weight, as a multiple of its neighbors. At least one pair more than neighbors; None
    allows all pairs (Kalofolias & Perraudin 2019, section 3, have 3).""",
    "sparsity": """sparsity : float > 0 or "auto", default="auto"
    Sparsity θ of the graph: the larger, the sparser. Auto derives it from the number of neighbors.""",
    "solver:GraphLearner": """solver : {"auto", "newton", "primal-dual"}, default="auto"
    How the weights are found.

    - "auto": Newton.
    - "newton": Damped Newton on the dual.
    - "primal-dual": Forward-backward-forward primal-dual iteration, the paper's; for comparison.
""",
    "tol:GraphLearner": """tol : float in (0, 1), default=1e-08
    Duality gap at which the solver stops, relative to the size of the objective's terms.""",
    "max_iter:GraphLearner": """max_iter : int >= 1 or "auto", default="auto"
    Most steps of the solver. Auto is 100 for newton and 10,000 for primal-dual.""",
    "repair": """repair : bool, default=False
    Whether to search for pairs outside the support that would get weight, and add them.""",
    "model": """model : {"log", "l2"}, default="log"
    f(W) = −1ᵀlog(W1) + ½‖W‖²_F, which gives every row a positive degree; or ½‖W1‖² + ½‖W‖²_F at total weight ‖W‖₁,₁ =
    n_samples, which makes degrees alike and may leave rows far from all others without edges. Both have θZ for Z: the
    papers' α and β are both 1/θ, for "l2" the papers' α is 1/(2θ).""",
    "warm_start:GraphLearner": """warm_start : bool, default=False
    Whether a fit starts from the solution of the fit before, which saves steps where parameters or data changed a
    little. Needs the same number of rows.""",
    "n_samples": """n_samples : int
    Number of nodes.""",
    "probes": """probes : array-like of shape (n_samples, n_probes) or None, default=None
    Up to 16 vectors whose xᵀLx is compared at the end, such as indicators of clusters; None takes vectors that are
    large over weak cuts.""",
    "adjacency": """adjacency : sparse matrix, Graph or array-like of shape (n_samples, n_samples)
    W: finite weights of at least 0, equal to their mirror within 1e-12 relative; what stands on the diagonal has no
    effect.""",
    "diagonal": """diagonal : array-like of shape (n_samples,) or None, default=None
    Added to the diagonal of L; at least 0. None is all zeros.""",
    "preconditioner": """preconditioner : {"auto", "jacobi", "two-level", "approx-cholesky", "cholesky", "none"}, default="auto"
    Preconditioner of the conjugate gradients.

    - "auto": Whichever suits the system, by a few trial iterations; a solve that goes slowly changes it.
    - "jacobi": The diagonal: enough on graphs that mix quickly.
    - "two-level": The diagonal and a coarse system on cells of the graph: for neighbor graphs.
    - "approx-cholesky": A random approximate Cholesky factor: for meshes, chains and weights over many orders of
      magnitude.
    - "cholesky": The complete Cholesky factor: for small graphs, chains, trees and meshes. One step is then enough.
    - "none": No preconditioner.
""",
    "tol:LaplacianSolver": """tol : float in (0, 1), default=1e-08
    Relative residual ‖b − Ax‖ / ‖b‖ to reach for each column.""",
    "max_fill": """max_fill : float in (0, ∞], default=32.0
    Most entries of a Cholesky factor for each edge and row.""",
    "random_state:LaplacianSolver": """random_state : int, RandomState, Generator or None, default=0
    Seed of the approximate Cholesky factor. None draws one from NumPy's global generator.""",
    "X": """X : array-like or sparse matrix of shape (n_samples, n_features)
    Features. C-contiguous float32, float64 and uint8 arrays are used in place, all else is converted once.""",
    "return_report": """return_report : bool, default=False
    Whether to return the report as a further result.""",
    "X:suggest": """X : array-like or sparse matrix of shape (n_samples, n_features), or Graph
    Features; or the graph of the rows, where it is a :class:`lapwing.graph.Graph` or `affinity` says so.""",
    "y": """y : array-like of shape (n_samples,) or None, default=None
    Labels so far, with the marker in rows that have none; None for no labels.""",
    "n": """n : int, default=20
    Number of rows wanted, at least 1 and at most the number of rows that may be chosen.""",
    "graph": """graph : Graph, sparse matrix of shape (n_samples, n_samples) or None, default=None
    The graph of the rows. None builds it from X; X may be None beside it.""",
    "candidates:suggest": """candidates : mask of shape (n_samples,), row numbers or None, default=None
    Rows that may be chosen; None for all without a label.""",
    "exclude": """exclude : mask of shape (n_samples,), row numbers or None, default=None
    Rows that may not be chosen.""",
    "cost": """cost : array-like of shape (n_samples,) or None, default=None
    Cost of labeling each row, above 0. What a row gains is divided by it.""",
    "affinity:suggest": """affinity : {"knn", "precomputed"}, default="knn"
    Whether X is features, from which the graph is built, or the graph.""",
    "strategy": """strategy : {"mix", "cover", "border", "margin", "random"}, default="mix"
    How rows are chosen.

    - "mix": Cover below five labels per class; then half cover, half border.
    - "cover": Rows that cover what the labels do not tell yet.
    - "border": Rows between classes; needs labels.
    - "margin": The smallest lead of the first class over the second; needs labels. Often worse than random rows while
      labels are few.
    - "random": Uniformly at random.
""",
    "check": """check : float in [0, 1], default=0.0
    Share of the labeled and suggested rows, counted over all batches, that are drawn uniformly at random; they come
    last. Only such rows are a fair test of labels and of confidence.""",
    "explore": """explore : float in [0, 1], default=0.0
    Share of the labeled and suggested rows, counted over all batches, that are far from all labels. From 0.1 to 0.3
    finds classes that nobody has named.""",
    "rounds": """rounds : int in [1, 10], default=1
    Rounds of judging. In a second one, labels count by the quality the first one found. That finds more errors if one
    class is systematically taken for another, and fewer if errors are scattered.""",
    "duplicates": """duplicates : float in [0, 1], default=0.3
    Two rows are duplicates if their distance is 0, or below this share of the median distance of one of them to its
    other neighbors; less in few dimensions, where rows are so near by chance. 0 finds equal rows only.""",
    "y:audit": """y : array-like of shape (n_samples,) or (n_samples, n_classes)
    Labels, with the marker in rows that have none; or shares of the classes, of which the largest is judged.""",
    "sample_weight": """sample_weight : array-like of shape (n_samples,) or None, default=None
    Trust in each label, at least 0; None for 1. A row of weight 0 counts as unlabeled.""",
    "A": """A : Graph, sparse matrix or array-like of shape (n_samples, n_samples), or path
    Symmetric weights; or a file of edges u, v[, weight] as `.npy`, `.parquet`, `.csv`, `.csv.gz` or `.csv.zst`, nodes
    counted from 0 and each undirected edge in one row, which is read in blocks and may be of any size.""",
    "n_samples:sparsify": """n_samples : int or None, default=None
    Number of nodes of a file; None reads it once more to find the largest. Not for matrices.""",
    "edges:learn_weights": """edges : array-like of int of shape (n_pairs, 2)
    Pairs that may carry weight, each once, either way round. For "log" every row needs one.""",
    "sq_distances": """sq_distances : array-like of shape (n_pairs,)
    **Squared** distances, finite and at least 0; zero is allowed. Single precision is kept, all else becomes double.""",
    "n_samples:learn_weights": """n_samples : int
    Number of rows.""",
    "alpha:learn_weights": """alpha : float > 0, default=1.0
    α of both models.""",
    "beta": """beta : float > 0, default=1.0
    β of "log"; it stays 1 with "l2". Multiplying z by θ and leaving `alpha` and `beta` at 1 is
    ``GraphLearner(sparsity=θ)``.""",
    "start": """start : array-like of shape (n_samples + 1,) or None, default=None
    Multipliers of a similar problem, from its report; Newton then needs fewer steps.""",
}

LAPLACIAN_SOLVER_PARAMETERS = _documentation(
    "adjacency", "diagonal", "preconditioner", "tol:LaplacianSolver", "max_iter:LaplacianSVC", "max_fill",
    "random_state:LaplacianSolver", "n_jobs", "verbose", "callback",
)

KNEIGHBORS_PARAMETERS = _documentation(
    "X", "n_neighbors:NeighborIndex", "metric:NeighborIndex", "method", "recall_target:NeighborIndex", "zero_rows",
    "random_state", "n_jobs", "verbose", "callback", "return_report",
)

KNN_GRAPH_PARAMETERS = _documentation(
    "X", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
    "random_state", "n_jobs", "verbose", "callback",
)

SUGGEST_PARAMETERS = _documentation(
    "X:suggest", "y", "n", "graph", "candidates:suggest", "exclude", "cost", "unlabeled", "affinity:suggest",
    "strategy", "check", "explore", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method",
    "recall_target", "zero_rows", "random_state", "n_jobs", "verbose", "callback", "return_report",
)

SUGGESTER_NEXT_PARAMETERS = _documentation(
    "y", "n", "candidates:suggest", "exclude", "cost", "unlabeled", "strategy", "check", "explore", "return_report",
)

HARMONIC_CLASSIFIER_SUGGEST_PARAMETERS = _documentation(
    "n", "candidates:suggest", "exclude", "cost", "strategy", "check", "explore", "return_report",
)

HARMONIC_CLASSIFIER_AUDIT_PARAMETERS = _documentation(
    "rounds", "duplicates",
)

AUDIT_PARAMETERS = _documentation(
    "X:suggest", "y:audit", "graph", "sample_weight", "unlabeled", "affinity:suggest", "rounds", "duplicates",
    "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
    "random_state", "n_jobs", "verbose", "callback",
)

SPARSIFY_PARAMETERS = _documentation(
    "A", "n_samples:sparsify", "sampler", "capacity", "n_projections", "ridge", "distortion", "epsilon", "edge_budget",
    "memory", "probes", "random_state", "n_jobs", "verbose", "callback", "return_report",
)

LEARN_WEIGHTS_PARAMETERS = _documentation(
    "edges:learn_weights", "sq_distances", "n_samples:learn_weights", "alpha:learn_weights", "beta", "model",
    "solver:GraphLearner", "tol:GraphLearner", "max_iter:GraphLearner", "start", "n_jobs", "verbose", "callback",
)

Candidates = Literal[
    "harmonic", "harmonic-plain", "harmonic-joined", "harmonic-prior", "prior", "majority", "nearest-label", "linear",
    "forest", "unfolded-gnn", "unfolded-joined", "laprls", "low-rank", "auto",
]


@dataclass(eq=False, repr=False, match_args=False)
class AutoLabelerParameters:
    """Parameters of `AutoLabeler`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "budget", "candidates", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method",
        "recall_target", "zero_rows", "decision", "class_prior", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "budget", "candidates", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method",
        "recall_target", "zero_rows", "decision", "class_prior", "size_slack", "labels_drawn", "prior", "scaling",
        "affinity", "fit_rows", "unlabeled", "abstain", "random_state", "n_jobs", "verbose", "callback",
    )

    budget: float | None = None
    _: KW_ONLY
    candidates: Candidates | Sequence[Candidates] = "auto"
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    prior: Any = None
    scaling: Literal["auto", "off"] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class HarmonicClassifierParameters:
    """Parameters of `HarmonicClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
        "graph_reg", "form", "clamp", "decision", "class_prior", "prior_weight", "tol", "max_iter", "calibration",
        "certify", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
        "graph_reg", "form", "clamp", "decision:HarmonicClassifier", "class_prior:HarmonicClassifier", "prior_weight",
        "tol", "max_iter", "calibration", "certify", "size_slack", "labels_drawn:HarmonicClassifier",
        "prior:HarmonicClassifier", "affinity:HarmonicClassifier", "fit_rows", "unlabeled", "abstain", "random_state",
        "n_jobs", "verbose", "callback",
    )

    n_neighbors: int = 15
    _: KW_ONLY
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    graph_reg: float | Literal["auto"] = "auto"
    form: Literal["auto", "stable", "plain"] = "auto"
    clamp: Literal["soft", "hard"] = "soft"
    decision: Literal["auto", "centered", "row-mean", "argmax", "mass", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    prior_weight: float | Literal["auto"] = "auto"
    tol: float = 1e-06
    max_iter: int = 10000
    calibration: Literal["auto", "leave-one-out", "venn-abers", "none"] = "auto"
    certify: Literal["auto", "first", "off", False] = "auto"
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    prior: Any = None
    affinity: Literal["knn", "precomputed"] = "knn"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class HarmonicRegressorParameters:
    """Parameters of `HarmonicRegressor`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
        "graph_reg", "form", "clamp", "tol", "max_iter", "calibration", "certify",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
        "graph_reg", "form", "clamp", "tol", "max_iter", "calibration", "certify", "affinity:HarmonicClassifier",
        "unlabeled:HarmonicRegressor", "abstain:HarmonicRegressor", "random_state", "n_jobs", "verbose", "callback",
    )

    n_neighbors: int = 15
    _: KW_ONLY
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    graph_reg: float | Literal["auto"] = "auto"
    form: Literal["auto", "stable", "plain"] = "auto"
    clamp: Literal["soft", "hard"] = "soft"
    tol: float = 1e-06
    max_iter: int = 10000
    calibration: Literal["auto", "leave-one-out", "venn-abers", "none"] = "auto"
    certify: Literal["auto", "first", "off", False] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    unlabeled: float | None = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class SparseHarmonicClassifierParameters:
    """Parameters of `SparseHarmonicClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
        "graph_reg", "form", "clamp", "decision", "class_prior", "prior_weight", "tol", "max_iter", "calibration",
        "certify", "size_slack", "labels_drawn", "refinements", "sampler", "capacity", "n_projections", "ridge",
        "distortion", "epsilon", "edge_budget", "memory",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target", "zero_rows",
        "graph_reg", "form", "clamp", "decision:HarmonicClassifier", "class_prior:HarmonicClassifier", "prior_weight",
        "tol", "max_iter", "calibration", "certify", "size_slack", "labels_drawn:HarmonicClassifier", "refinements",
        "sampler", "capacity", "n_projections", "ridge", "distortion", "epsilon", "edge_budget", "memory",
        "prior:HarmonicClassifier", "affinity:SparseHarmonicClassifier", "fit_rows", "unlabeled", "abstain",
        "random_state", "n_jobs", "verbose", "callback",
    )

    n_neighbors: int = 15
    _: KW_ONLY
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    graph_reg: float | Literal["auto"] = "auto"
    form: Literal["auto", "stable", "plain"] = "auto"
    clamp: Literal["soft", "hard"] = "soft"
    decision: Literal["auto", "centered", "row-mean", "argmax", "mass", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    prior_weight: float | Literal["auto"] = "auto"
    tol: float = 1e-06
    max_iter: int = 10000
    calibration: Literal["auto", "leave-one-out", "venn-abers", "none"] = "auto"
    certify: Literal["auto", "first", "off", False] = "auto"
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    refinements: int | Literal["auto"] = "auto"
    sampler: Literal["streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"] = "streaming"
    capacity: int | Literal["auto"] = "auto"
    n_projections: int = 32
    ridge: float | Literal["auto"] = "auto"
    distortion: float | None = None
    epsilon: float | None = None
    edge_budget: int | None = None
    memory: int | None = None
    prior: Any = None
    affinity: Literal["knn", "precomputed", "edges"] = "knn"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class StreamingHarmonicClassifierParameters:
    """Parameters of `StreamingHarmonicClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "window", "settle", "graph_reg", "decision", "class_prior", "tol", "max_iter", "calibration", "size_slack",
        "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "window", "settle", "graph_reg", "decision:HarmonicClassifier", "class_prior:HarmonicClassifier", "tol",
        "max_iter", "calibration", "size_slack", "labels_drawn:HarmonicClassifier", "unlabeled", "abstain",
        "random_state", "n_jobs", "verbose", "callback",
    )

    window: int = 1000000
    _: KW_ONLY
    settle: float = 0.02
    graph_reg: float | Literal["auto"] = "auto"
    decision: Literal["auto", "centered", "row-mean", "argmax", "mass", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    tol: float = 1e-06
    max_iter: int = 10000
    calibration: Literal["auto", "leave-one-out", "venn-abers", "none"] = "auto"
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class LowRankPropagationClassifierParameters:
    """Parameters of `LowRankPropagationClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_landmarks", "factor", "landmarks", "n_nearest", "bandwidth", "alpha", "balance", "class_prior", "head",
        "select", "solver", "glnp_solver", "glnp_start", "glnp_max_iter", "glnp_tol", "decision", "size_slack",
        "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_landmarks", "factor", "landmarks", "n_nearest", "bandwidth:LowRankPropagationClassifier", "alpha", "balance",
        "class_prior:LowRankPropagationClassifier", "head", "select", "solver", "glnp_solver", "glnp_start",
        "glnp_max_iter", "glnp_tol", "decision", "size_slack", "labels_drawn", "fit_rows", "unlabeled", "abstain",
        "random_state", "n_jobs", "verbose", "callback",
    )

    n_landmarks: int = 100
    _: KW_ONLY
    factor: Literal["anchor", "nystrom", "glnp"] = "anchor"
    landmarks: Literal["kmeans", "uniform"] | HasArray | Sequence[Sequence[float]] = "kmeans"
    n_nearest: int = 3
    bandwidth: float | Literal["auto"] = "auto"
    alpha: float = 0.9
    balance: Literal["balanced", "raw", "prior"] = "balanced"
    class_prior: ArrayLike | None = None
    head: Literal["propagation", "regression"] = "propagation"
    select: Literal["auto", "off", False] = "auto"
    solver: Literal["closed", "iterative"] = "closed"
    glnp_solver: Literal["apgd", "mu", "apgd-paper"] = "apgd"
    glnp_start: Literal["kmeans", "uniform"] = "kmeans"
    glnp_max_iter: int = 1000
    glnp_tol: float = 1e-05
    decision: Literal["auto", "sizes"] = "auto"
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class LaplacianSVCParameters:
    """Parameters of `LaplacianSVC`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "kernel", "bandwidth", "degree", "n_landmarks", "ambient_reg", "graph_reg", "laplacian", "laplacian_power",
        "bias", "solver", "stopping", "tol", "max_iter", "n_neighbors", "metric", "weights", "symmetrize",
        "graph_bandwidth", "knn_method", "recall_target", "zero_rows", "decision", "class_prior", "size_slack",
        "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "kernel", "bandwidth:LaplacianSVC", "degree", "n_landmarks:LaplacianSVC", "ambient_reg",
        "graph_reg:LaplacianSVC", "laplacian", "laplacian_power", "bias", "solver:LaplacianSVC", "stopping",
        "tol:LaplacianSVC", "max_iter:LaplacianSVC", "n_neighbors", "metric", "weights", "symmetrize",
        "graph_bandwidth", "knn_method", "recall_target", "zero_rows", "decision", "class_prior", "size_slack",
        "labels_drawn", "affinity", "warm_start", "fit_rows", "unlabeled", "random_state", "n_jobs", "verbose",
        "callback",
    )

    kernel: Literal["rbf", "poly", "linear", "precomputed", "low-rank"] = "rbf"
    _: KW_ONLY
    bandwidth: float | Literal["auto"] = "auto"
    degree: int = 3
    n_landmarks: int | Literal["auto"] | None = "auto"
    ambient_reg: float | Literal["auto"] = "auto"
    graph_reg: float | Literal["auto"] = "auto"
    laplacian: Literal["normalized", "combinatorial"] = "normalized"
    laplacian_power: int = 1
    bias: bool = False
    solver: Literal["auto", "newton", "cg", "dual"] = "auto"
    stopping: Literal["stability", "sides", "validation", "mixed", "gradient"] = "stability"
    tol: float = 1e-08
    max_iter: int = 10000
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    graph_bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    warm_start: bool = False
    fit_rows: int | None = None
    unlabeled: Any = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class LaplacianRidgeClassifierParameters:
    """Parameters of `LaplacianRidgeClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "kernel", "bandwidth", "degree", "n_landmarks", "ambient_reg", "graph_reg", "laplacian", "laplacian_power",
        "bias", "solver", "stopping", "tol", "max_iter", "n_neighbors", "metric", "weights", "symmetrize",
        "graph_bandwidth", "knn_method", "recall_target", "zero_rows", "decision", "class_prior", "size_slack",
        "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "kernel", "bandwidth:LaplacianSVC", "degree", "n_landmarks:LaplacianSVC", "ambient_reg",
        "graph_reg:LaplacianSVC", "laplacian", "laplacian_power", "bias", "solver:LaplacianRidgeClassifier", "stopping",
        "tol:LaplacianSVC", "max_iter:LaplacianSVC", "n_neighbors", "metric", "weights", "symmetrize",
        "graph_bandwidth", "knn_method", "recall_target", "zero_rows", "decision", "class_prior", "size_slack",
        "labels_drawn", "affinity", "warm_start", "fit_rows", "unlabeled", "random_state", "n_jobs", "verbose",
        "callback",
    )

    kernel: Literal["rbf", "poly", "linear", "precomputed", "low-rank"] = "rbf"
    _: KW_ONLY
    bandwidth: float | Literal["auto"] = "auto"
    degree: int = 3
    n_landmarks: int | Literal["auto"] | None = "auto"
    ambient_reg: float | Literal["auto"] = "auto"
    graph_reg: float | Literal["auto"] = "auto"
    laplacian: Literal["normalized", "combinatorial"] = "normalized"
    laplacian_power: int = 1
    bias: bool = False
    solver: Literal["auto", "newton", "cg"] = "auto"
    stopping: Literal["stability", "sides", "validation", "mixed", "gradient"] = "stability"
    tol: float = 1e-08
    max_iter: int = 10000
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    graph_bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    warm_start: bool = False
    fit_rows: int | None = None
    unlabeled: Any = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class LaplacianRidgeRegressorParameters:
    """Parameters of `LaplacianRidgeRegressor`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "kernel", "bandwidth", "degree", "n_landmarks", "ambient_reg", "graph_reg", "laplacian", "laplacian_power",
        "bias", "solver", "tol", "max_iter", "n_neighbors", "metric", "weights", "symmetrize", "graph_bandwidth",
        "knn_method", "recall_target", "zero_rows",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "kernel", "bandwidth:LaplacianSVC", "degree", "n_landmarks:LaplacianSVC", "ambient_reg",
        "graph_reg:LaplacianSVC", "laplacian", "laplacian_power", "bias", "solver:LaplacianRidgeClassifier",
        "tol:LaplacianSVC", "max_iter:LaplacianSVC", "n_neighbors", "metric", "weights", "symmetrize",
        "graph_bandwidth", "knn_method", "recall_target", "zero_rows", "affinity", "unlabeled:HarmonicRegressor",
        "random_state", "n_jobs", "verbose", "callback",
    )
    _fixed: ClassVar[dict[str, Any]] = {"stopping": "gradient"}

    kernel: Literal["rbf", "poly", "linear", "precomputed", "low-rank"] = "rbf"
    _: KW_ONLY
    bandwidth: float | Literal["auto"] = "auto"
    degree: int = 3
    n_landmarks: int | Literal["auto"] | None = "auto"
    ambient_reg: float | Literal["auto"] = "auto"
    graph_reg: float | Literal["auto"] = "auto"
    laplacian: Literal["normalized", "combinatorial"] = "normalized"
    laplacian_power: int = 1
    bias: bool = False
    solver: Literal["auto", "newton", "cg"] = "auto"
    tol: float = 1e-08
    max_iter: int = 10000
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    graph_bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    affinity: Literal["knn", "precomputed"] = "knn"
    unlabeled: float | None = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class UnfoldedGNNClassifierParameters:
    """Parameters of `UnfoldedGNNClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "graph_reg", "self_loop", "loss", "l2_reg", "solver", "optimizer", "steps", "hidden", "attention", "bias",
        "learning_rate", "edges", "tol", "max_iter", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth",
        "knn_method", "recall_target", "zero_rows", "decision", "class_prior", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "graph_reg:UnfoldedGNNClassifier", "self_loop", "loss", "l2_reg", "solver:UnfoldedGNNClassifier", "optimizer",
        "steps", "hidden", "attention", "bias:UnfoldedGNNClassifier", "learning_rate", "edges",
        "tol:UnfoldedGNNClassifier", "max_iter:UnfoldedGNNClassifier", "n_neighbors", "metric", "weights", "symmetrize",
        "bandwidth", "knn_method", "recall_target", "zero_rows", "decision", "class_prior", "size_slack",
        "labels_drawn", "affinity", "fit_rows", "unlabeled", "random_state", "n_jobs", "verbose", "callback",
    )

    graph_reg: float | Literal["auto"] = "auto"
    _: KW_ONLY
    self_loop: float = 1.0
    loss: Literal["cross-entropy", "mse"] = "cross-entropy"
    l2_reg: float | Literal["auto"] = "auto"
    solver: Literal["auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"] = "auto"
    optimizer: Literal["auto", "cg", "l-bfgs", "gd", "adam"] = "auto"
    steps: int | Literal["exact"] = "exact"
    hidden: int | None = None
    attention: float | None = None
    bias: bool = True
    learning_rate: float | Literal["auto"] = "auto"
    edges: float | Literal["auto"] = "auto"
    tol: float = 1e-06
    max_iter: int = 1000
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    fit_rows: int | None = None
    unlabeled: Any = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class UnfoldedGNNRegressorParameters:
    """Parameters of `UnfoldedGNNRegressor`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "graph_reg", "self_loop", "l2_reg", "solver", "optimizer", "steps", "hidden", "attention", "bias",
        "learning_rate", "edges", "tol", "max_iter", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth",
        "knn_method", "recall_target", "zero_rows",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "graph_reg:UnfoldedGNNClassifier", "self_loop", "l2_reg", "solver:UnfoldedGNNClassifier", "optimizer", "steps",
        "hidden", "attention", "bias:UnfoldedGNNClassifier", "learning_rate", "edges", "tol:UnfoldedGNNClassifier",
        "max_iter:UnfoldedGNNClassifier", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method",
        "recall_target", "zero_rows", "affinity", "unlabeled:HarmonicRegressor", "random_state", "n_jobs", "verbose",
        "callback",
    )
    _fixed: ClassVar[dict[str, Any]] = {"loss": "mse"}

    graph_reg: float | Literal["auto"] = "auto"
    _: KW_ONLY
    self_loop: float = 1.0
    l2_reg: float | Literal["auto"] = "auto"
    solver: Literal["auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"] = "auto"
    optimizer: Literal["auto", "cg", "l-bfgs", "gd", "adam"] = "auto"
    steps: int | Literal["exact"] = "exact"
    hidden: int | None = None
    attention: float | None = None
    bias: bool = True
    learning_rate: float | Literal["auto"] = "auto"
    edges: float | Literal["auto"] = "auto"
    tol: float = 1e-06
    max_iter: int = 1000
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    affinity: Literal["knn", "precomputed"] = "knn"
    unlabeled: float | None = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class NearestLabelClassifierParameters:
    """Parameters of `NearestLabelClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "metric", "zero_rows",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "metric:NearestLabelClassifier", "zero_rows", "fit_rows", "unlabeled", "abstain", "random_state", "n_jobs",
        "verbose", "callback",
    )

    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    _: KW_ONLY
    zero_rows: Literal["error", "allow"] = "error"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class SubsamplingHarmonicClassifierParameters:
    """Parameters of `SubsamplingHarmonicClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_subsample", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target",
        "zero_rows", "graph_reg", "form", "clamp", "decision", "class_prior", "tol", "max_iter", "calibration",
        "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_subsample", "n_neighbors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target",
        "zero_rows", "graph_reg", "form", "clamp", "decision:HarmonicClassifier", "class_prior:HarmonicClassifier",
        "tol", "max_iter", "calibration", "size_slack", "labels_drawn:HarmonicClassifier", "fit_rows", "unlabeled",
        "abstain", "random_state", "n_jobs", "verbose", "callback",
    )
    _fixed: ClassVar[dict[str, Any]] = {"certify": "off"}

    n_subsample: int | Literal["auto"] = "auto"
    _: KW_ONLY
    n_neighbors: int = 15
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    graph_reg: float | Literal["auto"] = "auto"
    form: Literal["auto", "stable", "plain"] = "auto"
    clamp: Literal["soft", "hard"] = "soft"
    decision: Literal["auto", "centered", "row-mean", "argmax", "mass", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    tol: float = 1e-06
    max_iter: int = 10000
    calibration: Literal["auto", "leave-one-out", "venn-abers", "none"] = "auto"
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class SimpleHarmonicClassifierParameters:
    """Parameters of `SimpleHarmonicClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_neighbors", "n_eigenvectors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target",
        "zero_rows", "decision", "class_prior", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_neighbors", "n_eigenvectors", "metric", "weights", "symmetrize", "bandwidth", "knn_method", "recall_target",
        "zero_rows", "decision", "class_prior", "size_slack", "labels_drawn", "affinity:HarmonicClassifier", "fit_rows",
        "unlabeled", "abstain", "random_state", "n_jobs", "verbose", "callback",
    )

    n_neighbors: int = 15
    _: KW_ONLY
    n_eigenvectors: int | Literal["auto"] = "auto"
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    weights: Literal["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"] = "self-tuning"
    symmetrize: Literal["union", "mean", "mutual"] = "mean"
    bandwidth: float | Literal["auto"] = "auto"
    knn_method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class EigenfunctionClassifierParameters:
    """Parameters of `EigenfunctionClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_eigenfunctions", "decision", "class_prior", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_eigenfunctions", "decision", "class_prior", "size_slack", "labels_drawn", "fit_rows", "unlabeled", "abstain",
        "random_state", "n_jobs", "verbose", "callback",
    )

    n_eigenfunctions: int = 64
    _: KW_ONLY
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class ForestClassifierParameters:
    """Parameters of `ForestClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_trees", "decision", "class_prior", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_trees", "decision", "class_prior", "size_slack", "labels_drawn", "fit_rows", "unlabeled", "abstain",
        "random_state", "n_jobs", "verbose", "callback",
    )

    n_trees: int = 200
    _: KW_ONLY
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class LinearClassifierParameters:
    """Parameters of `LinearClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "l2_reg", "decision", "class_prior", "size_slack", "labels_drawn",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "l2_reg:LinearClassifier", "decision", "class_prior", "size_slack", "labels_drawn", "fit_rows", "unlabeled",
        "abstain", "random_state", "n_jobs", "verbose", "callback",
    )

    l2_reg: float | Literal["auto"] = "auto"
    _: KW_ONLY
    decision: Literal["auto", "sizes"] = "auto"
    class_prior: ArrayLike | None = None
    size_slack: float = 0.0
    labels_drawn: Literal["auto", "random", "balanced"] = "auto"
    fit_rows: int | None = None
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class MajorityClassifierParameters:
    """Parameters of `MajorityClassifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "fit_rows", "unlabeled", "abstain", "random_state", "n_jobs", "verbose", "callback",
    )

    fit_rows: int | None = None
    _: KW_ONLY
    unlabeled: Any = None
    abstain: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class NeighborIndexParameters:
    """Parameters of `NeighborIndex`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_neighbors", "metric", "method", "recall_target", "zero_rows",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_neighbors:NeighborIndex", "metric:NeighborIndex", "method", "recall_target:NeighborIndex", "zero_rows",
        "random_state", "n_jobs", "verbose", "callback",
    )

    n_neighbors: int = 15
    _: KW_ONLY
    metric: Literal["auto", "euclidean", "cosine", "inner-product"] = "auto"
    method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class GraphLearnerParameters:
    """Parameters of `GraphLearner`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "n_neighbors", "metric", "method", "recall_target", "zero_rows", "support_factor", "sparsity", "solver", "tol",
        "max_iter", "repair",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_neighbors:GraphLearner", "metric:GraphLearner", "method", "recall_target:NeighborIndex", "zero_rows",
        "support_factor", "sparsity", "solver:GraphLearner", "tol:GraphLearner", "max_iter:GraphLearner", "repair",
        "model", "warm_start:GraphLearner", "random_state", "n_jobs", "verbose", "callback",
    )

    n_neighbors: int = 10
    _: KW_ONLY
    metric: Literal["auto", "euclidean", "cosine"] | Literal["precomputed"] = "auto"
    method: Literal["auto", "exact", "partitions"] = "auto"
    recall_target: float = 0.95
    zero_rows: Literal["error", "allow"] = "error"
    support_factor: float | None = 3.0
    sparsity: float | Literal["auto"] = "auto"
    solver: Literal["auto", "newton", "primal-dual"] = "auto"
    tol: float = 1e-08
    max_iter: int | Literal["auto"] = "auto"
    repair: bool = False
    model: Literal["log", "l2"] = "log"
    warm_start: bool = False
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


@dataclass(eq=False, repr=False, match_args=False)
class StreamingSparsifierParameters:
    """Parameters of `StreamingSparsifier`."""

    _declared: ClassVar[tuple[str, ...]] = (
        "sampler", "capacity", "n_projections", "ridge", "distortion", "epsilon", "edge_budget", "memory",
    )
    _parameters_doc: ClassVar[str] = _documentation(
        "n_samples", "sampler", "capacity", "n_projections", "ridge", "distortion", "epsilon", "edge_budget", "memory",
        "probes", "random_state", "n_jobs", "verbose", "callback",
    )

    n_samples: int
    _: KW_ONLY
    sampler: Literal["streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"] = "streaming"
    capacity: int | Literal["auto"] = "auto"
    n_projections: int = 32
    ridge: float | Literal["auto"] = "auto"
    distortion: float | None = None
    epsilon: float | None = None
    edge_budget: int | None = None
    memory: int | None = None
    probes: ArrayLike | None = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int | bool = 0
    callback: Callback | None = None


class LaplacianSolverOptions(TypedDict, total=False):
    """Options of `LaplacianSolver`, for overloads."""

    preconditioner: Literal["auto", "jacobi", "two-level", "approx-cholesky", "cholesky", "none"]
    tol: float
    max_iter: int
    max_fill: float
    random_state: Seed
    n_jobs: int | None
    verbose: int | bool
    callback: Callback | None
