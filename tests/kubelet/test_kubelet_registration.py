"""The registration folder: handshake, version choice, refusals, several instances, and the wiping of slices."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from kubelet_world import DRIVER, Driver, World

from dra_api.rpc import V1, V1BETA1, ClaimRef, PluginInfo, RpcError, SocketServer, codec
from dra_conformance.kubelet import DriverNotRegistered, KubeletError, RegistrationRefused
from dra_conformance.kubelet.plugins import choose_version


def test_a_driver_is_registered_and_notified(node: World) -> None:
    driver = Driver(node.kubelet.cdi_roots[0])
    server = node.serve(driver)
    handle = node.kubelet.wait_registered(DRIVER)
    status = server.wait_notified(60)
    assert status is not None
    assert (status.registered, status.error) == (True, "")
    steps = [data["step"] for data in node.log.of("registration")]
    assert steps[:3] == ["found", "GetInfo", "registered"]
    assert handle.prepare([ClaimRef("a", "u", "c")])["u"].devices[0].share_id == "share-1"
    (call,) = node.log.of("call")
    assert (call["method"], call["service"], call["code"]) == ("NodePrepareResources", V1, "OK")
    assert call["request"] == {"claims": [{"namespace": "a", "uid": "u", "name": "c"}]}


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [((V1, V1BETA1), V1), ((V1BETA1, V1), V1BETA1), (("v9.DRAPlugin", V1BETA1), V1BETA1)],
)
def test_the_plugins_order_decides_the_version(versions: tuple[str, ...], chosen: str) -> None:
    assert choose_version(versions) == chosen


@pytest.mark.parametrize("versions", [(), ("v1alpha3.Node",)])
def test_no_known_version_is_refused(versions: tuple[str, ...]) -> None:
    with pytest.raises(RegistrationRefused):
        choose_version(versions)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"versions": ()}, "empty list of supported gRPC services"),
        ({"versions": (), "extra_versions": ("v9.DRAPlugin",)}, "none of the services supported by the plugin"),
    ],
)
def test_a_refused_plugin_receives_the_reason_and_is_not_called(
    node: World, options: dict[str, Any], expected: str
) -> None:
    server = node.serve(Driver(node.kubelet.cdi_roots[0]), **options)
    status = server.wait_notified(60)
    assert status is not None
    assert not status.registered
    assert expected in status.error
    with pytest.raises(DriverNotRegistered, match=f"{DRIVER}-reg.sock.*{expected}"):
        node.kubelet.wait_registered(DRIVER, 0.1)


def test_a_driver_that_never_registers_is_explained(node: World) -> None:
    (node.kubelet.registration_dir / "stray.txt").write_text("x")
    node.serve(Driver(node.kubelet.cdi_roots[0], "other.example.com"))
    node.kubelet.wait_registered("other.example.com")
    with pytest.raises(DriverNotRegistered) as failure:
        node.kubelet.wait_registered(DRIVER, 0.1)
    message = str(failure.value)
    assert f"DRA driver {DRIVER} is not registered" in message
    assert "-reg.sock (other.example.com)" in message
    assert "stray.txt (no socket)" in message
    with pytest.raises(DriverNotRegistered, match=f"DRA driver {DRIVER} is not registered"):
        node.kubelet.plugin(DRIVER).prepare([])


def test_an_endpoint_below_a_shown_folder_is_called_on_the_node(node: World) -> None:
    """A program in a mount namespace announces the path that it sees."""
    node.serve(Driver(node.kubelet.cdi_roots[0]))
    node.kubelet.wait_registered(DRIVER)
    plugins = node.kubelet.plugins
    plugins._shown_at = {Path("/var/lib/kubelet/plugins"): node.kubelet.plugins_dir}
    found = plugins._on_node("/var/lib/kubelet/plugins/d/dra.sock")
    assert found == str(node.kubelet.plugins_dir / "d/dra.sock")
    assert plugins._on_node("/var/lib/kubelet/plugins2/dra.sock") == "/var/lib/kubelet/plugins2/dra.sock"


def test_a_socket_that_answers_garbage_is_named(node: World) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(node.kubelet.registration_dir / "dead-reg.sock"))
        message = node.log.wait(lambda: node.log.of("problem", socket="dead-reg.sock"))[0]["message"]
    assert message.startswith("dead-reg.sock did not answer GetInfo: UNAVAILABLE")


def test_a_socket_that_is_bound_before_its_program_listens_is_soon_tried_again(
    node: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs in Go do so; a kubelet that is notified of the file may connect in between."""
    queue, delays = node.kubelet.plugins._queue, list[float]()

    def at_once(path: Path, seconds: float) -> None:
        delays.append(seconds)
        if len(delays) < 5:
            queue.add(path)

    monkeypatch.setattr(queue, "add_after", at_once)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(node.kubelet.registration_dir / "late-reg.sock"))
        node.log.wait(lambda: len(node.log.of("problem", socket="late-reg.sock")) == 5)
        node.kubelet.stop()  # after the last attempt
    assert delays == [0.02, 0.04, 0.08, 0.5, 1.0]


