"""Scripted device plugins, whose behaviour the scenario decides, and the calls that the kubelet makes to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_api.rpc.device_plugin import PluginDevice, PluginOptions
from dra_conformance.components.scripted_device_plugin import Call, ScriptedDevicePlugin
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words

_OPTIONS: Mapping[str, str] = {
    "PreStartContainer": "pre_start_required",
    "GetPreferredAllocation": "get_preferred_allocation_available",
}


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
    component.harness_kubelet.device_plugins_dir = component.device_plugins_dir
    component.start_kubelet()


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


@given('the scripted device plugin "{plugin}" {behaviour}')
@when('the scripted device plugin "{plugin}" {behaviour}')
def _(world: World, plugin: str, behaviour: str) -> None:
    """The plugin does this now, or behaves like this from now on.

    `registers`, also `with version "V"`, `with resource "NAME"` or `with options "CALLS"`; `lists "id health, …"` or
    `lists nothing`; `fails the next METHOD`, `fails each METHOD`, `fails no METHOD`; `answers the next Allocate with
    nothing`; `prefers "ids"`; `also gives "name"`; `ends`; `ends its streams`; `starts again`.
    """
    scripted = plugin_of(world, plugin)
    what, _, rest = behaviour.partition(" ")
    quoted = rest.strip('"')
    match what:
        case "registers":
            world.state(ScriptedPlugins).answers[plugin] = _register_with(world, scripted, rest.removeprefix("with "))
        case "lists":
            pairs = [] if rest == "nothing" else [one.partition(" ") for one in words(quoted)]
            scripted.offer([PluginDevice(name, health) for name, _, health in pairs])
        case "fails":
            _fail(scripted, rest)
        case "answers":
            scripted.behaviour.answers_nothing = True
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
        case "starts":
            scripted.stop()
            scripted.serve()
            _register(world, plugin)
        case _:
            raise SpecificationError(f"{world.scenario.where}: a device plugin cannot {behaviour!r}")
    world.settle()


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
