"""Tests of `dra-conformance merge`: shards give the report of one run, and what does not belong together is refused."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from command_line import FEATURES

from dra_conformance.cli import call
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.events import (
    Event,
    EventLog,
    PlannedScenario,
    RunFinished,
    RunPlanned,
    RunStarted,
    ScenarioFinished,
    read,
)
from dra_conformance.core.shard import MOST
from dra_conformance.core.status import Status, Verdict
from dra_conformance.report import Report, files, merged
from dra_conformance.report.merge import merge, write
from dra_conformance.report.verify import verify

replace = msgspec.structs.replace
WORDS = (
    "--features",
    "probe",
    "--focus",
    "^probe/",
    "--profile",
    "claim-lifecycle",
    "--progress",
    "none",
    "--report",
    "json",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the reports of one run, `whole`, and of its three shards, `1` to `3`."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "probe").mkdir()
    for name in ("good", "bad"):
        (folder / "probe" / f"{name}.feature").write_text(FEATURES[name])
    shards = [("whole", ()), *((str(index), ("--shard", f"{index}/3")) for index in (1, 2, 3))]
    for out, more in shards:
        words = [sys.executable, "-m", "dra_conformance", "run", *WORDS, "--patience", "0.5", "--out", out, *more]
        assert subprocess.run(words, cwd=folder, check=False, timeout=120).returncode in (0, 1)
    return folder


@pytest.fixture
def runs(finished: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a copy of that folder, which is the working directory: the options have a relative path."""
    shutil.copytree(finished, tmp_path / "copy")
    with contextlib.chdir(tmp_path / "copy"):
        yield Path()


def three() -> list[Path]:
    return [Path(name) for name in "123"]


def results(report: Report) -> object:
    """Return what two reports of the same behaviour have in common."""
    rules = [(rule.id, rule.status, rule.limits, rule.scenarios) for rule in report.rules]
    scenarios = [(one.id, one.status, one.failed_step, len(one.checks)) for one in report.scenarios]
    return report.verdict, report.exit_code, report.statistics, report.profile_results, rules, scenarios


def forge(folder: Path, change: Callable[[Event], Event | None]) -> None:
    """Write a log anew, with numbers and a chain that fit, and the report that follows from it."""
    changed = [change(event) for event in read(folder / files.EVENTS)]
    log = EventLog(folder / files.EVENTS)
    for event in changed:
        if event is not None:
            log.append(event)
    log.close()
    files.write_all(files.from_folder(folder), folder)


def of_start(change: Callable[[RunStarted], RunStarted]) -> Callable[[Event], Event]:
    return lambda event: change(event) if isinstance(event, RunStarted) else event


def of_rows(change: Callable[[PlannedScenario], PlannedScenario]) -> Callable[[Event], Event]:
    def changed(event: Event) -> Event:
        if isinstance(event, RunPlanned):
            return replace(event, scenarios=tuple(change(row) for row in event.scenarios))
        return event

    return changed


@pytest.mark.usefixtures("runs")
def test_three_shards_have_the_report_of_one_run() -> None:
    one = files.from_folder(Path("whole"))
    logs, report = merge(list(reversed(three())))
    assert results(report) == results(one)
    assert report.verdict is Verdict.NOT_CONFORMANT
    assert [(each.index, each.count) for each in report.shards] == [(1, 3), (2, 3), (3, 3)]
    assert sum(each.ran for each in report.shards) == 5
    assert "merged from 3 shards" in report.caveats
    write(logs, report, Path("all"))
    assert verify(Path("all")) == (report, [])
    for name in files.NAMES:
        assert (Path("all") / name).is_file()
    for each in report.shards:
        log = Path("all") / each.events
        assert log.read_bytes() == (Path(str(each.index)) / files.EVENTS).read_bytes()
        assert log.stat().st_mode & 0o777 == 0o600
    failed = next(one for one in report.scenarios if one.status is Status.FAILED)
    assert (Path("all") / failed.objects).is_file()
    assert failed.evidence.startswith(f"{Path(failed.objects).parts[0]}/{Path(failed.objects).parts[1]}/events.jsonl#")


