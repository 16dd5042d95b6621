"""The life of the driver under test: starts, stops, restarts, its registration and its services."""

from __future__ import annotations

from dra_api.rpc import (
    DRA_PLUGIN_TYPE,
    DRA_VERSIONS,
    DRAPluginClient,
    PluginInfo,
    RegistrationClient,
    RpcError,
)
from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.driver_calls import (
    CALL,
    Call,
    calls,
    look_registered,
    problem_of,
    reference_to,
    show_device,
    start_anew,
)


@when('the driver is started on "{node}"')
def _(world: World, node: str) -> None:
    """Start the driver under test; nothing is waited for."""
    world.node(node).start_driver()


@when('the driver on "{node}" is stopped')
def _(world: World, node: str) -> None:
    """Stop the driver in good order: SIGTERM for a process."""
    world.node(node).stop_driver()


@when('the driver on "{node}" restarts')
def _(world: World, node: str) -> None:
    """Stop the driver in good order and start it again; nothing is waited for."""
    component = world.node(node)
    component.stop_driver()
    start_anew(world, component)


@when('the driver on "{node}" restarts with "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """Stop the driver in good order and start it with these flags; nothing is waited for."""
    component = world.node(node)
    component.stop_driver()
    component.flags = tuple(flags.split())
    start_anew(world, component)


@when('the driver on "{node}" is killed and started again')
def _(world: World, node: str) -> None:
    """End the driver's process with SIGKILL and start it again; nothing is waited for."""
    component = world.node(node)
    component.kill_driver()
    start_anew(world, component, as_process=True)


@when('another instance of the driver starts on "{node}" with "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """Start the driver once more beside the one that runs, with these flags besides; nothing is waited for."""
    component = world.node(node)
    calls(world).before = component.kubelet.plugins.instances(component.driver_name)
    component.roll_driver(flags.split())


@when('the older instance of the driver on "{node}" stops')
def _(world: World, node: str) -> None:
    """Stop the first of two instances in good order."""
    world.node(node).retire_driver()


@when('the kubelet of "{node}" restarts')
def _(world: World, node: str) -> None:
    """Stop the kubelet as if killed and start it again; the driver keeps running."""
    component = world.node(node)
    component.kubelet.restart()


@then('the driver on "{node}" stays registered')
def _(world: World, node: str) -> None:
    """Nothing takes the driver away from the kubelet, also once all has come to rest."""
    component = world.node(node)
    world.stays(
        f"the driver on {node} stays registered",
        lambda: look_registered(world, component),
        expected=f"a registered driver {component.driver_name}",
    )


@then('the driver on "{node}" comes to be registered')
def _(world: World, node: str) -> None:
    """The driver (a new life of it, when it was started again) registers and its service can be connected to."""
    component = world.node(node)
    world.eventually(
        f"the driver {component.driver_name} registers",
        lambda: look_registered(world, component),
        expected=f"a registered driver {component.driver_name}",
        within=max(world.run.patience, 20.0),
    )


@then('the driver on "{node}" says who it is')
def _(world: World, node: str) -> None:
    """GetInfo tells type DRAPlugin, the driver's name, and at least one DRA service that kubelets know."""
    info = ask_info(world, world.node(node))
    ok = (
        info.type == DRA_PLUGIN_TYPE
        and info.name == world.run.options.driver_name
        and any(version in DRA_VERSIONS for version in info.supported_versions)
    )
    world.check(
        ok,
        "GetInfo tells type, name and services",
        expected=f"type {DRA_PLUGIN_TYPE}, name {world.run.options.driver_name}, one of {', '.join(DRA_VERSIONS)}",
        observed={"type": info.type, "name": info.name, "services": list(info.supported_versions)},
    )


def ask_info(world: World, node: ScenarioNode) -> PluginInfo:
    """Ask the driver who it is. Raises Untestable when it does not answer."""
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
    info = ask_info(world, world.node(node))
    outcomes: dict[str, str] = {}
    for version in info.supported_versions:
        if version not in DRA_VERSIONS:
            continue  # health services and services of the future are not the kubelet's to prepare with
        client = DRAPluginClient(endpoint_of(world, node, info), version, clock=world.clock)
        try:
            client.unprepare([], timeout=CALL)
            outcomes[version] = "served"
        except RpcError as error:
            # Whatever the method says of an empty call, it was there to say it.
            outcomes[version] = "served" if error.code not in _NOT_SERVED else f"{error.code}: {error.details}"
        finally:
            client.close()
    ok = bool(outcomes) and all(outcome == "served" for outcome in outcomes.values())
    world.check(ok, "announced services are served", expected="each of them answers", observed=outcomes)


_NOT_SERVED = ("UNIMPLEMENTED", "UNAVAILABLE", "DEADLINE_EXCEEDED")


def endpoint_of(world: World, node: str, info: PluginInfo) -> str:
    """Where the service is: the announced endpoint, or the registration socket when none is announced."""
    return info.endpoint or str(world.node(node).plugin.instance.registration_socket)


@then('every DRA service of the driver on "{node}" gives the same answer for claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """NodePrepareResources of every announced service gives the same devices (v1beta1 has no share ids)."""
    ref = reference_to(world, claim)
    info = ask_info(world, world.node(node))
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
    world.check(ok, "all services answer alike", expected="the same devices from each", observed=answers)


@then('the sockets of the driver on "{node}" are gone')
def _(world: World, node: str) -> None:
    """Nothing of the driver's is left in the registration folder, so that the kubelet forgets it."""
    component = world.node(node)

    def look() -> Seen:
        drivers = component.kubelet.plugins.drivers()
        files = sorted(
            path.name for path in component.kubelet.registration_dir.iterdir() if not path.name.startswith(".")
        )
        return not files and component.driver_name not in drivers, files or drivers or "nothing"

    world.eventually("the registration socket is removed", look, expected="an empty registration folder")
