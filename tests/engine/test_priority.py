"""The failure to look at first is the smallest one of the most frequent kind."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from invented_runs import InventedRun

from dra_conformance.core.status import Status
from dra_conformance.report.build import build
from dra_conformance.report.model import Check, Report, ScenarioResult
from dra_conformance.report.priority import First, first_failure

CALL = "+   1.0  CALL   NodePrepareResources claim train"
START = "+   0.1  DRIVER node=n1 action=start"


def failed(name: str, rule: str, observed: str, *timeline: str, message: str = "claim is prepared") -> ScenarioResult:
    check = Check(
        rules=(rule,), status=Status.FAILED, message=message, expected="a", observed=observed, step="Then", event=1
    )
    return ScenarioResult(
        id=name, name=name, chapter="c", where="f:1", rules=(rule,), status=Status.FAILED, checks=(check,),
        timeline=timeline,
    )  # fmt: skip


def report_of(*scenarios: ScenarioResult, levels: Mapping[str, str] | None = None) -> Report:
    run = InventedRun()
    for one in scenarios:
        for rule in one.rules:
            run.rule(rule, level=(levels or {}).get(rule, "MUST"))
        run.scenario(one.name, one.rules, status="failed")
    return msgspec.structs.replace(build(run.events()), scenarios=scenarios)


A, B = (f"device dev-{n} is in use by 0123456{n}-0123-0123-0123-0123456789a{n}" for n in (1, 2))
PANIC = "panic: nil map"


@pytest.mark.parametrize(
    ("scenarios", "first"),
    [
        pytest.param([], None, id="none"),
        pytest.param(
            [failed("pod", "R1", "Pending"), failed("again", "R2", A, CALL, CALL), failed("next", "R3", B, CALL)],
            First("next", "R3", 1),
            id="uids-and-numbers-do-not-differ",
        ),
        pytest.param(
            [failed("restart", "R1", A, START, START, CALL), failed("once", "R2", B, START, CALL, "", "")],
            First("once", "R2", 1),
            id="a-restart-is-more-than-a-call",
        ),
        pytest.param(
            [
                failed("other", "R1", '[{"a": 1}]', CALL, message="not allocated"),
                failed("one", "R2", '[{"b": 1}]', CALL, "more", message="not allocated"),
                failed("two", "R2", "[]", CALL, CALL, message="not allocated"),
            ],
            First("one", "R2", 1),
            id="the-rule-that-fails-in-most-scenarios",
        ),
        pytest.param(
            [failed("silent", "R1", A, START), failed("call", "R2", B, START, CALL)],
            First("call", "R2", 1),
            id="a-call-says-more-than-none",
        ),
    ],
)
def test_the_smallest_failure_of_the_most_frequent_kind(scenarios: list[ScenarioResult], first: First | None) -> None:
    assert first_failure(report_of(*scenarios)) == first


def test_a_must_comes_before_more_shoulds() -> None:
    scenarios = [failed("a", "R1", A, CALL), failed("b", "R2", B, CALL), failed("c", "R3", "no entry", CALL, CALL)]
    report = report_of(*scenarios, levels={"R1": "SHOULD", "R2": "SHOULD"})
    assert first_failure(report) == First("c", "R3", 0)


def test_a_crash_is_one_kind_whatever_was_observed() -> None:
    crashed = [
        msgspec.structs.replace(failed(f"s{number}", f"R{number}", seen, CALL, *[""] * number), crash=PANIC)
        for number, seen in enumerate(("Socket closed", "Connection reset"))
    ]
    report = report_of(failed("other", "R9", "no entry", CALL), *crashed)
    assert first_failure(report) == First("s0", "R0", 1)
