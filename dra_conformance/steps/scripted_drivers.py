"""Scripted drivers: drivers whose behaviour the scenario decides, and the calls that the kubelet makes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_api.rpc import ClaimRef
from dra_conformance.components.scripted_driver import ScriptedDriver
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.invented_names import invented
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.errors import DriverNotRegistered, KubeletError
from dra_conformance.steps.claims import allocate_by_hand, claim_object, device_class


@dataclass(slots=True)
class Scripted:
    """All instances of one scripted driver.

    `node` is the scenario's name of their node, `class_name` the DeviceClass of the driver's claims, `counted` the
    number of Prepare calls of each instance at the last look.
    """

    instances: list[ScriptedDriver] = field(default_factory=list)
    node: str = ""
    class_name: str = ""
    counted: list[int] = field(default_factory=list)


@dataclass(slots=True)
class ScriptedDrivers:
    """The scripted drivers of the scenario, by its own names for them."""

    of_alias: dict[str, Scripted] = field(default_factory=dict)


def group(world: World, alias: str) -> Scripted:
    """Return what the scenario knows of a scripted driver, which may not have started yet."""
    return world.state(ScriptedDrivers).of_alias.setdefault(alias, Scripted())


def scripted(world: World, alias: str) -> ScriptedDriver:
    """Return the newest instance of a scripted driver. Raises Untestable if there is none."""
    found = instances(world, alias)
    if not found:
        raise Untestable(f"there is no scripted driver {alias}")
    return found[-1]


def instances(world: World, alias: str) -> list[ScriptedDriver]:
    """Return all instances of a scripted driver, oldest first."""
    return group(world, alias).instances


def name_of_driver(world: World, alias: str) -> str:
    """Return the name under which a scripted driver registers."""
    return invented(f"{alias}-{world.suffix}")


def known_driver_name(world: World, text: str) -> str:
    """Return the name of a driver that a step names: a scripted driver's alias, or the real name of any driver."""
    return name_of_driver(world, text) if text in world.state(ScriptedDrivers).of_alias else text


def make(world: World, alias: str, node: str) -> ScriptedDriver:
    """Create an instance that is not yet started; it ends with the scenario."""
    kubelet = world.node(node).kubelet
    group(world, alias).node = node
    known = instances(world, alias)
    driver = ScriptedDriver(
        name=name_of_driver(world, alias),
        node=world.node(node).name,
        cdi_root=kubelet.cdi_roots[0],
        plugins_dir=kubelet.plugins_dir,
        registration_dir=kubelet.registration_dir,
        # Later instances run beside the first one and need sockets of their own.
        instance=f"-{len(known)}" if known else "",
        poke=world.log.poke,
    )
    known.append(driver)
    world.settling.held.append(lambda: driver.holding)
    world.cleanup.callback(driver.stop)
    return driver


def run(world: World, alias: str, node: str) -> ScriptedDriver:
    """Start an instance and wait until the kubelet is connected to it; until then the kubelet calls an older one."""
    driver = make(world, alias, node)
    driver.start()
    try:
        world.node(node).kubelet.wait_registered(driver.name, 10.0, instances=len(instances(world, alias)))
    except KubeletError as error:
        raise Untestable(str(error)) from error
    if not world.has_real_kubelet:  # its connections cannot be observed
        plugins = world.node(node).kubelet.plugins
        world.require(
            "the kubelet is connected to the instance",
            lambda: (any(one.connected for one in plugins.instances(driver.name)[-1:]), "registered, not connected"),
        )
    return driver


def claim_for(world: World, claim: str, node: str, requests: Sequence[tuple[str, str]]) -> Obj:
    """Create a claim that is allocated one device for each request, given with the alias of its scripted driver."""
    wanted, results, pool = [], [], world.name(node)
    for request, alias in requests:
        drivers = group(world, alias)
        name = name_of_driver(world, alias)
        if not drivers.class_name:
            drivers.class_name = name_of(device_class(world, f"class-{alias}", f'device.driver == "{name}"'))
        wanted.append({"name": request, "exactly": {"deviceClassName": drivers.class_name}})
        results.append({"request": request, "driver": name, "pool": pool, "device": f"dev-{claim}-{request}"})
        # All instances must know the requests: it is up to the kubelet which instance it calls.
        for driver in drivers.instances:
            driver.requests[claim] = tuple(one for one, other in requests if other == alias)
    world.create(claim_object(world, claim, {"devices": {"requests": wanted}}))
    return allocate_by_hand(world, claim, pool, results)


