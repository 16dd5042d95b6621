"""Device plugins by the API v1beta1: the harness plays the kubelet, and the device plugin under test runs on a node."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from dra_api.rpc import RpcError
from dra_api.rpc.device_plugin import HEALTHY, UNHEALTHY, PluginDevice
from dra_api.threads import started
from dra_conformance.components.device_plugin import NodeDevicePlugin
from dra_conformance.core import manifests
from dra_conformance.core.errors import NotApplicable, SpecificationError, Untestable
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.device_plugins import ConnectedPlugin, is_extended_resource
from dra_conformance.steps.node_faults import sysfs_link

SECONDS = 20.0
"""Seconds in which a program does what needs no pause."""
_LATER = 40.0
"""Seconds in which a plugin registers after a restart or a failure: longer than the usual pause of 30 s."""
_GRACE = 30.0
"""terminationGracePeriodSeconds of a pod."""
_MAX_ID = 63

Ids = Mapping[str, frozenset[str]]


@dataclass(slots=True)
class Plugins:
    """The device plugins of the scenario by node, and what earlier steps have seen of them."""

    by_node: dict[str, NodeDevicePlugin] = field(default_factory=dict)
    before: dict[str, Ids] = field(default_factory=dict)
    """The ids of each resource by node, before its plugin or its kubelet was restarted."""
    end: str | None = None
    """What was wrong with the end of the plugin, empty if nothing was; None before it was to end."""
    first_list: tuple[PluginDevice, ...] | None = None
    """The first list of a further stream; None if none came."""


def slot(world: World, node: str) -> NodeDevicePlugin:
    """Return the device plugin of a node, made at first use; it ends with the scenario."""
    plugins = world.state(Plugins).by_node
    if node not in plugins:
        plugins[node] = NodeDevicePlugin(world, world.node(node))
        world.cleanup.callback(plugins[node].end)
    return plugins[node]


def start(world: World, node: str, *, flags: str = "", as_process: bool = False) -> None:
    """Start the kubelet's side and the plugin, and wait until it is registered with a list of devices."""
    plugin = slot(world, node)
    plugin.flags = (*plugin.flags, *flags.split())
    plugin.manager.start()
    plugin.start(as_process=as_process)
    plugin.wait_registered()


def registered(world: World, node: str) -> list[ConnectedPlugin]:
    """Return what is registered on a node, by resource name. Raises Untestable if nothing is."""
    found = sorted(slot(world, node).manager.plugins(), key=lambda one: one.resource)
    if not found:
        raise Untestable(f"no device plugin is registered on {node}; {slot(world, node).state()}")
    return found


def ids_of(plugin: ConnectedPlugin) -> list[str]:
    """Return the ids of the healthy devices of a plugin's last list."""
    return [device.id for device in plugin.devices if device.health == HEALTHY]


def with_devices(world: World, node: str, count: int) -> ConnectedPlugin:
    """Return a registered resource with so many healthy devices. Raises NotApplicable if there is none."""
    found = registered(world, node)
    for plugin in found:
        if len(ids_of(plugin)) >= count:
            return plugin
    most = max(len(ids_of(plugin)) for plugin in found)
    raise NotApplicable(f"needs a resource with {count} healthy devices; the plugin lists {most} at most")


def resources(world: World, node: str) -> Ids:
    """Return the ids of all registered resources."""
    return {one.resource: frozenset(device.id for device in one.devices) for one in slot(world, node).manager.plugins()}


def within(world: World, seconds: float) -> float:
    """Return how long to wait for a program; the reference in this process needs two seconds at most."""
    as_process = any(plugin.is_process for plugin in world.state(Plugins).by_node.values())
    return max(world.run.patience, seconds if world.uses_real_time or as_process else 5.0)


# -- running the plugin ------------------------------------------------------------------------------------------------


@given('the device plugin runs on node "{node}"')
def _(world: World, node: str) -> None:
    """Start a device manager and the device plugin; it is registered and has sent a list of devices."""
    start(world, node)


