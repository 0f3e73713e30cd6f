"""Annotations can all be resolved, and choices are the same in signature, documentation and library."""

import inspect
import re
import sys
import typing

import public
import pytest
import signatures
from declarations import SIGNATURES
from lapwing import _frames, _lapwing, _signatures
from lapwing._model_file import classifiers

FUNCTIONS = [pytest.param(member, function, id=member.name) for member, function in public.functions(public.members())]


def literals(hint):
    """The words that an annotation takes."""
    if typing.get_origin(hint) is typing.Literal:
        return {word for word in typing.get_args(hint) if isinstance(word, str)}
    return set().union(*map(literals, typing.get_args(hint)))


@pytest.mark.parametrize("member, function", FUNCTIONS)
def test_every_parameter_has_an_annotation_that_can_be_resolved(member, function):
    hints = public.hints(function)
    named = inspect.signature(function).parameters.values()
    assert {parameter.name for parameter in named} - {"self", "cls"} <= set(hints) and "return" in hints
    if sys.version_info >= (3, 11):
        for overload in typing.get_overloads(function):
            assert "return" in public.hints(overload)


@pytest.mark.parametrize("member", [pytest.param(member, id=member.name) for member in public.objects()])
def test_annotations_of_attributes_can_be_resolved(member):
    if inspect.isclass(member.value):
        public.hints(member.value)


@pytest.mark.parametrize("member, function", FUNCTIONS)
def test_documented_choices_are_those_of_the_annotation(member, function):
    hints = public.hints(function)
    documented = re.findall(r"^(\w+) : (.*)$", inspect.getdoc(member.value) or "", re.MULTILINE)
    for name, values in documented:
        if name in hints and "{" in values:
            assert literals(hints[name]) == set(re.findall(r'"(.*?)"', values.partition(", default=")[0])), name


@pytest.mark.parametrize("signature", [found for found in SIGNATURES if found.by_hand], ids=lambda signature: signature.name)
def test_signatures_by_hand_are_annotated_as_declared(signature):
    function = next(function for member, function in public.functions(public.members()) if member.path == signature.name)
    hints = public.hints(function)
    declared = signatures.parameters(signature, _lapwing.parameters)
    named = [name for name in inspect.signature(function).parameters if name != "self"]
    assert named == [parameter.name for parameter in declared]
    for parameter in declared:
        annotation = eval(parameter.annotation, vars(_signatures).copy())
        # Python 3.10 adds None where that is the default.
        assert hints[parameter.name] in (annotation, typing.Optional[annotation]), parameter.name


def test_methods_of_label_frame_are_those_that_it_knows():
    assert set(typing.get_args(_frames.Method)) == set(classifiers())
