"""Threads of the emulated kubelet report an unexpected exception and go on."""

from __future__ import annotations

import threading
from pathlib import Path

import orjson
import pytest

from dra_conformance.core.events import KubeletEvent, KubeletRegistration
from dra_conformance.kubelet.folder_watch import FolderWatch
from dra_conformance.kubelet.real import log_follower

LIMIT_S = 60.0


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The exceptions that threads report."""
    found: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: found.append(str(arguments.exc_value)))
    return found


def test_a_folder_watch_survives_its_listener(tmp_path: Path, reported: list[str]) -> None:
    calls: list[int] = []
    second = threading.Event()

    def on_change() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise RuntimeError("a bug")
        second.set()

    watch = FolderWatch(tmp_path, on_change)
    watch.start()
    try:
        (tmp_path / "a").touch()
        for _ in range(100):
            if reported:
                break
            threading.Event().wait(LIMIT_S / 100)
        (tmp_path / "b").touch()
        assert second.wait(LIMIT_S)
    finally:
        watch.stop()
    assert reported == ["a bug"]


def test_a_log_follower_survives_an_odd_line(tmp_path: Path, reported: list[str]) -> None:
    path = tmp_path / "kubelet.log"
    recorded: list[str] = []

    def record(event: KubeletEvent) -> None:
        assert isinstance(event, KubeletRegistration)
        if event.driver == "bad":
            raise RuntimeError("a bug")
        recorded.append(event.driver)

    follower = log_follower.LogFollower(path, record=record, poke=lambda: None)
    follower.start()
    lines = [{"msg": log_follower.REGISTERED, "driverName": name} for name in ("bad", "good")]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    follower.stop()
    assert recorded == ["good"]
    assert reported == ["a bug"]
