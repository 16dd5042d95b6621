"""The driver under test and the kubelet as programs: starts, stops, restarts, registration and announced services."""

from __future__ import annotations

import re
import threading

from dra_api.rpc import (
    DRA_VERSIONS,
    DRAPluginClient,
    PluginInfo,
    RegistrationClient,
    RpcError,
    SocketChannel,
)
from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.driver_calls import (
    CALL,
    Call,
    calls,
    look_registered,
    problem_of,
    reference_to,
    show_device,
    start_again,
)
from dra_conformance.steps.scripted_drivers import known_driver_name


@when('the driver on "{node}" is {action:word}')
def _(world: World, node: str, action: str) -> None:
    """The driver is `started`, `stopped` (SIGTERM for a process), `killed` or `restarted`; nothing is waited for."""
    control_driver(world, world.node(node), action)


def control_driver(world: World, node: ScenarioNode, action: str) -> None:
    """Start or end the driver of a node. Raises SpecificationError for an unknown action."""
    match action:
        case "started":
            start_again(world, node)
        case "stopped":
            node.stop_driver()
        case "killed":
            node.kill_driver()
        case "restarted":
            node.stop_driver()
            start_again(world, node)
        case _:
            raise SpecificationError(f"a driver can be started, stopped, killed or restarted, not {action}")