@pytest.mark.usefixtures("runs")
def test_the_command_merges_and_the_other_commands_read_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["merge", "1", "2", "3", "--out", "all"]) == ExitCode.FAILURES
    assert "merged from 3 shards" in capsys.readouterr().out
    assert call(["verify", "all"]) == ExitCode.OK
    assert call(["report", "all", "--format", "files"]) == ExitCode.OK
    assert call(["summary", "all"]) == ExitCode.OK
    assert call(["verify", "all"]) == ExitCode.OK
    assert call(["again", "probe", "all"]) == ExitCode.USAGE
    assert "all/shards/1" in capsys.readouterr().err
    # The next report in this folder replaces it.
    assert call(["merge", "2", "--partial", "--out", "all"]) in (ExitCode.OK, ExitCode.FAILURES)
    assert [path.name for path in Path("all/shards").iterdir()] == ["2"]
    files.clear(Path("all"))
    assert list(Path("all").iterdir()) == []


@pytest.mark.usefixtures("runs")
def test_the_shards_of_a_merged_report_are_not_overwritten_by_their_own_merge() -> None:
    logs, report = merge(three())
    with pytest.raises(UsageError, match="--out 1 is where the report of a shard is"):
        write(logs, report, Path("1"))
    assert verify(Path("1"))[1] == []


@pytest.mark.usefixtures("runs")
def test_a_missing_shard_is_refused_unless_the_report_may_be_partial() -> None:
    with pytest.raises(UsageError, match="shard 2 of 3 is missing"):
        merge([Path("1"), Path("3")])
    passing = [name for name in "123" if files.from_folder(Path(name)).exit_code == ExitCode.OK]
    _, report = merge([Path(name) for name in passing], partial=True)
    assert report.verdict is Verdict.PARTIAL
    assert report.caveats[0].startswith(f"shards {', '.join(passing)} of 3: ")


@pytest.mark.usefixtures("runs")
def test_a_shard_that_is_there_twice_is_refused() -> None:
    shutil.copytree("2", "again")
    for partial in (False, True):
        with pytest.raises(UsageError, match="2 and again are both shard 2/3"):
            merge([*three(), Path("again")], partial=partial)


@pytest.mark.usefixtures("runs")
def test_a_run_that_is_not_a_shard_is_refused() -> None:
    with pytest.raises(UsageError, match="whole is the report of a run that is not a shard"):
        merge([Path("whole"), Path("1")])


@pytest.mark.usefixtures("runs")
def test_a_shard_that_did_not_end_is_refused() -> None:
    Path("3/report.json").unlink()
    with pytest.raises(UsageError, match=r"3 has no finished run: report\.json is missing"):
        merge(three())


def with_option(name: str, value: object) -> Callable[[Event], Event]:
    return of_start(lambda started: replace(started, options={**started.options, name: value}))


def with_suite(**changes: str) -> Callable[[Event], Event]:
    return of_start(lambda started: replace(started, suite=replace(started.suite, **changes)))


FOREIGN: dict[str, tuple[Callable[[Event], Event | None], str]] = {
    "another version": (with_suite(version="9.9"), "the suite has version '0.* and '9.9'"),
    "other rules": (with_suite(rules_sha256="0" * 64), "the suite has rules"),
    "other features": (with_suite(features_sha256="0" * 64), "the suite has features"),
    "another option": (with_option("patience", 7.0), "the options have patience 0.5 and 7.0"),
    "another number of shards": (with_option("shard", "3/4"), "1 is shard 1/3, and 3 is shard 3/4|2 is shard"),
    "another target": (
        of_start(lambda started: replace(started, target=replace(started.target, kubernetes_version="1.35"))),
        "the target has kubernetesVersion '1.37' and '1.35'",
    ),
    "no plan": (lambda event: None if isinstance(event, RunPlanned) else event, "3 has no plan of a run"),
    "another plan": (of_rows(lambda row: replace(row, name="x")), "they have different plans"),
    "scenarios of others": (
        of_rows(lambda row: replace(row, status=None, reason="") if row.shard else row),
        "its plan says otherwise",
    ),
    "own scenarios left out": (
        of_rows(
            lambda row: (
                replace(row, status=Status.FILTERED, reason="runs in shard 3 of 3 (--shard)") if row.shard == 3 else row
            )
        ),
        "its plan says otherwise",
    ),
    "an impossible shard": (of_rows(lambda row: replace(row, shard=9) if row.shard else row), "have different plans"),
    "an option that is no shard": (with_option("shard", ["1/3"]), "must be I/N"),
    "a result without steps": (
        lambda event: None if event.scenario and not isinstance(event, ScenarioFinished) else event,
        "3 is not verified",
    ),
}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("name", FOREIGN)
def test_a_forged_shard_or_one_of_another_run_is_refused(name: str) -> None:
    change, message = FOREIGN[name]
    with contextlib.suppress(UsageError):  # the log of the forger may have no report
        forge(Path("3"), change)
    with pytest.raises(UsageError, match=message) as error:
        merge(three())
    assert error.value.hint


