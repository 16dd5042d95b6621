"""The matrix of rules by component."""

from __future__ import annotations

import re

import msgspec

from dra_conformance.core.status import Status
from dra_conformance.report import coverage
from dra_conformance.report.build import build
from dra_conformance.report.html import render
from dra_conformance.report.model import Report
from tests.engine.invented_runs import InventedRun


def report() -> Report:
    run = InventedRun()
    run.rule("DRA-003", level="SHOULD")
    run.rule("DRA-004", binds=False)
    run.scenario("a", ["DRA-001"]).scenario("b", ["DRA-002"], status="failed").scenario("c", ["DRA-003"])
    built = build(run.scenario("d", ["DRA-004"], status="not-applicable", decided=True).events())
    components = {"DRA-004": "kubelet", "DRA-003": "later-component"}
    rules = [msgspec.structs.replace(rule, component=components.get(rule.id, rule.component)) for rule in built.rules]
    return msgspec.structs.replace(built, rules=tuple(rules))


def test_rules_are_counted_by_component_level_and_status() -> None:
    kubelet, driver, other = table = coverage.rows(report())
    assert (driver.component, driver.implementation, driver.under_test) == ("driver", "reference", True)
    assert (driver.judged, driver.must) == (2, 2)
    assert driver.counts[Status.PASSED] == (1, 0)
    assert driver.counts[Status.FAILED] == (1, 0)
    assert (kubelet.component, kubelet.under_test, kubelet.judged, kubelet.must) == ("kubelet", False, 0, 1)
    # Of a version that has another component; its rule is a SHOULD.
    assert (other.component, other.counts[Status.PASSED], other.must) == ("later-component", (0, 1), 0)
    assert coverage.statuses(table) == [Status.FAILED, Status.PASSED, Status.NOT_APPLICABLE]


def test_the_page_has_the_matrix() -> None:
    page = render(report())
    matrix = page[page.index('id="components"') : page.index('<h2 id="rules"')]
    rows = [re.sub(r"<[^>]+>|\s+", " ", row).split() for row in matrix.split("<tr>")[1:]]
    assert rows == [
        ["component", "MUST", "rules", "judged", "failed", "passed", "not-applicable"],
        ["kubelet", ",", "not", "under", "test", "0", "of", "1", "1"],
        ["driver", "2", "of", "2", "1", "1"],
        ["later-component", "0", "of", "0", "+", "1"],
    ]


def test_a_run_without_rules_has_no_rows() -> None:
    empty = build(InventedRun().events())
    assert coverage.rows(empty) == []
    assert 'id="components"' in render(empty)
