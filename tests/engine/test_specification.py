"""Tests of completeness: every rule has a scenario and a mutant, every sentence is used, every file parses."""

from __future__ import annotations

import re
import unittest.mock
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dra_api.releases import DEFAULT_RELEASE
from dra_conformance.core import assets, documents, features, manifests, process_pool
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.optional_features import FEATURES
from dra_conformance.core.rules import Catalogue
from dra_conformance.core.rules.window import Version, outside
from dra_conformance.engine import mutation, plan, vocabulary
from dra_conformance.steps.catalogue import catalogue as step_catalogue

# Sentences for features outside of this project; tests/oracle/test_judge_live.py runs them.
ALLOWED_UNUSED = frozenset({'no valid allocation of claim "{claim}" exists'})


@cache
def scenarios() -> list[features.Scenario]:
    return features.read_all()


@cache
def catalogue() -> Catalogue:
    return Catalogue.load()


def test_features_and_catalogue_fit_together() -> None:
    plan.check_specification(scenarios(), catalogue())


def test_every_step_is_defined_once() -> None:
    assert [str(problem) for problem in vocabulary.problems(scenarios(), step_catalogue())] == []


def test_every_rule_has_a_scenario() -> None:
    judged = {rule for scenario in scenarios() for rule in scenario.rules}
    assert sorted(set(catalogue()) - judged) == []


def test_every_rule_has_a_mutant() -> None:
    """A fault can be planted only in what the reference has."""
    not_ours = {name for name, feature in FEATURES.items() if not feature.in_reference}
    judged = {name for name, rule in catalogue().items() if rule.feature not in not_ours}
    assert sorted(judged - {one.rule for one in mutation.load()}) == []


def test_every_mutant_breaks_a_rule_that_a_scenario_judges() -> None:
    judged: dict[str, set[str]] = defaultdict(set)
    for scenario in scenarios():
        for rule in scenario.rules:
            judged[rule] |= {scenario.id, scenario.id.split("[")[0]}
    lost = [
        one.id
        for one in mutation.load()
        if not judged[one.rule] or (one.scenario and one.scenario not in judged[one.rule])
    ]
    assert lost == []


def test_every_mutant_runs_with_a_release_in_which_its_rule_holds() -> None:
    """A rule that ended before the default release is not applicable there, so that nothing kills its mutant."""
    known = catalogue()
    wrong = {}
    for one in mutation.load():
        release = Version.parse(one.options.get("kubernetes_version", DEFAULT_RELEASE))
        if why := outside(release, known[one.rule].since, known[one.rule].until):
            wrong[one.id] = f"{one.rule} {why}"
    assert wrong == {}


class _Rehearsal(mutation.Patch):
    """Compares the signatures of a mutant and its target, and patches nothing."""

    def __init__(self) -> None:
        super().__init__(Path())

    def _put(self, target: str, holder: Any, name: str, original: Any, new: Any, kind: Any = None) -> None:
        stand_in = SimpleNamespace()
        super()._put(target, stand_in, name, original, new)


def _rehearse(mutants: list[mutation.Mutant]) -> object:
    told: list[str] = []
    for one in mutants:
        try:
            with unittest.mock.patch("fake_nvml.build.variant", return_value=Path()):
                one.apply(_Rehearsal())
        except SpecificationError as error:
            told.append(f"{one.id}: {error.message}")
    return told


def test_every_mutant_can_be_called_like_its_target() -> None:
    """A mutant with other parameters raises TypeError, and no scenario judges it."""
    # In a process of its own: some mutants change more than they patch.
    [(_, told)] = process_pool.each([mutation.load()], _rehearse, jobs=1, limit=100.0)
    assert told == []


def test_every_sentence_is_used() -> None:
    said = {(step.kind, features.RULE_SUFFIX.sub("", step.text)) for s in scenarios() for step in s.steps}
    by_pattern: dict[str, list[vocabulary.StepDefinition]] = defaultdict(list)
    for one in step_catalogue():
        by_pattern[one.pattern].append(one)
    unused = [
        sentence
        for sentence, definitions in by_pattern.items()
        if not any(kind == d.kind and d.parser.pattern.fullmatch(text) for d in definitions for kind, text in said)
    ]
    assert sorted(set(unused) - ALLOWED_UNUSED) == []


def test_every_chapter_has_depth_where_it_was_promised() -> None:
    rules: dict[str, set[str]] = defaultdict(set)
    for scenario in scenarios():
        rules[scenario.chapter].update(scenario.rules)
    assert len(rules["claims"] | rules["bind_requests"] | rules["driver"]) >= 90
    assert {"mig", "imex", "taints", "health"} <= set(rules)


# Inventories with mistakes, also of YAML.
BROKEN = assets.fixtures() / "nvml/refused_inventories.yaml"


@pytest.mark.parametrize(
    "path", sorted({*assets.fixtures().rglob("*.yaml")} - {BROKEN}), ids=lambda p: str(p.relative_to(assets.fixtures()))
)
def test_every_fixture_parses(path: Path) -> None:
    if path.parent.name == "rules":
        assert documents.load(path)["rules"]
        return
    text = manifests.fill_text(path.read_text(), lambda kind, alias: f"{kind}-{alias}" if alias else kind)
    objects = documents.load_all(text, where=path.name)
    assert objects
    for obj in objects:
        # The kinds of companions are those of their own CRDs.
        if not {"inventories", "companions"} & set(path.parts) and "apiVersion" in obj:
            assert manifests.resource_of(obj).kind == obj["kind"]


@pytest.mark.parametrize(
    "path", sorted(assets.features().rglob("*.feature")), ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_features_follow_the_style(path: Path) -> None:
    text = path.read_text()
    for docstring in re.findall(r'"""[^\n]*\n(.*?)\n\s*"""', text, re.DOTALL):
        assert docstring.count("\n") < 10, "YAML of more than ten lines belongs into fixtures/"
    assert "\t" not in text
    description = re.search(r"Feature: [^\n]+\n((?:  [^\n@]+\n)+)", text)
    assert description, "a feature begins with a sentence or two on what it is about"
    names = [scenario.name for scenario in features.read_file(path) if not scenario.example]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_a_scenario_has_rules_of_one_range_of_driver_releases() -> None:
    """A rule of all releases would be untestable in a scenario that is not applicable to one of them."""
    mixed = {}
    for scenario in scenarios():
        ranges = {rule: (catalogue()[rule].driver_since, catalogue()[rule].driver_until) for rule in scenario.rules}
        if len(set(ranges.values())) > 1:
            mixed[scenario.id] = ranges
    assert not mixed
