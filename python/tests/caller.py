"""What callers write. It is not run: type checkers find no fault in it (test_typing.py)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import (
    AutoLabeler,
    HarmonicClassifier,
    HarmonicRegressor,
    LaplacianRidgeRegressor,
    LaplacianSVC,
    LaplacianSolver,
    LowRankPropagationClassifier,
    UnfoldedGNNClassifier,
    UnfoldedGNNRegressor,
)
from lapwing.active import Suggester, suggest
from lapwing.audit import ValueAudit, audit
from lapwing.baselines import EigenfunctionClassifier
from lapwing.graph import (
    Graph,
    GraphLearner,
    NeighborIndex,
    StreamingSparsifier,
    effective_resistances,
    kneighbors,
    knn_graph,
    learn_weights,
    sparsify,
)
from lapwing.metrics import accuracy_score
from lapwing.model_selection import SemiSupervisedKFold, Transductive, cross_validate, labeled_folds
from lapwing.prepare import TableEncoder

X = np.zeros((4, 2))
y = [0, 1, -1, -1]
seed = np.random.default_rng(0)
clf: HarmonicClassifier = HarmonicClassifier(n_neighbors=2, graph_reg=0.1, form="plain", random_state=seed).fit(X, y)
shares: NDArray[np.float64] = clf.predict_proba(X)
reached: NDArray[np.bool_] = clf.reached_
certified: NDArray[np.bool_] | None = clf.certified_
calibrated: bool = clf.calibration_ == "leave-one-out"
names: NDArray[np.object_] = clf.feature_names_in_
auto = AutoLabeler(candidates=["forest", "linear"], random_state=0).fit(X, y)
single = AutoLabeler(candidates="harmonic", class_prior=[0.5, 0.5]).fit(X, y)
if auto.expected_accuracy_ is not None:
    low: float = auto.expected_accuracy_.low
best: list[dict[str, Any]] = sorted(auto.results_, key=lambda row: float(row["weight"]))
labels, proved = clf.predict(X, return_certified=True)
plain: NDArray[np.float64] = clf.predict(X)
next_rows, reasons = clf.suggest(2, strategy="cover")
batch: NDArray[np.int64] = Suggester(np.eye(4)).next(y, 2, explore=0.1)[0]
why: list[str] = suggest(X, y, 2, metric="cosine")[1].tolist()
told: dict[str, Any] = suggest(X, n=2).report
told = clf.suggest(2, return_report=True)[2]
told = Suggester(np.eye(4)).next(y, 2, return_report=True)[2]
sets: NDArray[np.bool_] = clf.predict_sets(0.9, method="split")
coverage: object = clf.predict_sets(0.9, X, by_class=True, return_report=True)[1]["expected"]
doubtful: NDArray[np.int64] = clf.audit(rounds=2).ranked()
flags: NDArray[np.bool_] = audit(X, y, zero_rows="allow").flagged
learned: Graph = GraphLearner(2, model="l2", sparsity=0.5).fit(X).graph_
weights, told = learn_weights([[0, 1], [2, 3]], [1.0, 2.0], 4, alpha=0.5)
largest: float = float(weights.max())
functions: EigenfunctionClassifier = EigenfunctionClassifier(8)
fitted: EigenfunctionClassifier = functions.fit(X, y)
few: LowRankPropagationClassifier = LowRankPropagationClassifier(2, landmarks=X[:2], bandwidth=2.0).fit(X, y)
few = LowRankPropagationClassifier(2, landmarks=[[0.0, 1.0], [1.0, 0.0]])
chosen: NDArray[np.float64] | None = few.landmarks_
width: float | None = few.bandwidth_
regressor = HarmonicRegressor(2).fit(X, [0.5, None, None, 1.0])
values: NDArray[np.float64] = regressor.predict(X)
half_widths: NDArray[np.float64] | None = regressor.uncertainty_
residuals: ValueAudit = regressor.audit()
machine: LaplacianSVC = LaplacianSVC("poly", graph_reg=0.1, n_landmarks=None).fit(X, y, validation=(X, [0, 1, 0, 1]))
sides: NDArray[np.float64] = machine.decision_function(X)
smooth: LaplacianRidgeRegressor = LaplacianRidgeRegressor(bias=True).fit(X, [0.5, None, None, 1.0], graph=None)
network: UnfoldedGNNClassifier = UnfoldedGNNClassifier(5.0, loss="mse", steps=10).fit(X, y, graph=np.eye(4))
moved: NDArray[np.float64] = network.predict_proba(X, graph=np.eye(4))
level: NDArray[np.float64] = UnfoldedGNNRegressor(hidden=3).fit(X, [0.5, None, None, 1.0]).predict(X)
graph: Graph = knn_graph(X, 2, weights="binary", bandwidth="auto")
distances, indices = kneighbors(X, 2)
found: NDArray[np.int32] = indices
index: NeighborIndex = NeighborIndex(2, metric="cosine").fit(X)
near: tuple[NDArray[np.float32], NDArray[np.int32]] = index.kneighbors(X)
alone: NDArray[np.int32] = index.kneighbors(X, 1, return_distance=False)
others: NDArray[np.int32] = index.kneighbors(X, 1, False)
share: float = index.recall_
sparse: Graph = sparsify(graph, edge_budget=100, sampler="degree")
kept: int = sparsify("edges.npy", n_samples=4).report["n_kept"]
stream: StreamingSparsifier = StreamingSparsifier(4, memory=2**30).partial_fit([(0, 1)], [0.5])
so_far: Graph = stream.snapshot()
seen: int = stream.n_edges_seen_
resistances = effective_resistances(sparse, method="projection").toarray()
recall = kneighbors(X, 2).report["recall"]
recall = kneighbors(X, 2, return_report=True)[2]["recall"]
solution: NDArray[np.float64] = LaplacianSolver.normalized(graph, 1.0, preconditioner="jacobi").solve([1.0, 0.0, 0.0, 0.0])
score: float = accuracy_score([0], [0])
for train, test in labeled_folds(y, 2):
    rows: NDArray[np.intp] = train
for train, test in SemiSupervisedKFold(2, shuffle=True).split(X, y):
    rows = test
shown: dict[str, Any] = cross_validate(clf, X, y, graph, cv=SemiSupervisedKFold(2), scoring="accuracy")
by_number: Transductive = Transductive(clf, X, graph=graph).fit([0, 1], [0, 1])
hidden: NDArray[np.float64] = by_number.predict_proba([2, 3])
on_graph: float = network.score(X, y, graph=graph) + by_number.score([0, 1], [0, 1])
encoder: TableEncoder = TableEncoder(standardize="on", n_jobs=1).fit(X, y)
steps: list[str] = [column["done"] for column in encoder.description_] + list(encoder.recipe_)
titles: list[str] = encoder.get_feature_names_out().tolist()
labeled = lapwing.label_frame(X, "species", columns=["x"], method="harmonic", random_state=1)
lapwing.save_model(clf, "model")
answers: NDArray[np.float64] = lapwing.load_model("model").predict(X)
version: str = lapwing.__version__
