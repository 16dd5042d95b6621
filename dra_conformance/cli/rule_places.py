"""Collects every place of a rule: catalogue row, scenarios, steps, mutants, code and third-party programs."""

from __future__ import annotations

import re

import msgspec

from dra_conformance.core import assets, documents, features
from dra_conformance.core.features import Scenario
from dra_conformance.engine import code_places, mutation
from dra_conformance.engine.code_places import Place, Target
from dra_conformance.steps.catalogue import catalogue


class ScenarioPlace(msgspec.Struct, frozen=True):
    """A scenario that tests the rule. `checks` are its Then steps for this rule."""

    id: str
    name: str
    place: Place
    checks: tuple[str, ...]


class StepPlace(msgspec.Struct, frozen=True):
    """A step definition that the scenarios use."""

    pattern: str
    place: Place


class MutantPlace(msgspec.Struct, frozen=True):
    """A mutant of the rule. `targets` is the code that it replaces."""

    id: str
    purpose: str
    place: Place
    targets: tuple[Target, ...]


class ThirdPartyResult(msgspec.Struct, frozen=True):
    """A third-party program that breaks the rule."""

    program: str
    version: str
    status: str
    reason: str
    file: str


class RulePlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Every place of one rule."""

    catalogue: Place | None
    profiles: tuple[str, ...]
    scenarios: tuple[ScenarioPlace, ...]
    steps: tuple[StepPlace, ...]
    mutants: tuple[MutantPlace, ...]
    code: tuple[Target, ...]
    third_party: tuple[ThirdPartyResult, ...]


def find(rule: str) -> RulePlaces:
    """Return the places of a rule."""
    scenarios = [scenario for scenario in features.read_all() if rule in scenario.rules]
    mutants = _mutants(rule)
    return RulePlaces(
        catalogue=_row(rule),
        profiles=tuple(dict.fromkeys(name for scenario in scenarios for name in scenario.tags.profiles)),
        scenarios=tuple(_scenario(rule, scenario) for scenario in scenarios),
        steps=_steps(scenarios),
        mutants=mutants,
        code=tuple(dict.fromkeys(target for mutant in mutants for target in mutant.targets)),
        third_party=_third_party(rule),
    )


def _row(rule: str) -> Place | None:
    pattern = re.compile(rf"^\s*- \{{?\s*id:\s*{re.escape(rule)}\b", re.MULTILINE)
    for path in sorted((assets.fixtures() / "rules").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if found := pattern.search(text):
            return Place(assets.relative(path), text.count("\n", 0, found.start()) + 1)
    return None


def _scenario(rule: str, scenario: Scenario) -> ScenarioPlace:
    checks = [step.text for step in scenario.steps if step.kind == "then" and (not step.rules or rule in step.rules)]
    return ScenarioPlace(
        scenario.id, scenario.name, Place(assets.relative(scenario.path), scenario.line), tuple(checks)
    )


def _steps(scenarios: list[Scenario]) -> tuple[StepPlace, ...]:
    texts = dict.fromkeys((step.kind, step.text) for scenario in scenarios for step in scenario.steps)
    found: dict[str, StepPlace] = {}
    definitions = catalogue()
    for kind, text in texts:
        for definition in definitions:
            if definition.kind == kind and definition.parser.is_matching(text):
                pattern = f"{kind.capitalize()} {definition.pattern}"
                found[pattern] = StepPlace(pattern, code_places.of_function(definition.function))
    return tuple(found.values())


def _mutants(rule: str) -> tuple[MutantPlace, ...]:
    found = [mutant for mutant in mutation.load() if mutant.rule == rule] if assets.mutants().is_dir() else []
    return tuple(
        MutantPlace(
            mutant.id, mutant.purpose, code_places.of_function(mutant.apply), tuple(code_places.targets(mutant))
        )
        for mutant in found
    )


def _third_party(rule: str) -> tuple[ThirdPartyResult, ...]:
    found: list[ThirdPartyResult] = []
    for path in sorted(assets.third_party_results().glob("*.yaml")):
        program = documents.load(path)
        for row in program.get("breaks") or ():
            if row["rule"] == rule:
                found.append(
                    ThirdPartyResult(
                        program["name"],
                        str(program.get("version") or ""),
                        str(row.get("status") or "failed"),
                        " ".join(row["reason"].split()),
                        assets.relative(path),
                    )
                )
    return tuple(found)
