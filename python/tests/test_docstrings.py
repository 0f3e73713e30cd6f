"""Docstrings are complete: numpydoc, by which the pages of the reference are made, finds no fault in them."""

import inspect

import public
import pytest

validate = pytest.importorskip("numpydoc.validate").validate

#: What is no fault here: quotes after text, summaries that begin with a noun, and sections that are not always needed.
LEFT_OUT = {
    "GL02", "SS05",
    "ES01",  # an extended summary
    "SA01",  # See Also
    "EX01",  # examples; classes and functions have some
}  # fmt: skip
#: Classes that only the package makes: their attributes are documented, not how they are made.
MADE_HERE = {"lapwing.audit.Audit", "lapwing.audit.ValueAudit", "lapwing.graph.Graph"} | {
    f"lapwing.display.{kind}Display" for kind in ("LabelMap", "Confidence", "Reliability", "LossCurve", "Compare")
}

#: Parameters whose description begins with a Greek letter, which is always small.
GREEK = {"alpha", "beta", "ridge"}

MEMBERS = [pytest.param(member, id=member.name) for member in public.own(public.members())]


@pytest.mark.parametrize("member", MEMBERS)
def test_docstrings_have_what_their_pages_need(member):
    left_out = LEFT_OUT | ({"PR01"} if member.name in MADE_HERE else set())
    faults = [text for code, text in validate(member.name)["errors"] if code not in left_out]
    assert [text for text in faults if "capital" not in text or text.split('"')[1] not in GREEK] == []


@pytest.mark.parametrize("member", [pytest.param(member, id=member.name) for member in public.objects()])
def test_classes_and_functions_have_examples(member):
    assert "\nExamples\n--------\n" in inspect.getdoc(member.value)
