"""Comparison of a third-party program's verdicts with the expected ones, and the retry of unexpected verdicts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from verification import jobs
from verification.jobs import Job, Outcome, worst
from verification.third_party import verify
from verification.third_party.catalogue import Breaks, ThirdParty, load
from verification.third_party.verify import job_of, unexpected

BREAKS = (Breaks(rule="DRA-1", reason="a known fault"),)
EXPECTED = {row.rule: row for row in BREAKS}


def row(status: str) -> dict[str, str]:
    return {"status": status, "reason": "so"}


def program(*options: str, breaks: tuple[Breaks, ...] = ()) -> ThirdParty:
    return ThirdParty(name="p", version="v0", program="p", options=options, breaks=breaks)


def test_expected_verdicts_are_no_difference() -> None:
    rules = {"DRA-1": row("failed"), "DRA-2": row("passed"), "DRA-3": row("not-applicable")}
    assert unexpected(rules, EXPECTED) == {}


@pytest.mark.parametrize("status", ["failed", "error", "untestable", "flaky"])
def test_a_new_fault_is_unexpected(status: str) -> None:
    found = unexpected({"DRA-1": row("failed"), "DRA-2": row(status)}, EXPECTED)
    assert found == {"DRA-2": f"new: DRA-2 {status}: so"}


@pytest.mark.parametrize("status", ["passed", "not-applicable", "filtered"])
def test_a_fault_that_is_gone_is_unexpected(status: str) -> None:
    assert unexpected({"DRA-1": row(status)}, EXPECTED) == {"DRA-1": "gone: DRA-1 is no longer broken (a known fault)"}


def test_both_results_of_a_race_in_the_program_are_expected() -> None:
    race = {"DRA-1": Breaks(rule="DRA-1", reason="a race", by_chance=True)}
    for status in ("passed", "failed"):
        assert unexpected({"DRA-1": row(status)}, race) == {}
    for status in ("untestable", "not-applicable", "filtered"):
        assert "DRA-1" in unexpected({"DRA-1": row(status)}, race)


def test_another_status_is_unexpected() -> None:
    assert "DRA-1" in unexpected({"DRA-1": row("untestable")}, EXPECTED)


def test_a_rule_without_a_verdict_is_unexpected() -> None:
    assert unexpected({}, {}, among=["DRA-2"]) == {"DRA-2": "new: DRA-2 not judged: "}


def test_unexpected_verdicts_are_verified_again_after_all_other_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    both_run, done, order = threading.Barrier(2, timeout=60), threading.Semaphore(0), list[str]()

    def parallel(name: str, found: Mapping[str, str]) -> Job:
        def work() -> Outcome:
            both_run.wait()
            done.release()
            return Outcome(0, (name,), found)

        def retry(_: Mapping[str, str]) -> Outcome:
            assert done.acquire(timeout=0), "a retry starts after every job has ended"
            order.append(name)
            return Outcome(1 if found.get("DRA-2") == "still" else 0, (f"{name} again",))

        return Job(name, 1, work, retry)

    assert worst(jobs.run([parallel("a", {"DRA-1": "once"}), parallel("b", {"DRA-2": "once"})])) == 0
    assert sorted(order) == ["a", "b"]
    assert worst(jobs.run([parallel("c", {}), parallel("d", {"DRA-2": "still"})])) == 1
    assert "d again" in capsys.readouterr().out


def test_slow_jobs_start_first() -> None:
    order: list[str] = []

    def job(name: str, takes: float) -> Job:
        def work() -> Outcome:
            order.append(name)
            return Outcome(0, (name,))

        return Job(name, takes, work)

    jobs.run([job("quick", 1), job("slow", 300), job("middling", 20)], parallel=1)
    assert order == ["slow", "middling", "quick"]


def test_the_output_ends_with_the_jobs_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    job = jobs.of_command("probes", 1, [sys.executable, "-c", "print('2 differ'); raise SystemExit(3)"])
    assert worst(jobs.run([job])) == 1
    printed = capsys.readouterr().out
    assert printed.endswith("verification: failed: probes; their output again:\n== probes\n2 differ\n")
    assert printed.count("2 differ") == 2


def test_a_run_without_a_report_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert worst(jobs.run([job_of(program("--profile", "no-such-profile"), bin_dir=Path("nowhere"))])) == 1
    assert "p: no report" in capsys.readouterr().out


def test_a_run_without_a_report_is_repeated_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[dict[str, dict[str, str]] | str] = ["p: no report", {"DRA-1": row("failed")}]
    monkeypatch.setattr(verify, "verdicts", lambda *_, **__: answers.pop(0))
    job = job_of(program(breaks=BREAKS), bin_dir=Path("nowhere"))
    assert worst(jobs.run([job])) == 0
    assert "unstable: p: no report; as expected when verified alone" in capsys.readouterr().out
    answers += ["p: no report", {"DRA-1": row("failed"), "DRA-2": row("failed")}]
    assert worst(jobs.run([job])) == 1
    assert "new: DRA-2 failed" in capsys.readouterr().out


def test_a_subset_is_repeated_as_a_subset(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[dict[str, dict[str, str]] | str] = [
        "p: no report",
        {"DRA-1": row("filtered"), "DRA-3": row("passed")},
    ]
    monkeypatch.setattr(verify, "verdicts", lambda *_, **__: answers.pop(0))
    one = msgspec.structs.replace(program(breaks=BREAKS), ci=("--focus", "x"))
    assert worst(jobs.run([job_of(one, bin_dir=Path("nowhere"), subset=True)])) == 0
    assert "gone" not in capsys.readouterr().out


def test_a_run_that_selects_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    job = job_of(program("--scheduler", "none", "--profile", "scheduler-core"), bin_dir=Path("nowhere"))
    assert worst(jobs.run([job])) == 1
    assert "exit code 5" in capsys.readouterr().out


def test_an_unexpected_fault_is_verified_again_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = "allocation/scheduling#devices-of-a-node-are-allocated-for-this-node"
    options = ("--scheduler", "exec:sleep 1000", "--focus", f"^{scenario} ", "--patience", "0.2")
    assert worst(jobs.run([job_of(program(*options), bin_dir=Path("nowhere"))])) == 1
    printed = capsys.readouterr().out
    assert "p, verified again alone:" in printed
    assert "new: DRA-141" in printed


def test_every_description_is_complete() -> None:
    """A program that the suite runs against names its options; every known fault has a reason."""
    for one in load():
        assert one.options or one.verified_by != "suite", one.name
        assert all(broken.reason for broken in one.breaks), one.name


def test_a_result_is_kept_as_soon_as_it_is_final() -> None:
    kept: list[tuple[str, dict[str, str]]] = []

    def keep(one: jobs.Finished) -> None:
        kept.append((one.name, dict(one.statuses)))

    def retry(_: Mapping[str, str]) -> Outcome:
        assert [name for name, _ in kept] == ["plain"], "the other job's result does not wait for a retry"
        return Outcome(0, ("again",), statuses={"DRA-2": "passed"})

    doubtful = Outcome(0, ("first",), {"DRA-2": "new"}, {"DRA-1": "passed", "DRA-2": "failed"})
    jobs.run([Job("doubtful", 2, lambda: doubtful, retry), Job("plain", 1, lambda: Outcome(0, ("ok",)))], keep=keep)
    assert kept == [("plain", {}), ("doubtful", {"DRA-1": "passed", "DRA-2": "passed"})]


def test_a_run_without_a_verdict_names_its_problems_and_errors() -> None:
    report = {
        "problems": [{"message": "the driver did not start"}],
        "scenarios": [
            {"id": "a", "status": "error", "reason": "a worker crashed"},
            {"id": "b", "status": "failed", "reason": "a finding"},
        ],
    }
    assert verify._errors(report) == "  the driver did not start\n  a: a worker crashed\n"


def test_a_summary_counts_rules_of_which_only_a_part_was_run() -> None:
    def rule(name: str, status: str, *scenarios: str) -> dict[str, object]:
        return {"id": name, "status": status, "reason": "", "level": "MUST", "scenarios": list(scenarios)}

    report = {
        "rules": [rule("A-1", "passed", "a"), rule("A-2", "filtered", "a", "b"), rule("A-3", "filtered", "b")],
        "scenarios": [{"id": "a", "status": "passed"}, {"id": "b", "status": "filtered"}],
    }
    summary = verify._summary(load()[0], verify._rows(report))
    assert summary.endswith(": 1 rules passed, 0 broken, 1 passed in part")
