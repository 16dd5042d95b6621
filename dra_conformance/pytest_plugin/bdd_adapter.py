"""The three steps that pytest-bdd sees: any Given, any When, any Then of the vocabulary.

Before each step of a scenario pytest-bdd looks at every step that it knows; with some hundred sentences that was a
quarter of a run's time. So each keyword has one step here, which finds its sentence in a table. A pytest plugin while
the suite is collected.
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
    """Every sentence of one keyword. The field `call` of a matching text is its function with the fields filled in."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self._definitions: list[StepDefinition] | None = None
        self._found: dict[str, StepDefinition | None] = {}

    def is_matching(self, name: str) -> bool:
        """Whether a step's text is one of the sentences."""
        return self._find(name) is not None

    def parse_arguments(self, name: str) -> dict[str, Any] | None:
        """What to call for a matching text."""
        found = self._find(name)
        return {"call": partial(found.function, **(found.parser.parse_arguments(name) or {}))} if found else None

    def _find(self, name: str) -> StepDefinition | None:
        if self._definitions is None:
            self._definitions = [definition for definition in catalogue() if definition.kind == self.name]
        if name not in self._found:
            self._found[name] = next((d for d in self._definitions if d.parser.is_matching(name)), None)
        return self._found[name]


@cache
def _wants(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _run(world: World, call: partial[object], docstring: str | None, datatable: _Table | None) -> None:
    given_below = {"docstring": docstring, "datatable": datatable}
    call(world, **{key: value for key, value in given_below.items() if value is not None and key in _wants(call.func)})


@given(AnySentence("given"))
def _(world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None) -> None:
    """Bring about what the sentence says."""
    _run(world, call, docstring, datatable)


@when(AnySentence("when"))
def _(world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None) -> None:
    """Do what the sentence says."""
    _run(world, call, docstring, datatable)


@then(AnySentence("then"))
def _(world: World, call: partial[object], docstring: str | None = None, datatable: _Table | None = None) -> None:
    """Check what the sentence says."""
    _run(world, call, docstring, datatable)