def test_another_plugin_type_is_refused(node: World) -> None:
    server = node.serve(Driver(node.kubelet.cdi_roots[0]), start=False)
    server.info = type(server.info)("CSIPlugin", DRIVER, server.info.endpoint, (V1,))
    server.start()
    status = server.wait_notified(60)
    assert status is not None
    assert "no handler registered for plugin type: CSIPlugin" in status.error


def test_an_endpoint_that_is_too_long_for_a_socket_is_refused(node: World) -> None:
    server = node.serve(Driver(node.kubelet.cdi_roots[0]), start=False)
    server.info = type(server.info)(server.info.type, DRIVER, f"/{'x' * 200}", (V1,))
    server.start()
    status = server.wait_notified(60)
    assert status is not None
    assert status.error.startswith("socket path is 201 bytes long, Linux allows 107")


def test_removing_the_socket_deregisters(node: World) -> None:
    node.driver()
    node.servers[0].stop_registration()
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))
    with pytest.raises(DriverNotRegistered):
        node.kubelet.plugin(DRIVER).prepare([])


def test_calls_go_to_the_newest_connected_instance_and_fall_back(node: World) -> None:
    old, new = Driver(node.kubelet.cdi_roots[0]), Driver(node.kubelet.cdi_roots[0])
    node.serve(old, instance="-a")
    node.kubelet.wait_registered(DRIVER)
    second = node.serve(new, instance="-b")
    handle = node.kubelet.wait_registered(DRIVER, instances=2)
    node.log.wait(lambda: all(i.connected for i in node.kubelet.plugins.instances(DRIVER)))
    claim = ClaimRef("a", "u", "c")
    handle.prepare([claim])
    assert (len(old.prepared), len(new.prepared)) == (0, 1)
    second.stop_service()  # the process is gone, its registration socket is still there
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER)[-1].connected)
    handle.prepare([claim])
    assert (len(old.prepared), len(new.prepared)) == (1, 1)


def test_one_endpoint_cannot_be_registered_twice(node: World) -> None:
    node.driver()
    endpoint = node.servers[0].info.endpoint
    hijacker = node.serve(Driver(node.kubelet.cdi_roots[0]), instance="-x", endpoint=endpoint)
    status = hijacker.wait_notified(60)
    assert status is not None
    assert f"endpoint {endpoint} already registered" in status.error


def test_a_restarted_driver_is_registered_again_on_the_same_socket(node: World) -> None:
    driver = node.driver()
    node.servers[0].stop(grace=0)
    node.servers[0].start()
    node.log.wait(lambda: len(node.log.of("registration", step="registered")) == 2)
    node.kubelet.wait_registered(DRIVER).prepare([ClaimRef("a", "u", "c")])
    assert len(driver.prepared) == 1


def test_starting_wipes_the_slices_of_this_node_only(world: World) -> None:
    world.slice("mine")
    world.slice("theirs", node="node-2")
    world.slice("everywhere", node=None)
    world.kubelet.start()
    assert world.slices() == ["everywhere", "theirs"]


def test_slices_go_30_seconds_after_the_driver_and_stay_when_it_comes_back(node: World) -> None:
    node.driver()
    node.slice("mine")
    node.slice("network", node=None)
    node.servers[0].stop(grace=0)
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))
    node.clock.advance(29)
    assert node.slices() == ["mine", "network"]
    node.servers[0].start()
    node.kubelet.wait_registered(DRIVER)
    node.wait_connected()
    node.clock.advance(60)
    assert node.slices() == ["mine", "network"]
    node.servers[0].stop(grace=0)
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))
    node.clock.advance(31)
    node.log.wait(lambda: node.slices() == ["network"])


def test_wiping_is_tried_again(world: World) -> None:
    world.slice("mine")
    world.api.refuse[("DELETE", "resourceslices")] = 500
    world.kubelet.start()
    assert world.slices() == ["mine"]
    world.api.refuse.clear()
    world.clock.advance(2)
    world.log.wait(lambda: not world.slices())


def during_the_wipe(node: World, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> threading.Event:
    """Call `act` once when the slices to delete have been listed; the event is set when the deletion may go on."""
    acted = threading.Event()
    answer = node.api.request

    def request(method: str, path: str, **options: Any) -> Any:
        found = answer(method, path, **options)
        if (method, path.rpartition("/")[2]) == ("GET", "resourceslices") and not acted.is_set():
            act()
            acted.set()
        return found

    monkeypatch.setattr(node.api, "request", request)
    return acted


def test_a_driver_that_comes_back_during_the_wipe_keeps_its_slices(
    node: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.driver()
    node.slice("mine")
    node.servers[0].stop(grace=0)
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))

    def come_back() -> None:
        node.servers[0].start()
        node.kubelet.wait_registered(DRIVER)
        node.wait_connected()

    acted = during_the_wipe(node, monkeypatch, come_back)
    node.clock.advance(31)
    assert acted.wait(60)
    node.servers[0].stop(grace=0)
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))
    # A wipe of the first loss would have ended before that of the second one.
    assert node.slices() == ["mine"]
    assert node.log.of("slices", driver=DRIVER) == []
    node.clock.advance(31)
    node.log.wait(lambda: node.log.of("slices", driver=DRIVER))
    assert node.slices() == []


