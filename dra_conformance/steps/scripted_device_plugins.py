"""Scripted device plugins, whose behaviour the scenario decides, and the calls that the kubelet makes to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dra_api.rpc.device_plugin import PluginDevice, PluginOptions
from dra_conformance.components.scripted_device_plugin import Call, ScriptedDevicePlugin
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.topology import Topology

_OPTIONS: Mapping[str, str] = {
    "PreStartContainer": "pre_start_required",
    "GetPreferredAllocation": "get_preferred_allocation_available",
}

_MANY = re.compile(r"(?P<count>\d+) devices(?: with ids of (?P<length>\d+) characters)?")


@dataclass(slots=True)
class ScriptedPlugins:
    """The scripted device plugins of the scenario by alias, and the error of each one's last Register."""

    of_alias: dict[str, ScriptedDevicePlugin] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


def plugin_of(world: World, alias: str) -> ScriptedDevicePlugin:
    """Return a scripted device plugin. Raises SpecificationError if the scenario has none of that name."""
    found = world.state(ScriptedPlugins).of_alias.get(alias)
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: there is no scripted device plugin {alias}")
    return found


def _make(world: World, alias: str, node: str, count: int, resource: str, wants: str = "") -> ScriptedDevicePlugin:
    """Start a plugin that serves and does not register yet; it ends with the scenario."""
    kubelet, folder = world.node(node).kubelet, world.node(node).device_plugins_dir
    folder.mkdir(exist_ok=True, mode=0o700)  # a kubelet that does nothing has not made it
    plugin = ScriptedDevicePlugin(
        alias=alias,
        resource=resource,
        folder=folder,
        registry=kubelet.registration_dir,
        cdi_root=kubelet.cdi_roots[0],
        clock=world.clock,
        poke=world.log.poke,
    )
    plugin.options_answer = options_of(world, wants)
    plugin.offer([PluginDevice(f"{alias}-{number}") for number in range(count)])
    world.state(ScriptedPlugins).of_alias[alias] = plugin
    world.cleanup.callback(plugin.stop)
    plugin.serve()
    return plugin


def options_of(world: World, wants: str) -> PluginOptions:
    """Return the options of a plugin that wants these calls."""
    unknown = set(words(wants)) - set(_OPTIONS)
    if unknown:
        raise SpecificationError(f"{world.scenario.where}: no plugin wants {', '.join(sorted(unknown))}")
    return PluginOptions(**{_OPTIONS[one]: True for one in words(wants)})


def _register(world: World, alias: str) -> None:
    """Register, and wait until the kubelet has processed the first list."""
    error = world.state(ScriptedPlugins).answers[alias] = plugin_of(world, alias).register()
    if error:
        raise Untestable(f"the kubelet refuses the scripted device plugin {alias}: {error}")
    world.settle()


@given('node "{node}" with a kubelet that serves device plugins')
def _(world: World, node: str) -> None:
    """Start a kubelet with a folder of device plugins; no plugin runs."""
    component = world.node(node)
    component.kubelet.device_plugins_dir = component.device_plugins_dir
    component.start_kubelet()


@given('node "{node}" with a kubelet that aligns the devices of each {scope:word} by "{policy}"')
def _(world: World, node: str, scope: str, policy: str) -> None:
    """Start a kubelet that serves device plugins, on a machine with the NUMA nodes 0 and 1.

    `scope` is `container` or `pod`, `policy` one of the topology manager.
    """
    component = world.node(node)
    component.kubelet.device_plugins_dir = component.device_plugins_dir
    try:
        component.kubelet.topology = Topology(policy=policy, scope=scope, numa_nodes=(0, 1))
    except ValueError as error:
        raise SpecificationError(f"{world.scenario.where}: {error}") from None
    component.start_kubelet()


