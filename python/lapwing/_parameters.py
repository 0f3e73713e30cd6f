"""Parameters of estimators: errors for unknown ones name the class that was called, and all are documented."""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from ._control import Self

_Documented = TypeVar("_Documented", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])

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

#: Where the documentation stands.
DOCUMENTATION = "https://lapwing-learn.github.io/lapwing/stable"

#: The modules whose names the documentation lists.
_PUBLIC = ("lapwing", "lapwing.baselines", "lapwing.graph", "lapwing.model_selection", "lapwing.prepare", "lapwing.active")


class NamedParameters:
    """Mixin that raises errors for unknown parameters; those of ``__init__`` would name the base that defines it. Pictures in notebooks link
    to the page of the class.
    """

    _doc_link_module = "lapwing"
    _doc_link_template = f"{DOCUMENTATION}/reference/python/generated/{{public_name}}.html"

    _declared: ClassVar[tuple[str, ...]]
    """The parameters that the library declares."""
    _fixed: ClassVar[dict[str, Any]] = {}
    """Parameters of the library that are fixed here, with their values."""

    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the signature of ``__init__``: Python 3.10 would show that of ``__new__``."""
        super().__init_subclass__(**options)
        of_instance = inspect.signature(cls.__init__)
        parameters = list(of_instance.parameters.values())[1:]
        cls.__signature__ = of_instance.replace(parameters=parameters, return_annotation=inspect.Signature.empty)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        refuse_unknown(cls, len(args), kwargs)
        return super().__new__(cls)

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        name = type(self).__name__
        homes = (home for home in _PUBLIC if getattr(import_module(home), name, None) is type(self))
        return {"public_name": f"{next(homes, 'lapwing')}.{name}"}

    def _parameters(self) -> dict[str, Any]:
        """Parameters in the form that the compiled part takes."""
        return {**{name: getattr(self, name) for name in self._declared}, **self._fixed}


def documented(cls: _Documented) -> _Documented:
    """Class decorator: write the parameters of a class, and the attributes of its bases, into its docstring."""
    texts: dict[str, str] = {}
    for base in cls.__mro__:
        # The text of the nearest class counts.
        texts |= _attributes_of(base) | texts
    attributes = "\n".join(f"{name} : {text}" for name, text in texts.items())
    cls.__doc__ = _filled(cls.__doc__, {"Parameters": getattr(cls, "_parameters_doc", ""), "Attributes": attributes})
    return cls


@cache
def _attributes_of(base: type) -> dict[str, str]:
    """The texts of the attributes that a class annotates with one, their further lines indented as in a docstring."""
    texts = {}
    for name, hint in inspect.get_annotations(base).items():
        if str(hint).startswith("Annotated["):
            first, _, others = eval(hint, vars(sys.modules[base.__module__])).__metadata__[0].partition("\n")
            texts[name] = f"{first}\n{textwrap.indent(textwrap.dedent(others), '    ')}"
    return texts


def documented_by(parameters: str, like: Callable[..., Any] | None = None) -> Callable[[_Function], _Function]:
    """Decorator: write these parameters into the docstring of a function, and the results of another function unless it has its own."""

    def decorated(function: _Function) -> _Function:
        returns = "" if like is None or "\nReturns\n" in inspect.cleandoc(function.__doc__ or "") else _section(like, "Returns")
        function.__doc__ = _filled(function.__doc__, {"Parameters": parameters, "Returns": returns})
        return function

    return decorated


def documented_like(other: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Decorator: write the parameters of another method into the docstring, before those that stand there; and its results."""
    return documented_by(_section(other, "Parameters"), other)


def _section(of: Callable[..., Any], name: str) -> str:
    """The text of a section of a docstring."""
    found = re.search(rf"^{name}\n-+\n(.*?)(?=\n\n\S|\Z)", inspect.getdoc(of) or "", re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def _filled(doc: str | None, sections: dict[str, str]) -> str | None:
    """The docstring with these texts at the beginning of its sections; None if Python dropped it.

    Sections that it does not have follow the one before, or stand before all others.
    """
    if doc is None:
        return None
    before, *after = re.split(r"^(?=[A-Z][a-z ]+\n-+$)", inspect.cleandoc(doc), flags=re.MULTILINE)
    at = 0
    for name, text in sections.items():
        heading = f"{name}\n{'-' * len(name)}\n"
        place = next((place for place, section in enumerate(after) if section.startswith(heading)), None)
        if place is not None and text:
            after[place] = f"{heading}{text.strip()}\n{after[place].removeprefix(heading)}"
        elif text:
            after.insert(at, f"{heading}{text.strip()}\n\n")
            place = at
        at = at if place is None else place + 1
    return "\n\n".join(part.strip("\n") for part in (before, *after))


def refuse_unknown(cls: type, n_positional: int, named: dict[str, Any]) -> None:
    """Raise an error for the first parameter that `cls` does not have, with the most similar name that it has."""
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
