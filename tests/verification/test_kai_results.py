"""The page of KAI's results agrees with the expected results: defects, levels, programs, and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_conformance.core import assets, features
from dra_conformance.core.rules import Catalogue
from verification.third_party.catalogue import ThirdParty, load

_DOCS = Path(__file__).parents[2] / "docs/explanation"
PAGE = (_DOCS / "kai-results.md").read_text(encoding="utf-8")
RELEASES = (_DOCS / "kai-0.12-and-0.17.md").read_text(encoding="utf-8")
NOT_COVERED = (assets.fixtures() / "not_covered.yaml").read_text(encoding="utf-8")
AS_SCHEDULER = "kai, scheduler-core"
KAI = [one for one in load() if one.name.startswith("kai") and one.name != AS_SCHEDULER]
BY_CHANCE = {"KAI-231"}
"""On the page, and not in the files: the expected results skip its scenario, which KAI passes in most runs."""
_RULE = re.compile(r"[A-Z]+-\d+[a-z]?")


def cells(section: str = "Defects") -> Iterator[list[str]]:
    """Yield the rows of the table of rules in a section."""
    table = PAGE.partition(f"## {section}\n")[2].partition("\n#")[0]
    for line in table.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and _RULE.match(row[0]):
            yield row


def broken(program: ThirdParty) -> set[str]:
    return {one.rule for one in program.breaks}


def named(name: str) -> ThirdParty:
    return next(one for one in KAI if one.name == name)


ROWS = list(cells())


def test_the_page_names_the_rules_of_the_expected_results_and_no_others() -> None:
    on_page = [rule for row in ROWS for rule in _RULE.findall(row[0])]
    assert len(on_page) == len(set(on_page))
    assert set(on_page) - BY_CHANCE == set().union(*map(broken, KAI))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_defect_has_the_level_of_its_rules_and_the_program_that_breaks_them(row: list[str]) -> None:
    catalogue = Catalogue.load()
    rules = set(_RULE.findall(row[0]))
    assert {catalogue.find(rule).level for rule in rules} == {row[1]}
    assert rules - BY_CHANCE <= broken(named(f"kai-{row[2]}"))


@pytest.mark.parametrize("name", ["kai-binder", "kai-scheduler", "kai"])
def test_the_page_has_the_number_of_broken_rules(name: str) -> None:
    catalogue = Catalogue.load()
    levels = [catalogue.find(rule).level for rule in broken(named(name))]
    must, should = levels.count("MUST"), levels.count("SHOULD")
    row = next(line for line in PAGE.splitlines() if f"| `{name}.yaml` |" in line)
    assert row.endswith(f"| {must + should}: {must} MUST, {should} SHOULD |")


def test_the_page_names_the_rules_of_kubernetes_that_kai_breaks_as_its_scheduler() -> None:
    on_page = {rule for row in cells("As a scheduler of Kubernetes") for rule in _RULE.findall(row[0])}
    assert on_page == broken(next(one for one in load() if one.name == AS_SCHEDULER))


def test_kai_as_a_whole_breaks_each_rule_that_its_scheduler_breaks_alone() -> None:
    assert broken(named("kai-scheduler")) <= broken(named("kai"))


def test_each_hazard_has_rules_that_scenarios_judge() -> None:
    table = PAGE.partition("## Hazards\n")[2].partition("\n#")[0]
    rows = {row[1]: set(_RULE.findall(row[2])) for line in table.splitlines() if (row := line.split("|"))[1:]}
    hazards = {name.split(":")[0].strip(): rules for name, rules in rows.items() if ":" in name}
    assert [*hazards] == [f"H{number}" for number in range(1, 9)]
    judged = {rule for one in features.read_all() for rule in one.rules}
    for hazard, rules in hazards.items():
        assert rules, hazard
        assert rules <= judged, hazard


@pytest.mark.parametrize("name", ["kai-binder", "kai-scheduler", "kai"])
def test_on_kube_apiserver_the_same_rules_are_broken(name: str) -> None:
    real = named(f"{name}, real API server")
    assert broken(real) == broken(named(name))
    assert ("--control-plane", "binaries") in zip(real.options, real.options[1:], strict=False)


def test_each_defect_is_in_both_releases_or_in_one() -> None:
    defects = RELEASES.partition("## Defects\n")[2]
    both = defects.partition("### In both releases\n")[2].partition("\n#")[0]
    old = defects.partition("### In 0.12.0 only\n")[2].partition("\n#")[0]
    listed = _RULE.findall(both) + _RULE.findall(old)
    assert len(listed) == len(set(listed))
    assert set(listed) == {rule for row in ROWS for rule in _RULE.findall(row[0])}


def test_the_rules_of_the_comparison_are_judged_or_not_covered_for_a_reason() -> None:
    catalogue = Catalogue.load()
    in_parentheses = {rule for text in re.findall(r"\((KAI-[^)]*)\)", RELEASES) for rule in _RULE.findall(text)}
    not_covered = set(re.findall(r"^- id: (\S+)$", NOT_COVERED, re.MULTILINE))
    assert in_parentheses <= not_covered
    assert set(_RULE.findall(RELEASES)) - in_parentheses <= set(catalogue)
