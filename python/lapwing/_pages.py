"""Pages that were written, and the names of their files and rows."""

from __future__ import annotations

import html
import os
import re
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d


class Page:
    """A page that was written. Notebooks show it in place, or one of its figures by heading: ``page["Reliability"]``."""

    def __init__(self, text: str) -> None:
        self.html = text

    @classmethod
    def written(cls, path: str) -> Page:
        """The page in this file."""
        return cls(Path(path).read_text(encoding="utf-8"))

    def __getitem__(self, heading: str) -> Page:
        found = re.finditer(r"<figure .*?<h2>(.*?)</h2>.*?</figure>", self.html, re.DOTALL)
        figures = {html.unescape(figure[1]): figure[0] for figure in found}
        if heading not in figures:
            raise ValueError(f"the page has no figure {heading!r}; its figures are {', '.join(figures)}")
        return Page(f"{self.html.partition('<body>')[0]}<body>\n{figures[heading]}\n</body>\n</html>\n")

    def _repr_html_(self) -> str:
        # A frame keeps the styles of page and notebook apart.
        grow = "this.style.height = this.contentDocument.documentElement.scrollHeight + 'px'"
        style = "width: 100%; height: 40em; border: 0"
        return f'<iframe srcdoc="{html.escape(self.html)}" onload="{grow}" style="{style}"></iframe>'


def page_path(path: str | PathLike[str]) -> str:
    """The path of a page; ValueError for another ending."""
    target = os.fspath(path)
    if not target.endswith((".html", ".htm")):
        raise ValueError(f"path is {target!r}; expected a name that ends in .html")
    return target


def as_row_names(names: ArrayLike | None, n_samples: int) -> list[str] | None:
    """The names of the rows as texts."""
    if names is None:
        return None
    texts = [str(name) for name in column_or_1d(np.asarray(names))]
    if len(texts) != n_samples:
        raise ValueError(f"row_names has {len(texts)} names; expected one for each row, {n_samples}")
    return texts