@given(
    'the kubelet of "{node}" aligns the devices of each {scope:word} by "{policy}" '
    'with "{options}" on {count:d} NUMA nodes'
)
def _(world: World, node: str, scope: str, policy: str, options: str, count: int) -> None:
    """Set the policy, and its options, of a kubelet that serves device plugins and has not started yet.

    `options` are `name=value`, separated by commas. All NUMA nodes of the machine have the same distance.
    """
    component = world.node(node)
    component.kubelet.device_plugins_dir = component.device_plugins_dir
    pairs = (one.partition("=") for one in words(options))
    nodes = range(count)
    try:
        component.kubelet.topology = Topology(
            policy=policy,
            scope=scope,
            options={name: value for name, _, value in pairs},
            numa_nodes=tuple(nodes),
            distances={one: tuple(10 if one == other else 40 for other in nodes) for one in nodes},
        )
    except ValueError as error:
        raise SpecificationError(f"{world.scenario.where}: {error}") from None


@given('the NUMA nodes {one:d} and {other:d} of "{node}" have the distance {distance:d}')
def _(world: World, one: int, other: int, node: str, distance: int) -> None:
    """Change the distance of two NUMA nodes, before the kubelet starts."""
    kubelet = world.node(node).kubelet
    pair = {one, other}
    distances = {
        here: tuple(distance if {here, there} == pair else before for there, before in enumerate(of_node))
        for here, of_node in kubelet.topology.distances.items()
    }
    kubelet.topology = replace(kubelet.topology, distances=distances)


@given('a scripted device plugin "{plugin}" on "{node}" with {count:d} devices of "{resource}"')
def _(world: World, plugin: str, node: str, count: int, resource: str) -> None:
    """Start and register a plugin whose devices are called by its name and a number from 0."""
    _make(world, plugin, node, count, resource)
    _register(world, plugin)


@given('a scripted device plugin "{plugin}" on "{node}" with {count:d} devices of "{resource}" that wants "{calls}"')
def _(world: World, plugin: str, node: str, count: int, resource: str, calls: str) -> None:
    """The same with options: `PreStartContainer`, `GetPreferredAllocation` (separated by commas)."""
    _make(world, plugin, node, count, resource, calls)
    _register(world, plugin)


@given('a scripted device plugin "{plugin}" on "{node}" with {count:d} devices of "{resource}" that is not registered')
def _(world: World, plugin: str, node: str, count: int, resource: str) -> None:
    """Start a plugin that only serves its socket."""
    _make(world, plugin, node, count, resource)


def _register_with(world: World, scripted: ScriptedDevicePlugin, fields: str) -> str:
    """Call Register with other values, and return the error."""
    what, _, value = fields.partition(" ")
    value = value.strip('"')
    match what:
        case "":
            return scripted.register()
        case "version":
            return scripted.register(version=value)
        case "resource":
            return scripted.register(resource=value)
        case "options":
            return scripted.register(options=options_of(world, value))
    raise SpecificationError(f"{world.scenario.where}: a plugin cannot register with {fields}")


def _appear(world: World, scripted: ScriptedDevicePlugin, fields: str) -> None:
    """Create the plugin's socket in plugins_registry, with other values in the answer of GetInfo."""
    match fields.removeprefix("with ").partition(" "):
        case ("", _, _):
            scripted.appear()
        case ("version", _, value):
            scripted.appear(version=value.strip('"'))
        case ("resource", _, value):
            scripted.appear(resource=value.strip('"'))
        case _:
            raise SpecificationError(f"{world.scenario.where}: a plugin cannot appear {fields}")


