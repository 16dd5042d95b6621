"""No jump of the clock during a call: a slow program works in real time and would miss a deadline of the clock."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dra_api.clock import AdvanceableClock
from dra_api.rpc import DRAPluginClient, PluginServer, RegistrationClient, RpcError, codec, server

SLOW = 0.25


class Driver:
    """A driver without claims."""

    def prepare(self, claims: Any) -> Any:
        """Prepare nothing."""
        return {}

    def unprepare(self, claims: Any) -> Any:
        """Unprepare nothing."""
        return {}


@pytest.fixture
def slow_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plugin whose GetInfo takes a quarter of a second."""

    def encode_info(info: Any) -> bytes:
        time.sleep(SLOW)
        return codec.encode_info(info)

    monkeypatch.setattr(server, "codec", type("Codec", (), {**vars(codec), "encode_info": staticmethod(encode_info)}))
    plugin = PluginServer(Driver(), "slow.dra.test", tmp_path / "dra.sock", tmp_path / "reg.sock")
    plugin.start()
    yield plugin
    plugin.stop()


def in_thread(clock: AdvanceableClock, folder: Path, results: list[Any]) -> threading.Thread:
    """Start GetInfo with a deadline of one second of the clock, and wait until it is in flight."""

    def call() -> None:
        with RegistrationClient(folder / "reg.sock", clock=clock) as client:
            try:
                results.append(client.get_info(timeout=1.0).name)
            except RpcError as error:
                results.append(error.code)

    thread = threading.Thread(target=call)
    thread.start()
    while not clock.calls and thread.is_alive():
        time.sleep(0.001)
    return thread


def test_time_waits_for_a_slow_call(slow_server: Any, tmp_path: Path) -> None:
    clock = AdvanceableClock()
    results: list[Any] = []
    thread = in_thread(clock, tmp_path, results)
    refused = 0
    while not clock.advance(30, calls=0):
        refused += 1
        time.sleep(0.001)
    thread.join()
    assert refused
    assert results == ["slow.dra.test"]
    assert clock.calls == 0


def test_a_jump_during_a_call_ends_its_deadline(slow_server: Any, tmp_path: Path) -> None:
    clock = AdvanceableClock()
    results: list[Any] = []
    thread = in_thread(clock, tmp_path, results)
    assert clock.advance(30)
    thread.join()
    assert results == ["DEADLINE_EXCEEDED"]


def test_a_call_that_fails_is_no_longer_in_flight(tmp_path: Path) -> None:
    clock = AdvanceableClock()
    client = DRAPluginClient(tmp_path / "absent.sock", clock=clock)
    with pytest.raises(RpcError):
        client.prepare([], timeout=0.1)
    client.close()
    assert clock.calls == 0
    assert clock.advance(1, calls=0)
