"""The place of an estimator in the documentation."""

from __future__ import annotations

from importlib import import_module

#: Where the documentation stands.
DOCUMENTATION = "https://lapwing-learn.github.io/lapwing/stable"

#: The modules whose names the documentation lists.
_PUBLIC = ("lapwing", "lapwing.baselines", "lapwing.graph", "lapwing.model_selection", "lapwing.prepare", "lapwing.active")


class Documented:
    """Mixin that links an estimator's picture in notebooks to its page of the documentation."""

    _doc_link_module = "lapwing"
    _doc_link_template = f"{DOCUMENTATION}/reference/python/generated/{{public_name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        name = type(self).__name__
        homes = (home for home in _PUBLIC if getattr(import_module(home), name, None) is type(self))
        return {"public_name": f"{next(homes, 'lapwing')}.{name}"}
