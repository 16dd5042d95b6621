"""Allocate, GetPreferredAllocation and PreStartContainer of device plugins: the calls of the kubelet before a start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dra_api.rpc import RpcError
from dra_api.rpc.device_plugin import HEALTHY, ContainerAllocation, PreferenceRequest
from dra_conformance.core.errors import NotApplicable, SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import Seen, World, in_words, show
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.device_plugins import ConnectedPlugin
from dra_conformance.steps.device_plugin_api import SECONDS, ids_of, registered, with_devices

_PERMISSIONS = frozenset("rwm")
_REPLICA = "::"
_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_CAPABILITY = "/dev/nvidia-caps/nvidia-cap"
_FEWEST_GPUS = 3
"""So many replicas of different GPUs are requested for one container."""
_MOUNTED = "/var/run/nvidia-container-devices"
"""The folder in which the NVIDIA container runtime looks for devices that are named by mounts."""
_UNKNOWN = "dra-conformance-unknown"
"""An id that no plugin has."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of the last Allocate, or why it failed; `plugin` and `request` are what was called with what."""

    plugin: ConnectedPlugin
    request: tuple[tuple[str, ...], ...]
    containers: tuple[ContainerAllocation, ...] = ()
    error: str = ""

    def shown(self) -> str | list[dict[str, Any]]:
        """Return what was observed, for a check."""
        return self.error or [asdict(one) for one in self.containers]


@dataclass(slots=True)
class Allocations:
    """The answer of the last Allocate of the scenario."""

    answer: Answer | None = None


def allocate(world: World, plugin: ConnectedPlugin, *containers: Sequence[str]) -> Answer:
    """Call Allocate and keep the answer for later steps."""
    request = tuple(tuple(ids) for ids in containers)
    try:
        found = Answer(plugin, request, plugin.allocate(*containers, timeout=SECONDS))
    except RpcError as error:
        found = Answer(plugin, request, error=f"{error.code}: {error.details}")
    world.state(Allocations).answer = found
    return found


def content(one: ContainerAllocation) -> list[Any]:
    """Return what a container gets, in a form that does not depend on order or on random names of annotations."""
    return [
        sorted(one.envs.items()),
        sorted((m.container_path, m.host_path, m.read_only) for m in one.mounts),
        sorted((d.container_path, d.host_path, d.permissions) for d in one.devices),
        sorted(one.annotations.values()),
        sorted(one.cdi_devices),
    ]


def last_answer(world: World) -> Answer:
    """Return the answer of the last Allocate. Raises SpecificationError if no step called it."""
    found = world.state(Allocations).answer
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no step before this one called Allocate")
    return found


# -- Allocate ----------------------------------------------------------------------------------------------------------


def _each(world: World, node: str) -> tuple[ConnectedPlugin, dict[str, Answer]]:
    """Return the resource with most devices, and the answer for each of its devices alone."""
    plugin = max(registered(world, node), key=lambda one: len(ids_of(one)))
    return plugin, {one: allocate(world, plugin, [one]) for one in ids_of(plugin)}


def _require(answers: Mapping[str, Answer]) -> None:
    for one, answer in answers.items():
        if answer.error or len(answer.containers) != 1:
            raise Untestable(f"Allocate of {one} alone is not answered: {answer.shown()}")


def _by_health(world: World, node: str) -> tuple[ConnectedPlugin, str | None, str]:
    """Return a plugin with an Unhealthy device, one of its Healthy devices if it has any, and that Unhealthy one."""
    for plugin in registered(world, node):
        healthy = [device.id for device in plugin.devices if device.health == HEALTHY]
        broken = [device.id for device in plugin.devices if device.health != HEALTHY]
        if broken:
            return plugin, next(iter(healthy), None), broken[0]
    raise Untestable("no device is Unhealthy")


