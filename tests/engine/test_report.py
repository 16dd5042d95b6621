"""Tests of the report: statuses, verdict and exit code, computed from events."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import pytest
from invented_runs import InventedRun

from dra_conformance.cli import cli as program
from dra_conformance.cli import run
from dra_conformance.core.configuration import from_mapping, options_of
from dra_conformance.core.errors import ExitCode, SpecificationError
from dra_conformance.core.events import ProblemFound
from dra_conformance.core.options import plain
from dra_conformance.core.status import ProfileStatus, Status, Verdict
from dra_conformance.report import build
from dra_conformance.report.files import render as render_files
from dra_conformance.report.terminal import render

WAIVER = {"rule": "DRA-001", "owner": "ann", "reason": "fixed in 2.0", "expires": "2026-12-31"}


def test_all_passed_is_conformant() -> None:
    report = build(InventedRun().scenario("a").scenario("b", ["DRA-002"]).events())
    assert (report.verdict, report.exit_code) == (Verdict.CONFORMANT, ExitCode.OK)
    assert report.statistics["planned"] == 2
    assert report.statistics["passed"] == 2
    assert [rule.status for rule in report.rules] == [Status.PASSED, Status.PASSED]


@pytest.mark.parametrize("status", [s.value for s in Status if s is not Status.PASSED])
def test_the_statuses_add_up_to_the_plan(status: str) -> None:
    decided = status in ("filtered", "not-applicable", "not-supported", "waived")
    report = build(InventedRun().scenario("a").scenario("b", ["DRA-002"], status=status, decided=decided).events())
    assert report.statistics["planned"] == 2 == sum(report.statistics[s.value] for s in Status)
    assert report.rule_statistics["planned"] == 2 == sum(report.rule_statistics[s.value] for s in Status)
    assert report.statistics[status] == 1
    assert next(rule for rule in report.rules if rule.id == "DRA-002").reason


@pytest.mark.parametrize(
    ("status", "decided", "verdict", "code"),
    [
        ("failed", False, Verdict.NOT_CONFORMANT, ExitCode.FAILURES),
        ("untestable", False, Verdict.NOT_CONFORMANT, ExitCode.FAILURES),
        ("flaky", False, Verdict.PARTIAL, ExitCode.FAILURES),
        ("error", False, Verdict.INVALID, ExitCode.HARNESS_ERROR),
        ("filtered", True, Verdict.PARTIAL, ExitCode.OK),
        ("not-applicable", True, Verdict.CONFORMANT, ExitCode.OK),
        ("not-supported", True, Verdict.CONFORMANT, ExitCode.OK),
        ("untestable", True, Verdict.NOT_CONFORMANT, ExitCode.FAILURES),
    ],
)
def test_one_bad_scenario_changes_the_verdict(status: str, decided: bool, verdict: Verdict, code: ExitCode) -> None:
    report = build(InventedRun().scenario("a").scenario("b", ["DRA-002"], status=status, decided=decided).events())
    assert (report.verdict, report.exit_code) == (verdict, code)


@pytest.mark.parametrize("status", ["filtered", "not-applicable", "not-supported"])
def test_a_run_without_scenarios_is_invalid(status: str) -> None:
    report = build(InventedRun().scenario("a", status=status, decided=True).events())
    assert (report.verdict, report.exit_code) == (Verdict.INVALID, ExitCode.NOTHING_SELECTED)
    assert build(InventedRun().events()).exit_code == ExitCode.NOTHING_SELECTED


def test_should_rules_are_reported_and_not_scored() -> None:
    invented = InventedRun().scenario("a")
    invented.rule("DRA-002", level="SHOULD")
    report = build(invented.scenario("b", ["DRA-002"], status="failed").events())
    assert (report.verdict, report.exit_code) == (Verdict.CONFORMANT, ExitCode.OK)
    assert report.rule_statistics["failed"] == 1


def test_should_rules_alone_are_not_enough_for_conformant() -> None:
    invented = InventedRun()
    invented.rule("DRA-002", level="SHOULD")
    report = build(invented.scenario("b", ["DRA-002"]).events())
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.BELOW_REQUIRED)


def test_a_rule_has_the_worst_status_of_its_scenarios() -> None:
    report = build(
        InventedRun().scenario("a").scenario("b", status="untestable").scenario("c", status="failed").events()
    )
    assert report.rules[0].status is Status.FAILED
    assert len(report.rules[0].scenarios) == 3


def test_a_failed_scenario_keeps_the_rules_that_it_judged_before_the_failure() -> None:
    invented = InventedRun().scenario(
        "a", ["DRA-001", "DRA-002", "DRA-003"], status="failed", checks=[("DRA-001", True), ("DRA-002", False)]
    )
    by_id = {rule.id: rule.status for rule in build(invented.events()).rules}
    assert by_id == {"DRA-001": Status.PASSED, "DRA-002": Status.FAILED, "DRA-003": Status.UNTESTABLE}


def test_a_passed_scenario_that_did_not_check_one_of_its_rules_is_an_error() -> None:
    report = build(InventedRun().scenario("a", ["DRA-001", "DRA-002"], checks=[("DRA-001", True)]).events())
    assert report.scenarios[0].status is Status.ERROR
    assert "DRA-002" in report.scenarios[0].reason


def test_a_failure_has_a_timeline_and_a_command_that_repeats_it() -> None:
    invented = InventedRun(
        options={"driver": "exec:./p --x", "scheduler": "reference", "fail-fast": True, "focus": ["q"]}
    )
    scenario = build(invented.scenario("a.b", status="failed").events()).scenarios[0]
    assert scenario.repeat == (
        "dra-conformance run --driver 'exec:./p --x' --fail-fast --focus '^probe/a\\.b#a\\.b ' --seed 7"
    )
    assert any("FAILED" in line for line in scenario.timeline)


def test_the_repeat_command_has_the_options_of_the_run() -> None:
    """All options are in the command, including those of the configuration file."""
    given = {
        "driver-name": "nic.example.com",
        "driver": "exec:./p --x 'a b'",
        "feature-gates": ["DRAConsumableCapacity=true", "DRAPartitionableDevices=false"],
        "watch-lag": "0.1,pods=0.05",
        "patience": 7.5,
        "supported-features": ["configuration", "health"],
        "declaration": {
            "valid": ["{apiVersion: nic.example.com/v1, kind: X, text: 'it''s'}"],
            "invalid": ["{apiVersion: nic.example.com/v1, kind: Y}"],
        },
    }
    options = from_mapping(given, where="test")
    invented = InventedRun(options=plain(options))
    repeat = build(invented.scenario("a", status="failed").events()).scenarios[0].repeat
    words = run.command.make_context("run", shlex.split(repeat)[2:], **program.context_settings).params
    again = options_of({name.replace("_", "-"): value for name, value in words.items()})
    assert msgspec.structs.replace(again, focus=(), seed=None) == options


def test_an_interrupted_run_is_partial() -> None:
    invented = (
        InventedRun().scenario("a").scenario("b", ["DRA-002"], ended=False).scenario("c", ["DRA-003"], begun=False)
    )
    report = build(invented.events(interrupted=True))
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.INTERRUPTED)
    assert [scenario.status for scenario in report.scenarios] == [Status.PASSED, Status.FILTERED, Status.FILTERED]
    assert "not finished" in report.scenarios[1].reason
    assert "not reached" in report.scenarios[2].reason


def test_a_run_interrupted_after_its_last_scenario_is_partial() -> None:
    assert build(InventedRun().scenario("a").events(interrupted=True)).verdict is Verdict.PARTIAL


def test_a_log_without_its_end_is_an_interrupted_run() -> None:
    report = build(InventedRun().scenario("a").scenario("b", ["DRA-002"], begun=False).events(finished=False))
    assert report.interrupted
    assert "ended before it was complete" in report.scenarios[1].reason


def test_a_log_without_a_run_is_refused() -> None:
    with pytest.raises(SpecificationError, match="has no run"):
        build([])


def test_a_problem_makes_the_run_invalid_with_its_own_exit_code() -> None:
    invented = (
        InventedRun()
        .scenario("a")
        .emit(ProblemFound(message="no server", hint="", exit=int(ExitCode.TARGET_UNREACHABLE)))
    )
    report = build(invented.events())
    assert (report.verdict, report.exit_code) == (Verdict.INVALID, ExitCode.TARGET_UNREACHABLE)


def waived(status: str, **changes: Any) -> Any:
    invented = InventedRun(options={"waivers": [{**WAIVER, **changes}]})
    return build(invented.scenario("a", status=status).scenario("b", ["DRA-002"]).events())


@pytest.mark.parametrize("status", ["failed", "untestable"])
def test_an_active_waiver_replaces_the_failure_and_the_verdict_is_partial(status: str) -> None:
    report = waived(status)
    assert report.rules[0].status is Status.WAIVED
    assert report.rules[0].reason == "ann: fixed in 2.0 (until 2026-12-31)"
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.OK)


def test_a_waiver_is_active_on_its_last_day() -> None:
    assert waived("failed", expires="2026-06-01").rules[0].status is Status.WAIVED


def test_a_waiver_of_a_rule_that_passes_is_stale() -> None:
    report = waived("passed")
    assert report.waivers[0].state == "stale"
    assert (report.verdict, report.exit_code) == (Verdict.CONFORMANT, ExitCode.STALE_WAIVER)


def test_an_expired_waiver_waives_nothing() -> None:
    report = waived("failed", expires="2026-05-31")
    assert report.waivers[0].state == "expired"
    assert (report.verdict, report.exit_code) == (Verdict.NOT_CONFORMANT, ExitCode.FAILURES)
    assert waived("passed", expires="2026-05-31").exit_code == ExitCode.STALE_WAIVER


@pytest.mark.parametrize(
    ("required", "status", "code"),
    [
        ("conformant", "passed", ExitCode.OK),
        ("conformant", "filtered", ExitCode.BELOW_REQUIRED),
        ("partial", "filtered", ExitCode.OK),
        ("partial", "failed", ExitCode.FAILURES),
    ],
)
def test_a_verdict_below_the_required_one_has_its_own_exit_code(required: str, status: str, code: ExitCode) -> None:
    invented = InventedRun(options={"require": required})
    invented.scenario("a").scenario("b", ["DRA-002"], status=status, decided=status == "filtered")
    assert build(invented.events()).exit_code == code


def test_leftovers_have_their_own_exit_code() -> None:
    report = build(InventedRun().scenario("a").events(leftovers=["namespace x"]))
    assert (report.verdict, report.exit_code, report.leftovers) == (
        Verdict.CONFORMANT,
        ExitCode.LEFTOVERS,
        ("namespace x",),
    )


def test_a_pure_function_of_the_log() -> None:
    events = InventedRun().scenario("a", status="failed").events()
    assert build(events) == build(list(events))


def untestable(*rules: str) -> dict[str, Any]:
    return {"status": "untestable", "decided": True, "rules": rules or ("DRA-001",), "reason": "kills the driver"}


def test_a_scenario_that_cannot_run_does_not_undo_what_others_observed() -> None:
    report = build(InventedRun().scenario("a").scenario("b", **untestable()).events())
    (rule,) = report.rules
    assert (rule.status, rule.limits) == (Status.PASSED, ("1 of 2 scenarios not run: kills the driver",))
    assert report.verdict is Verdict.CONFORMANT


def test_a_scenario_that_ran_and_could_not_judge_its_rule_counts() -> None:
    report = build(InventedRun().scenario("a").scenario("b", status="untestable").events())
    assert report.rules[0].status is Status.UNTESTABLE
    assert report.verdict is Verdict.NOT_CONFORMANT


def test_a_rule_has_its_own_status_in_a_scenario_that_did_not_run() -> None:
    own = {"DRA-002": (Status.NOT_APPLICABLE, "another driver")}
    report = build(InventedRun().scenario("a", **untestable("DRA-001", "DRA-002"), of_rules=own).events())
    assert {rule.id: rule.status for rule in report.rules} == {
        "DRA-001": Status.UNTESTABLE,
        "DRA-002": Status.NOT_APPLICABLE,
    }


@pytest.mark.parametrize("status", ["not-applicable", "not-supported"])
def test_a_profile_without_a_judged_rule_is_not_judged_and_has_exit_code_12(status: str) -> None:
    invented = InventedRun(options={"profile": ["driver-core", "webhook"]}).scenario("a")
    invented.scenario("b", ["DRA-002"], status=status, decided=True, profiles=("webhook",))
    report = build(invented.events())
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.BELOW_REQUIRED)
    assert {one.name: one.status for one in report.profile_results} == {
        "driver-core": ProfileStatus.CONFORMANT,
        "webhook": ProfileStatus.NOT_JUDGED,
    }
    assert report.caveats[0] == "not judged: webhook"


def test_a_selected_profile_without_a_scenario_is_not_judged() -> None:
    report = build(InventedRun(options={"profile": ["driver-core", "webhook"]}).scenario("a").events())
    assert report.exit_code == ExitCode.BELOW_REQUIRED


def test_a_profile_whose_rules_bind_another_component_is_not_judged() -> None:
    invented = InventedRun()
    invented.rule("DRA-001", binds=False)
    report = build(invented.scenario("a").events())
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.BELOW_REQUIRED)
    assert "no rule binds the target" in render(report)


def test_a_profile_that_the_user_left_out_is_no_failure() -> None:
    invented = InventedRun().scenario("a")
    invented.scenario("b", ["DRA-002"], status="filtered", decided=True, profiles=("webhook",))
    report = build(invented.events())
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.OK)
    assert "selection: 1 of 2 scenarios left out" in report.caveats


def test_a_profile_is_judged_by_its_own_scenarios() -> None:
    invented = InventedRun().scenario("a").scenario("b", ["DRA-002"], profiles=("kubelet",))
    report = build(invented.scenario("c", **untestable("DRA-001"), profiles=("kubelet",)).events())
    assert {one.name: one.status for one in report.profile_results} == {
        "driver-core": ProfileStatus.CONFORMANT,
        "kubelet": ProfileStatus.NOT_CONFORMANT,
    }
    assert (report.verdict, report.exit_code) == (Verdict.NOT_CONFORMANT, ExitCode.FAILURES)


def test_reports_say_how_many_binding_rules_were_judged_and_why_others_were_not() -> None:
    invented = InventedRun()
    invented.rule("DRA-003", level="SHOULD")
    invented.rule("DRA-004", binds=False)
    invented.scenario("a").scenario("d", ["DRA-004"])
    invented.scenario("b", ["DRA-002"], status="not-supported", decided=True, reason="health is not declared")
    invented.scenario("c", ["DRA-003"], status="not-supported", decided=True, reason="health is not declared")
    report = build(invented.events())
    (profile,) = report.profile_results
    assert (profile.must.judged, profile.must.binding) == (1, 2)
    assert (profile.all_rules.judged, profile.all_rules.binding) == (1, 3)
    assert [(one.status, one.reason, one.rules) for one in profile.not_judged] == [
        (Status.NOT_SUPPORTED, "health is not declared", ("DRA-002", "DRA-003"))
    ]
    assert "1 of 3 rules judged" in render(report)
    assert "2 not-supported: health is not declared (DRA-002, DRA-003)" in render(report)
    files = {name: content.decode() for name, content in render_files(report).items()}
    assert '"judged": 1' in files["report.json"]
    assert "judged: 1" in files["report.yaml"]
    assert "1 of 3 rules judged" in files["junit.xml"]
    assert '<td class="n">1 of 2</td>\n<td class="n">1 of 3</td>' in files["report.html"]
    assert all("health is not declared" in content for content in files.values())


def test_a_limit_of_the_verdict_does_not_contradict_it() -> None:
    report = build(InventedRun().scenario("good").events())
    target = msgspec.structs.replace(report.target, isolation={"driver": "not isolated: --isolation off"})
    line = "isolation  driver not isolated: --isolation off"
    for verdict, limit in {
        Verdict.PARTIAL: f"{line}; the verdict is at most partial",
        Verdict.NOT_CONFORMANT: line,
        Verdict.INVALID: line,
    }.items():
        lines = render(msgspec.structs.replace(report, target=target, verdict=verdict)).splitlines()
        assert limit in lines


def test_retries_waivers_and_simulated_parts_are_in_the_verdict_line_and_the_reports() -> None:
    """A flaky SHOULD rule does not change the verdict, and shows all the same."""
    invented = InventedRun(options={"waivers": [WAIVER]}, simulated=("control plane", "kubelet"))
    invented.rule("DRA-002", level="SHOULD")
    invented.scenario("a", status="failed").scenario("b", ["DRA-002"], status="flaky")
    report = build(invented.events())
    expected = (
        "retries: 1 scenario passed on a retry only",
        "waived: 1 rule",
        "rehearsal on a simulated control plane, not evidence",
        "simulated: kubelet",
    )
    assert report.caveats == expected
    assert f"({'; '.join(expected)})" in render(report)
    for name, content in render_files(report).items():
        assert "passed on a retry only" in content.decode(), name


def slow_and_fast() -> InventedRun:
    return (
        InventedRun()
        .scenario("fast", ["DRA-001"], seconds=0.25)
        .scenario("slow", ["DRA-001", "DRA-002"], seconds=4)
        .scenario("out", ["DRA-003"], status="filtered", decided=True)
    )


def test_a_rule_has_the_seconds_of_its_scenarios() -> None:
    report = build(slow_and_fast().events())
    assert [(row.duration, row.cpu) for row in report.scenarios] == [(0.25, 0.125), (4, 2), (0, 0)]
    assert {row.id: (row.duration, row.cpu) for row in report.rules} == {
        "DRA-001": (4.25, 2.125),
        "DRA-002": (4, 2),
        "DRA-003": (0, 0),
    }
    assert report.cpu == 2.125


def test_the_slowest_scenarios_and_rules_are_listed_on_request() -> None:
    report = build(slow_and_fast().events())
    plain_text = render(report)
    assert "slowest" not in plain_text
    assert render(report, durations=1).removeprefix(plain_text).splitlines() == [
        "slowest scenarios",
        "   seconds      CPU",
        "      4.00     2.00  probe/slow#slow",
        "slowest rules",
        "   seconds      CPU",
        "      4.25     2.12  DRA-001",
        "scenarios took 4.2 s: 2.1 s of CPU time, 2.1 s of waiting",
    ]
    assert "probe/out" not in render(report, durations=10)


def test_a_run_in_which_nothing_could_be_observed_is_invalid() -> None:
    report = build(InventedRun().scenario("a", **untestable()).events())
    assert (report.verdict, report.exit_code) == (Verdict.INVALID, ExitCode.NOTHING_SELECTED)