@given('the device plugin runs on node "{node}" with "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """The same with flags in the spelling of NVIDIA's plugin, separated by spaces."""
    start(world, node, flags=flags)


@given('the device plugin runs on node "{node}" as a process')
def _(world: World, node: str) -> None:
    """The same with a plugin that is a process, which can be killed."""
    start(world, node, as_process=True)


@given('the device manager runs on node "{node}"')
def _(world: World, node: str) -> None:
    """Create the folder of device plugins and serve kubelet.sock in it; no plugin runs."""
    slot(world, node).manager.start()


@given('node "{node}" has a folder of device plugins and no kubelet')
def _(world: World, node: str) -> None:
    """Create the folder of device plugins only."""
    slot(world, node).make_folder()


@given('the device manager of "{node}" refuses the next registration')
def _(world: World, node: str) -> None:
    """Fail the next call of Register."""
    slot(world, node).manager.refuse_next(1)


@given('the device plugin of "{node}" has the configuration file {document}')
def _(world: World, node: str, document: str) -> None:
    """Write a file (YAML) and start the plugin with `--config-file` from now on."""
    plugin = slot(world, node)
    path = plugin.node.root / "device-plugin.yaml"
    path.write_text(document)
    world.run.isolation.give(path)
    plugin.flags = (*plugin.flags, f"--config-file={path}")


@given('the device plugin of "{node}" has the flags "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """Start the plugin with these flags from now on, which are in the spelling of NVIDIA's plugin."""
    slot(world, node).flags += tuple(flags.split())


@when('the device plugin of "{node}" is {action:word}')
def _(world: World, node: str, action: str) -> None:
    """`started`, `stopped` in good order, `killed` or `restarted`."""
    plugin = slot(world, node)
    if action != "started":
        world.state(Plugins).before[node] = resources(world, node)
    match action:
        case "started":
            plugin.start()
        case "stopped":
            plugin.stop()
        case "killed":
            plugin.stop(kill=True)
        case "restarted":
            plugin.stop()
            plugin.start()
        case _:
            raise SpecificationError(f"{world.scenario.where}: a device plugin cannot be {action}")


@when('the device plugin of "{node}" receives SIGTERM')
def _(world: World, node: str) -> None:
    """Let the plugin end: its process by the signal, the reference in this process by its method."""
    plugin = slot(world, node)
    world.state(Plugins).end = plugin.terminate(within(world, _GRACE))


@then("the device plugin has ended without an error")
def _(world: World) -> None:
    """It ended in time, with exit code 0 or by the signal."""
    found = world.state(Plugins).end
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no step before this one has ended the device plugin")
    world.check(
        not found, "the end of the device plugin", expected="exit code 0, or the signal", observed=found or "that"
    )


@when('the device plugin of "{node}" is started as a process')
def _(world: World, node: str) -> None:
    """Start a program, also of the reference; an error of any kind at its start ends it."""
    slot(world, node).start(as_process=True)


@when('the device manager of "{node}" is {action}')
def _(world: World, node: str, action: str) -> None:
    """`started`, or `restarted` as a kubelet does: all sockets are removed; `restarted twice` without a pause."""
    manager = slot(world, node).manager
    if action == "started":
        manager.start()
        return
    if action not in ("restarted", "restarted twice"):
        raise SpecificationError(f"{world.scenario.where}: a device manager cannot be {action}")
    world.state(Plugins).before[node] = resources(world, node)
    manager.restart()
    if action == "restarted twice":
        manager.restart()


@when('the socket of the device plugin on "{node}" is removed')
def _(world: World, node: str) -> None:
    """Remove the sockets of all registered resources, while the kubelet runs."""
    manager = slot(world, node).manager
    world.state(Plugins).before[node] = resources(world, node)
    for plugin in registered(world, node):
        (manager.folder / plugin.registration.endpoint).unlink()


# -- registration ------------------------------------------------------------------------------------------------------


@then('the device plugin of "{node}" registers')
def _(world: World, node: str) -> None:
    """The kubelet accepts a registration, and the plugin sends a list of devices; after a restart, of all resources."""
    plugin, before = slot(world, node), world.state(Plugins).before.get(node, {})

    def look() -> Seen[str]:
        found = {one.resource for one in plugin.manager.plugins() if one.lists}
        return bool(found) and found >= set(before), f"{in_words(sorted(found))}; {plugin.state()}"

    expected = f"{in_words(sorted(before)) if before else 'a resource'}; the plugin runs"
    world.eventually("registered resources", look, expected=expected, within=within(world, _LATER))


@then('the device plugin of "{node}" registers later, or ends')
def _(world: World, node: str) -> None:
    """The plugin is registered within 40 seconds, or its process ends, so that it can be started again."""
    plugin = slot(world, node)

    def look() -> Seen[str]:
        found = {one.resource for one in plugin.manager.plugins() if one.lists}
        seen = f"registered: {in_words(sorted(found))}; {plugin.state()}"
        return bool(found) or plugin.has_ended, seen

    world.eventually(
        "the device plugin registers later, or ends",
        look,
        expected="registered: a resource; or the plugin ended",
        within=within(world, _LATER),
    )


@then('the device plugin of "{node}" does not offer anything, and ends')
def _(world: World, node: str) -> None:
    """The plugin ends by itself, and has never registered."""
    plugin = slot(world, node)

    def look() -> Seen[str]:
        tried = [one.registration.resource_name for one in plugin.manager.attempts]
        return plugin.has_ended and not tried, f"registered: {in_words(tried)}; {plugin.state()}"

    expected = "registered: none; the plugin ended"
    world.eventually("the device plugin ends", look, expected=expected, within=within(world, SECONDS))


@then('every registration on "{node}" has "{path}" {value}')
def _(world: World, node: str, path: str, value: str) -> None:
    """A field of every request of Register so far has this value (core.values)."""
    attempts = slot(world, node).manager.attempts
    if not attempts:
        raise Untestable(f"no device plugin has called Register on {node}")
    seen = [manifests.look_up(asdict(attempt.registration), path) for attempt in attempts]
    wanted = expectation(value)
    ok = all(wanted.is_met(one) for one in seen)
    expected, observed = [wanted.shown] * len(seen), [wanted.show(one) for one in seen]
    world.check(ok, f"{path} of each registration", expected=expected, observed=observed)


@then('every registration on "{node}" names an extended resource')
def _(world: World, node: str) -> None:
    """The resource has a domain that is not Kubernetes' own, and a name that a quota can have too."""
    names = [attempt.registration.resource_name for attempt in slot(world, node).manager.attempts]
    if not names:
        raise Untestable(f"no device plugin has called Register on {node}")
    ok = all(is_extended_resource(name) for name in names)
    wrong = [name for name in names if not is_extended_resource(name)]
    world.check(ok, "resource names that are not vendor-domain/resource", expected=[], observed=wrong)


@then('every registration on "{node}" names a socket in the folder of the kubelet')
def _(world: World, node: str) -> None:
    """The endpoint is the base name of a socket, without a path."""
    manager = slot(world, node).manager
    names = [attempt.registration.endpoint for attempt in manager.attempts]
    if not names:
        raise Untestable(f"no device plugin has called Register on {node}")
    sockets = {path.name for path in manager.sockets()}
    ok = all("/" not in name and name in sockets for name in names)
    wrong = [name for name in names if "/" in name or name not in sockets]
    world.check(ok, "endpoints that are no base names of sockets", expected=[], observed=wrong)


@then('every device plugin on "{node}" served before it registered')
def _(world: World, node: str) -> None:
    """The first connection that the kubelet made while the plugin waited for Register was answered."""
    attempts = slot(world, node).manager.attempts
    if not attempts:
        raise Untestable(f"no device plugin has called Register on {node}")
    seen = {
        one.registration.resource_name: one.error or ("at once" if one.served_at_once else "late") for one in attempts
    }
    expected = dict.fromkeys(seen, "at once")
    world.check(all(one.served_at_once for one in attempts), "the plugins serve", expected=expected, observed=seen)


@then('the options of every registration on "{node}" are those of GetDevicePluginOptions')
def _(world: World, node: str) -> None:
    """The options in the request of Register are the response of GetDevicePluginOptions."""
    found = registered(world, node)
    named = {one.resource: asdict(one.registration.options) for one in found}
    seen = {one.resource: asdict(one.options) for one in found}
    ok = all(one.registration.options == one.options for one in found)
    world.check(ok, "the returned options are those of the registration", expected=named, observed=seen)


# -- lists -------------------------------------------------------------------------------------------------------------


@then('the ListAndWatch streams of "{node}" stay open')
def _(world: World, node: str) -> None:
    """A plugin is registered, and no stream of it ends within a second."""
    plugin = slot(world, node)

    def accepted() -> Seen[str]:
        return bool(plugin.manager.accepted()), plugin.state()

    def look() -> Seen[str]:
        seen = {one.resource: one.ended or ("open" if one.lists else "no list") for one in plugin.manager.accepted()}
        return all(one == "open" for one in seen.values()), in_words(sorted(set(seen.values()))) if seen else "open"

    world.require(f"a device plugin is registered on {node}", accepted, within=within(world, SECONDS))
    world.wait(lambda: (all(one.lists or one.ended for one in plugin.manager.accepted()), None), within(world, SECONDS))
    world.stays("the streams stay open", look, expected="open", seconds=1.0)


@then('every list of "{node}" has unique ids of 1 to 63 characters')
def _(world: World, node: str) -> None:
    """No id of a list is empty, too long or there twice."""
    bad = {}
    for plugin in registered(world, node):
        for devices in plugin.lists:
            counts = Counter(device.id for device in devices)
            wrong = [one for one, count in counts.items() if count > 1 or not 0 < len(one) <= _MAX_ID]
            bad.update({plugin.resource: wrong} if wrong else {})
    if not any(resources(world, node).values()):
        raise Untestable("the plugin lists no device")
    world.check(not bad, f"ids that are not unique or not 1 to {_MAX_ID} characters", expected={}, observed=bad)


@then('every list of "{node}" has only the health values of the API')
def _(world: World, node: str) -> None:
    """The health of every device is `Healthy` or `Unhealthy`."""
    found = {device.health for plugin in registered(world, node) for devices in plugin.lists for device in devices}
    world.check(
        bool(found) and found <= {HEALTHY, UNHEALTHY}, "health", expected=[HEALTHY, UNHEALTHY], observed=sorted(found)
    )


@when('a further ListAndWatch stream is opened on "{node}"')
def _(world: World, node: str) -> None:
    """Open a second stream to a plugin that is registered, and wait for its first list."""
    came = threading.Event()
    plugin = registered(world, node)[0]
    stream = plugin.open_list()
    state = world.state(Plugins)

    def read() -> None:
        try:
            state.first_list = next(stream, None)
        except RpcError:
            state.first_list = None
        came.set()

    thread = started(read, name="further-list")
    world.log.clock.wait(came, max(world.run.patience, SECONDS) if world.uses_real_time else world.run.patience)
    stream.close()
    thread.join(SECONDS)


@when('GPU {gpu:d} of "{node}" reports XID {xid:d} until a list follows')
def _(world: World, gpu: int, node: str, xid: int) -> None:
    """Let NVML report an XID once a second until the plugin sends another list, for 20 seconds at most.

    A plugin may register before it watches NVML, so that it misses the first report.
    """
    found = registered(world, node)
    before = sum(len(one.lists) for one in found)

    def look() -> Seen[None]:
        return sum(len(one.lists) for one in found) > before, None

    deadline = world.log.clock.monotonic() + within(world, SECONDS)
    while True:
        world.node(node).gpus.inject_xid(gpu, xid)
        if world.wait(look, 1.0)[0] or world.log.clock.monotonic() > deadline:
            return


@when('a changed list of "{node}" arrives')
def _(world: World, node: str) -> None:
    """Wait until a registered plugin has sent a second list."""
    found = registered(world, node)
    world.require(
        "the plugin sends a second list",
        lambda: (any(len(one.lists) > 1 for one in found), [len(one.lists) for one in found]),
        within=within(world, SECONDS),
    )


@then('its first list has all devices of "{node}"')
def _(world: World, node: str) -> None:
    """The first list of the further stream has the ids of the stream that the kubelet has."""
    first = world.state(Plugins).first_list
    wanted = sorted(device.id for device in registered(world, node)[0].devices)
    if not wanted:
        raise Untestable("the plugin lists no device")
    seen = None if first is None else sorted(device.id for device in first)
    world.check(seen == wanted, "the first list", expected=wanted, observed=seen)


@then('the devices of one GPU of "{node}" become Unhealthy')
def _(world: World, node: str) -> None:
    """A list arrives in which at least one device is Unhealthy."""

    def look() -> Seen[str]:
        found = _health(world, node)
        return found[UNHEALTHY] > 0, f"{found[UNHEALTHY]} devices"

    message = f"devices that are {UNHEALTHY}"
    world.eventually(message, look, expected="1 or more devices", within=within(world, SECONDS))


@then('only the devices of one GPU of "{node}" are Unhealthy')
def _(world: World, node: str) -> None:
    """The unhealthy devices are as many as one GPU has, and stay so for a second."""
    found = _health(world, node)
    wanted = found.total() / len(world.node(node).gpus.gpus)

    def look() -> Seen[float]:
        seen = _health(world, node)
        return seen[UNHEALTHY] == wanted, seen[UNHEALTHY]

    if not found[UNHEALTHY]:
        raise Untestable("no device is Unhealthy")
    expected = int(wanted) if wanted.is_integer() else wanted
    world.stays(f"number of devices that are {UNHEALTHY}", look, expected=expected, seconds=1.0)


def _health(world: World, node: str) -> Counter[str]:
    return Counter(device.health for one in registered(world, node) for device in one.devices)


@then('every list of "{node}" has the same ids')
def _(world: World, node: str) -> None:
    """Lists that report a change have all devices. There has to be a second list."""
    several = [one for one in registered(world, node) if len(one.lists) > 1]
    if not several:
        raise Untestable("the plugin has sent no second list")
    seen = {one.resource: [sorted(device.id for device in devices) for devices in one.lists] for one in several}
    ok = all(one == lists[0] for lists in seen.values() for one in lists)
    wanted = {resource: [lists[0]] * len(lists) for resource, lists in seen.items()}
    world.check(ok, "the ids of all lists", expected=wanted, observed=seen)


@then('the ids of "{node}" are those from before')
def _(world: World, node: str) -> None:
    """Every resource has the ids that it had before the last restart."""
    before = world.state(Plugins).before.get(node)
    if not before:
        raise SpecificationError(f"{world.scenario.where}: nothing was restarted on {node}")
    now = resources(world, node)
    world.check(
        now == before,
        "the ids of every resource",
        expected={name: sorted(ids) for name, ids in before.items()},
        observed={name: sorted(ids) for name, ids in now.items()},
    )


@then('the devices of "{node}" name the NUMA nodes of their GPUs')
def _(world: World, node: str) -> None:
    """The topology of the devices has the NUMA nodes that /sys has for the GPUs, as often; none for -1."""
    component = world.node(node)
    gpus = Counter(
        int((sysfs_link(component, gpu) / "numa_node").read_text()) for gpu in range(len(component.gpus.gpus))
    )
    if all(number < 0 for number in gpus):
        raise Untestable("the GPUs have no NUMA node")
    devices = with_devices(world, node, 1).devices
    share = len(devices) // gpus.total()
    wanted = {str((number,) if number >= 0 else None): count * share for number, count in gpus.items()}
    seen = dict(Counter(str(device.numa_nodes) for device in devices))
    world.check(seen == wanted, "the NUMA nodes", expected=wanted, observed=seen)


@then('the device plugin of "{node}" offers {amounts}')
def _(world: World, node: str, amounts: str) -> None:
    """The registered resources are exactly these, with these numbers of devices (YAML)."""
    wanted = {str(name): int(count) for name, count in manifests.parse_value(amounts).items()}

    def look() -> Seen[dict[str, int]]:
        seen = {name: len(ids) for name, ids in resources(world, node).items()}
        return seen == wanted, seen

    # A plugin may start again after a failure.
    world.eventually("the resources", look, expected=wanted, within=within(world, _LATER))


@then('the device plugin of "{node}" ends without an offer, or offers {amounts}')
def _(world: World, node: str, amounts: str) -> None:
    """The plugin refuses the GPUs and ends without a registration, or its resources are exactly these (YAML)."""
    wanted = {str(name): int(count) for name, count in manifests.parse_value(amounts).items()}
    plugin = slot(world, node)

    def look() -> Seen[str]:
        seen = {name: len(ids) for name, ids in resources(world, node).items()}
        refused = plugin.has_ended and not plugin.manager.attempts
        return seen == wanted or refused, f"{in_words(seen)}; {plugin.state()}"

    expected = f"{in_words(wanted)}; or nothing, and the plugin ended"
    world.eventually("the resources", look, expected=expected, within=within(world, SECONDS))


@then('the device plugin of "{node}" ends, or offers {amounts}')
def _(world: World, node: str, amounts: str) -> None:
    """Within 40 seconds the registered resources are exactly these (YAML), or the plugin has ended."""
    wanted = {str(name): int(count) for name, count in manifests.parse_value(amounts).items()}
    plugin = slot(world, node)

    def look() -> Seen[str]:
        seen = {name: len(ids) for name, ids in resources(world, node).items()}
        return seen == wanted or plugin.has_ended, f"{in_words(seen)}; {plugin.state()}"

    expected = f"{in_words(wanted)}; or the plugin ended"
    world.eventually("the resources", look, expected=expected, within=within(world, _LATER))


# -- sockets -----------------------------------------------------------------------------------------------------------


@then('the device plugin of "{node}" leaves no socket')
def _(world: World, node: str) -> None:
    """The folder of the kubelet has no socket that a plugin registered."""
    manager = slot(world, node).manager
    known = {attempt.registration.endpoint for attempt in manager.attempts}

    def look() -> Seen[list[str]]:
        left = sorted(path.name for path in manager.sockets() if path.name in known)
        return not left, left

    if not known:
        raise Untestable(f"no device plugin has registered on {node}")
    world.eventually("no socket is left", look, expected=[], within=within(world, SECONDS))


@then('the device plugin of "{node}" serves a new socket, or ends')
def _(world: World, node: str) -> None:
    """The plugin makes its removed sockets again and registers, or its process ends."""
    plugin = slot(world, node)
    before = world.state(Plugins).before.get(node, {})

    def look() -> Seen[str]:
        names = {one.registration.endpoint for one in plugin.manager.plugins()}
        sockets = {path.name for path in plugin.manager.sockets()}
        again = bool(names) and names <= sockets and set(resources(world, node)) >= set(before)
        return plugin.has_ended or again, f"sockets: {in_words(sorted(sockets))}; {plugin.state()}"

    expected = "sockets: one for each resource; or the plugin ended"
    world.eventually("a new socket, or an end", look, expected=expected, within=within(world, SECONDS))