@when('Allocate on "{node}" is called for {what}')
def _(world: World, node: str, what: str) -> None:
    """Call Allocate for one container with `a device`, `N devices`, `N devices of "RESOURCE"`, `an unknown device`, `a
    known and an unknown device`, `an Unhealthy device`, or `a Healthy and an Unhealthy device`.
    """
    match what.split():
        case ["a", "device"]:
            plugin = with_devices(world, node, 1)
            ids = ids_of(plugin)[:1]
        case [count, "devices"] if count.isdecimal():
            plugin = with_devices(world, node, int(count))
            ids = ids_of(plugin)[: int(count)]
        case [count, "devices", "of", resource] if count.isdecimal():
            plugin = _offering(world, node, resource.strip('"'), int(count))
            ids = ids_of(plugin)[: int(count)]
        case ["an", "unknown", "device"]:
            plugin, ids = with_devices(world, node, 1), [_UNKNOWN]
        case ["a", "known", "and", "an", "unknown", "device"]:
            plugin = with_devices(world, node, 1)
            ids = [*ids_of(plugin)[:1], _UNKNOWN]
        case ["an", "Unhealthy", "device"]:
            plugin, _, broken = _by_health(world, node)
            ids = [broken]
        case ["a", "Healthy", "and", "an", "Unhealthy", "device"]:
            plugin, healthy, broken = _by_health(world, node)
            if healthy is None:
                raise NotApplicable("needs a Healthy and an Unhealthy device of one resource")
            ids = [healthy, broken]
        case _:
            raise SpecificationError(f"{world.scenario.where}: {what!r} cannot be allocated")
    allocate(world, plugin, ids)


def _offering(world: World, node: str, resource: str, count: int) -> ConnectedPlugin:
    """Wait for the plugin of a resource. Raises Untestable if it does not list `count` healthy devices."""
    found: list[ConnectedPlugin] = []

    def look() -> Seen[str]:
        offered = registered(world, node)
        found[:] = [one for one in offered if one.resource == resource and len(ids_of(one)) >= count]
        return bool(found), in_words([f"{one.resource}: {len(ids_of(one))}" for one in offered])

    world.require(f"{count} healthy devices of {resource} on {node}", look)
    return found[0]


@then("Allocate succeeds")
def _(world: World) -> None:
    """The last Allocate had a response with one entry."""
    answer = last_answer(world)
    seen = answer.error or f"the answers of {len(answer.containers)} containers"
    ok = not answer.error and len(answer.containers) == 1
    world.check(ok, "Allocate", expected="the answers of 1 containers", observed=seen)


@then("Allocate fails")
def _(world: World) -> None:
    """The last Allocate ended with an error."""
    answer = last_answer(world)
    world.check(bool(answer.error), "Allocate", expected="an error", observed=show(answer.shown()))


@then('Allocate on "{node}" answers each container of a request, in order')
def _(world: World, node: str) -> None:
    """One call for two containers has the answers of two calls, in the order of the request."""
    plugin, alone = _each(world, node)
    if len(alone) < 2:
        raise NotApplicable(f"needs two devices; the plugin lists {len(alone)}")
    _require(alone)
    first, *rest = alone
    # Two devices with different answers, so that the order can be seen.
    different = [one for one in rest if content(alone[one].containers[0]) != content(alone[first].containers[0])]
    second = (different or rest)[-1]
    both = allocate(world, plugin, [second], [first])
    wanted = [content(alone[one].containers[0]) for one in (second, first)]
    ok = not both.error and [content(one) for one in both.containers] == wanted
    found: list[Any] = [both.error] if both.error else [content(one) for one in both.containers]
    world.check(ok, "the answers", expected=wanted, observed=found)


