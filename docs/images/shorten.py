"""Makes an SVG of matplotlib short: rounded numbers, equal marks and lines in one path, nothing that is not drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ET.register_namespace("", SVG)
ET.register_namespace("xlink", LINK)

_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
_CIRCLE = re.compile(r"M 0 (\d+\.\d+) (?: ?C [-\d. e]+){8}z ?")


def svg(text: str) -> str:
    """The same picture in fewer bytes."""
    tree = ET.fromstring(text)
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}metadata":
                parent.remove(child)
    circles = {
        path.get("id"): float(found[1])
        for path in tree.iter(f"{{{SVG}}}path")
        if path.get("id") and (found := _CIRCLE.fullmatch(path.get("d", "")))
    }
    for group in tree.iter(f"{{{SVG}}}g"):
        _merge_lines(group)
    for group in tree.iter(f"{{{SVG}}}g"):
        _merge_dots(group, circles)
    _remove_unused(tree)
    for element in tree.iter():
        for name in ("d", "x", "y", "points", "transform", "width", "height", "viewBox"):
            if name in element.attrib:
                element.set(name, _short(element.get(name, "")))
        if "style" in element.attrib:
            element.set("style", _style(element.get("style", "")))
        element.tail = "\n" if element.tail and not element.tail.strip() else element.tail
        element.text = None if element.text and not element.text.strip() else element.text
    return ET.tostring(tree, encoding="unicode") + "\n"


def _merge_lines(group: ET.Element) -> None:
    """Paths of one look that follow each other become one."""
    last: ET.Element | None = None
    for path in list(group):
        is_line = path.tag == f"{{{SVG}}}path" and "fill: none" in path.get("style", "") and not path.get("id")
        if is_line and last is not None and _look(path) == _look(last):
            last.set("d", last.get("d", "") + path.get("d", ""))
            group.remove(path)
        else:
            last = path if is_line else None


def _look(path: ET.Element) -> tuple[str | None, ...]:
    return path.get("style"), path.get("clip-path"), path.get("transform")


def _merge_dots(group: ET.Element, circles: dict[str | None, float]) -> None:
    """Circles without a line around them become the round ends of lines without length, one path for each color."""
    dots: dict[tuple[str, float], list[str]] = {}
    for holder in [group, *group]:
        for use in list(holder):
            style = use.get("style", "")
            radius = circles.get(use.get(f"{{{LINK}}}href", "#")[1:])
            if use.tag != f"{{{SVG}}}use" or radius is None or ("stroke:" in style and "stroke: none" not in style):
                continue
            dots.setdefault((style, radius), []).append(f"M{use.get('x')} {use.get('y')}h0")
            holder.remove(use)
        if holder is not group and holder.tag == f"{{{SVG}}}g" and not len(holder):
            group.remove(holder)
    for (style, radius), places in dots.items():
        look = style.replace("stroke: none", "").replace("fill-opacity", "stroke-opacity").replace("fill:", "stroke:")
        look += f"; fill: none; stroke-width: {2 * radius:.1f}; stroke-linecap: round"
        ET.SubElement(group, f"{{{SVG}}}path", {"d": "".join(places), "style": look})


def _remove_unused(tree: ET.Element) -> None:
    used = set(re.findall(r"(?:url\(#|href=\"#)([\w-]+)", ET.tostring(tree, encoding="unicode")))
    for parent in list(tree.iter()):
        for child in list(parent):
            name = child.get("id")
            if name and name not in used:
                if child.tag == f"{{{SVG}}}g":
                    del child.attrib["id"]
                elif parent.tag == f"{{{SVG}}}defs":
                    parent.remove(child)
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}defs" and not len(child):
                parent.remove(child)


def _short(numbers: str) -> str:
    """Numbers with one decimal, two below ten, and no white space that is not needed."""
    rounded = _NUMBER.sub(lambda found: _rounded(float(found[0])), " ".join(numbers.split()))
    return re.sub(r" ?([MLCQZzh]) ?", r"\1", rounded)


def _rounded(value: float) -> str:
    digits = 2 if abs(value) < 3 else 1
    return f"{value:.{digits}f}".rstrip("0").rstrip(".").replace("-0.", "-.") or "0"


def _style(style: str) -> str:
    return "; ".join(part.strip() for part in style.split(";") if part.strip())
