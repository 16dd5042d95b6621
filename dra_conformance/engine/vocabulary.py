"""The step definitions: patterns of the steps of feature files, each bound to one function.

`given`, `when` and `then` declare a pattern. Its parser knows quoted names and ignores the rule suffix `[DRA-001]`.
The catalogue of all patterns is read from the step modules. pytest-bdd is given one step for each keyword, which finds
its pattern in a table: pytest-bdd tries all steps before each step of a scenario, and with some hundred of them this
took a quarter of a run's time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeVar

from pytest_bdd.parsers import StepParser

from dra_conformance.core import features
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import RULE_SUFFIX, Scenario

F = TypeVar("F", bound=Callable[..., Any])

_FIELD = re.compile(r'("?)\{(\w+)(?::(d|f|word|object))?\}("?)')
# An object as steps name it: `ResourceClaim "mine"`, or by its pod: `BindRequest of pod "train"`.
_OBJECT = r'[A-Z]\w+ (?:of pod )?"[^"]*"'
DEFINITIONS = "__dra_steps__"
"""The attribute of a step module that has its definitions."""


class Sentence(StepParser):
    """The pattern of a step, with fields.

    `"{name}"` is a quoted text, `{n:d}` an integer, `{x:f}` a number, `{w:word}` a word, and `{o:object}` an object of
    the API: `ResourceClaim "mine"` or `BindRequest of pod "train"`.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._convert: dict[str, Callable[[str], object]] = {}
        pattern, last = "", 0
        for found in _FIELD.finditer(text):
            pattern += re.escape(text[last : found.start()])
            before, name, kind, after = found.groups()
            body = {"d": r"-?\d+", "f": r"-?\d+(?:\.\d+)?", "word": r"\S+", "object": _OBJECT}.get(kind, "")
            body = body or ('[^"]*' if before and after else ".+?")
            if kind in ("d", "f"):
                self._convert[name] = int if kind == "d" else float
            pattern += f"{re.escape(before)}(?P<{name}>{body}){re.escape(after)}"
            last = found.end()
        self._expression = pattern + re.escape(text[last:])
        first = _FIELD.search(text)
        self.start = text[: first.start()] if first else text
        """What every matching text begins with."""
        first_word, blank, _ = self.start.partition(" ")
        self.first_word = first_word if blank or not first else ""
        """The first word of every matching text; empty if a field is part of it."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of the texts, compiled when it is needed: a run of one rule needs few of them."""
        return re.compile(self._expression)

    def is_matching(self, name: str) -> bool:
        """Return whether a step's text matches."""
        return self.pattern.fullmatch(RULE_SUFFIX.sub("", name)) is not None

    def parse_arguments(self, name: str) -> dict[str, Any] | None:
        """Return the fields of a matching text, None if it does not match."""
        found = self.pattern.fullmatch(RULE_SUFFIX.sub("", name))
        if found is None:
            return None
        return {key: self._convert.get(key, str)(value) for key, value in found.groupdict().items()}


@dataclass(frozen=True, slots=True)
class StepDefinition:
    """One step definition: its pattern and its function."""

    kind: str
    pattern: str
    purpose: str
    module: str
    function: Callable[..., object]
    parser: Sentence


def _decorator(kind: str, text: str) -> Callable[[F], F]:
    parser = Sentence(text)

    def decorate(function: F) -> F:
        if not (function.__doc__ or "").strip():
            raise SpecificationError(f"the step {text!r} ({function.__module__}) has no docstring")
        definition = StepDefinition(
            kind, text, (function.__doc__ or "").strip().split("\n")[0], function.__module__, function, parser
        )
        # Step functions share the name `_`, so a list in their module keeps them.
        sys.modules[function.__module__].__dict__.setdefault(DEFINITIONS, []).append(definition)
        return function

    return decorate


def given(text: str) -> Callable[[F], F]:
    """Define a Given step. The function takes `world` and the pattern's fields."""
    return _decorator("given", text)


def when(text: str) -> Callable[[F], F]:
    """Define a When step."""
    return _decorator("when", text)


def then(text: str) -> Callable[[F], F]:
    """Define a Then step. A Then step without a check is an error."""
    return _decorator("then", text)


class Vocabulary:
    """All step definitions, by the first word of their patterns.

    Args:
        definitions: the definitions to choose from.
    """

    def __init__(self, definitions: Sequence[StepDefinition]) -> None:
        self._by_word: dict[tuple[str, str], list[StepDefinition]] = {}
        for definition in definitions:
            self._by_word.setdefault((definition.kind, definition.parser.first_word), []).append(definition)

    def matching(self, kind: str, text: str) -> list[StepDefinition]:
        """Return the definitions of a kind that match the text of a step."""
        said = RULE_SUFFIX.sub("", text)
        # A pattern that begins with a field has no first word.
        first = said.split(" ", 1)[0]
        candidates = [*self._by_word.get((kind, first), ()), *(self._by_word.get((kind, ""), ()) if first else ())]
        # Most patterns begin differently, which is decided without a regular expression.
        return [one for one in candidates if said.startswith(one.parser.start) and one.parser.pattern.fullmatch(said)]


def words(text: str) -> list[str]:
    """Split a field at its commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def check(scenarios: Sequence[Scenario], definitions: Sequence[StepDefinition]) -> None:
    """Raise SpecificationError for the first step that matches no pattern, or more than one."""
    for problem in problems(scenarios, definitions):
        raise problem


def problems(scenarios: Sequence[Scenario], definitions: Sequence[StepDefinition]) -> Iterator[SpecificationError]:
    """Yield an error for every undefined or ambiguous step."""
    vocabulary = Vocabulary(definitions)
    known: dict[tuple[str, str], list[StepDefinition]] = {}
    for scenario in scenarios:
        for step in scenario.steps:
            key = (step.kind, step.text)
            # Many scenarios share a step; each text is matched once.
            if key not in known:
                known[key] = vocabulary.matching(step.kind, step.text)
            matching = known[key]
            if len(matching) == 1:
                continue
            where = f"{features.shown(scenario.path)}:{step.line}"
            if not matching:
                yield SpecificationError(
                    f"{where}: undefined step: {step.kind.capitalize()} {step.text}",
                    hint=_nearest(step.text, definitions),
                )
            elif len(matching) > 1:
                names = " and ".join(f"{d.module.rsplit('.', 1)[-1]}.{d.function.__name__}" for d in matching)
                yield SpecificationError(f"{where}: ambiguous step, matched by {names}: {step.text}")


def _nearest(text: str, definitions: Sequence[StepDefinition]) -> str:
    near = get_close_matches(text, [d.pattern for d in definitions], n=1, cutoff=0.5)
    listing = "`dra-conformance list steps` prints the vocabulary."
    return f"Nearest: {near[0]}. {listing}" if near else listing
