"""Test the table of known bugs: its rows name rules, scenarios and mutants that exist, and the page is current."""

from __future__ import annotations

import pytest

from dra_conformance.core import features
from dra_conformance.engine import mutation
from verification.known_bugs.page import PAGE, render
from verification.known_bugs.table import Fix, Section, load

SECTIONS = load()
ROWS = [pytest.param(fix, id=f"{one.title}: {fix.source}") for one in SECTIONS for fix in one.fixes]


@pytest.mark.parametrize("fix", ROWS)
def test_row_has_one_outcome(fix: Fix) -> None:
    assert fix.problems() == []


def test_rows_name_scenarios_of_their_rules_and_mutants_of_their_rules() -> None:
    rules_of = {one.id: set(one.rules) for one in features.read_all()}
    judged = set().union(*rules_of.values())
    rule_of = {one.id: one.rule for one in mutation.load()}
    for fix in (fix for one in SECTIONS for fix in one.fixes):
        assert set(fix.rules) <= judged, fix.source
        for scenario in fix.scenarios:
            assert rules_of.get(scenario, set()) & set(fix.rules), (fix.source, scenario)
        for mutant in fix.mutants:
            assert rule_of.get(mutant) in fix.rules, (fix.source, mutant)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.title)
def test_every_fix_has_one_row(section: Section) -> None:
    numbers = [fix.source for fix in section.fixes]
    assert sorted(set(numbers)) == sorted(numbers)


def test_page_is_current() -> None:
    assert PAGE.read_text() == render(SECTIONS), "run python -m verification.known_bugs --write"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"observable": ()}, "observable"),
        ({"needs": ""}, "needs"),
        ({"needs": "", "mutants": ("m",)}, "without a rule"),
        ({"not_observable": "log only"}, "observable"),
    ],
)
def test_contradicting_row_is_reported(change: dict[str, object], problem: str) -> None:
    row: dict[str, object] = {"observable": ("api",), "needs": "a scenario", **change}
    fix = Fix(source="#1", wrong="w", affected="1.36", fixed_in="1.37.0", **row)  # type: ignore[arg-type]
    assert any(problem in line for line in fix.problems())
