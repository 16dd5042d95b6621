"""Tests of the hash chain of the event log, and of the results that the harness keeps in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from invented_runs import InventedRun

from dra_conformance.core.events import EventLog, chain
from dra_conformance.core.events.log import read
from dra_conformance.core.status import Status
from dra_conformance.report import build

Change = Callable[[list[bytes]], list[bytes]]


def written(folder: Path, run: InventedRun | None = None) -> tuple[EventLog, Path]:
    path = folder / "events.jsonl"
    log = EventLog(path)
    for event in (run or InventedRun().scenario("good").scenario("bad", ["DRA-002"], status="failed")).events():
        log.append(event)
    log.close()
    return log, path


def test_an_unchanged_log_continues_line_by_line(tmp_path: Path) -> None:
    log, path = written(tmp_path)
    content = path.read_bytes()
    assert list(chain.breaks(content)) == []
    assert log.difference() == ""
    assert log.seal().lines == len(content.splitlines())


CHANGES: dict[str, Change] = {
    "a line changed": lambda lines: [line.replace(b'"ok":false', b'"ok":true') for line in lines],
    "a line removed": lambda lines: lines[:2] + lines[3:],
    "a line repeated": lambda lines: [*lines[:2], lines[1], *lines[2:]],
    "two lines exchanged": lambda lines: [lines[1], lines[0], *lines[2:]],
    "a line added in front": lambda lines: [b'{"kind":"teardown","seq":1}', *lines],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_breaks_the_chain_and_differs_from_the_seal(tmp_path: Path, change: Change) -> None:
    log, path = written(tmp_path)
    path.write_bytes(b"".join(line + b"\n" for line in change(path.read_bytes().splitlines())))
    assert list(chain.breaks(path.read_bytes()))
    assert log.difference()


@pytest.mark.parametrize("content", [None, b"", b"{}\n", b"first"], ids=["removed", "empty", "other", "no line"])
def test_a_replaced_log_differs_from_the_seal(tmp_path: Path, content: bytes | None) -> None:
    log, path = written(tmp_path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert log.difference()


def test_a_log_cut_at_its_end_keeps_its_chain_but_differs_from_the_seal(tmp_path: Path) -> None:
    log, path = written(tmp_path)
    path.write_bytes(b"".join(line + b"\n" for line in path.read_bytes().splitlines()[:-1]))
    assert list(chain.breaks(path.read_bytes())) == []
    assert "lines" in log.difference()


def test_a_log_with_a_chain_of_its_own_differs_from_the_seal(tmp_path: Path) -> None:
    log, path = written(tmp_path)
    path.unlink()
    forged = EventLog(path)
    for event in InventedRun().scenario("good").scenario("bad", ["DRA-002"]).events():
        forged.append(event)
    forged.close()
    assert list(chain.breaks(path.read_bytes())) == []
    assert log.difference()


def test_the_report_from_memory_is_the_report_from_the_log(tmp_path: Path) -> None:
    run = InventedRun()
    for number, status in enumerate(Status):
        decided = status in (Status.FILTERED, Status.NOT_SUPPORTED, Status.NOT_APPLICABLE)
        run.scenario(f"s{number}", [f"DRA-00{number + 1}"], status=status.value, reason="why \ud800", decided=decided)
    run.scenario("unjudged", ["DRA-020", "DRA-021"], checks=[("DRA-020", True)])
    log, path = written(tmp_path, run)
    assert build(log.results()) == build(read(path))


def test_results_do_not_change_with_the_file(tmp_path: Path) -> None:
    log, path = written(tmp_path)
    before = build(log.results())
    path.write_bytes(b"")
    assert build(log.results()) == before
