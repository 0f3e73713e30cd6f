"""Everything that the package makes public: functions, classes, and their own methods and properties."""

import importlib
import inspect
from dataclasses import dataclass
from typing import Any, get_type_hints

import lapwing

MODULES = ("lapwing", *(f"lapwing.{name}" for name in lapwing.__all__ if inspect.ismodule(getattr(lapwing, name))))

#: Names in annotations that stand for no types: those that `lapwing.display` has for type checkers only, because it imports
#: matplotlib when it draws; and the mark of dataclasses, which `get_type_hints` of Python 3.10 refuses.
NO_TYPES = {"Axes": Any, "Figure": Any, "SubFigure": Any, "KW_ONLY": Any}


@dataclass(frozen=True)
class Member:
    """A function, class, method or property, and the names by which it is found."""

    module: str
    path: str
    value: Any

    @property
    def name(self):
        return f"{self.module}.{self.path}"

    @property
    def of(self):
        """The class of a method or property; None for others."""
        return self.path.partition(".")[0] if "." in self.path else None


def objects():
    """Functions and classes."""
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if not inspect.ismodule(value):
                yield Member(module, name, value)


def members():
    """Functions, classes, and the methods and properties that classes do not have from elsewhere."""
    for found in objects():
        yield found
        if inspect.isclass(found.value):
            for name in dir(found.value):
                static = inspect.getattr_static(found.value, name)
                function = static.fget if isinstance(static, property) else getattr(found.value, name)
                if not name.startswith("_") and (getattr(function, "__module__", None) or "").startswith("lapwing"):
                    yield Member(found.module, f"{found.path}.{name}", static if isinstance(static, property) else function)


def functions(members):
    """Those that can be called, each with its function: that of a class makes its instances."""
    for member in members:
        if inspect.isclass(member.value):
            if "__init__" in dir(member.value) and not issubclass(member.value, Warning):
                yield member, member.value.__init__
        elif not isinstance(member.value, property):
            yield member, inspect.unwrap(member.value)


def own(members):
    """Those that are defined by this class and not by one of its bases, so that each is there once."""
    seen = set()
    for member in members:
        function = member.value.fget if isinstance(member.value, property) else member.value
        key = inspect.unwrap(getattr(function, "__func__", function))
        if key not in seen:
            seen.add(key)
            yield member


def hints(of):
    """The annotations of a function or class, resolved."""
    return get_type_hints(of, localns=NO_TYPES)


def is_fitted_name(name):
    """Whether an attribute is one that a fit sets."""
    return name.endswith("_") and not name.startswith("_")


def fitted(cls):
    """Attributes that a fit sets, with their types: annotated, or properties."""
    annotated = {name: hint for name, hint in hints(cls).items() if is_fitted_name(name)}
    computed = inspect.getmembers(cls, lambda member: isinstance(member, property))
    return annotated | {name: hints(value.fget)["return"] for name, value in computed if is_fitted_name(name)}
