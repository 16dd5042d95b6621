"""The sockets between kubelet and driver, through the facade alone."""

from __future__ import annotations

import contextlib
import importlib
import re
import socket
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

import dra_api.rpc
from dra_api.clock import AdvanceableClock
from dra_api.rpc import (
    HEALTH_V1,
    HEALTH_V1ALPHA1,
    HEALTH_VERSIONS,
    V1,
    V1BETA1,
    ClaimRef,
    DeviceHealth,
    DRAPluginClient,
    HealthFeed,
    HealthNotSupported,
    HealthStatus,
    PluginServer,
    PreparedDevice,
    PrepareResult,
    RegistrationClient,
    RegistrationStatus,
    RpcError,
)

CLAIM = ClaimRef("team-a", "uid-1", "gpu")
DEVICE = PreparedDevice(("gpu",), "node-1", "gpu-0", ("vendor.com/gpu=gpu-0",), share_id="share-7")


class Driver:
    def __init__(self) -> None:
        self.feed = HealthFeed()
        self.prepared: list[Sequence[ClaimRef]] = []
        self.hold: threading.Event | None = None
        self.entered = threading.Event()
        self.running = 0
        self.most = 0

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        self.running += 1
        self.most = max(self.most, self.running)
        self.prepared.append(claims)
        self.entered.set()
        if self.hold is not None:
            self.hold.wait(60)
        self.running -= 1
        if claims[0].name == "explodes":
            raise RuntimeError("no such GPU")
        return {c.uid: PrepareResult((DEVICE,)) for c in claims if c.name != "left-out"}

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        return {c.uid: "busy" if c.name == "busy" else "" for c in claims}

    def watch_health(self) -> Iterator[Sequence[DeviceHealth]]:
        return self.feed.watch_health()


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def server(driver: Driver, tmp_path: Path) -> Iterator[PluginServer]:
    server = PluginServer(driver, "test.example.com", tmp_path / "p" / "dra.sock", tmp_path / "r" / "t-reg.sock")
    server.start()
    yield server
    server.stop()


def test_v1_carries_the_share_id_and_v1beta1_does_not(server: PluginServer) -> None:
    with DRAPluginClient(server.info.endpoint, V1) as v1, DRAPluginClient(server.info.endpoint, V1BETA1) as beta:
        assert v1.prepare([CLAIM]) == {"uid-1": PrepareResult((DEVICE,))}
        (device,) = beta.prepare([CLAIM])["uid-1"].devices
        assert device.share_id is None
        assert device.cdi_device_ids == DEVICE.cdi_device_ids
        assert beta.unprepare([CLAIM, ClaimRef("a", "uid-2", "busy")]) == {"uid-1": "", "uid-2": "busy"}


def test_registration_returns_name_endpoint_and_versions_in_order(server: PluginServer, tmp_path: Path) -> None:
    with RegistrationClient(tmp_path / "r" / "t-reg.sock") as kubelet:
        info = kubelet.get_info()
        assert (info.type, info.name, info.endpoint) == ("DRAPlugin", "test.example.com", str(tmp_path / "p/dra.sock"))
        assert info.supported_versions == (V1, V1BETA1, HEALTH_V1, HEALTH_V1ALPHA1)
        kubelet.notify(RegistrationStatus(False, "no version in common"))
    assert server.wait_notified(60) == RegistrationStatus(False, "no version in common")


