"""Annotations: callers' code checks under mypy --strict. That the stub says what the module has is a check of `cargo xtask test`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

CALLER = '''
import numpy as np
from numpy.typing import NDArray

import lapwing
from lapwing import HarmonicClassifier, HarmonicRegressor, LaplacianRidgeRegressor, LaplacianSVC, LowRankPropagationClassifier
from lapwing import UnfoldedGNNClassifier, UnfoldedGNNRegressor
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
from lapwing.model_selection import SemiSupervisedKFold, TransductiveSearchCV, cross_validate
from lapwing.prepare import TableEncoder

X = np.zeros((4, 2))
clf: HarmonicClassifier = HarmonicClassifier(n_neighbors=2, graph_reg=0.1, form="plain").fit(X, [0, 1, -1, -1])
shares: NDArray[np.float64] = clf.predict_proba(X)
learned: Graph = GraphLearner(2, model="l2", sparsity=0.5).fit(X).graph_
weights, told = learn_weights([[0, 1], [2, 3]], [1.0, 2.0], 4, alpha=0.5)
largest: float = float(weights.max())
functions: EigenfunctionClassifier = EigenfunctionClassifier(8, clip=1.0)
fitted: EigenfunctionClassifier = functions.fit(X, [0, 1, -1, -1])
few: LowRankPropagationClassifier = LowRankPropagationClassifier(2, landmarks=X[:2], bandwidth="knn:2").fit(X, [0, 1, -1, -1])
chosen: NDArray[np.float64] | None = few.landmarks_
width: float = few.bandwidth_
values: NDArray[np.float64] = HarmonicRegressor(2).fit(X, [0.5, None, None, 1.0]).predict(X)
machine: LaplacianSVC = LaplacianSVC("poly", graph_reg=0.1, n_landmarks=None).fit(X, [0, 1, -1, -1], validation=(X, [0, 1, 0, 1]))
sides: NDArray[np.float64] = machine.decision_function(X)
smooth: LaplacianRidgeRegressor = LaplacianRidgeRegressor(bias=True).fit(X, [0.5, None, None, 1.0], graph=None)
network: UnfoldedGNNClassifier = UnfoldedGNNClassifier(5.0, loss="mse", steps=10).fit(X, [0, 1, -1, -1], graph=np.eye(4))
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
kept: int = sparsify("edges.npy", n_samples=4, return_report=True)[1]["n_kept"]
stream: StreamingSparsifier = StreamingSparsifier(4, memory=2**30).partial_fit([(0, 1)], [0.5])
so_far: Graph = stream.snapshot()
seen: int = stream.n_edges_seen_
resistances = effective_resistances(sparse, method="projection").toarray()
recall = kneighbors(X, 2, return_report=True)[2]["recall"]
score: float = accuracy_score([0], [0])
for train, test in SemiSupervisedKFold(2).split(X, [0, 1, -1, -1]):
    rows: NDArray[np.intp] = train
tests: NDArray[np.float64] = cross_validate(clf, X, [0, 1, -1, -1], graph=graph, cv=2)["test_score"]
search: TransductiveSearchCV = TransductiveSearchCV(clf, {"n_neighbors": [2, 3]}, refit="score").fit(X, [0, 1, -1, -1], graph=graph)
on_graph: float = network.score(X, [0, 1, -1, -1], graph=graph) + search.score(X, [0, 1, -1, -1])
encoder: TableEncoder = TableEncoder(standardize="on", n_jobs=1).fit(X, [0, 1, -1, -1])
steps: list[str] = [column["done"] for column in encoder.description_] + list(encoder.recipe_)
titles: list[str] = encoder.get_feature_names_out().tolist()
labeled = lapwing.label_frame(X, "species", columns=["x"], method="harmonic", random_state=1)
lapwing.save_model(clf, "model")
loaded: HarmonicClassifier = lapwing.load_model("model")
version: str = lapwing.__version__
'''

CONFIG = Path(__file__).parent.parent / "pyproject.toml"


def run(*arguments):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)


def test_callers_are_checked(tmp_path):
    caller = tmp_path / "caller.py"
    caller.write_text(CALLER)
    result = run("mypy", "--config-file", str(CONFIG), str(caller))
    assert result.returncode == 0, result.stdout
    caller.write_text(CALLER + '\nHarmonicClassifier(form="best")\n')
    assert 'Argument "form"' in run("mypy", "--config-file", str(CONFIG), str(caller)).stdout