@when('the driver on "{node}" is started with "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """Start the stopped driver with these flags instead of its own; nothing is waited for."""
    component = world.node(node)
    component.flags = tuple(flags.split())
    start_again(world, component)


@when('the {which:word} instance of the driver on "{node}" is {action}')
def _(world: World, which: str, node: str, action: str) -> None:
    """The `second` instance is `started with "FLAGS"` in addition to its own; either is `stopped` (SIGTERM)."""
    component = world.node(node)
    if which == "first" and action == "stopped":
        component.retire_driver()
    elif which == "second" and action == "stopped":
        component.take_back_driver()
        calls(world).before = []  # the instance that is left registered long ago
    elif which == "second" and (found := re.fullmatch(r'started with "([^"]*)"', action)):
        # Before the start: only an instance that is not in this list counts as newly registered.
        calls(world).before = component.kubelet.plugins.instances(component.driver_name)
        component.roll_driver(found[1].split())
    else:
        raise SpecificationError(f"the second instance can be started, either stopped; not {which} {action}")


@when('the kubelet of "{node}" is {action:word}')
def _(world: World, node: str, action: str) -> None:
    """The kubelet is `started`, `stopped` (as if killed), `restarted`, or `rebooted` with its node and containers."""
    component = world.node(node)
    match action:
        case "started" if world.judges_emulated_kubelet:
            component.kubelet.start()  # a failure breaks the current rule
        case "started":
            component.start_kubelet()
        case "stopped":
            component.kubelet.stop()
        case "restarted":
            component.kubelet.restart()
        case "rebooted":
            component.kubelet.reboot()
        case _:
            raise SpecificationError(f"a kubelet can be started, stopped, restarted or rebooted, not {action}")


@then('the driver on "{node}" {manner} registered')
def _(world: World, node: str, manner: str) -> None:
    """The driver `comes to be` registered, after a restart again, or `stays` so; the kubelet is connected to it."""
    component = world.node(node)
    expected = "registered"
    message = f"the driver {component.driver_name} is registered"
    match manner:
        case "comes to be":
            # A driver that has ended will not register.
            within = world.run.patience if component.driver_error else max(world.run.patience, 20.0)
            world.eventually(message, lambda: look_registered(world, component), expected=expected, within=within)
        case "stays":
            world.stays(message, lambda: look_registered(world, component), expected=expected)
        case _:
            raise SpecificationError(f"a driver comes to be or stays registered; it does not {manner!r}")


@then('GetInfo of the driver on "{node}" returns as "{field}" one of "{values}"')
def _(world: World, node: str, field: str, values: str) -> None:
    """A field of PluginInfo has one of these values; a list contains one of them."""
    found = getattr(plugin_info(world, world.node(node)), field)
    wanted = words(world.text(values))
    several = [found] if isinstance(found, str) else list(found)
    ok = bool(set(several) & set(wanted))
    world.check(ok, f"{field} of GetInfo", expected=" or ".join(wanted), observed=in_words(several))


def plugin_info(world: World, node: ScenarioNode) -> PluginInfo:
    """Return what the driver's GetInfo returns. Raises Untestable if the call fails."""
    try:
        with RegistrationClient(node.plugin.instance.registration_socket, clock=world.clock) as client:
            return client.get_info(timeout=5.0)
    except KubeletError as error:
        raise Untestable(str(error)) from error
    except RpcError as error:
        raise Untestable(f"GetInfo: {error}") from error


@then('every DRA service that the driver on "{node}" announces is served')
def _(world: World, node: str) -> None:
    """An empty NodeUnprepareResources call reaches each announced service at the announced endpoint."""
    info = plugin_info(world, world.node(node))
    outcomes: dict[str, str] = {}
    for version in info.supported_versions:
        if version not in DRA_VERSIONS:
            continue  # health services, and versions that kubelets do not use to prepare claims
        client = DRAPluginClient(endpoint_of(world, node, info), version, clock=world.clock)
        try:
            client.unprepare([], timeout=CALL)
            outcomes[version] = "served"
        except RpcError as error:
            # Any other error comes from the method itself, so the service is there.
            outcomes[version] = "served" if error.code not in _NOT_SERVED else f"{error.code}: {error.details}"
        finally:
            client.close()
    ok = bool(outcomes) and all(outcome == "served" for outcome in outcomes.values())
    expected = dict.fromkeys(outcomes, "served") or None
    world.check(ok, "announced services are served", expected=expected, observed=outcomes)


@then('every health service that the driver on "{node}" announces reports health or returns UNIMPLEMENTED')
def _(world: World, node: str) -> None:
    """The stream of each announced health service has a report within five seconds, or ends with UNIMPLEMENTED."""
    info = plugin_info(world, world.node(node))
    announced = [version for version in info.supported_versions if version.endswith(_HEALTH)]
    outcomes = {version: first_of_stream(world, endpoint_of(world, node, info), version) for version in announced}
    ok = all(outcome in ("reports", "UNIMPLEMENTED") for outcome in outcomes.values())
    expected = "reports, or UNIMPLEMENTED"
    world.check(ok, "announced health services", expected=expected, observed=in_words(outcomes))


_HEALTH = ".DRAResourceHealth"


def first_of_stream(world: World, endpoint: str, service: str) -> str:
    """Return what the stream of a health service does first: `reports`, the code of its error, or another word."""
    channel = SocketChannel(endpoint, clock=world.clock)
    try:
        stream = channel.stream(service, "NodeWatchResources", lambda data: data)
        timer = threading.Timer(5.0, stream.close)
        timer.start()
        try:
            return next(("reports" for _ in stream), "no report")
        except RpcError as error:
            return error.code
        finally:
            timer.cancel()
            stream.close()
    except RpcError as error:
        return error.code
    finally:
        channel.close()


_NOT_SERVED = ("UNIMPLEMENTED", "UNAVAILABLE", "DEADLINE_EXCEEDED")


def endpoint_of(world: World, node: str, info: PluginInfo) -> str:
    """Return the announced endpoint, or the registration socket if none is announced."""
    instance = world.node(node).plugin.instance
    # A program in a mount namespace may see the folder at another path than the kubelet.
    return instance.endpoint if info.endpoint else str(instance.registration_socket)


@then('every DRA service of the driver on "{node}" returns the same devices for claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """NodePrepareResources of every announced service returns the same devices (v1beta1 has no share ids)."""
    ref = reference_to(world, claim)
    info = plugin_info(world, world.node(node))
    answers: dict[str, object] = {}
    for version in info.supported_versions:
        if version not in DRA_VERSIONS:
            continue
        client = DRAPluginClient(endpoint_of(world, node, info), version, clock=world.clock)
        try:
            call = Call(prepared=client.prepare([ref], timeout=CALL))
        except RpcError as error:
            call = Call(error=error)
        finally:
            client.close()
        answers[version] = problem_of(call, ref) or [show_device(d) for d in call.prepared[ref.uid].devices]
    first = next(iter(answers.values()), "no service")
    ok = bool(answers) and all(answer == first and not isinstance(answer, str) for answer in answers.values())
    devices = next((one for one in answers.values() if not isinstance(one, str)), None)
    expected = dict.fromkeys(answers, devices) or None
    world.check(ok, "all services return the same devices", expected=expected, observed=answers)


@then('driver "{driver}" is no longer registered on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """The kubelet removes the driver, and the registration folder has no socket."""
    component = world.node(node)
    name = known_driver_name(world, world.text(driver))

    def look() -> Seen[dict[str, list[str]]]:
        drivers = component.kubelet.plugins.drivers()
        # Like a kubelet, ignore names that begin with a dot.
        files = sorted(
            path.name for path in component.kubelet.registration_dir.iterdir() if not path.name.startswith(".")
        )
        return not files and name not in drivers, {
            "files": files,
            "registered": [one for one in drivers if one == name],
        }

    expected: dict[str, list[str]] = {"files": [], "registered": []}
    world.eventually("the driver is unregistered", look, expected=expected)
