"""No jump of the clock during a call: a slow program works in real time and would miss a deadline of the clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_api.clock import AdvanceableClock
from dra_api.rpc import DRAPluginClient, PluginServer, RegistrationClient, RpcError, codec, server


class Driver:
    """A driver without claims."""

    def prepare(self, claims: Any) -> Any:
        """Prepare nothing."""
        return {}

    def unprepare(self, claims: Any) -> Any:
        """Unprepare nothing."""
        return {}


class SlowServer:
    """A plugin whose GetInfo lasts until `release` is set; `began` is set while it lasts."""

    def __init__(self) -> None:
        self.began, self.release = threading.Event(), threading.Event()

    def encode_info(self, info: Any) -> bytes:
        """Encode the response when the test allows it."""
        self.began.set()
        assert self.release.wait(30)
        return codec.encode_info(info)


@pytest.fixture
def slow_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowServer]:
    """A slow plugin that serves."""
    slow = SlowServer()
    encode_info = slow.encode_info

    monkeypatch.setattr(server, "codec", type("Codec", (), {**vars(codec), "encode_info": staticmethod(encode_info)}))
    plugin = PluginServer(Driver(), "slow.dra.test", tmp_path / "dra.sock", tmp_path / "reg.sock")
    plugin.start()
    yield slow
    slow.release.set()
    plugin.stop()


def in_thread(slow: SlowServer, clock: AdvanceableClock, folder: Path, results: list[Any]) -> threading.Thread:
    """Start GetInfo with a deadline of one second of the clock, and wait until it is in flight."""

    def call() -> None:
        with RegistrationClient(folder / "reg.sock", clock=clock) as client:
            try:
                results.append(client.get_info(timeout=1.0).name)
            except RpcError as error:
                results.append(error.code)

    thread = threading.Thread(target=call)
    thread.start()
    assert slow.began.wait(30)
    return thread


def test_time_waits_for_a_slow_call(slow_server: SlowServer, tmp_path: Path) -> None:
    clock = AdvanceableClock()
    results: list[Any] = []
    thread = in_thread(slow_server, clock, tmp_path, results)
    refused = not clock.advance(30, calls=0)
    slow_server.release.set()
    thread.join()
    assert refused
    assert clock.advance(30, calls=0)
    assert results == ["slow.dra.test"]
    assert clock.calls == 0


def test_a_jump_during_a_call_ends_its_deadline(slow_server: SlowServer, tmp_path: Path) -> None:
    clock = AdvanceableClock()
    results: list[Any] = []
    thread = in_thread(slow_server, clock, tmp_path, results)
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