def test_sockets_are_private_and_go_with_the_server(server: PluginServer, tmp_path: Path) -> None:
    for path in (tmp_path / "p/dra.sock", tmp_path / "r/t-reg.sock"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    server.stop()
    server.stop()
    assert list((tmp_path / "p").iterdir()) == list((tmp_path / "r").iterdir()) == []


def test_a_dead_socket_is_replaced_and_a_file_is_not(driver: Driver, server: PluginServer, tmp_path: Path) -> None:
    second = PluginServer(driver, "test.example.com", tmp_path / "p" / "dra.sock", tmp_path / "r" / "second.sock")
    second.start()
    server.stop()
    assert (tmp_path / "p" / "dra.sock").is_socket(), "the first server removed the socket of the second"
    second.stop()
    (tmp_path / "p" / "dra.sock").write_text("precious")
    with pytest.raises(FileExistsError, match="is not a socket"):
        server.start()


def test_an_exception_of_the_driver_fails_the_call_with_its_words(server: PluginServer) -> None:
    with DRAPluginClient(server.info.endpoint) as client, pytest.raises(RpcError, match="no such GPU") as failure:
        client.prepare([ClaimRef("a", "uid", "explodes")])
    assert failure.value.code == "UNKNOWN"


def test_the_result_is_what_the_driver_said_and_no_more(server: PluginServer) -> None:
    with DRAPluginClient(server.info.endpoint) as client:
        assert client.prepare([ClaimRef("a", "uid", "left-out")]) == {}


def test_a_deadline_is_in_the_time_of_the_clock(server: PluginServer, driver: Driver) -> None:
    clock = AdvanceableClock()
    driver.hold = threading.Event()
    caught: list[RpcError] = []
    with DRAPluginClient(server.info.endpoint, clock=clock) as client:

        def call() -> None:
            with pytest.raises(RpcError) as failure:
                client.prepare([CLAIM], timeout=45)
            caught.append(failure.value)

        thread = threading.Thread(target=call)
        thread.start()
        assert driver.entered.wait(60)
        clock.advance(44)
        thread.join(0.05)
        assert thread.is_alive()
        clock.advance(2)
        thread.join(60)
        assert not thread.is_alive()
        driver.hold.set()
    assert caught[0].code == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("serialize", [True, False])
def test_calls_run_one_at_a_time_by_default(serialize: bool, driver: Driver, tmp_path: Path) -> None:
    server = PluginServer(driver, "t.example.com", tmp_path / "d.sock", tmp_path / "r.sock", serialize=serialize)
    server.start()
    driver.hold = threading.Event()
    both = threading.Barrier(3)

    def call() -> None:
        both.wait(60)
        with DRAPluginClient(server.info.endpoint) as client:
            client.prepare([CLAIM])

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    both.wait(60)
    assert driver.entered.wait(60)
    second_entered = _within(60 if not serialize else 0.3, lambda: driver.most == 2)
    driver.hold.set()
    for thread in threads:
        thread.join(60)
    server.stop()
    assert second_entered is not serialize
    assert len(driver.prepared) == 2


def _within(seconds: float, true: object) -> bool:
    tick = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if callable(true) and true():
            return True
        tick.wait(0.01)
    return False


@pytest.mark.parametrize("version", HEALTH_VERSIONS)
def test_health_is_streamed_and_ends_when_hung_up(server: PluginServer, driver: Driver, version: str) -> None:
    sick = DeviceHealth("node-1", "gpu-0", HealthStatus.UNHEALTHY, 17, 5, "XID 79")
    with DRAPluginClient(server.info.endpoint) as client:
        stream = client.watch_health(version)
        driver.feed.publish([sick])
        assert next(stream) == (sick,)
        driver.feed.publish([])
        assert next(stream) == ()
        stream.close()
        assert list(stream) == []


def test_only_the_chosen_health_services_are_announced_and_served(driver: Driver, tmp_path: Path) -> None:
    called: list[str] = []
    server = PluginServer(driver, "t", tmp_path / "d.sock", tmp_path / "t-reg.sock", health_versions=(HEALTH_V1,))
    server.on_health_stream = called.append
    assert server.info.supported_versions == (V1, V1BETA1, HEALTH_V1)
    server.start()
    with DRAPluginClient(server.info.endpoint) as client:
        driver.feed.publish([])
        with contextlib.closing(client.watch_health(HEALTH_V1)) as stream:
            assert next(stream) == ()
        with pytest.raises(RpcError, match="UNIMPLEMENTED"):
            next(client.watch_health(HEALTH_V1ALPHA1))
    server.stop(grace=0)
    assert called == [HEALTH_V1]
    with pytest.raises(ValueError, match="unknown health service 'v2'"):
        PluginServer(driver, "t", tmp_path / "d.sock", tmp_path / "t-reg.sock", health_versions=("v2",))


def test_a_driver_without_health_answers_unimplemented(driver: Driver, server: PluginServer) -> None:
    def at_once() -> Iterator[Sequence[DeviceHealth]]:
        raise HealthNotSupported("no monitoring")

    def as_generator() -> Iterator[Sequence[DeviceHealth]]:
        yield from at_once()

    for behaviour in (at_once, as_generator):
        driver.watch_health = behaviour  # type: ignore[method-assign]
        with DRAPluginClient(server.info.endpoint) as client, pytest.raises(RpcError, match="no monitoring") as raised:
            next(client.watch_health())
        assert raised.value.code == "UNIMPLEMENTED"


def test_a_server_that_stops_ends_a_silent_health_stream(server: PluginServer, driver: Driver) -> None:
    with DRAPluginClient(server.info.endpoint) as client:
        stream = client.watch_health()
        driver.feed.publish([])
        next(stream)
        server.stop(grace=0)
        with pytest.raises(RpcError):
            next(stream)


def test_a_connection_is_eager_is_noticed_and_comes_back(server: PluginServer) -> None:
    states: list[bool] = []
    changed = threading.Condition()

    def note(connected: bool) -> None:
        with changed:
            states.append(connected)
            changed.notify_all()

    def reached(*wanted: bool) -> bool:
        with changed:
            return changed.wait_for(lambda: states[-1:] == list(wanted), 60)

    with DRAPluginClient(server.info.endpoint) as client:
        client.channel.on_connection(note)
        assert reached(True)
        server.stop(grace=0)
        assert reached(False)
        with pytest.raises(RpcError) as failure:
            client.prepare([CLAIM], timeout=60)
        assert failure.value.code == "UNAVAILABLE"
        server.start()
        assert reached(True)
        assert client.prepare([CLAIM])["uid-1"].devices == (DEVICE,)


def test_a_driver_that_is_slow_to_take_a_connection_is_waited_for(server: PluginServer, tmp_path: Path) -> None:
    slow = 0.4  # seconds; four times what an attempt to connect once had, on a machine where load makes it late
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "late"))
    listener.listen()
    ended: list[socket.socket] = [listener]

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)

    def serve() -> None:
        near, _ = listener.accept()
        threading.Event().wait(slow)
        far = socket.socket(socket.AF_UNIX)
        ended.extend((near, far))
        far.connect(server.info.endpoint)
        threading.Thread(target=pump, args=(near, far), daemon=True).start()
        pump(far, near)

    threading.Thread(target=serve, daemon=True).start()
    with DRAPluginClient(tmp_path / "late") as client:
        assert client.prepare([CLAIM])["uid-1"].devices == (DEVICE,)
    for each in ended:
        each.close()


