"""The event log: what is written is read back, whatever the target said and however the run ended."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from dra_conformance.core.errors import UsageError
from dra_conformance.core.events import Event, EventLog, read
from dra_conformance.core.events.timeline import LIMIT, lines, tell


def test_events_come_back_in_order_with_their_scenario(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "e.jsonl")
    log.emit("run-started", runId="x")
    log.begin_scenario("a/b#c")
    log.emit("step", {"text": "one"}, line=3)
    log.end_scenario()
    log.emit("run-finished")
    log.close()
    events = list(read(tmp_path / "e.jsonl"))
    assert [(e.seq, e.kind, e.scenario) for e in events] == [
        (1, "run-started", ""),
        (2, "step", "a/b#c"),
        (3, "run-finished", ""),
    ]
    assert events[1].data == {"text": "one", "line": 3}
    assert stat.S_IMODE((tmp_path / "e.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "value", ["\ud800", 2**80, b"\xff\x00", {1: {2}}, float("nan"), object, ["\udfff", {"a": -(2**70)}]]
)
def test_whatever_a_target_says_can_be_written(tmp_path: Path, value: object) -> None:
    log = EventLog(tmp_path / "e.jsonl")
    log.emit("object", said=value)
    log.close()
    assert next(read(tmp_path / "e.jsonl")).kind == "object"


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    log = EventLog(path)
    log.emit("run-started")
    log.emit("check", ok=True)
    log.close()
    for cut in (path.read_bytes()[:-1], path.read_bytes()[:-5], path.read_bytes()[:-1] + b"}\n"):
        (tmp_path / "torn.jsonl").write_bytes(cut)
        assert [e.kind for e in read(tmp_path / "torn.jsonl")][:1] == ["run-started"]


def test_a_damaged_line_in_the_middle_is_told_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(b'{"seq":1,"t":0,"kind":"a","scenario":"","data":{}}\n!!\n' * 2)
    with pytest.raises(UsageError, match=r"e\.jsonl, line 2: not an event"):
        list(read(tmp_path / "e.jsonl"))


def test_checks_are_on_disk_before_the_log_is_closed(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "e.jsonl")
    log.emit("check", ok=True)
    assert len(list(read(tmp_path / "e.jsonl"))) == 1
    log.close()
    log.emit("check", ok=True)  # after the end: nothing breaks
    assert len(list(read(tmp_path / "e.jsonl"))) == 1


def test_waiters_wake_on_events_and_pokes() -> None:
    log = EventLog()
    seen: list[str] = []
    timer = threading.Timer(0.02, lambda: (seen.append("x"), log.poke()))
    timer.start()
    assert log.wait_for(lambda: list(seen), 5.0) == ["x"]
    assert not log.wait_for(lambda: False, 0.01)


def test_memory_holds_the_current_scenario_only() -> None:
    log = EventLog()
    log.begin_scenario("one")
    log.emit("step", text="a")
    log.begin_scenario("two")
    log.emit("step", text="b")
    log.emit("check", ok=True)
    assert [e.data["text"] for e in log.kept("step")] == ["b"]


def event(seq: int, kind: str, /, **data: object) -> Event:
    return Event(seq, seq / 1000, kind, "s", data)


def test_timeline_tells_who_did_what_until_the_clean_up() -> None:
    story = [
        event(1, "scenario-started", name="A name"),
        event(2, "step", kind="given", text='node "n1"'),
        event(3, "api", agent="binder", method="POST", path="/x", status=409, reason="Conflict"),
        event(4, "object", type="ADDED", resource="pods", name="a/b", summary={"phase": "Running", "node": None}),
        event(5, "check", rules=["DRA-001"], ok=False, expected="1", observed="2"),
        event(6, "log", level="WARNING", logger="reference_impl.binder", text="first\nlast line"),
        event(7, "teardown"),
        event(8, "step", kind="then", text="never told"),
    ]
    assert list(lines(story)) == [
        "+   0.000  BEGIN  A name",
        '+   0.001  GIVEN  node "n1"',
        "+   0.002  API    binder: POST /x -> 409 Conflict",
        "+   0.003  WATCH  ADDED pods a/b  phase=Running",
        "+   0.004  CHECK  DRA-001 BROKEN: expected 1; saw 2",
        "+   0.005  LOG    WARNING reference_impl.binder: last line",
    ]


def test_a_long_timeline_keeps_beginning_and_end() -> None:
    told = list(lines([event(n, "step", kind="when", text=str(n)) for n in range(500)]))
    assert len(told) == LIMIT + 1
    assert told[0].endswith("  0")
    assert told[-1].endswith("499")
    assert any(f"{500 - LIMIT} events left out" in line for line in told)


def test_kinds_that_the_timeline_does_not_know_are_told_all_the_same() -> None:
    assert tell(event(1, "nvml", action="create", empty="")) == "NVML   action=create"
