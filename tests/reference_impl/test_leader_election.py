"""Options of leader election, and its deadlines. Scenarios in features/imex/elections.feature judge the election."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.transport import RequestOptions, Response, Transport, TransportAround, TransportError
from reference_impl.election_options import add_election_arguments, election_options
from reference_impl.errors import ComponentError
from reference_impl.leader_election import ElectionOptions, LeaderElected


def parsed(*words: str) -> ElectionOptions | None:
    parser = argparse.ArgumentParser()
    add_election_arguments(parser, name="the-lease")
    return election_options(parser.parse_args(words), replica="replica")


def test_there_is_no_election_by_default() -> None:
    assert parsed() is None


def test_options_in_nvidias_spelling() -> None:
    options = parsed("--leader-election-enabled=true", "--leader-election-retry-period=500ms")
    assert options is not None
    assert (options.namespace, options.name) == ("default", "the-lease")
    assert (options.lease_duration, options.renew_deadline, options.retry_period) == (15.0, 10.0, 0.5)
    assert options.identity.startswith("replica-")


def test_replicas_have_identities_of_their_own() -> None:
    first, second = parsed("--leader-election-enabled"), parsed("--leader-election-enabled")
    assert first is not None
    assert second is not None
    assert first.identity != second.identity


@pytest.mark.parametrize(
    "words",
    [
        ("--leader-election-renew-deadline=15s",),
        ("--leader-election-retry-period=10s",),
        (
            "--leader-election-lease-duration=900ms",
            "--leader-election-renew-deadline=800ms",
            "--leader-election-retry-period=1ms",
        ),
    ],
)
def test_times_that_cannot_work_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ComponentError, match="leader election: the "):
        parsed("--leader-election-enabled", *words)


class StoppingServer(TransportAround):
    """An API server that stops responding: a request then takes its timeout, or for ever without one."""

    def __init__(self, inner: Transport, clock: AdvanceableClock) -> None:
        super().__init__(inner)
        self.clock = clock
        self.responds = True

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        if self.responds:
            return super().request(method, path, **options)
        timeout = options.get("timeout")
        assert timeout is not None, "the request would never end"
        self.clock.advance(timeout)
        raise TransportError(f"{method} {path}: timed out")


class Work:
    """A component that does nothing."""

    name = "work"

    def __init__(self) -> None:
        self.runs = False

    def start(self) -> None:
        self.runs = True

    def stop(self) -> None:
        self.runs = False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StoppingServer]:
    with ApiServerEmulator(directory=tmp_path, seed=1) as plane:
        yield StoppingServer(plane.transport(), AdvanceableClock())


def elected(server: StoppingServer, work: Work) -> LeaderElected:
    options = ElectionOptions(
        namespace="default", name="lease", identity="a", lease_duration=15, renew_deadline=10, retry_period=2
    )
    found = LeaderElected("work", KubeClient(server), lambda: work, clock=server.clock, options=options)
    found.take_turn()
    assert work.runs
    return found


@pytest.mark.parametrize("begins_after", [2.0, 9.5])
def test_a_leader_without_a_response_ends_its_work_at_its_renew_deadline(
    server: StoppingServer, begins_after: float
) -> None:
    work = Work()
    replica, renewed = elected(server, work), server.clock.monotonic()
    server.responds = False
    server.clock.advance(begins_after)
    replica.take_turn()
    assert not work.runs
    assert server.clock.monotonic() - renewed == pytest.approx(10.0, abs=0.5)


def test_a_leader_that_failed_makes_no_attempt_after_its_renew_deadline(server: StoppingServer) -> None:
    work = Work()
    replica = elected(server, work)
    server.responds = False
    server.clock.advance(9.0)
    replica.take_turn()
    began = server.clock.monotonic()
    replica.take_turn()
    # A replica that is not the leader has the time of the renew deadline for each attempt.
    assert server.clock.monotonic() - began == pytest.approx(10.0, abs=0.5)
    server.responds = True
    replica.take_turn()
    assert work.runs


def test_a_leader_whose_process_did_not_run_has_one_attempt(server: StoppingServer) -> None:
    work = Work()
    replica = elected(server, work)
    server.clock.advance(12.0)
    replica.take_turn()
    assert work.runs
    server.responds = False
    server.clock.advance(12.0)
    began = server.clock.monotonic()
    replica.take_turn()
    assert not work.runs
    assert server.clock.monotonic() - began == pytest.approx(2.0, abs=0.5)


def test_a_leader_that_stops_does_not_wait_for_the_release_longer_than_its_renew_deadline(
    server: StoppingServer,
) -> None:
    work = Work()
    replica = elected(server, work)
    server.responds = False
    began = server.clock.monotonic()
    replica.stop()
    assert not work.runs
    assert server.clock.monotonic() - began == pytest.approx(10.0, abs=0.5)
