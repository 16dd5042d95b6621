"""Commands that read the event log of a run: a damaged log is one message with exit code 4."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dra_conformance.cli import call
from dra_conformance.faults import __main__ as faults
from dra_conformance.rbac import __main__ as rbac
from dra_conformance.report import files
from tests.engine.invented_runs import InventedRun

COMMANDS = {
    "report": ("report",),
    "report-html": ("report", "--format", "html"),
    "report-junit": ("report", "--format", "junit"),
    "verify": ("verify",),
    "bundle": ("bundle", "--out", "evidence"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a finished run, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    events = InventedRun().scenario("good").scenario("bad", ["DRA-002"], status="failed").events()
    (run / files.EVENTS).write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    files.write_all(files.from_folder(run), run, ["json"])
    return run


def refused(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command on a folder and return its message, after a check of its form and of the exit code."""
    words = COMMANDS[name]
    code = call([words[0], str(folder), *words[1:]])
    text = capsys.readouterr()
    assert (code, text.out) == (4, ""), text
    assert text.err.startswith("error: ")
    assert len(text.err.splitlines()) <= 2
    return text.err


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    path = folder / files.EVENTS
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    change(events)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


DAMAGE: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    "without a start": (lambda events: events.pop(0), "the event log has no run: its first event is missing"),
    "without events": (lambda events: events.clear(), "the event log has no run: its first event is missing"),
    "waiver without a rule": (
        lambda events: events[0]["options"].update(waivers=[{"expires": "2026-07-01"}]),
        "is not the log of a run: TypeError: Missing required argument 'rule'",
    ),
    "waiver of another form": (
        lambda events: events[0]["options"].update(waivers=[{"rule": "DRA-001", "expires": "2026-07-01", "x": 1}]),
        "is not the log of a run: TypeError",
    ),
    "waivers that are a number": (lambda events: events[0]["options"].update(waivers=7), "TypeError"),
    "profiles that are a number": (lambda events: events[0]["options"].update(profile=7), "TypeError"),
    "date": (
        lambda events: events[0].update(startedAt="x"),
        "is not the log of a run: ValueError: Invalid isoformat string: 'x'",
    ),
    "status": (lambda events: events[-2].update(status="odd"), "line 8: not an event of a run"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_damaged_log_is_one_message(folder: Path, name: str, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, message = DAMAGE[damage]
    changed(folder, change)
    assert message in refused(folder, name, capsys)


@pytest.mark.parametrize("name", ["report", "verify"])
@pytest.mark.parametrize(
    "content", [b"\xff\xfe\n{}\n", b"[" * 100_000 + b"\n{}\n", b'{"kind":"run-started"}\n', b"{\n{}\n"]
)
def test_a_line_that_is_no_event_is_named(
    folder: Path, name: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / files.EVENTS).write_bytes(content)
    assert "events.jsonl, line 1: not an event of a run" in refused(folder, name, capsys)


@pytest.mark.parametrize("name", ["report", "verify", "bundle"])
def test_a_log_that_is_no_file_or_too_large_is_not_read(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / files.EVENTS
    with path.open("ab") as file:
        file.truncate(1 << 40)  # a sparse file
    assert "larger than 1073741824 bytes" in refused(folder, name, capsys)
    path.unlink()
    os.mkfifo(path)
    assert "events.jsonl is missing" in refused(folder, name, capsys)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "events.jsonl is missing" in refused(folder, name, capsys)


def test_the_incomplete_last_line_of_a_killed_run_is_no_damage(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / files.EVENTS
    path.write_bytes(path.read_bytes()[:-20])
    assert call(["report", str(folder)]) == 0
    assert "bad" in capsys.readouterr().out


@pytest.mark.parametrize("main", [rbac.main, faults.main], ids=["rbac", "faults"])
def test_the_tools_that_read_logs_name_the_line(
    folder: Path, main: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / files.EVENTS).write_bytes(b"x\n{}\n")
    assert main([str(folder / files.EVENTS)]) == 4
    assert "events.jsonl, line 1: not an event of a run" in capsys.readouterr().err


ODD: tuple[object, ...] = (None, [], {}, "x", -1, 1e308, True, ["a"], {"a": 1}, "\x1b[2J", 10**30)


def altered(value: Any, rng: random.Random) -> Any:
    """Return a value in which one part, at any depth, is missing or of another form."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value))
        others = {name: item for name, item in value.items() if name != key}
        return others if rng.random() < 0.2 else {**others, key: altered(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [altered(item, rng) if at == place else item for at, item in enumerate(value)]
    return rng.choice(ODD)


@pytest.mark.parametrize("seed", range(4))
def test_altered_logs_never_end_a_command_with_a_traceback(
    folder: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)  # noqa: S311 - reproducible
    original = (folder / files.EVENTS).read_bytes().splitlines()
    options = json.loads(original[0])
    options["options"] = {"waivers": [{"rule": "DRA-002", "owner": "a", "reason": "b", "expires": "2026-07-01"}]}
    original[0] = json.dumps(options).encode()
    for _ in range(40):
        lines = list(original)
        for _ in range(rng.randint(1, 3)):
            place = rng.choice((0, 0, 1, rng.randrange(len(lines))))
            lines[place] = json.dumps(altered(json.loads(lines[place]), rng)).encode()
        (folder / files.EVENTS).write_bytes(b"\n".join(lines) + b"\n")
        for form in ("text", "html", "junit"):
            code = call(["report", str(folder), "--format", form])
            assert (code == 4) == (capsys.readouterr().err != "")
            assert code in (0, 4)
