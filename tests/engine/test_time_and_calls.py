"""The step `When N seconds pass` waits for calls in flight, except those that a scripted driver leaves unanswered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dra_api.clock import AdvanceableClock, RealClock
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.world import World


def world(clock: AdvanceableClock, held: int) -> Any:
    """The parts of a world that `pass_time` uses; the patience is 50 ms."""
    return SimpleNamespace(
        clock=clock,
        settle=lambda: None,
        settling=SimpleNamespace(held_calls=lambda: held),
        log=SimpleNamespace(clock=RealClock()),
        run=SimpleNamespace(patience=0.05),
    )


def test_time_passes_beside_a_call_that_the_scenario_holds() -> None:
    clock = AdvanceableClock()
    before = clock.monotonic()
    with clock.in_flight():
        World.pass_time(world(clock, held=1), 30)
    assert clock.monotonic() - before >= 30


def test_time_does_not_pass_during_another_call() -> None:
    clock = AdvanceableClock()
    before = clock.monotonic()
    with clock.in_flight(), pytest.raises(Untestable, match="a call is still in flight"):
        World.pass_time(world(clock, held=0), 30)
    assert clock.monotonic() - before < 30