@then('Allocate on "{node}" answers devices of different GPUs differently')
def _(world: World, node: str) -> None:
    """No answer is empty, and there are as many different ones as GPUs."""
    _, alone = _each(world, node)
    _require(alone)
    empty = [one for one, answer in alone.items() if answer.containers[0].is_empty]
    different = len({str(content(answer.containers[0])) for answer in alone.values()})
    gpus = len(world.node(node).gpus.gpus)
    seen = f"{different} different ones, empty for: {in_words(empty)}"
    ok = not empty and different >= gpus
    world.check(ok, "the answers", expected=f"{gpus} or more different ones, empty for: none", observed=seen)


def _access(one: ContainerAllocation) -> set[tuple[str, str]]:
    """Return the device files, mounts and CDI devices of a container by kind and name."""
    return {
        *(("device file", device.container_path) for device in one.devices),
        *(("mount", mount.container_path) for mount in one.mounts),
        *(("CDI device", name) for name in one.cdi_devices),
    }


@then('Allocate on "{node}" answers two devices with the files, mounts and CDI devices of each')
def _(world: World, node: str) -> None:
    """The answer for the first device and each other one has what the answers for either of them have."""
    plugin, alone = _each(world, node)
    if len(alone) < 2:
        raise NotApplicable(f"needs two devices; the plugin lists {len(alone)}")
    _require(alone)
    first, *rest = alone
    missing: dict[str, Any] = {}
    for second in rest:
        both = allocate(world, plugin, [first, second])
        wanted = _access(alone[first].containers[0]) | _access(alone[second].containers[0])
        found = _access(both.containers[0]) if len(both.containers) == 1 else set()
        if both.error or not wanted <= found:
            missing[f"{first}, {second}"] = both.error or sorted(map(list, wanted - found))
    world.check(not missing, "what the answers for two devices do not have", expected={}, observed=missing)


@then('Allocate on "{node}" answers equal requests equally')
def _(world: World, node: str) -> None:
    """The second call with the same ids has the answer of the first."""
    plugin = with_devices(world, node, 1)
    first, second = (allocate(world, plugin, ids_of(plugin)[:1]) for _ in range(2))
    if first.error or len(first.containers) != 1:
        raise Untestable(f"Allocate is not answered: {first.shown()}")
    ok = not second.error and [content(one) for one in second.containers] == [content(first.containers[0])]
    expected, observed = show(first.shown()), show(second.shown())
    world.check(ok, "the second answer", expected=expected, observed=observed)


@then('every CDI device of the answer is defined on "{node}"')
def _(world: World, node: str) -> None:
    """Each CDI name of the answer is a device of a CDI specification that is there. There has to be a CDI name."""
    names = _of_container(world).cdi_devices
    if not names:
        raise NotApplicable("the answers of the plugin name no CDI devices")
    defined = CDIRegistry.read(world.node(node).kubelet.cdi_roots).devices
    missing = [name for name in names if name not in defined]
    world.check(not missing, "CDI devices that no specification defines", expected=[], observed=missing)


@then("every device file of the answer has absolute paths and permissions of r, w and m")
def _(world: World) -> None:
    """The entries of `devices` have two absolute paths, and at least one permission. There has to be an entry."""
    files = _of_container(world).devices
    if not files:
        raise NotApplicable("the answers of the plugin have no device files")
    bad = [
        asdict(one)
        for one in files
        if not (
            one.container_path.startswith("/")
            and one.host_path.startswith("/")
            and one.permissions
            and set(one.permissions) <= _PERMISSIONS
        )
    ]
    world.check(not bad, "the device files", expected=[], observed=bad)


@then('the answer has the device files of its GPUs of "{node}" below /dev')
def _(world: World, node: str) -> None:
    """In the container, each GPU of the request has /dev/nvidia<minor>, as NVML reports its minor number."""
    answer = _of_container(world)
    minors = {gpu.uuid: gpu.minor for gpu in world.node(node).gpus.gpus}
    wanted = sorted(f"/dev/nvidia{minors[one]}" for one in last_answer(world).request[0] if one in minors)
    if not wanted:
        raise Untestable(f"the request names no UUID of a GPU: {in_words(last_answer(world).request[0])}")
    found = sorted(one.container_path for one in answer.devices)
    ok = set(wanted) <= set(found)
    world.check(ok, "the device files in the container", expected=[*wanted, "and others"], observed=found)


