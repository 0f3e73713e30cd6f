"""Unknown parameters of an estimator, told by the name of the class that was called."""

from __future__ import annotations

import difflib
import inspect
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound="NamedParameters")

#: What other libraries call parameters of ours, and how theirs relates to ours where it is not the same number.
SYNONYMS = {
    "C": ("ambient_reg", "a large C is a small ambient_reg"),
    "gamma": ("bandwidth", "gamma is 1/(2·bandwidth²)"),
    "k": ("n_neighbors", None),
    "seed": ("random_state", None),
    "n_threads": ("n_jobs", None),
    "eps": ("tol", None),
    "epsilon": ("tol", None),
}


class NamedParameters:
    """Mixin that refuses unknown parameters before ``__init__`` does, which would name the base that defines it."""

    def __new__(cls: type[_Class], *args: Any, **kwargs: Any) -> _Class:
        refuse_unknown(cls, len(args), kwargs)
        return super().__new__(cls)


def refuse_unknown(cls: type, n_positional: int, named: dict[str, Any]) -> None:
    """Name the first parameter that `cls` does not have, and the one that was perhaps meant."""
    parameters = list(inspect.signature(cls).parameters.values())
    kinds = {parameter.kind for parameter in parameters}
    if kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
        return
    names = [parameter.name for parameter in parameters]
    for name in named:
        if name not in names:
            raise TypeError(f"{cls.__name__} has no parameter {name!r}{_meant(name, names, cls)}")
    positional = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if n_positional > len(positional):
        takes = f"takes {' and '.join(positional)} by position" if positional else "takes none by position"
        raise TypeError(
            f"{cls.__name__} was given {n_positional} values without names, but {takes}; give the others by name"
        )


def _meant(name: str, names: list[str], cls: type) -> str:
    ours, relation = SYNONYMS.get(name, (None, None))
    if ours in names:
        return f"; did you mean {ours}?" + (f" ({relation})" if relation else "")
    near = difflib.get_close_matches(name, names, n=1) or difflib.get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; help({cls.__name__}) lists them"