@pytest.mark.usefixtures("runs")
def test_two_shards_with_one_run_id_are_refused() -> None:
    first = files.from_folder(Path("1")).run_id
    forge(Path("3"), of_start(lambda started: replace(started, run_id=first)))
    with pytest.raises(UsageError, match="both have the run id"):
        merge(three())


@pytest.mark.usefixtures("runs")
def test_a_changed_log_or_report_of_a_shard_is_refused() -> None:
    log = Path("3/events.jsonl")
    content = log.read_bytes()
    log.write_bytes(content.replace(b'"seed":', b'"seed":1', 1))
    with pytest.raises(UsageError, match="3 is not verified: line 2 does not continue the line before it"):
        merge(three())
    log.write_bytes(content)
    report = Path("3/report.json")
    report.write_bytes(report.read_bytes().replace(b'"verdict": "partial"', b'"verdict": "conformant"'))
    report.write_bytes(report.read_bytes().replace(b'"verdict": "not-conformant"', b'"verdict": "conformant"'))
    with pytest.raises(UsageError, match="3 is not verified: verdict"):
        merge(three())


@pytest.mark.usefixtures("runs")
def test_verify_checks_every_log_of_a_merged_report(capsys: pytest.CaptureFixture[str]) -> None:
    write(*merge(three()), Path("all"))
    log = Path("all/shards/2/events.jsonl")
    content = log.read_bytes()
    log.write_bytes(content.replace(b'"seed":', b'"seed":1', 1))
    assert call(["verify", "all"]) == ExitCode.FAILURES
    assert "differs: shards/2: line 2 does not continue the line before it" in capsys.readouterr().out
    log.write_bytes(content)
    os.rename("all/shards/2", "all/shards/7")
    assert any("shards/7: the log is that of shard 2/3" in each for each in verify(Path("all"))[1])
    shutil.rmtree("all/shards/7")
    assert any(each.startswith(("verdict", "shards")) for each in verify(Path("all"))[1])


def _interrupted(event: Event) -> Event:
    return replace(event, interrupted=True) if isinstance(event, RunFinished) else event


def _killed(event: Event) -> Event | None:
    return None if isinstance(event, RunFinished) else event


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("change", [_interrupted, _killed])
def test_an_interrupted_shard_limits_the_verdict(change: Callable[[Event], Event | None]) -> None:
    forge(Path("1"), change)
    report = merge(three())[1]
    assert (report.interrupted, report.exit_code) == (True, ExitCode.INTERRUPTED)


def test_hostile_logs_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / name for name in "12"]
    for folder in folders:
        folder.mkdir()
        (folder / "report.json").write_text("{}")
        (folder / files.EVENTS).write_bytes(b'{"kind":"run-started","options":' + b'{"a":' * 100_000 + b"\n")
    with pytest.raises(UsageError, match="nested too deeply"):
        merge(folders)
    with pytest.raises(UsageError, match=f"at most {MOST} shards"):
        merged.read_all([tmp_path] * (MOST + 1))
    for folder in folders:
        (folder / files.EVENTS).unlink()
        os.mkfifo(folder / files.EVENTS)
    with pytest.raises(UsageError, match=r"events\.jsonl is missing"):
        merge(folders)
    monkeypatch.setattr(files, "LARGEST_LOG", 100)
    for folder in folders:
        (folder / files.EVENTS).unlink()
        (folder / files.EVENTS).write_bytes(b"x" * 101)
    with pytest.raises(UsageError, match="larger than 100 bytes"):
        merge(folders)


@pytest.mark.usefixtures("runs")
def test_files_that_lead_out_of_a_shard_are_not_copied(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    Path("1/logs").mkdir(exist_ok=True)
    os.symlink(secret, "1/logs/a.log")
    os.mkfifo("1/logs/b.log")
    write(*merge(three()), Path("all"))
    assert not {path.name for path in Path("all/shards/1").rglob("*")} & {"a.log", "b.log"}