@then('every CDI device of the answer has the device files of a MIG device on "{node}"')
def _(world: World, node: str) -> None:
    """Each has the device file of its GPU, and those of two capabilities: of its GPU instance and compute instance."""
    names = _of_container(world).cdi_devices
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    if not names or not set(names) <= set(registry.devices):
        raise Untestable(f"the CDI devices of the answer are not defined: {in_words(names)}")
    bad: dict[str, Any] = {}
    for device in registry.resolve(names):
        paths = [str(one.get("path")) for one in device.edits.get("deviceNodes") or ()]
        capabilities = {one for one in paths if one.startswith(_CAPABILITY)}
        gpus = {f"/dev/nvidia{gpu.minor}" for gpu in world.node(node).gpus.gpus}.intersection(paths)
        if len(capabilities) != 2 or len(gpus) != 1:
            bad[device.id] = paths
    world.check(not bad, "CDI devices without these device files", expected={}, observed=bad)


@then("the answer names devices by {fields}")
def _(world: World, fields: str) -> None:
    """Of envs, mounts, devices, annotations and cdi_devices, the answer has exactly these (comma-separated).

    Variables other than NVIDIA_VISIBLE_DEVICES name no device and do not count.
    """
    wanted, found = sorted(words(fields)), asdict(_of_container(world))
    seen = sorted(name for name, value in found.items() if value and (name != "envs" or _VISIBLE_DEVICES in value))
    world.check(seen == wanted, "the fields of the answer", expected=wanted, observed=seen)


@then('the answer names {count:d} GPUs of "{node}" once each')
def _(world: World, count: int, node: str) -> None:
    """NVIDIA_VISIBLE_DEVICES has so many UUIDs of GPUs of the node, each once."""
    found = words(_of_container(world).envs.get(_VISIBLE_DEVICES, ""))
    known = {gpu.uuid for gpu in world.node(node).gpus.gpus}
    ok = len(found) == len(set(found)) == count and set(found) <= known
    world.check(ok, _VISIBLE_DEVICES, expected=f"{count} different UUIDs of GPUs", observed=in_words(found))


def _requested_gpus(world: World, node: str) -> list[str]:
    """Return the ids of the last request. Raises Untestable if they are no UUIDs of the node's GPUs."""
    ids = list(last_answer(world).request[0])
    if not set(ids) <= {gpu.uuid for gpu in world.node(node).gpus.gpus}:
        raise Untestable(f"the request names devices that are no UUIDs of GPUs: {in_words(ids)}")
    return ids


@then('the variable of the answer has the UUIDs of the requested GPUs of "{node}"')
def _(world: World, node: str) -> None:
    """NVIDIA_VISIBLE_DEVICES has the UUIDs of the request, separated by commas, in any order."""
    wanted = sorted(_requested_gpus(world, node))
    text = _of_container(world).envs.get(_VISIBLE_DEVICES, "")
    world.check(sorted(text.split(",")) == wanted, _VISIBLE_DEVICES, expected=wanted, observed=text.split(","))


@then('the answer mounts the requested GPUs of "{node}" for the NVIDIA container runtime')
def _(world: World, node: str) -> None:
    """NVIDIA_VISIBLE_DEVICES names a folder, and /dev/null is mounted on a file below it for each UUID."""
    answer = _of_container(world)
    wanted = sorted([f"{_MOUNTED}/{one}", "/dev/null"] for one in _requested_gpus(world, node))
    found = sorted([mount.container_path, mount.host_path] for mount in answer.mounts)
    expected: list[Any] = [_MOUNTED, wanted]
    observed: list[Any] = [answer.envs.get(_VISIBLE_DEVICES), found]
    world.check(expected == observed, f"{_VISIBLE_DEVICES} and the mounts", expected=expected, observed=observed)


