"""How the verdicts of peers are compared with what is known, and what happens to those that differ."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from verification import judging
from verification.judging import Job, Outcome, differences

KNOWN = {"DRA-1": {"rule": "DRA-1", "reason": "a known fault"}}


def row(status: str) -> dict[str, str]:
    return {"status": status, "reason": "so"}


def test_what_is_as_known_is_no_difference() -> None:
    assert differences({"DRA-1": row("failed"), "DRA-2": row("passed"), "DRA-3": row("not-applicable")}, KNOWN) == {}


@pytest.mark.parametrize("status", ["failed", "error", "untestable", "flaky"])
def test_a_new_fault_is_told(status: str) -> None:
    found = differences({"DRA-1": row("failed"), "DRA-2": row(status)}, KNOWN)
    assert found == {"DRA-2": f"new: DRA-2 {status}: so"}


@pytest.mark.parametrize("status", ["passed", "not-applicable", "filtered"])
def test_a_fault_that_is_gone_is_told(status: str) -> None:
    assert differences({"DRA-1": row(status)}, KNOWN) == {"DRA-1": "gone: DRA-1 is no longer broken (a known fault)"}


def test_another_kind_of_fault_is_told() -> None:
    assert "DRA-1" in differences({"DRA-1": row("untestable")}, KNOWN)


def test_a_rule_that_was_not_judged_again_still_counts() -> None:
    assert differences({}, {}, among=["DRA-2"]) == {"DRA-2": "new: DRA-2 not judged: "}


def test_what_differs_is_judged_again_alone_when_all_others_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    both_run, done, order = threading.Barrier(2, timeout=60), threading.Semaphore(0), list[str]()

    def beside(name: str, differing: Mapping[str, str]) -> Job:
        def work() -> Outcome:
            both_run.wait()
            done.release()
            return Outcome(0, (name,), differing)

        def again(_: Mapping[str, str]) -> Outcome:
            assert done.acquire(timeout=0), "everybody has ended before somebody is judged again"
            order.append(name)
            return Outcome(1 if differing.get("DRA-2") == "still" else 0, (f"{name} again",))

        return Job(name, 1, work, again)

    assert judging.run([beside("a", {"DRA-1": "once"}), beside("b", {"DRA-2": "once"})]) == 0
    assert sorted(order) == ["a", "b"]
    assert judging.run([beside("c", {}), beside("d", {"DRA-2": "still"})]) == 1
    assert "d again" in capsys.readouterr().out


def test_the_slow_ones_start_first() -> None:
    order: list[str] = []

    def job(name: str, takes: float) -> Job:
        def work() -> Outcome:
            order.append(name)
            return Outcome(0, (name,))

        return Job(name, takes, work)

    judging.run([job("quick", 1), job("slow", 300), job("middling", 20)], beside=1)
    assert order == ["slow", "middling", "quick"]


def test_a_command_that_fails_fails_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    job = judging.of_command("probes", 1, [sys.executable, "-c", "print('2 differ'); raise SystemExit(3)"])
    assert judging.run([job]) == 1
    told = capsys.readouterr().out
    assert told.endswith("peers: not as it should be: probes; once more:\n== probes\n2 differ\n"), "the end tells why"
    assert told.count("2 differ") == 2


def test_a_run_without_a_report_fails_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    peer = {"name": "nobody", "version": "v0", "options": ["--profile", "no-such-profile"]}
    assert judging.run([judging.of_peer(peer, bin_dir=Path("nowhere"))]) == 1
    assert "nobody: no report" in capsys.readouterr().out


def test_a_run_without_a_report_is_tried_again_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[dict[str, dict[str, str]] | str] = ["peers: p: no report", {"DRA-1": row("failed")}]
    monkeypatch.setattr(judging, "verdicts", lambda *_, **__: answers.pop(0))
    peer = {"name": "p", "version": "v0", "breaks": list(KNOWN.values())}
    assert judging.run([judging.of_peer(peer, bin_dir=Path("nowhere"))]) == 0
    assert "unstable: peers: p: no report; not so when it was judged again alone" in capsys.readouterr().out
    answers += ["peers: p: no report", {"DRA-1": row("failed"), "DRA-2": row("failed")}]
    assert judging.run([judging.of_peer(peer, bin_dir=Path("nowhere"))]) == 1
    assert "new: DRA-2 failed" in capsys.readouterr().out


def test_a_run_that_judges_nothing_fails_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    peer = {"name": "nobody", "version": "v0", "options": ["--scheduler", "none", "--profile", "scheduler-core"]}
    assert judging.run([judging.of_peer(peer, bin_dir=Path("nowhere"))]) == 1
    assert "exit code 5" in capsys.readouterr().out


def test_a_fault_that_nobody_knew_is_asked_again_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = "allocation/scheduling#devices-of-a-node-are-allocated-for-this-node"
    options = ["--scheduler", "exec:sleep 1000", "--focus", f"^{scenario} ", "--patience", "0.2"]
    peer = {"name": "nobody", "version": "v0", "options": options}
    assert judging.run([judging.of_peer(peer, bin_dir=Path("nowhere"))]) == 1
    told = capsys.readouterr().out
    assert "nobody, judged again alone:" in told
    assert "new: DRA-141" in told
