"""Tests of `dra-conformance verify` with logs that a forger wrote anew, with a chain and a report of their own."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from command_line import FEATURES

from dra_conformance.cli import call
from dra_conformance.core.errors import SuiteError, UsageError
from dra_conformance.core.events import (
    ApiWrite,
    CheckMade,
    Event,
    EventLog,
    KubeletCall,
    RunFinished,
    RunPlanned,
    RunStarted,
    ScenarioFinished,
    ScenarioStarted,
    StepStarted,
    read,
)
from dra_conformance.core.status import Status
from dra_conformance.report import files
from dra_conformance.report.verify import signed_by, verify

replace = msgspec.structs.replace
GOOD = "probe/good#a-node-is-there-n[1]"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of a few scenarios."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "probe").mkdir()
    (folder / "probe" / "good.feature").write_text(FEATURES["good"])
    # One profile: each test computes the report of all planned scenarios twice.
    words = ["run", "--features", "probe", "--focus", "^probe/", "--profile", "claim-lifecycle", "--progress", "none"]
    subprocess.run([sys.executable, "-m", "dra_conformance", *words], cwd=folder, check=True, timeout=120)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder."""
    shutil.copytree(finished, tmp_path / "copy")
    return tmp_path / "copy"


def verified(folder: Path) -> list[str]:
    with contextlib.chdir(folder):  # the options have a relative path of the features
        return verify(Path("dra-report"))[1]


def forge(folder: Path, change: Callable[[list[Event]], list[Event]]) -> None:
    """Write the log anew, with numbers and a chain that fit, and the report that follows from it."""
    path = folder / "dra-report" / files.EVENTS
    events = change(list(read(path)))
    log = EventLog(path)
    for event in events:
        log.append(event)
    log.close()
    files.write_all(files.from_folder(path.parent), path.parent)


def test_a_run_verifies(run: Path) -> None:
    assert verified(run) == []


