"""Defines three steps for pytest-bdd: any Given, any When and any Then of the step vocabulary.

pytest-bdd matches every registered step before each step of a scenario, which took a quarter of a run with some hundred
definitions. Here each keyword has one registered step, which finds its definition in a table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from pytest_bdd import given, then, when
from pytest_bdd.parsers import StepParser

from dra_conformance.engine.vocabulary import StepDefinition
from dra_conformance.engine.world import World
from dra_conformance.steps.catalogue import catalogue

_Table = list[list[str]]


class AnySentence(StepParser):
    """Matches every sentence of one keyword. The field `call` is the step function with its arguments."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self._definitions: list[StepDefinition] | None = None
        self._found: dict[str, StepDefinition | None] = {}

    def is_matching(self, name: str) -> bool:
        """Whether the text of a step matches a definition."""
        return self._find(name) is not None

    def parse_arguments(self, name: str) -> dict[str, Any] | None:
        """Return the call for a matching text, or None."""
        found = self._find(name)
        return {"call": partial(found.function, **(found.parser.parse_arguments(name) or {}))} if found else None

    def _find(self, name: str) -> StepDefinition | None:
        if self._definitions is None:
            self._definitions = [definition for definition in catalogue() if definition.kind == self.name]
        # is_matching and parse_arguments both need it, in every scenario with this step.
        if name not in self._found:
            self._found[name] = next((d for d in self._definitions if d.parser.is_matching(name)), None)
        return self._found[name]


@cache
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _run(
    world: World,
    call: partial[object],
    docstring: str | None,
    datatable: _Table | None,
    *,
    prerequisite: bool = False,
) -> None:
    arguments = {"docstring": docstring, "datatable": datatable}
    given_here = {key: value for key, value in arguments.items() if value is not None and key in _parameters(call.func)}
    try:
        call(world, **given_here)
    except Exception as error:
        world.judge_error(error, prerequisite=prerequisite)
        raise


@given(AnySentence("given"))
def _(world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None) -> None:
    """Run the definition of a Given step."""
    _run(world, call, docstring, datatable, prerequisite=True)


@when(AnySentence("when"))
def _(world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None) -> None:
    """Run the definition of a When step."""
    _run(world, call, docstring, datatable)


@then(AnySentence("then"))
def _(world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None) -> None:
    """Run the definition of a Then step."""
    _run(world, call, docstring, datatable)