def _of_container(world: World) -> ContainerAllocation:
    answer = last_answer(world)
    if answer.error or len(answer.containers) != 1:
        raise Untestable(f"Allocate is not answered: {answer.shown()}")
    return answer.containers[0]


# -- preferences and starts --------------------------------------------------------------------------------------------


def _prefers(world: World, node: str, judge: Callable[[PreferenceRequest, Sequence[str]], bool], what: str) -> None:
    """Ask for preferred devices of several sizes, with and without devices that must be included, and judge each."""
    plugin = with_devices(world, node, 4)
    if not plugin.options.get_preferred_allocation_available:
        raise NotApplicable("the plugin does not offer GetPreferredAllocation")
    # Not the first ones, and not in the order of the list.
    available = tuple(reversed(ids_of(plugin)[-4:]))
    asked = [
        PreferenceRequest(available=available, must_include=must, size=size)
        for must in ((), available[1:2], available[1:3], (available[0], available[3]), available)
        for size in (1, 2, 3, 4)
        if size >= len(must)
    ]
    _check_preferences(world, plugin, asked, judge, what)


def _check_preferences(
    world: World,
    plugin: ConnectedPlugin,
    asked: Iterable[PreferenceRequest],
    judge: Callable[[PreferenceRequest, Sequence[str]], bool],
    what: str,
) -> None:
    """Fail if the plugin refuses a request, or answers one with other ids than the judge wants."""
    bad: dict[str, Any] = {}
    for one in asked:
        try:
            answers = plugin.prefer(one, timeout=SECONDS)
        except RpcError as error:
            bad[str(asdict(one))] = f"{error.code}: {error.details}"
            continue
        if len(answers) != 1 or not judge(one, answers[0]):
            bad[str(asdict(one))] = answers
    world.check(not bad, f"{what}; requests with other answers", expected={}, observed=bad)


@then('preferred devices of "{node}" include those that they must')
def _(world: World, node: str) -> None:
    """GetPreferredAllocation returns the ids of must_include_deviceIDs."""
    _prefers(world, node, lambda asked, ids: set(asked.must_include) <= set(ids), "devices that must be included")


@then('preferred devices of "{node}" are available ones')
def _(world: World, node: str) -> None:
    """GetPreferredAllocation returns ids of available_deviceIDs only."""
    _prefers(world, node, lambda asked, ids: bool(ids) and set(ids) <= set(asked.available), "available devices only")


@then('preferred devices of "{node}" are as many as requested')
def _(world: World, node: str) -> None:
    """GetPreferredAllocation returns allocation_size different ids."""
    _prefers(world, node, lambda asked, ids: len(ids) == len(set(ids)) == asked.size, "as many devices as requested")


@then('the preferred device of "{node}" beside replica {number:d} is of another GPU')
def _(world: World, node: str, number: int) -> None:
    """With one replica in use, a replica of an idle GPU is preferred. `number` counts ids in their order."""
    plugin = with_devices(world, node, number + 1)
    _check_preferring(world, plugin)
    used = sorted(ids_of(plugin))[number]
    gpu = used.partition(_REPLICA)[0]
    # The other replicas of that GPU first, so that the first available one is wrong.
    free = sorted((one for one in ids_of(plugin) if one != used), key=lambda one: not one.startswith(gpu))
    try:
        answer: object = plugin.prefer(PreferenceRequest(available=tuple(free), size=1), timeout=SECONDS)
    except RpcError as error:
        answer = f"{error.code}: {error.details}"
    ok = isinstance(answer, tuple) and len(answer) == 1 == len(answer[0]) and not answer[0][0].startswith(gpu)
    world.check(ok, "the preferred replica", expected=f"one, none of {gpu}", observed=in_words(answer))