def test_a_run_that_verifies_has_a_bundle_until_its_report_is_changed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.chdir(run):
        assert call(["bundle", "dra-report", "--out", "dra"]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed[1:] == [
            "This run is no evidence of conformance; every file of the bundle says so.",
            "wrote the bundle in dra",
        ]
        names = {path.name for path in Path("dra").iterdir()}
        assert names == {"e2e.log", "results.json", "junit.xml", "junit_01.xml", "PRODUCT-fragment.yaml"}
        # The digest of the log ties the bundle to the run.
        assert files.from_folder(Path("dra-report")).events_sha256 in Path("dra/e2e.log").read_text()
        Path("dra-report/report.json").write_text("{}")
        assert call(["bundle", "dra-report", "--out", "other"]) == 1
        assert not Path("other").exists()


def test_the_forger_of_these_tests_writes_logs_that_verify(run: Path) -> None:
    forge(run, lambda events: events)
    assert verified(run) == []


def test_a_changed_line_breaks_the_chain(run: Path) -> None:
    path = run / "dra-report" / files.EVENTS
    path.write_bytes(path.read_bytes().replace(b'"ok":true', b'"ok":false', 1))
    assert "does not continue the line before it" in verified(run)[0]


def every(kind: type[Event], change: Callable[..., Event]) -> Callable[[list[Event]], list[Event]]:
    return lambda events: [change(event) if isinstance(event, kind) else event for event in events]


def first(kind: type[Event], change: Callable[..., Event | None]) -> Callable[[list[Event]], list[Event]]:
    def changed(events: list[Event]) -> list[Event]:
        number = next(n for n, event in enumerate(events) if isinstance(event, kind) and event.scenario in ("", GOOD))
        found = change(events[number])
        return [*events[:number], *([found] if found else []), *events[number + 1 :]]

    return changed


def without(*kinds: type[Event]) -> Callable[[list[Event]], list[Event]]:
    return lambda events: [event for event in events if not isinstance(event, kinds)]


def planned(**changes: object) -> Callable[[RunPlanned], Event]:
    """Change the row of GOOD in the plan."""
    return lambda plan: replace(
        plan, scenarios=tuple(replace(row, **changes) if row.id == GOOD else row for row in plan.scenarios)
    )


def optional(plan: RunPlanned) -> Event:
    return replace(plan, rules={name: replace(rule, level="SHOULD") for name, rule in plan.rules.items()})


def by_hand(events: list[Event]) -> list[Event]:
    """Return the log of a run that passes everything, with checks only."""
    started = next(event for event in events if isinstance(event, RunStarted))
    plan = next(event for event in events if isinstance(event, RunPlanned))
    found: list[Event] = [started, plan]
    for row in plan.scenarios:
        if row.status is None:
            rules = row.rules
            found.append(ScenarioStarted(scenario=row.id, name=row.name, where=row.where, rules=rules))
            for event in events:
                if event.scenario == row.id and isinstance(event, (StepStarted, CheckMade)):
                    found.append(event)
            found.append(ScenarioFinished(scenario=row.id, status=Status.PASSED))
    return [*found, RunFinished()]


FORGERIES: dict[str, tuple[Callable[[list[Event]], list[Event]], str]] = {
    "checks written by hand": (by_hand, "checks before any call"),
    "no call to the API server": (without(ApiWrite, KubeletCall), "checks before any call"),
    "two runs in one log": (lambda events: [*events, *events], "2 starts of a run"),
    "no plan": (without(RunPlanned), "0 plans of a run"),
    "no start": (lambda events: [events[1], events[0], *events[2:]], "does not begin with the start of a run"),
    "events after the end": (lambda events: [*events, events[-1]], "goes on after the end"),
    "a scenario left out of the plan": (
        first(RunPlanned, lambda plan: replace(plan, scenarios=plan.scenarios[1:])),
        "the plan lacks",
    ),
    "an unknown scenario": (
        first(RunPlanned, lambda plan: replace(plan, scenarios=(*plan.scenarios, replace(plan.scenarios[0], id="x")))),
        "the plan has x, which the suite does not have",
    ),
    "a rule made optional": (first(RunPlanned, optional), "with another level"),
    "other rules for a scenario": (first(RunPlanned, planned(rules=())), "other rules"),
    "fewer checks for a scenario": (first(RunPlanned, planned(checks={"DRA-100": 0})), "another number of checks"),
    "a scenario that was left out but ran": (
        first(RunPlanned, planned(status=Status.FILTERED, reason="x")),
        "was not planned to run",
    ),
    "other rules in the catalogue": (
        first(RunStarted, lambda start: replace(start, suite=replace(start.suite, rules_sha256="0"))),
        "other rules or feature files",
    ),
    "other feature files": (
        first(RunStarted, lambda start: replace(start, suite=replace(start.suite, features_sha256="0"))),
        "other rules or feature files",
    ),
    "a step left out": (first(StepStarted, lambda step: None), "no such step there"),
    "another step": (first(StepStarted, lambda step: replace(step, text="it works")), "no such step there"),
    "a check of another step": (first(CheckMade, lambda check: replace(check, step="Then it works")), "current step"),
    "a check of another rule": (first(CheckMade, lambda check: replace(check, rules=("DRA-001",))), "other rules"),
    "a check of no rule": (first(CheckMade, lambda check: replace(check, rules=())), "other rules"),
    "a check outside of scenarios": (first(CheckMade, lambda check: replace(check, scenario="")), "outside"),
    "a scenario that does not start": (without(ScenarioStarted), "has not started"),
    "a scenario that starts twice": (
        lambda events: [each for event in events for each in ([event] * (1 + isinstance(event, ScenarioStarted)))],
        "starts a second time",
    ),
}


@pytest.mark.parametrize(("change", "finding"), FORGERIES.values(), ids=FORGERIES)
def test_a_forged_log_does_not_verify(run: Path, change: Callable[[list[Event]], list[Event]], finding: str) -> None:
    forge(run, change)
    assert any(finding in text for text in verified(run)), verified(run)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=60)
    (path.parent / "signers").write_text(f"vendor@example.com {path.with_suffix('.pub').read_text()}")
    (path.parent / "no-signers").write_text("")
    return path


def test_a_signed_report_names_its_signer(run: Path, key: Path) -> None:
    folder = run / "dra-report"
    files.write_signature(files.from_folder(folder), folder, key)
    assert signed_by(folder, key.parent / "signers") == "vendor@example.com"
    with pytest.raises(SuiteError):
        signed_by(folder, key.parent / "no-signers")
    with pytest.raises(UsageError, match="no such file"):
        signed_by(folder, key.parent / "none")


def test_a_signature_is_not_valid_for_another_report(run: Path, key: Path) -> None:
    folder = run / "dra-report"
    files.write_signature(files.from_folder(folder), folder, key)
    path = folder / "report.json"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(SuiteError):
        signed_by(folder, key.parent / "signers")
    (folder / "report.json.sig").unlink()
    with pytest.raises(SuiteError, match="not signed"):
        signed_by(folder, key.parent / "signers")
