"""Tests of the kubelet's side of device plugins: names, registration, restarts, and what a plugin's stream shows."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from polling import wait_until

from dra_api.clock import RealClock
from dra_api.rpc import RpcError
from dra_api.rpc.device_plugin import (
    KUBELET_SOCKET,
    ContainerAllocation,
    DevicePluginServer,
    DeviceSpec,
    Mount,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
    register,
)
from dra_api.rpc.health_feed import Feed
from dra_conformance.core.events import KubeletCall, KubeletDevicePlugin, KubeletEvent
from dra_conformance.kubelet import device_plugins
from dra_conformance.kubelet.device_plugins import ConnectedPlugin, DeviceManager, is_extended_resource
from dra_conformance.kubelet.errors import RegistrationRefused

NAME = "example.com/thing"
ANSWER = ContainerAllocation(
    envs={"A": "1"},
    mounts=(Mount("/in", "/out", read_only=True),),
    devices=(DeviceSpec("/dev/a", "/dev/b", "rw"),),
    annotations={"k": "v"},
    cdi_devices=("example.com/thing=a",),
)


class Plugin:
    """A device plugin whose answers the test knows."""

    def __init__(self) -> None:
        self.feed: Feed[PluginDevice] = Feed()
        self.started: list[tuple[str, ...]] = []

    def options(self) -> PluginOptions:
        return PluginOptions(pre_start_required=True)

    def watch_devices(self) -> Iterator[Sequence[PluginDevice]]:
        return self.feed.watch()

    def allocate(self, containers: Sequence[Sequence[str]]) -> Sequence[ContainerAllocation]:
        if any("bad" in ids for ids in containers):
            raise ValueError("no device bad")
        return [ANSWER for _ in containers]

    def preferred_allocation(self, containers: Sequence[PreferenceRequest]) -> Sequence[Sequence[str]]:
        return [one.available[: one.size] for one in containers]

    def pre_start(self, ids: Sequence[str]) -> None:
        self.started.append(tuple(ids))


class Bench:
    """A device manager, and a plugin that can register with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[KubeletEvent] = []
        self.manager = DeviceManager(folder, clock=RealClock(), record=self.events.append)
        self.plugin = Plugin()
        self.server = DevicePluginServer(self.plugin, folder / "thing.sock", name="thing")

    def register(self, *, version: str = "v1beta1", name: str = NAME, endpoint: str = "thing.sock") -> None:
        registration = Registration(version=version, endpoint=endpoint, resource_name=name)
        register(self.folder / KUBELET_SOCKET, registration, timeout=60)

    def connected(self) -> ConnectedPlugin:
        self.server.start()
        self.register()
        (plugin,) = self.manager.plugins()
        return plugin


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "dp")
    made.manager.start()
    yield made
    made.plugin.feed.close()
    made.server.stop()
    made.manager.stop()


@pytest.mark.parametrize(
    ("name", "ok"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/mig-1g.10gb.me", True),
        ("gpu", False),
        ("/gpu", False),
        ("nvidia.com/", False),
        ("nvidia.com/mig-1g.10gb+me", False),
        ("kubernetes.io/gpu", False),
        ("node.kubernetes.io/gpu", False),
        ("requests.nvidia.com/gpu", False),
        ("NVIDIA.com/gpu", False),
        (f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 60}/x", True),
        (f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 60}.ee/x", False),
        (f"nvidia.com/{'x' * 64}", False),
    ],
)
def test_a_name_is_one_of_an_extended_resource(name: str, ok: bool) -> None:
    assert is_extended_resource(name) is ok


def test_values_of_all_calls_arrive_as_they_were_sent(bench: Bench) -> None:
    plugin = bench.connected()
    assert plugin.options == PluginOptions(pre_start_required=True)
    assert plugin.allocate(["a"], ["b", "c"]) == (ANSWER, ANSWER)
    assert plugin.prefer(PreferenceRequest(available=("a", "b"), must_include=("b",), size=1)) == (("a",),)
    plugin.pre_start(["a", "b"])
    assert bench.plugin.started == [("a", "b")]
    methods = [event.method for event in bench.events if isinstance(event, KubeletCall)]
    assert methods == ["GetDevicePluginOptions", "Allocate", "GetPreferredAllocation", "PreStartContainer"]


def test_an_error_of_the_plugin_has_its_text(bench: Bench) -> None:
    with pytest.raises(RpcError, match="no device bad"):
        bench.connected().allocate(["bad"])
    assert [event.error for event in bench.events if isinstance(event, KubeletCall)][-1] == "ValueError: no device bad"


