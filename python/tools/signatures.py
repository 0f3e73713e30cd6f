"""Signatures of the Python package, ``lapwing/_signatures.py``, from the parameters that the library declares.

`declarations.py` says what only Python has, and which estimator or function takes what.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from declarations import ADDED, OWN, SIGNATURES, Parameter, Signature

WIDTH = 120
#: Words of the library that are None in Python, where they are not among choices.
WORDS_OF_NONE = ("none", "labeled")
#: Annotations of the kinds of values.
ANNOTATIONS = {"count": "int", "bytes": "int", "real": "float", "list": "ArrayLike", "words": "", "flag": "bool", "choice": ""}
#: What documentation calls these kinds.
KINDS = {"count": "int", "bytes": "int", "real": "float", "list": "array-like of shape (n_classes,)", "flag": "bool"}

Describe = Callable[[str], list[dict[str, Any]]]

HEAD = '''"""Signatures of the estimators, and the documentation of their parameters. Written by `cargo xtask generate`: do not edit.

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
    return "\\n".join(_DOCUMENTATION[key] for key in keys)


#: Each parameter as a section of a docstring has it. A parameter that differs among estimators stands here once for each text,
#: the later ones under its name, a colon and the first estimator that has it.
'''


def parameters(signature: Signature, describe: Describe) -> list[Parameter]:
    """All parameters of an estimator or function, in their order."""
    of_library = [found for of in signature.of for found in describe(of)]
    known = {found["name"] for found in of_library} - {*signature.without, *signature.fixed}
    shown = [_shown(found, signature, known) for found in of_library if found["name"] in known]
    before, own = ([OWN[key] for key in keys] for keys in (signature.before, signature.own))
    listed = [*before, *shown, *own]
    if signature.first:
        listed.sort(key=lambda parameter: parameter.name != signature.first)
    return listed


def _shown(declared: dict[str, Any], signature: Signature, known: set[str]) -> Parameter:
    name, kind = declared["name"], declared["kind"]
    words = {word: doc for word, doc in declared["words"] if word not in signature.no_words.get(name, ())}
    of_none = [word for word in WORDS_OF_NONE if word in words and kind != "choice"]
    literals = [f'"{word}"' for word in words if word not in of_none]
    if kind == "words":
        # The default first.
        literals.sort(key=lambda word: word != _source(declared["default"]))
    choices = literals + (["False"] if "off" in words and kind == "choice" else [])
    kinds = [ANNOTATIONS[kind], f"Literal[{', '.join(choices)}]" if choices else ""]
    if kind == "words":
        kinds = [name.capitalize(), f"Sequence[{name.capitalize()}]"]
    if of_none:
        kinds.append("None")
    numbers = [_numbers(KINDS[kind], declared["interval"])] if kind in KINDS else []
    if kind == "words":
        literals += ["a list of these"]
    values = [*numbers, *literals, *(["None"] if of_none else [])]
    default = declared["default"]
    annotation, text, more = ADDED.get(f"{signature.name}.{name}", ("", "", ""))
    need = needs(declared["cases"], known)
    doc = [_with_none(declared["doc"], of_none), need and f"Has an effect only with {need}.", more]
    choice = "{" + ", ".join(literals + ([text] if text.startswith('"') else [])) + "}" if kind == "choice" else ""
    return Parameter(
        name,
        " | ".join(part for part in [*kinds, annotation] if part),
        signature.defaults.get(name, "None" if default in of_none else _source(default)),
        either([choice, *([text] if text and not text.startswith('"') else [])] if choice else values),
        " ".join(part for part in doc if part),
        tuple(f'"{word}": {meaning}' for word, meaning in words.items() if meaning),
    )


def _source(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _numbers(kind: str, interval: str) -> str:
    """The kind of number and where it lies."""
    if kind.startswith("array") or not interval:
        return kind
    match = re.fullmatch(r"([(\[])([^,]+(?:,\d{3})*), ∞\)", interval)
    if match:
        return f"{kind} {'>' if match[1] == '(' else '>='} {match[2]}"
    return f"{kind} in {interval}"


def _with_none(doc: str, of_none: list[str]) -> str:
    """The documentation, with None for the words that are None in Python."""
    for word in of_none:
        doc = re.sub(rf"(?<=; ){word}\b|(?<=\. ){word.capitalize()}\b", "None", doc)
    return doc


def needs(cases: list[list[tuple[str, list[str]]]], known: set[str]) -> str:
    """The values of other parameters beside which the parameter has an effect; empty where it always has one."""
    def value(name: str, word: str) -> str:
        given = "given" if name == "class_prior" else "a number"
        return given if word == "given" else f'"{word}"'

    def case(conditions: list[tuple[str, list[str]]]) -> str:
        held = [f"`{name}` {either([value(name, word) for word in words])}" for name, words in conditions if name in known]
        return " and ".join(held)

    texts = [case(conditions) for conditions in cases]
    return ", or ".join(texts) if all(texts) else ""


def either(values: list[str], word: str = "or") -> str:
    """Values with commas between and a word before the last."""
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} {word} {values[-1]}"


def documentation(parameter: Parameter) -> str:
    """The section of a docstring about this parameter."""
    default = "" if parameter.default is None else f", default={parameter.default}"
    lines = [f"{parameter.name} : {parameter.values}{default}", *_wrapped(parameter.doc, "    ", "    ")]
    if parameter.choices:
        lines += ["", *(line for choice in parameter.choices for line in _wrapped(choice, "    - ", "      ")), ""]
    return "\n".join(lines)


def _wrapped(text: str, first: str, next_lines: str) -> list[str]:
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent=first, subsequent_indent=next_lines)
    wrapper.break_on_hyphens = wrapper.break_long_words = False
    return wrapper.wrap(text)


class Texts:
    """The sections about all parameters, each text once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def key(self, of: str, parameter: Parameter) -> str:
        """The key of the section about a parameter of that estimator."""
        text, key = documentation(parameter), parameter.name
        known = (name for name in self._texts if name.partition(":")[0] == key and self._texts[name] == text)
        key = next(known, f"{key}:{of}" if key in self._texts else key)
        self._texts[key] = text
        return key

    def source(self) -> str:
        """The texts as a dict."""
        entries = (f'    "{key}": """{text}""",\n' for key, text in self._texts.items())
        return f"_DOCUMENTATION = {{\n{''.join(entries)}}}\n"


def _filled(values: Iterable[str], indent: str) -> list[str]:
    """Values as the lines of a tuple."""
    values = list(values)
    return [] if not values else _wrapped(", ".join(f'"{value}"' for value in values) + ",", indent, indent)


def _names_of_words(describe: Describe) -> Iterable[str]:
    """Types of the words of which a parameter takes several."""
    of_library = (found for signature in SIGNATURES for of in signature.of for found in describe(of))
    for name, words in {found["name"]: found["words"] for found in of_library if found["kind"] == "words"}.items():
        yield from ["", f"{name.capitalize()} = Literal[", *_filled((word for word, _ in words), "    "), "]"]


def _class(signature: Signature, listed: list[Parameter], keys: list[str], describe: Describe) -> list[str]:
    of_library = {found["name"] for of in signature.of for found in describe(of)}
    lines = [
        "", "",
        "@dataclass(eq=False, repr=False, match_args=False)",
        f"class {signature.name}Parameters:",
        f'    """Parameters of `{signature.name}`."""', "",
        "    _declared: ClassVar[tuple[str, ...]] = (",
        *_filled((parameter.name for parameter in listed if parameter.name in of_library), " " * 8), "    )",
        "    _parameters_doc: ClassVar[str] = _documentation(", *_filled(keys, " " * 8), "    )",
    ]  # fmt: skip
    if signature.fixed:
        fixed = ", ".join(f"{_source(name)}: {_source(value)}" for name, value in signature.fixed.items())
        lines.append(f"    _fixed: ClassVar[dict[str, Any]] = {{{fixed}}}")
    for at, parameter in enumerate(listed):
        default = "" if parameter.default is None else f" = {parameter.default}"
        field = f"    {parameter.name}: {parameter.annotation}{default}"
        lines += ["", field, "    _: KW_ONLY"] if at == 0 else [field]
    return lines


def _options(signature: Signature, listed: list[Parameter]) -> list[str]:
    return [
        "", "",
        f"class {''.join(map(_capital, signature.name.split('.')))}Options(TypedDict, total=False):",
        f'    """Options of `{signature.name}`, for overloads."""', "",
        *(f"    {parameter.name}: {parameter.annotation}" for parameter in listed if parameter.name not in signature.apart),
    ]  # fmt: skip


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def module(describe: Describe) -> str:
    """The text of the module."""
    listed = {signature.name: parameters(signature, describe) for signature in SIGNATURES}
    texts = Texts()
    functions: list[str] = []
    classes: list[str] = []
    for signature in SIGNATURES:
        of_one = listed[signature.name]
        keys = [texts.key(signature.name, parameter) for parameter in of_one]
        if signature.by_hand:
            constant = re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", signature.name).upper()
            functions += ["", f"{constant}_PARAMETERS = _documentation(", *_filled(keys, "    "), ")"]
        else:
            classes += _class(signature, of_one, keys, describe)
        if signature.apart:
            classes += _options(signature, of_one)
    return HEAD + texts.source() + "\n".join([*functions, *_names_of_words(describe), *classes]) + "\n"