@given('the scripted device plugin "{plugin}" {behaviour}')
@when('the scripted device plugin "{plugin}" {behaviour}')
def _(world: World, plugin: str, behaviour: str) -> None:
    """The plugin does this now, or behaves like this from now on.

    `registers`, also `with version "V"`, `with resource "NAME"` or `with options "CALLS"`; `lists "id health, …"`, with
    the NUMA nodes of a device as in `gpu-0 Healthy 0+1`, `lists nothing` or `lists N devices`, also `with ids of N
    characters`; `fails the next METHOD`, `fails each METHOD`, `fails no METHOD`; `answers the next Allocate with
    nothing`, `answers each Allocate with "ids"`, or `with one response more`, or `with the CDI device "name"`;
    `prefers "ids"`; `also gives "name"`; `ends`; `ends its streams`; `starts again`; `appears in plugins_registry`,
    also `with version "V"` or `with resource "NAME"`; `disappears from plugins_registry`.
    """
    scripted = plugin_of(world, plugin)
    what, _, rest = behaviour.partition(" ")
    quoted = rest.strip('"')
    match what:
        case "registers":
            world.state(ScriptedPlugins).answers[plugin] = _register_with(world, scripted, rest.removeprefix("with "))
        case "lists":
            many = _MANY.fullmatch(rest)
            if many:
                scripted.offer(_many_devices(plugin, int(many["count"]), int(many["length"] or 0)))
            else:
                scripted.offer([] if rest == "nothing" else [_device(one) for one in words(quoted)])
        case "fails":
            _fail(scripted, rest)
        case "answers":
            _answer(scripted, rest)
        case "prefers":
            scripted.behaviour.preferred = tuple(words(quoted))
        case "also":
            scripted.behaviour.shared_name = rest.removeprefix("gives ").strip('"')
            scripted.write_spec()
        case "ends":
            if rest:
                scripted.end_streams()
            else:
                scripted.stop()
        case "appears":
            _appear(world, scripted, rest.removeprefix("in plugins_registry").strip())
        case "disappears":
            scripted.disappear()
        case "starts":
            scripted.stop()
            scripted.serve()
            _register(world, plugin)
        case _:
            raise SpecificationError(f"{world.scenario.where}: a device plugin cannot {behaviour!r}")
    world.settle()


def _answer(scripted: ScriptedDevicePlugin, how: str) -> None:
    """Let Allocate be answered in this way, once (`the next`) or always (`each`)."""
    behaviour = scripted.behaviour
    match how.removeprefix("the ").partition(" Allocate with "):
        case ("next", _, "nothing"):
            behaviour.answers_nothing = True
        case ("each", _, "one response more"):
            behaviour.answers_more = True
        case ("each", _, what) if what.startswith("the CDI device "):
            behaviour.cdi_device = what.removeprefix("the CDI device ").strip('"')
        case ("each", _, what) if what.startswith('"'):
            behaviour.answered_ids = tuple(words(what.strip('"')))
        case _:
            raise SpecificationError(f"a device plugin cannot answer {how!r}")


def _many_devices(alias: str, count: int, length: int) -> list[PluginDevice]:
    """Return Healthy devices that are called by the plugin's name and a number, filled up to a length."""
    return [PluginDevice(f"{alias}-{number}".ljust(length, "x")) for number in range(count)]


def _device(described: str) -> PluginDevice:
    """Return the device of `id health`, or of `id health NUMA+NUMA`."""
    name, _, rest = described.partition(" ")
    health, _, numa = rest.partition(" ")
    return PluginDevice(name, health, tuple(int(node) for node in numa.split("+")) if numa else None)


# -- calls -------------------------------------------------------------------------------------------------------------


def _fail(scripted: ScriptedDevicePlugin, calls: str) -> None:
    """Let `the next METHOD`, `each METHOD` or `no METHOD` fail."""
    which, method = calls.removeprefix("the ").split(" ")
    for name, methods in (("next", scripted.behaviour.failing), ("each", scripted.behaviour.always_failing)):
        methods.discard(method)
        if which == name:
            methods.add(method)


@then('Register of the scripted device plugin "{plugin}" {outcome:word}')
def _(world: World, plugin: str, outcome: str) -> None:
    """The last call of Register `succeeded` or `failed`."""
    if outcome not in ("succeeded", "failed"):
        raise SpecificationError(f"{world.scenario.where}: Register succeeded or failed, not {outcome!r}")
    error = world.state(ScriptedPlugins).answers.get(plugin, "Register was not called")
    world.check(bool(error) == (outcome == "failed"), "Register", expected=outcome, observed=error or "succeeded")


