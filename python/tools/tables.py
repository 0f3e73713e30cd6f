"""Tables of parameters in the pages of methods, from what the library declares.

A page has a pair of HTML comments, and the text between them is generated:

    <!-- parameters: lapsvm, without graph, class-sizes -->      parameters of a method or group, without those of groups that
    <!-- end of parameters -->                                   have their table elsewhere (`SHARED`), to which a line leads
    <!-- choices: lapsvm, kernel, laplacian -->                  words that parameters of a method or group take
    <!-- end of choices -->
"""

from __future__ import annotations

import re
from typing import Any

from signatures import Describe, either, needs

#: Groups that several methods have: what they are of, and the section with their table.
SHARED = {
    "graph": ("the graph", "harmonic.md#parameters-of-the-graph"),
    "class-sizes": ("the sizes of classes", "harmonic.md#class-sizes"),
    "harmonic": ("harmonic propagation and its graph", "harmonic.md#parameters"),
    "sparsify": ("the sparsifier", "sparsifiers.md#parameters"),
}
READING = "[How to read the table](index.md#tables-of-parameters)."
MARKER = re.compile(r"<!-- (parameters|choices): .*? -->")
MARKED = re.compile(r"(<!-- (parameters|choices): (.*?) -->\n)(?:(?!<!-- ).)*(<!-- end of \2 -->)", re.DOTALL)
#: What numbers of these kinds are called.
NUMBERS = {"count": "integer", "bytes": "bytes", "real": "number", "list": "numbers"}

Declared = dict[str, Any]


def page(name: str, text: str, describe: Describe) -> str:
    """The text of the page of that name with its tables written anew."""
    if len(MARKER.findall(text)) != len(MARKED.findall(text)):
        raise ValueError(f"{name}: a table has no end; it needs <!-- end of parameters --> or <!-- end of choices -->")

    def table(match: re.Match[str]) -> str:
        of, *names = re.split(", (?:without )?", match[3])
        lines = _choices(describe(of), names) if match[2] == "choices" else _parameters(name, of, names, describe)
        return "\n".join([match[1], *lines, "", match[4]])

    return MARKED.sub(table, text)


def _parameters(page: str, of: str, groups: list[str], describe: Describe) -> list[str]:
    listed = describe(of)
    known = {declared["name"] for declared in listed}
    also = []
    for group in groups:
        what, link = SHARED[group]
        shared = describe(group)
        names = [f"`{declared['name']}`" for declared in shared if declared in listed]
        named = "all" if len(names) == len(shared) else either(names, "and")
        also.append(f"{named} of [{what}]({link.removeprefix(page)})")
        listed = [declared for declared in listed if declared not in shared]
    rows = [f"| `{d['name']}` | {_default(d)} | {_values(d)} | {_meaning(d, known)} |" for d in listed]
    table = ["| parameter | default | values | meaning |", "|---|---|---|---|", *rows, ""] if rows else []
    return [*table, " ".join([READING, f"Also {either(also, 'and')}."] if also else [READING])]


def _choices(listed: list[Declared], names: list[str]) -> list[str]:
    words = {declared["name"]: declared["words"] for declared in listed}
    rows = [f"| `{name}` | `{word}` | {_cell(doc)} |" for name in names for word, doc in words[name]]
    return ["| parameter | value | meaning |", "|---|---|---|", *rows]


def _default(declared: Declared) -> str:
    value = declared["default"]
    if isinstance(value, (bool, str)):
        return f"`{str(value).lower()}`"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}".replace("e-0", "e-")


def _values(declared: Declared) -> str:
    """Numbers with their range, and words."""
    if declared["kind"] == "flag":
        return "`true`, `false`"
    numbers = []
    if number := NUMBERS.get(declared["kind"]):
        low = re.fullmatch(r"([(\[])(.+), ∞[)\]]", declared["interval"])
        interval = f"{'>' if low[1] == '(' else '≥'} {low[2]}" if low else f"in {declared['interval']}"
        numbers = [f"{number} {interval}", *(["`inf`"] if declared["interval"].endswith("∞]") else [])]
    return ", ".join(numbers + [f"`{word}`" for word, _ in declared["words"]])


def _meaning(declared: Declared, known: set[str]) -> str:
    """The first sentence, that about the default, and what the parameter needs to have an effect."""
    first, *others = re.split(r"(?<=\.) ", declared["doc"])
    default = str(declared["default"]).capitalize()
    of_default = [sentence for sentence in others if sentence.startswith(f"{default} ")]
    need = needs(declared["cases"], known)
    return _cell(" ".join([first, *of_default, *([f"Only with {need}."] if need else [])]))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace('"', "`")
