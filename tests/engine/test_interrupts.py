"""A signal ends a run, also if Python loses its exception, and never leaves a half-written event behind."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dra_conformance.cli import call
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.events import ClockAdvanced, EventLog
from dra_conformance.core.events.kinds.event import Event
from dra_conformance.core.interrupts import Interrupts
from dra_conformance.pytest_plugin.interrupts import SessionInterrupts


@pytest.fixture
def interrupts() -> Iterator[SessionInterrupts]:
    installed = SessionInterrupts()
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


@pytest.mark.parametrize(("limit", "whole"), [(60.0, True), (0.0, False)])
def test_a_cleanup_is_not_interrupted_again_while_it_has_time(
    interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch, limit: float, whole: bool
) -> None:
    monkeypatch.setattr("dra_conformance.core.interrupts.AGAIN_S", 0.05)
    monkeypatch.setattr("dra_conformance.core.interrupts.CLEANUP_S", limit)
    cleaned = []

    def start() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException:
            # In the place of `kind delete cluster`: a program that takes its time.
            subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)"], check=True)
            cleaned.append(True)
            raise

    with pytest.raises(KeyboardInterrupt):
        start()
    assert bool(cleaned) == whole


def test_an_interrupt_that_is_lost_is_raised_again(interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dra_conformance.core.interrupts.AGAIN_S", 0.05)
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.pause()


def test_a_signal_at_another_place_interrupts_at_once(interrupts: Interrupts) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert interrupts.signalled


def test_a_session_inherits_an_interrupt_that_was_lost_before_it(
    interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_conformance.core.interrupts.AGAIN_S", 0.05)
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    session = SessionInterrupts()
    session.install()
    try:
        assert session.signalled
        with pytest.raises(KeyboardInterrupt):
            signal.pause()
    finally:
        session.restore()


def test_an_interrupt_that_a_command_loses_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dra_conformance.core.interrupts.AGAIN_S", 0.05)

    @click.group()
    def group() -> None:
        pass

    @group.command()
    def lose() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.pause()

    assert call(["lose"], group) == ExitCode.INTERRUPTED
