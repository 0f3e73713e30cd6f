"""The programs compared, each with settings from cheap to expensive.

Each entry has options for building and a list of options for searching. The index is built once and searched with each of
them, until the highest target of recall is reached. `graph` of a search index searches for every row, without the row itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

Setting = Mapping[str, Any]
Settings = Sequence[tuple[Setting, Sequence[Setting]]]

# Eight links are enough for rows of few dimensions alone.
HNSW_LOW = [({"M": 8, "ef_construction": 40}, [{"ef": ef} for ef in (20, 40, 80)])]
HNSW = [
    ({"M": 16, "ef_construction": 40}, [{"ef": ef} for ef in (20, 30, 50, 70, 100)]),
    ({"M": 16, "ef_construction": 100}, [{"ef": ef} for ef in (20, 30, 50, 70, 100, 140, 200)]),
    ({"M": 24, "ef_construction": 200}, [{"ef": ef} for ef in (50, 100, 200, 400)]),
]


class Peer:
    """The interface for the worker. `threads` is for peers that do not read the environment."""

    package: str
    about: str
    tasks: Sequence[str] = ("mnist", "mixture", "words", "huge", "queries")

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        """Settings to try, cheap ones first."""
        raise NotImplementedError

    def accept(self, rows: Any) -> Any:
        """Rows in the form the peer wants; not timed."""
        return rows if sp.issparse(rows) else np.ascontiguousarray(rows, dtype=np.float32)

    def warm_up(self, rows: Any, metric: str, setting: Setting) -> None:
        """Work that is done once per machine; its time is measured separately."""

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        """The index, or other data that `graph` and `query` need."""
        raise NotImplementedError

    def query(self, index: Any, asked: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        """Row numbers (queries, k) of the nearest rows."""
        raise NotImplementedError

    def graph(self, index: Any, rows: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        """Row numbers (n, k) of the nearest other rows."""
        return without_self(self.query(index, rows, k + 1, setting, threads))


def hnsw_settings(task: str) -> Settings:
    """Settings of small-world graphs, equal for all peers."""
    return [*([] if task in ("mnist", "words") else HNSW_LOW), *HNSW]


def without_self(found: np.ndarray) -> np.ndarray:
    """Remove the row itself from its neighbors, or the last neighbor if the row is not among them."""
    keep = found != np.arange(len(found))[:, None]
    keep[keep.all(axis=1), -1] = False
    return found[keep].reshape(len(found), -1)


class Lapwing(Peer):
    """lapwing: the graph in one call; for new points an index, whose recall is a setting of building it."""

    package = "lapwing"
    about = (
        "`graph.kneighbors(X, 15, recall_target=…)`, for new points `graph.NeighborIndex(15, recall_target=…).fit(X)` "
        "and its `kneighbors`; `recall_target` is raised until the measured recall is there"
    )
    tasks = ("mnist", "mixture", "words", "text", "huge", "queries")

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        if task == "queries":
            return [({"recall_target": goal}, [{}]) for goal in (0.95, 0.96, 0.97, 0.99)]
        goals = sorted({*targets, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999})
        return [({}, [{"recall_target": goal}]) for goal in goals if goal >= min(targets)]

    def accept(self, rows: Any) -> Any:
        return rows

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        """The index that `setting` describes; without one, the function that needs none, ready to be called."""
        from lapwing import graph

        if not setting:
            return partial(graph.kneighbors, metric=metric, random_state=0)
        return graph.NeighborIndex(15, metric=metric, random_state=0, n_jobs=threads, **setting).fit(rows)

    def graph(self, index: Any, rows: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        return index(rows, k, n_jobs=threads, **setting)[1]

    def query(self, index: Any, asked: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        return index.set_params(n_jobs=threads).kneighbors(asked, k, return_distance=False)


class PyNNDescent(Peer):
    """PyNNDescent: nearest-neighbor descent; the graph is part of the index."""

    package = "pynndescent"
    about = "`NNDescent(X, n_neighbors=16, …).neighbor_graph`; compilation on a first call is not counted"
    tasks = ("mnist", "mixture", "words", "text", "huge", "queries")

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        if task == "queries":
            return [({"n_neighbors": 16}, [{"epsilon": e} for e in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2)]),
                    ({"n_neighbors": 30}, [{"epsilon": e} for e in (0.0, 0.02, 0.05, 0.1, 0.2)])]
        cheap = {"n_neighbors": 16, "n_trees": 4}
        return [
            ({**cheap, "n_iters": 1}, [{}]),
            ({**cheap, "n_iters": 2}, [{}]),
            ({**cheap, "n_iters": 3}, [{}]),
            ({**cheap, "n_iters": 5}, [{}]),
            ({"n_neighbors": 16}, [{}]),
            ({"n_neighbors": 20}, [{}]),
            ({"n_neighbors": 30}, [{}]),
            ({"n_neighbors": 45}, [{}]),
        ]

    def warm_up(self, rows: Any, metric: str, setting: Setting) -> None:
        index = self.build(rows[:20_000], metric, setting, threads=2)
        if not sp.issparse(rows):
            self.query(index, rows[:100], 15, {}, threads=1)

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        from pynndescent import NNDescent

        return NNDescent(rows, metric=metric, random_state=0, n_jobs=threads, **setting)

    def graph(self, index: Any, rows: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        return without_self(index.neighbor_graph[0][:, : k + 1])

    def query(self, index: Any, asked: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        index.prepare()  # the index keeps it: the worker calls this before it starts the clock
        return index.query(asked, k=k, **setting)[0]


class Hnswlib(Peer):
    """hnswlib."""

    package = "hnswlib"
    about = "`Index.add_items`, then `knn_query` of all rows"

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        return hnsw_settings(task)

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        import hnswlib

        index = hnswlib.Index(space={"euclidean": "l2"}.get(metric, metric), dim=rows.shape[1])
        index.init_index(max_elements=len(rows), random_seed=0, **setting)
        index.add_items(rows, num_threads=threads)
        return index

    def query(self, index: Any, asked: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        index.set_ef(setting["ef"])
        return index.knn_query(asked, k=k, num_threads=threads)[0].astype(np.int64)


class Usearch(Peer):
    """usearch, with vectors kept as it chooses for the processor (bf16 where that is native), or in f32."""

    package = "usearch"
    about = "`Index.add`, then `search` of all rows"

    def __init__(self, dtype: str | None) -> None:
        self.dtype = dtype
        self.about += f", dtype {dtype or 'of its choice'}"

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        return hnsw_settings(task)

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        from usearch.index import Index

        index = Index(
            ndim=rows.shape[1],
            metric={"euclidean": "l2sq", "cosine": "cos"}[metric],
            dtype=self.dtype,
            connectivity=setting["M"],
            expansion_add=setting["ef_construction"],
        )
        index.add(np.arange(len(rows)), rows, threads=threads)
        return index

    def query(self, index: Any, asked: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        index.expansion_search = setting["ef"]
        return np.asarray(index.search(asked, k, threads=threads).keys).astype(np.int64)


class Faiss(Peer):
    """FAISS: exact search ("flat"), inverted lists ("ivf") or a small-world graph ("hnsw")."""

    package = "faiss-cpu"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        name = {"flat": "IndexFlat", "ivf": "IndexIVFFlat", "hnsw": "IndexHNSWFlat"}[kind]
        self.about = f"`{name}`, then `search` of all rows"
        self.tasks = ("mnist", "mixture", "words") if kind == "flat" else Peer.tasks

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        if self.kind == "hnsw":
            return hnsw_settings(task)
        if self.kind == "ivf":
            lists = {"mixture": 4000, "queries": 4000, "huge": 12_000}.get(task, 500)
            return [({"nlist": lists}, [{"nprobe": n} for n in (2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 128)])]
        return [({}, [{}])]

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        import faiss

        faiss.omp_set_num_threads(threads)
        columns = rows.shape[1]
        # Rows of the cosine task have unit length, where the inner product orders as the cosine does.
        measure = faiss.METRIC_L2 if metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        if self.kind == "hnsw":
            index = faiss.IndexHNSWFlat(columns, setting["M"], measure)
            index.hnsw.efConstruction = setting["ef_construction"]
        elif self.kind == "ivf":
            index = faiss.IndexIVFFlat(faiss.IndexFlat(columns, measure), columns, setting["nlist"], measure)
            index.train(rows)
        else:
            index = faiss.IndexFlat(columns, measure)
        index.add(rows)
        return index

    def query(self, index: Any, asked: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        import faiss

        faiss.omp_set_num_threads(threads)
        if self.kind == "hnsw":
            index.hnsw.efSearch = setting["ef"]
        elif self.kind == "ivf":
            index.nprobe = setting["nprobe"]
        return index.search(asked, k)[1]


class ScikitLearn(Peer):
    """Exhaustive search of scikit-learn."""

    package = "scikit-learn"
    about = '`NearestNeighbors(metric="cosine", n_jobs=2).kneighbors()`'
    tasks = ("text",)

    def settings(self, task: str, targets: Sequence[float]) -> Settings:
        return [({}, [{}])]

    def build(self, rows: Any, metric: str, setting: Setting, threads: int) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(metric=metric, n_jobs=threads).fit(rows)

    def graph(self, index: Any, rows: Any, k: int, setting: Setting, threads: int) -> np.ndarray:
        return index.kneighbors(n_neighbors=k, return_distance=False)


PEERS: dict[str, Peer] = {
    "lapwing": Lapwing(),
    "pynndescent": PyNNDescent(),
    "hnswlib": Hnswlib(),
    "usearch": Usearch(None),
    "usearch-f32": Usearch("f32"),
    "faiss-ivf": Faiss("ivf"),
    "faiss-hnsw": Faiss("hnsw"),
    "faiss-flat": Faiss("flat"),
    "scikit-learn": ScikitLearn(),
}
QUICK = ["lapwing", "pynndescent", "hnswlib", "scikit-learn"]