@then('the preferred devices of "{node}" for a container are of different GPUs')
def _(world: World, node: str) -> None:
    """With no replica in use, those preferred for one container share no GPU, also beside one that it must have."""
    plugin = with_devices(world, node, 4)
    _check_preferring(world, plugin)
    available = tuple(sorted(ids_of(plugin)))
    if len({one.partition(_REPLICA)[0] for one in available}) < _FEWEST_GPUS:
        raise NotApplicable(f"needs {_FEWEST_GPUS} GPUs; the plugin lists {in_words(available)}")
    asked = [
        PreferenceRequest(available=available, must_include=must, size=size)
        for must in ((), (available[0],), (available[-1],))
        for size in (2, 3)
    ]

    def differ(one: PreferenceRequest, ids: Sequence[str]) -> bool:
        return len({found.partition(_REPLICA)[0] for found in ids}) == one.size

    _check_preferences(world, plugin, asked, differ, "as many GPUs as replicas")


def _check_preferring(world: World, plugin: ConnectedPlugin) -> None:
    """Fail if the plugin does not offer GetPreferredAllocation, so that no kubelet calls it."""
    ok = plugin.options.get_preferred_allocation_available
    world.check(ok, "the option get_preferred_allocation_available", expected=True, observed=ok)


@then('the preferred devices of "{node}" for a container are of one NUMA node')
def _(world: World, node: str) -> None:
    """Of devices of two NUMA nodes, those of one are preferred: of the node of a device that must be included."""
    plugin = with_devices(world, node, 4)
    _check_preferring(world, plugin)
    numa = {device.id: device.numa_nodes for device in plugin.devices if device.health == HEALTHY and device.numa_nodes}
    groups = [[one for one, nodes in numa.items() if nodes == which] for which in sorted({*numa.values()})]
    if len(groups) < 2 or min(map(len, groups)) < 3:
        raise NotApplicable(f"needs three devices on each of two NUMA nodes; the plugin lists {in_words(numa)}")
    available = tuple(one for pair in zip(*groups, strict=False) for one in pair)
    asked = [
        PreferenceRequest(available=(*available, *set(must) - set(available)), must_include=must, size=size)
        for must in ((), *((group[-1],) for group in groups))
        for size in (2, 3)
    ]

    def together(one: PreferenceRequest, ids: Sequence[str]) -> bool:
        return len(ids) == one.size and len({numa.get(found) for found in ids}) == 1

    _check_preferences(world, plugin, asked, together, "devices of one NUMA node")


@then('PreStartContainer on "{node}" fails for an unknown device')
def _(world: World, node: str) -> None:
    """It fails for an id that the plugin does not have, also beside one that it has."""
    plugin = with_devices(world, node, 1)
    if not plugin.options.pre_start_required:
        raise NotApplicable("the plugin does not want PreStartContainer")
    accepted = []
    for ids in ([_UNKNOWN], [*ids_of(plugin)[:1], _UNKNOWN]):
        try:
            plugin.pre_start(ids)
        except RpcError:
            continue
        accepted.append(ids)
    world.check(not accepted, "unknown devices that PreStartContainer accepts", expected=[], observed=accepted)


@then('a container with devices of "{node}" may start, and start again')
def _(world: World, node: str) -> None:
    """PreStartContainer succeeds twice for devices that Allocate has given."""
    plugin = with_devices(world, node, 1)
    if not plugin.options.pre_start_required:
        raise NotApplicable("the plugin does not want PreStartContainer")
    ids = ids_of(plugin)[:2]
    if (answer := allocate(world, plugin, ids)).error:
        raise Untestable(f"Allocate is not answered: {answer.error}")
    seen = []
    for _ in range(2):
        try:
            plugin.pre_start(ids)
            seen.append("OK")
        except RpcError as error:
            seen.append(f"{error.code}: {error.details}")
    world.check(seen == ["OK", "OK"], "PreStartContainer", expected=["OK", "OK"], observed=seen)
