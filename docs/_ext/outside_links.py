"""Links from a page to files outside of `docs/`, such as ``../ARCHITECTURE.md``, become links to the hosted code.

A link to an example becomes one to its page in the gallery. A link to a file that does not exist stays as it is, so that Sphinx reports it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\]\((\.\.?/[^)#\s]+)(#[^)\s]*)?\)")


def replace(app: Any, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    docs = Path(app.srcdir).resolve()

    def moved(link: re.Match[str]) -> str:
        target = (page.parent / link[1]).resolve()
        if target.is_relative_to(docs) or not target.exists() or not target.is_relative_to(docs.parent):
            return link[0]
        if target.parent.name == "examples" and target.stem.startswith("plot_"):
            return f"]({os.path.relpath(docs / 'gallery' / target.stem, page.parent)}.rst)"
        return f"]({app.config.outside_links_base}/{target.relative_to(docs.parent)}{link[2] or ''})"

    if page.suffix == ".md":
        source[0] = _LINK.sub(moved, source[0])


def setup(app: Any) -> dict[str, Any]:
    app.add_config_value("outside_links_base", "", "env")
    app.connect("source-read", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
