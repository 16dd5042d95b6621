"""Tests of the repeated runs on a busy machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verification.stability import load, page, runs
from verification.stability.runs import Run


def run(number: int, *, setting: str = "reference", lag: str = "", **not_passed: str) -> Run:
    return Run(
        setting=setting,
        date=f"2026-11-23 06:0{number}",
        commit="c093651",
        lag=lag,
        load=20.0 + number,
        seconds=100.0 + number,
        passed=1110 - len(not_passed),
        not_passed=not_passed,
    )


def row(ident: str, status: str, *, ran: bool = True) -> dict[str, Any]:
    return {"id": ident, "status": status, "evidence": "events.jsonl#1-2" if ran else ""}


def test_a_run_counts_the_scenarios_that_ran() -> None:
    report = {
        "scenarios": [
            row("good", "passed"),
            row("bad", "failed"),
            row("unclear", "untestable"),
            row("impossible", "untestable", ran=False),
            row("other", "not-applicable", ran=False),
        ]
    }
    made = runs.once(lambda: report, setting="reference", lag="0.03", wanted_load=0.0, commit="c093651")
    assert (made.passed, made.not_passed) == (1, {"bad": "failed", "unclear": "untestable"})
    assert (made.setting, made.lag, made.commit) == ("reference", "0.03", "c093651")


def test_a_run_without_a_report_is_not_passed() -> None:
    made = runs.once(lambda: "exit code 3", setting="reference", lag="", wanted_load=0.0, commit="")
    assert (made.passed, made.not_passed) == (0, {"no verdict": "exit code 3"})


def test_only_a_status_that_changes_is_unstable() -> None:
    always, sometimes = {"always": "failed"}, {"always": "failed", "sometimes": "untestable"}
    assert runs.unstable([run(1, **always), run(2, **sometimes), run(3, **always)]) == {
        "sometimes": {"passed": 2, "untestable": 1}
    }


def test_results_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert runs.read(path) == []
    made = [run(1), run(2, bad="failed")]
    for one in made:
        runs.append(one, path)
    assert runs.read(path) == made


def test_the_page_has_every_run_and_the_unstable_scenarios() -> None:
    text = page.page([run(1), run(2, bad="failed"), run(3, setting="kube-scheduler", lag="0.03")])
    assert "2 runs, 1 of them with a scenario that did not pass." in text
    assert "| 1 | 2026-11-23 06:01 | c093651 | 21.0 | 1110 | 0 | 101 |" in text
    assert "| 2 | 2026-11-23 06:02 | c093651 | 22.0 | 1109 | `bad` failed | 102 |" in text
    assert "| kube-scheduler | 0.03 | 1 | 2026-11-23 06:03 | 23.0 | 1110 | 103 | 0 |" in text
    assert "| `bad` | 1 failed, 1 passed |" in text


def test_the_page_follows_from_the_committed_results() -> None:
    assert page.FILE.read_text(encoding="utf-8") == page.page(runs.read())


def test_processes_are_added_up_to_the_wanted_load() -> None:
    assert [load.to_add(20, present) for present in (0.4, 18.6, 25.0)] == [20, 1, 0]


def test_the_processes_end_with_the_run() -> None:
    with load.spinning(2) as processes:
        assert [process.poll() for process in processes] == [None, None]
    assert all(process.returncode for process in processes)
