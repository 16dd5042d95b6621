"""Gives the step vocabulary to pytest-bdd: any Given, any When and any Then.

pytest-bdd matches every registered step before each step of a scenario, which took a quarter of a run with some hundred
definitions, and inspects every fixture of pytest for it. Here each keyword has one step, which finds its definition in
a table. pytest-bdd also uses the parsed feature files that the plan was made from, and does not parse them again.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from pytest_bdd.gherkin_parser import GherkinDocument
from pytest_bdd.parser import FeatureParser, Step
from pytest_bdd.parsers import StepParser
from pytest_bdd.steps import StepFunctionContext

from dra_conformance.core import gherkin_documents
from dra_conformance.engine.vocabulary import StepDefinition, Vocabulary
from dra_conformance.engine.world import World
from dra_conformance.pytest_plugin.session import SCENARIO
from dra_conformance.steps.catalogue import catalogue

_Table = list[list[str]]
_bdd = importlib.import_module("pytest_bdd.scenario")  # the package also has a function of this name
_search: Callable[[pytest.FixtureRequest, Step], StepFunctionContext | None] = _bdd.get_step_function
_parse = FeatureParser._parse_feature_file


class AnySentence(StepParser):
    """Matches every sentence of one keyword. The field `call` is the step function with its arguments."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self._vocabulary: Vocabulary | None = None
        self._found: dict[str, StepDefinition | None] = {}

    def is_matching(self, name: str) -> bool:
        """Whether the text of a step matches a definition."""
        return self._find(name) is not None

    def parse_arguments(self, name: str) -> dict[str, Any] | None:
        """Return the call for a matching text, or None."""
        found = self._find(name)
        return {"call": partial(found.function, **(found.parser.parse_arguments(name) or {}))} if found else None

    def _find(self, name: str) -> StepDefinition | None:
        if self._vocabulary is None:
            self._vocabulary = Vocabulary(catalogue())
        # is_matching and parse_arguments both need it, in every scenario with this step.
        if name not in self._found:
            self._found[name] = next(iter(self._vocabulary.matching(self.name, name)), None)
        return self._found[name]


@cache
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _run(
    world: World,
    call: partial[object],
    docstring: str | None = None,
    datatable: _Table | None = None,
    *,
    prerequisite: bool = False,
) -> None:
    """Run the definition of a step."""
    arguments = {"docstring": docstring, "datatable": datatable}
    given_here = {key: value for key, value in arguments.items() if value is not None and key in _parameters(call.func)}
    world.judge_start()
    try:
        call(world, **given_here)
    except Exception as error:
        world.checks.raise_background_error()
        world.judge_error(error, prerequisite=prerequisite)
        raise
    world.checks.raise_background_error()


def _run_given(
    world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None
) -> None:
    """Run the definition of a Given step."""
    _run(world, call, docstring, datatable, prerequisite=True)


for _function in (_run, _run_given):
    # Otherwise pytest-bdd inspects the function twice for each step.
    _function.__dict__["__signature__"] = inspect.signature(_function)
_STEPS = {
    "given": StepFunctionContext(type="given", step_func=_run_given, parser=AnySentence("given")),
    "when": StepFunctionContext(type="when", step_func=_run, parser=AnySentence("when")),
    "then": StepFunctionContext(type="then", step_func=_run, parser=AnySentence("then")),
}


def _step_function(request: pytest.FixtureRequest, step: Step) -> StepFunctionContext | None:
    """Return the step of a keyword for scenarios of the suite; other scenarios of this pytest run have their own."""
    found = _STEPS.get(step.type) if SCENARIO in request.node.stash else None
    return found if found is not None and found.parser.is_matching(step.name) else _search(request, step)


def _document_of(parser: FeatureParser) -> GherkinDocument:
    """Return the document of a file of the suite; pytest-bdd parses the files of others, with its own errors."""
    path = Path(parser.abs_filename)
    return (
        GherkinDocument.from_dict(gherkin_documents.document(path))
        if gherkin_documents.is_parsed(path)
        else _parse(parser)
    )


def install() -> None:
    """Replace how pytest-bdd finds the definition of a step, and how it reads a feature file."""
    vars(_bdd)["get_step_function"] = _step_function
    FeatureParser._parse_feature_file = _document_of  # type: ignore[method-assign, assignment]