def test_lists_are_kept_in_order_until_the_stream_ends(bench: Bench) -> None:
    plugin = bench.connected()
    first = (PluginDevice("a", "Healthy", (0, 1)), PluginDevice("b", "Unhealthy", ()), PluginDevice("c"))
    bench.plugin.feed.publish(first)
    wait_until(lambda: plugin.lists == (first,))
    bench.plugin.feed.publish(first[:1])
    wait_until(lambda: plugin.lists == (first, first[:1]))
    assert plugin.devices == first[:1]
    assert plugin.ended is None
    bench.plugin.feed.close()
    wait_until(lambda: plugin.ended is not None)
    assert bench.manager.plugins() == []
    assert bench.manager.accepted() == [plugin]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"version": "v1beta2"}, "v1beta2"),
        ({"name": "thing"}, "extended resource"),
        ({"endpoint": "x" * 120}, "socket path"),
    ],
)
def test_a_wrong_registration_is_refused_and_recorded(bench: Bench, wrong: dict[str, str], reason: str) -> None:
    bench.server.start()
    with pytest.raises(RpcError, match=reason):
        bench.register(**wrong)
    assert [reason in attempt.error for attempt in bench.manager.attempts] == [True]
    assert [event.step for event in bench.events if isinstance(event, KubeletDevicePlugin)] == ["started", "refused"]
    assert not any(isinstance(event, KubeletCall) for event in bench.events)


def test_a_socket_is_connected_once(bench: Bench) -> None:
    plugin = bench.connected()
    with pytest.raises(RpcError, match="connected already"):
        bench.register()
    assert bench.manager.plugins() == [plugin]


def test_a_refusal_is_for_one_registration(bench: Bench) -> None:
    bench.manager.refuse_next(1)
    bench.server.start()
    with pytest.raises(RpcError, match="refuses"):
        bench.register()
    bench.register()
    assert [bool(attempt.error) for attempt in bench.manager.attempts] == [True, False]


def test_a_plugin_that_serves_late_is_accepted_and_noted(bench: Bench) -> None:
    later = threading.Timer(0.3, bench.server.start)
    later.start()
    bench.register()
    later.join()
    assert [attempt.served_at_once for attempt in bench.manager.attempts] == [False]
    assert len(bench.manager.plugins()) == 1


def test_a_plugin_that_served_before_is_noted(bench: Bench) -> None:
    bench.connected()
    assert [attempt.served_at_once for attempt in bench.manager.attempts] == [True]


def test_a_restart_removes_sockets_and_nothing_else(bench: Bench) -> None:
    bench.connected()
    (bench.folder / "kubelet_internal_checkpoint").write_text("{}")
    (bench.folder / "folder").mkdir()
    kubelet = (bench.folder / KUBELET_SOCKET).stat()
    bench.manager.restart()
    assert sorted(path.name for path in bench.folder.iterdir()) == [
        "folder",
        KUBELET_SOCKET,
        "kubelet_internal_checkpoint",
    ]
    assert stat.S_ISSOCK((bench.folder / KUBELET_SOCKET).stat().st_mode)
    assert (bench.folder / KUBELET_SOCKET).stat().st_ctime_ns != kubelet.st_ctime_ns
    assert bench.manager.plugins() == []


def test_a_plugin_that_registers_as_soon_as_the_socket_is_there_is_accepted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.manager.stop()
    bench.server.start()
    start = device_plugins.RegistrationServer.start

    def started(server: device_plugins.RegistrationServer) -> None:
        start(server)
        bench.register()

    monkeypatch.setattr(device_plugins.RegistrationServer, "start", started)
    monkeypatch.setattr(bench.manager, "sockets", list)  # the plugin's own socket stays
    bench.manager.start()
    assert len(bench.manager.plugins()) == 1


def during_the_first_call(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Call `act` once while the manager waits for the response of GetDevicePluginOptions."""
    dial, left = DeviceManager._dial, [act]

    def dialled(manager: DeviceManager, plugin: ConnectedPlugin) -> int:
        calls = dial(manager, plugin)
        if left:
            left.pop()()
        return calls

    monkeypatch.setattr(DeviceManager, "_dial", dialled)


def test_two_registrations_of_one_plugin_at_the_same_time_are_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.server.start()
    during_the_first_call(monkeypatch, bench.register)
    with pytest.raises(RpcError, match="connected already"):
        bench.register()
    assert len(bench.manager.plugins()) == 1


def test_a_registration_does_not_outlive_a_restart(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.server.start()
    during_the_first_call(monkeypatch, bench.manager.restart)
    with pytest.raises(RegistrationRefused, match="has stopped"):
        bench.manager.connect(NAME, bench.folder / "thing.sock", ["v1beta1"])
    assert bench.manager.accepted() == []


def test_a_plugin_that_was_closed_is_not_watched(bench: Bench) -> None:
    plugin = bench.connected()
    plugin.close()
    with pytest.raises(RpcError, match="closed"):
        plugin.watch()


def test_the_owner_of_the_socket_is_changed_before_it_is_visible(tmp_path: Path) -> None:
    given: list[tuple[str, bool]] = []
    folder = tmp_path / "dp"
    manager = DeviceManager(
        folder,
        clock=RealClock(),
        record=lambda event: None,
        give=lambda path: given.append((path.name, (folder / KUBELET_SOCKET).exists())),
    )
    manager.start()
    manager.stop()
    assert given[0] == ("dp", False)
    assert [seen for _, seen in given] == [False, False]
