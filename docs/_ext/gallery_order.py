"""The order of the examples in the gallery."""

_FIRST = (
    "digits messy_table newsgroups fashion_mnist cora single_cells class_sizes wrong_labels active_learning ten_million_rows "
    "sparsifier potential"
).split()


class Order:
    """Key to sort the files of examples by; those that are not named here come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