def test_a_driver_that_is_lost_again_during_the_wipe_loses_its_slices_later(
    node: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.driver()
    node.servers[0].stop(grace=0)
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))

    def come_and_go() -> None:
        node.servers[0].start()
        node.kubelet.wait_registered(DRIVER)
        node.wait_connected()
        node.slice("newer")
        node.servers[0].stop(grace=0)
        node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))

    acted = during_the_wipe(node, monkeypatch, come_and_go)
    node.clock.advance(31)
    assert acted.wait(60)
    assert node.slices() == ["newer"]
    node.clock.advance(31)
    node.log.wait(lambda: not node.slices())


def test_a_stopped_kubelet_says_so(world: World) -> None:
    with pytest.raises(KubeletError, match="not running"):
        world.kubelet.wait_registered(DRIVER)


def test_a_call_in_progress_ends_when_the_driver_dies(node: World) -> None:
    driver = node.driver()
    driver.hold = threading.Event()
    failures: list[RpcError] = []

    def call() -> None:
        with pytest.raises(RpcError) as failure:
            node.kubelet.plugin(DRIVER).prepare([ClaimRef("a", "u", "c")])
        failures.append(failure.value)

    thread = threading.Thread(target=call)
    thread.start()
    assert driver.entered.wait(60)
    stopper = threading.Thread(target=lambda: node.servers[0].stop(grace=0))
    stopper.start()
    thread.join(60)
    driver.hold.set()
    stopper.join(60)
    assert failures
    assert failures[0].code in {"UNAVAILABLE", "CANCELLED"}


def _raw(node: World, name: str, service: str, **methods: Any) -> SocketServer:
    """A server that answers with bytes of the test's choice."""
    handlers = {method: grpc.unary_unary_rpc_method_handler(answer) for method, answer in methods.items()}
    folder = node.kubelet.registration_dir if name.endswith("-reg.sock") else node.kubelet.plugins_dir
    server = SocketServer(folder / name, [grpc.method_handlers_generic_handler(service, handlers)], name=name)
    node.servers.append(server)  # type: ignore[arg-type]
    server.start()
    return server


REGISTRATION = "pluginregistration.Registration"
GARBAGE = b"\xff\xff\xff"


def test_garbage_from_the_registration_socket_is_named(node: World) -> None:
    _raw(node, "bad-reg.sock", REGISTRATION, GetInfo=lambda _, __: GARBAGE)
    message = node.log.wait(lambda: node.log.of("problem", socket="bad-reg.sock"))[0]["message"]
    assert message.startswith("bad-reg.sock did not answer GetInfo: INTERNAL: the response of 3 bytes is not a message")


def test_garbage_from_a_driver_is_an_error_of_that_call(node: World) -> None:
    endpoint = node.kubelet.plugins_dir / "bad.sock"
    service = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
    _raw(node, "bad.sock", service, NodePrepareResources=lambda _, __: GARBAGE)
    info = codec.encode_info(PluginInfo("DRAPlugin", DRIVER, str(endpoint), (V1,)))
    methods = {"GetInfo": lambda _, __: info, "NotifyRegistrationStatus": lambda _, __: b""}
    _raw(node, "bad-reg.sock", REGISTRATION, **methods)
    node.kubelet.wait_registered(DRIVER)
    node.claim("c", "p")
    node.pod("p", "c")
    message = (
        f"NodePrepareResources: INTERNAL from driver {DRIVER}: the response of 3 bytes is not a message of this service"
    )
    node.log.wait(lambda: message in node.kubelet.pod_error("default", "p"))


def test_a_plugin_that_does_not_take_the_verdict_is_dropped_and_tried_again(node: World) -> None:
    notified: list[bytes] = []

    def notify(data: bytes, context: grpc.ServicerContext) -> bytes:
        notified.append(data)
        if len(notified) == 1:
            context.abort(grpc.StatusCode.INTERNAL, "not now")
        return b""

    info = codec.encode_info(PluginInfo("DRAPlugin", DRIVER, str(node.kubelet.plugins_dir / "d.sock"), (V1,)))
    _raw(node, "d-reg.sock", REGISTRATION, GetInfo=lambda _, __: info, NotifyRegistrationStatus=notify)
    node.log.wait(lambda: node.log.of("registration", step="deregistered"))
    assert "did not take NotifyRegistrationStatus: INTERNAL: not now" in node.log.of("problem")[0]["message"]
    node.log.wait(lambda: len(node.log.of("registration", step="registered")) == 2)


def test_a_driver_that_registers_a_dead_endpoint_is_unavailable(node: World) -> None:
    node.serve(Driver(node.kubelet.cdi_roots[0]), endpoint=str(node.kubelet.plugins_dir / "nobody.sock"))
    node.kubelet.wait_registered(DRIVER)
    node.claim("c", "p")
    node.pod("p", "c")
    node.log.wait(lambda: "the driver went away or its socket is dead" in node.kubelet.pod_error("default", "p"))
