"""A signal never leaves a half-written event behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_conformance.core.events import ClockAdvanced, EventLog
from dra_conformance.core.events.kinds.event import Event
from dra_conformance.pytest_plugin.interrupts import Interrupts


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    installed = Interrupts()
    installed.install()
    yield installed
    installed.restore()


def test_a_signal_while_an_event_is_written_waits_for_its_end(tmp_path: Path, interrupts: Interrupts) -> None:
    class Interrupted(EventLog):
        def _write(self, event: Event) -> Event:
            signal.raise_signal(signal.SIGTERM)
            return super()._write(event)

    path = tmp_path / "events.jsonl"
    log = Interrupted(path)

    def write() -> None:
        log.emit(ClockAdvanced(advanced=1.0))
        signal.pause()  # until the alarm, unless it has come already

    with pytest.raises(KeyboardInterrupt):
        write()
    assert interrupts.signalled
    log.close()
    assert log.difference() == ""
    assert path.read_bytes().count(b"\n") == 1


def test_a_signal_at_another_place_interrupts_at_once(interrupts: Interrupts) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert interrupts.signalled