def names(calls: Sequence[Sequence[ClaimRef]]) -> list[list[str]]:
    """Return the claim names of each call."""
    return [sorted(ref.name for ref in call) for call in calls]


def _counted(calls: Sequence[Sequence[ClaimRef]]) -> str:
    return f"{len(calls)} calls"


def all_calls(world: World, alias: str, method: str) -> list[tuple[ClaimRef, ...]]:
    """Return the calls of a method that all instances received."""
    return [
        call
        for driver in instances(world, alias)
        for call in (driver.prepared if method == "Prepare" else driver.unprepared)
    ]


# -- starts and behaviour ----------------------------------------------------------------------------------------------


@given('a scripted driver "{driver}" on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """Start an instance of a scripted driver, which may have others already, and wait until it is registered."""
    run(world, driver, node)


@when('a scripted driver "{driver}" that announces "{versions}" starts on "{node}"')
def _(world: World, driver: str, versions: str, node: str) -> None:
    """Start a scripted driver that announces these services in this order (`none`: no service)."""
    make(world, driver, node).start(announced=announced_services(versions))


def announced_services(text: str) -> list[str]:
    """Return the services in a sentence; `none` is an empty list."""
    return [] if text == "none" else words(text)


@when('a scripted driver "{driver}" of the plugin type "{kind}" starts on "{node}"')
def _(world: World, driver: str, kind: str, node: str) -> None:
    """Start a scripted driver whose GetInfo returns this type."""
    make(world, driver, node).start(plugin_type=kind)


@when('a scripted driver "{driver}" that fails "{method}" starts on "{node}"')
def _(world: World, driver: str, method: str, node: str) -> None:
    """Start a scripted driver whose registration service fails in GetInfo or NotifyRegistrationStatus."""
    made = make(world, driver, node)
    made.failing_registration = method
    made.start()


@when('a scripted driver "{driver}" that does not answer "{method}" starts on "{node}"')
def _(world: World, driver: str, method: str, node: str) -> None:
    """Start a scripted driver whose registration service does not respond to GetInfo or NotifyRegistrationStatus."""
    made = make(world, driver, node)
    made.hold_registration(method)
    made.start()


@when('a scripted driver "{driver}" with a hidden registration socket starts on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """Start a scripted driver whose registration socket has a name that begins with a dot."""
    made = make(world, driver, node)
    made.hidden = True
    made.start()


@when('a scripted driver "{driver}" that does not serve yet registers on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """Start a scripted driver whose service socket does not exist before it `serves again`."""
    make(world, driver, node).start(serves=False)


@when('a scripted driver "{driver}" starts on "{node}" with the endpoint of its first instance')
def _(world: World, driver: str, node: str) -> None:
    """Start a second registration socket that announces the first instance's endpoint."""
    first = instances(world, driver)[0]
    made = make(world, driver, node)
    made.start(endpoint=str(first.plugin_socket))


@when('a scripted driver "{driver}" starts on "{node}" with the endpoint of "{other}"')
def _(world: World, driver: str, node: str, other: str) -> None:
    """Start the registration socket of another driver that announces the endpoint of this driver's first instance."""
    first = instances(world, other)[0]
    make(world, driver, node).start(endpoint=str(first.plugin_socket))


@given('the scripted driver "{driver}" {behaviour}')
def _(world: World, driver: str, behaviour: str) -> None:
    """The driver behaves like this from now on; see `behave`."""
    behave(world, driver, behaviour)


@when('the scripted driver "{driver}" {behaviour}')
def _(world: World, driver: str, behaviour: str) -> None:
    """The driver does this now, or behaves like this from now on; see `behave`."""
    behave(world, driver, behaviour)


def behave(world: World, alias: str, behaviour: str) -> None:
    """Change the behaviour of a scripted driver's newest instance. Raises SpecificationError for an unknown one.

    Behaviours in responses apply to Prepare; with `in Unprepare` at the end, to Unprepare.
    """
    driver = scripted(world, alias)
    match split_quoted(behaviour):
        case "works", "":
            driver.release()
        case "stops", "":
            stop_newest(world, alias)
        case "starts again", "":
            start_newest_again(world, alias)
        case "is started again", "":
            driver.start()
        case "is replaced at its sockets", "":
            # A new process renames its sockets over those of the old one, so that there is no moment without them.
            before = driver.server
            driver.start()
            if before is not None:
                before.stop(grace=0.2)
        case "is started again with", versions:
            driver.start(announced=announced_services(versions))
        case "stops to serve", "" if driver.server is not None:
            driver.server.stop_service()
        case "serves again", "" if driver.server is not None:
            driver.server.start_service()
        case "removes its registration socket", "":
            if driver.server is not None:
                driver.server.stop_registration()
        case "names no request for", claim:
            driver.unnamed.add(claim)
        case "writes no CDI file for", claim:
            driver.without_spec.add(claim)
        case "shares the devices of", claim:
            driver.shared.add(claim)
        case _:
            method = "Unprepare" if behaviour.endswith(" in Unprepare") else "Prepare"
            respond(world, driver, method, behaviour.removesuffix(" in Unprepare"))


def split_quoted(text: str) -> tuple[str, str]:
    """Return a text without the quoted word at its end, and that word; an empty one if there is none."""
    before, _, quoted = text.partition(' "')
    return before, quoted.removesuffix('"')


def respond(world: World, driver: ScriptedDriver, method: str, behaviour: str) -> None:
    """Change the responses of a driver to one method. Raises SpecificationError for an unknown behaviour."""
    script = driver.script[method]
    match split_quoted(behaviour):
        case "fails every call", "":
            script.call_error = "scripted failure of the call"
        case "fails every claim", "":
            script.claim_error = "scripted failure of the claim"
        case "adds an unknown claim to its responses", "":
            script.adds_stranger = True
        case "does not respond", "":
            driver.hold(method)
        case "fails claim", claim:
            script.claim_error = "scripted failure of the claim"
            script.failing = claim
        case "omits", claim:
            script.omitted = claim
        case _:
            raise SpecificationError(f"{world.scenario.where}: a scripted driver cannot do this: {behaviour}")


def stop_newest(world: World, alias: str) -> None:
    """Stop the newest instance. If there are others, wait until the kubelet has removed it, so that it calls those."""
    newest = scripted(world, alias)
    newest.stop()
    left = len(instances(world, alias)) - 1
    if left:
        plugins = world.node(group(world, alias).node).kubelet.plugins
        world.require(
            "the kubelet removes the instance",
            lambda: (len(plugins.instances(newest.name)) == left, f"{len(plugins.instances(newest.name))} instances"),
        )


def start_newest_again(world: World, alias: str) -> None:
    """Start the newest instance again at the same sockets, and wait until it is registered."""
    driver = scripted(world, alias)
    driver.start()
    try:
        world.node(group(world, alias).node).kubelet.wait_registered(driver.name, 10.0)
    except KubeletError as error:
        raise Untestable(str(error)) from error


# -- their claims and slices -------------------------------------------------------------------------------------------


@given('a ResourceClaim "{claim}" allocated to the scripted driver "{driver}" on "{node}"')
def _(world: World, claim: str, driver: str, node: str) -> None:
    """A claim with one request `gpu` and a hand-written allocation."""
    claim_for(world, claim, node, [("gpu", driver)])


@given('a ResourceClaim "{claim}" with requests "{requests}" allocated to the scripted driver "{driver}" on "{node}"')
def _(world: World, claim: str, requests: str, driver: str, node: str) -> None:
    """A claim with several requests, one device each."""
    claim_for(world, claim, node, [(request, driver) for request in words(requests)])


@given('a ResourceClaim "{claim}" allocated on "{node}" to:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """A claim with the requests of the table, each allocated a device of the scripted driver in its row."""
    claim_for(world, claim, node, [(request, driver) for request, driver in datatable[1:]])


@given('the device for request "{request}" of claim "{claim}" skips the node operations "{operations}"')
def _(world: World, request: str, claim: str, operations: str) -> None:
    """Allocate the claim again with `skipNodeOperations` in the result of this request."""
    held = world.get(RESOURCE_CLAIMS, claim)["status"]["allocation"]
    for result in held["devices"]["results"]:
        if result["request"] == request:
            result["skipNodeOperations"] = words(operations)
    # An allocation cannot be changed, only removed and written again.
    world.update(RESOURCE_CLAIMS, claim, lambda obj: obj["status"].pop("allocation"), subresource="status")
    world.update(RESOURCE_CLAIMS, claim, lambda obj: obj["status"].update(allocation=held), subresource="status")


@given('a slice "{name}" of the scripted driver "{driver}" for "{node}"')
def _(world: World, name: str, driver: str, node: str) -> None:
    """A hand-written slice of a node that may not exist yet; `all nodes`: devices that every node can use."""
    _slice(world, name, driver, {"allNodes": True} if node == "all nodes" else {"nodeName": world.name(node)})


def _slice(world: World, name: str, driver: str, where: Obj) -> None:
    real = world.name(name)
    world.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": real},
            "spec": {
                "driver": name_of_driver(world, driver),
                "pool": {"name": real, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "dev-0"}],
                **where,
            },
        }
    )
    world.catch_up()
    world.wait_for_watches()


# -- calls of the kubelet ----------------------------------------------------------------------------------------------


@then('NotifyRegistrationStatus of the scripted driver "{driver}" has registered {value:word} and the error "{text}"')
def _(world: World, driver: str, value: str, text: str) -> None:
    """The kubelet calls NotifyRegistrationStatus with `true` or `false`, and an error with this text."""
    wanted = {"registered": value == "true", "error": f"…{text}…" if text else ""}

    def look() -> Seen[dict[str, Any] | None]:
        server = scripted(world, driver).server
        status = server.registration_status if server else None
        if status is None:
            return False, None
        ok = status.registered is wanted["registered"] and text in status.error
        return ok, {"registered": status.registered, "error": status.error}

    world.eventually("the kubelet reports the registration status", look, expected=wanted)


@then('the kubelet calls "{method}" of the scripted driver "{driver}"')
def _(world: World, method: str, driver: str) -> None:
    """The kubelet calls a method of the driver's registration service, which may fail."""

    def look() -> Seen[str]:
        seen = scripted(world, driver).registration_calls
        return method in seen, in_words(seen)

    world.eventually("calls of the registration service", look, expected=f"{method}, once or more")


@then('the kubelet calls "{method}" of the scripted driver "{driver}" again')
def _(world: World, method: str, driver: str) -> None:
    """The kubelet calls a method of the driver's registration service a second time."""

    def look() -> Seen[str]:
        seen = scripted(world, driver).registration_calls
        return seen.count(method) > 1, in_words(seen)

    world.eventually("calls of the registration service", look, expected=f"{method}, twice or more")


@then('the kubelet does not call the registration service of the scripted driver "{driver}"')
def _(world: World, driver: str) -> None:
    """No method of the driver's registration service is called, also after everything has settled."""

    def look() -> Seen[list[Any]]:
        seen = scripted(world, driver).registration_calls
        return not seen, seen

    world.stays("calls of the registration service", look, expected=[])


@then('calls to the scripted driver "{driver}" on "{node}" use service "{version}"')
def _(world: World, driver: str, node: str, version: str) -> None:
    """The kubelet picks this service of those that the driver announced."""
    kubelet = world.node(node).kubelet

    def look() -> Seen[str]:
        try:
            found = kubelet.plugin(name_of_driver(world, driver)).instance.version
        except DriverNotRegistered as error:
            return False, str(error)
        return found == version, found

    world.eventually("the kubelet picks a service", look, expected=version)


@then('the scripted driver "{driver}" receives one {method:word} call for "{claims}"')
def _(world: World, driver: str, method: str, claims: str) -> None:
    """A Prepare or Unprepare call with exactly these claims arrives, each with its namespace and uid."""
    wanted = sorted(words(claims))
    if method == "Prepare":
        known = {ClaimRef(world.namespace, uid_of(world.get(RESOURCE_CLAIMS, claim)), claim) for claim in wanted}
    else:
        # A claim may have been deleted before it is unprepared, but it was prepared before.
        known = {ref for call in all_calls(world, driver, "Prepare") for ref in call}

    def look() -> Seen[list[Any]]:
        seen = all_calls(world, driver, method)
        for call in seen:
            if sorted(ref.name for ref in call) == wanted and known.issuperset(call):
                return True, names([call])
        return False, names(seen)

    world.eventually(f"one {method} call has all claims", look, expected=[wanted])


@then('the scripted driver "{driver}" has received {count:d} {method:word} calls')
def _(world: World, driver: str, count: int, method: str) -> None:
    """So many calls of Prepare or Unprepare arrived in all, also after everything has settled."""

    def look() -> Seen[str]:
        seen = all_calls(world, driver, method)
        return len(seen) == count, _counted(seen)

    if count:
        world.wait(look)
    world.stays(f"{count} {method} calls", look, expected=f"{count} calls")


@then('the scripted driver "{driver}" has received at least {count:d} {method:word} calls')
def _(world: World, driver: str, count: int, method: str) -> None:
    """So many calls of Prepare or Unprepare arrive in all, or more."""

    def look() -> Seen[str]:
        seen = all_calls(world, driver, method)
        return len(seen) >= count, _counted(seen)

    world.eventually(f"{method} calls", look, expected=f"{count} calls or more")


@then('every {method:word} call of the scripted driver "{driver}" is for "{claims}"')
def _(world: World, method: str, driver: str, claims: str) -> None:
    """The calls have exactly these claims, also after everything has settled; there is at least one call."""
    wanted = sorted(words(claims))

    def look() -> Seen[str]:
        seen = names(all_calls(world, driver, method))
        right = bool(seen) and all(one == wanted for one in seen)
        return right, f"calls for {' and '.join(dict.fromkeys(map(in_words, seen))) or 'none'}"

    world.stays(f"claims of the {method} calls", look, expected=f"calls for {in_words(wanted)}")


@then('the scripted driver "{driver}" receives another {method:word} call for "{claim}"')
def _(world: World, driver: str, method: str, claim: str) -> None:
    """The kubelet retries: a second Prepare or Unprepare call for the claim arrives."""

    def look() -> Seen[str]:
        seen = [call for call in all_calls(world, driver, method) if claim in {ref.name for ref in call}]
        return len(seen) > 1, f"{len(seen)} calls"

    world.eventually(f"{method} is retried", look, expected="2 calls or more")


@then('the scripted driver "{driver}" has received in this order: {calls}')
def _(world: World, driver: str, calls: str) -> None:
    """The newest instance received these calls and no other; a Prepare call counts from its begin, Unprepare from its
    end."""
    wanted = words(calls)

    def look() -> Seen[list[str]]:
        return scripted(world, driver).order == wanted, scripted(world, driver).order

    world.wait(look)
    world.stays("the order of the calls", look, expected=wanted)


@then('Prepare calls go to instance {number:d} of the scripted driver "{driver}"')
def _(world: World, number: int, driver: str) -> None:
    """All Prepare calls since the last look reached this instance (1: the first that was started)."""
    drivers = group(world, driver)
    # Instances that started after the last look have no count yet.
    before = [*drivers.counted, *([0] * (len(drivers.instances) - len(drivers.counted)))]

    def look() -> Seen[str]:
        now = [len(one.prepared) for one in drivers.instances]
        gained = [a - b for a, b in zip(now, before, strict=True)]
        called = [f"{count} calls to instance {one}" for one, count in enumerate(gained, start=1) if count]
        return gained[number - 1] > 0 and sum(gained) == gained[number - 1], in_words(called)

    seen = world.wait(look)
    drivers.counted = [len(one.prepared) for one in drivers.instances]
    world.check_seen(f"instance {number} is called", seen, expected=f"calls to instance {number} only")