@then('the kubelet reports to the scripted device plugin "{plugin}" that its registration {outcome:word}')
def _(world: World, plugin: str, outcome: str) -> None:
    """The last NotifyRegistrationStatus says that the registration `succeeded`, or that it `failed`, and why."""
    if outcome not in ("succeeded", "failed"):
        raise SpecificationError(f"{world.scenario.where}: a registration succeeded or failed, not {outcome!r}")

    def look() -> Seen[str]:
        last = next(iter(plugin_of(world, plugin).statuses[-1:]), None)
        seen = "no report" if last is None else "succeeded" if last.registered else "failed"
        explained = last is not None and bool(last.error) != last.registered
        return seen == outcome and explained, seen if explained else f"{seen}, without a matching error"

    world.eventually("NotifyRegistrationStatus", look, expected=outcome)


def calls_of(world: World, plugin: str, method: str) -> list[Call]:
    """Return the calls of a method that a plugin has received."""
    return [call for call in plugin_of(world, plugin).calls if call.method == method]


@then('the scripted device plugin "{plugin}" has received {count:d} {method:word} calls')
def _(world: World, plugin: str, count: int, method: str) -> None:
    """The plugin has received so many calls of a method once everything has settled."""
    world.wait(lambda: (len(calls_of(world, plugin, method)) >= count, ""))

    def look() -> Seen[str]:
        seen = calls_of(world, plugin, method)
        return len(seen) == count, f"{len(seen)} calls"

    world.stays(f"{method} calls of {plugin}", look, expected=f"{count} calls")


@then('the scripted device plugin "{plugin}" has {count:d} open ListAndWatch streams')
def _(world: World, plugin: str, count: int) -> None:
    """The plugin comes to have so many streams that neither side has ended."""

    def look() -> Seen[int]:
        seen = plugin_of(world, plugin).open_streams
        return seen == count, seen

    world.eventually(f"open ListAndWatch streams of {plugin}", look, expected=count)


@then('every {method:word} call of the scripted device plugin "{plugin}" is for {count:d} devices of one container')
def _(world: World, method: str, plugin: str, count: int) -> None:
    """Each request has one container with so many different devices of the plugin. There has to be a call."""
    seen = calls_of(world, plugin, method)
    ok = bool(seen) and all(
        call.containers == 1
        and len(call.ids) == len(set(call.ids)) == count
        and all(i.startswith(f"{plugin}-") for i in call.ids)
        for call in seen
    )
    shown = [f"devices {in_words(call.ids)} of {call.containers} containers" for call in seen]
    world.check(ok, method, expected=f"{count} devices of 1 containers in each call", observed=in_words(shown))


@then('the scripted device plugin "{plugin}" is called for a preference of {size:d} of "{available}" with "{must}"')
def _(world: World, plugin: str, size: int, available: str, must: str) -> None:
    """A request of GetPreferredAllocation has this size, these available devices, and these that must be included."""
    wanted = (size, sorted(words(available)), sorted(words(must)))

    def shown(size: int, available: list[str], must: list[str]) -> str:
        return f"(size {size}, available {in_words(available)}, must include {in_words(must)})"

    def look() -> Seen[str]:
        asked = [one.preference for one in calls_of(world, plugin, "GetPreferredAllocation") if one.preference]
        seen = [(one.size, sorted(one.available), sorted(one.must_include)) for one in asked]
        return wanted in seen, in_words([shown(*one) for one in seen])

    world.eventually(f"GetPreferredAllocation of {plugin}", look, expected=shown(*wanted))


@then('the scripted device plugin "{plugin}" has received {first:word} before {second:word}')
def _(world: World, plugin: str, first: str, second: str) -> None:
    """The first call of one method came before the first call of the other."""
    seen = [call.method for call in plugin_of(world, plugin).calls]
    ok = first in seen and second in seen and seen.index(first) < seen.index(second)
    world.check(ok, "calls", expected=f"{first} before {second}", observed=in_words(seen))