def test_a_path_too_long_for_a_socket_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Linux allows 107"):
        DRAPluginClient(tmp_path / ("x" * 120))


def test_an_unknown_version_is_named(tmp_path: Path, driver: Driver) -> None:
    with pytest.raises(ValueError, match=r"v9\.DRAPlugin"):
        DRAPluginClient(tmp_path / "s", "v9.DRAPlugin")
    with pytest.raises(ValueError, match=r"v9\.DRAPlugin"):
        PluginServer(driver, "d", tmp_path / "s", tmp_path / "r", versions=["v9.DRAPlugin"])


@pytest.mark.parametrize("name", ["dra_v1", "dra_v1beta1", "health_v1", "health_v1alpha1", "registration_v1"])
def test_generated_messages_are_those_of_the_proto(name: str) -> None:
    package = importlib.import_module(f"dra_api.rpc._generated.{name}.api_pb2")
    text = (Path(dra_api.rpc.__file__).parent / "proto" / f"{name}.proto").read_text()
    assert re.search(r"^package (.+);", text, re.M).group(1) == package.DESCRIPTOR.package  # type: ignore[union-attr]
    written = {
        (message, field, int(number))
        for message, body in re.findall(r"^message (\w+) \{(.*?)\}", text, re.M | re.S)
        for field, number in re.findall(r"(\w+) = (\d+);", body)
    }
    generated = {
        (message.name, field.name, field.number)
        for message in package.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
    }
    assert generated == written
    assert written
