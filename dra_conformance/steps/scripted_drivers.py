"""Drivers that the scenario controls, beyond a kubelet's sockets: how they behave, what they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.objects import RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_api.rpc import DRA_VERSIONS, ClaimRef
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet.errors import DriverNotRegistered, KubeletError
from dra_conformance.kubelet.scripted_driver import ScriptedDriver
from dra_conformance.steps.claims import allocate_by_hand, claim_object, device_class


def scripted(world: World, alias: str) -> ScriptedDriver:
    """The newest instance of a scripted driver. Raises Untestable when there is none."""
    found = instances(world, alias)
    if not found:
        raise Untestable(f"there is no scripted driver {alias}")
    return found[-1]


def instances(world: World, alias: str) -> list[ScriptedDriver]:
    """All instances of a scripted driver, oldest first."""
    held: dict[str, list[ScriptedDriver]] = world.memory.setdefault("scripted", {})
    return held.setdefault(alias, [])


def name_of_driver(world: World, alias: str) -> str:
    """The name under which a scripted driver registers."""
    return f"{alias}-{world.suffix}.dra.test"


def make(world: World, alias: str, node: str) -> ScriptedDriver:
    """A new instance, not yet started; it ends with the scenario."""
    kubelet = world.node(node).kubelet
    known = instances(world, alias)
    driver = ScriptedDriver(
        name=name_of_driver(world, alias),
        node=world.node(node).name,
        cdi_root=kubelet.cdi_roots[0],
        plugins_dir=kubelet.plugins_dir,
        registration_dir=kubelet.registration_dir,
        instance=f"-{len(known)}" if known else "",
        poke=world.log.poke,
    )
    known.append(driver)
    world.cleanup.callback(driver.stop)
    return driver


def run(world: World, alias: str, node: str, **options: Sequence[str]) -> ScriptedDriver:
    """Start an instance and wait until the kubelet has it, and a line to it: until then it calls an older one."""
    driver = make(world, alias, node)
    driver.start(**options)  # type: ignore[arg-type]
    try:
        world.node(node).kubelet.wait_registered(driver.name, 10.0, instances=len(instances(world, alias)))
    except KubeletError as error:
        raise Untestable(str(error)) from error
    if not world.has_real_kubelet:  # that one does not tell
        plugins = world.node(node).kubelet.plugins
        world.require(
            "the kubelet is connected to the instance",
            lambda: (any(one.connected for one in plugins.instances(driver.name)[-1:]), "registered, not connected"),
        )
    return driver


def claim_for(world: World, claim: str, alias: str, node: str, requests: Sequence[str] = ("gpu",)) -> Obj:
    """A claim that is allocated one device of a scripted driver for each request."""
    name = name_of_driver(world, alias)
    if f"class:{alias}" not in world.memory:
        world.memory[f"class:{alias}"] = name_of(device_class(world, f"class-{alias}", f'device.driver == "{name}"'))
    wanted = [{"name": r, "exactly": {"deviceClassName": world.memory[f"class:{alias}"]}} for r in requests]
    world.create(claim_object(world, claim, {"devices": {"requests": wanted}}))
    pool = world.name(node)
    results = [{"request": r, "driver": name, "pool": pool, "device": f"dev-{claim}-{r}"} for r in requests]
    for driver in instances(world, alias):
        driver.requests[claim] = tuple(requests)
    return allocate_by_hand(world, claim, pool, results)


def names(calls: Sequence[Sequence[ClaimRef]]) -> list[list[str]]:
    """The claim names of each call."""
    return [sorted(ref.name for ref in call) for call in calls]


def all_calls(world: World, alias: str, method: str) -> list[tuple[ClaimRef, ...]]:
    """The calls of a method that all instances got."""
    return [
        call
        for driver in instances(world, alias)
        for call in (driver.prepared if method == "Prepare" else driver.unprepared)
    ]


# -- they come and go --------------------------------------------------------------------------------------------------


@given('a scripted driver "{driver}" on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """Start a driver that the scenario controls; it is registered when this returns."""
    run(world, driver, node)


@when('a second instance of the scripted driver "{driver}" starts on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """Start another instance of the same driver beside the first, as in a rolling update."""
    run(world, driver, node)


@when('the newest instance of the scripted driver "{driver}" on "{node}" stops')
def _(world: World, driver: str, node: str) -> None:
    """Stop the instance that was started last, and wait until the kubelet has forgotten it."""
    newest = scripted(world, driver)
    newest.stop()
    plugins = world.node(node).kubelet.plugins
    left = len(instances(world, driver)) - 1
    world.require(
        "the kubelet forgets the instance",
        lambda: (len(plugins.instances(newest.name)) == left, f"{len(plugins.instances(newest.name))} instances"),
    )


@when('a scripted driver "{driver}" that announces "{versions}" starts on "{node}"')
def _(world: World, driver: str, versions: str, node: str) -> None:
    """Start a scripted driver that registers these services in this order (`none`: no service at all)."""
    announced = [] if versions == "none" else words(versions)
    served = [version for version in announced if version in DRA_VERSIONS]
    extra = [version for version in announced if version not in DRA_VERSIONS]
    made = make(world, driver, node)
    made.start(versions=served, extra_versions=extra)


@when('a scripted driver "{driver}" registers again at the endpoint of the first on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """A second registration socket that announces the first instance's endpoint."""
    first = instances(world, driver)[0]
    made = make(world, driver, node)
    made.start(endpoint=str(first.plugin_socket))


@when('the scripted driver "{driver}" leaves the registration folder')
def _(world: World, driver: str) -> None:
    """Remove the registration socket; the service goes on."""
    server = scripted(world, driver).server
    if server is not None:
        server.stop_registration()


@when('the scripted driver "{driver}" stops')
def _(world: World, driver: str) -> None:
    """Stop the driver: both sockets go."""
    scripted(world, driver).stop()


@when('the scripted driver "{driver}" starts again on "{node}"')
def _(world: World, driver: str, node: str) -> None:
    """Start the same driver again over the same sockets."""
    made = scripted(world, driver)
    made.start()
    try:
        world.node(node).kubelet.wait_registered(made.name, 10.0)
    except KubeletError as error:
        raise Untestable(str(error)) from error


@given('the scripted driver "{driver}" {behaviour}')
def _(world: World, driver: str, behaviour: str) -> None:
    """Tell the driver how to behave; see `behave`."""
    behave(world, driver, behaviour)


@when('the scripted driver "{driver}" comes to behave: {behaviour}')
def _(world: World, driver: str, behaviour: str) -> None:
    """The same, as what happens in the scenario."""
    behave(world, driver, behaviour)


def behave(world: World, alias: str, behaviour: str) -> None:
    """Change what a scripted driver does. Raises Untestable for a behaviour that it does not have."""
    driver = scripted(world, alias)
    word, _, rest = behaviour.partition(" ")
    match behaviour:
        case "fails every call":
            driver.call_error = "scripted failure of the call"
        case "fails every claim":
            driver.prepare_error = "scripted failure of the claim"
        case "fails to unprepare":
            driver.unprepare_error = "scripted failure to unprepare"
        case "answers for a claim that nobody asked for":
            driver.adds_stranger = True
        case "does not answer":
            driver.hold()
        case "works":
            driver.call_error = driver.prepare_error = driver.unprepare_error = driver.leaves_out = ""
            driver.adds_stranger = False
            driver.release()
        case _ if word == "forgets":
            driver.leaves_out = rest.strip('"')
        case _ if behaviour.startswith("names no request for "):
            driver.unnamed.add(behaviour.removeprefix("names no request for ").strip('"'))
        case _:
            raise Untestable(f"a scripted driver cannot be told: {behaviour}")


# -- claims and slices of theirs ---------------------------------------------------------------------------------------


@given('a ResourceClaim "{claim}" allocated to the scripted driver "{driver}" on "{node}"')
def _(world: World, claim: str, driver: str, node: str) -> None:
    """A claim with one request `gpu` and a hand-written allocation."""
    claim_for(world, claim, driver, node)


@given('a ResourceClaim "{claim}" with requests "{requests}" allocated to the scripted driver "{driver}" on "{node}"')
def _(world: World, claim: str, requests: str, driver: str, node: str) -> None:
    """A claim with several requests, one device each."""
    claim_for(world, claim, driver, node, words(requests))


@when('the claim "{claim}" is replaced by one of the same name for the scripted driver "{driver}" on "{node}"')
def _(world: World, claim: str, driver: str, node: str) -> None:
    """Delete a claim for good and make another of its name."""
    world.client.patch(RESOURCE_CLAIMS, claim, {"status": {"reservedFor": None}}, world.namespace, subresource="status")
    if world.get(RESOURCE_CLAIMS, claim)["metadata"].get("finalizers"):
        world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"finalizers": None}}, world.namespace)
    world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)
    claim_for(world, claim, driver, node)


@given('a slice "{name}" of the scripted driver "{driver}" for "{node}"')
def _(world: World, name: str, driver: str, node: str) -> None:
    """A hand-written slice with the node's name, which may not exist yet."""
    _slice(world, name, driver, {"nodeName": world.name(node)})


@given('a slice "{name}" of the scripted driver "{driver}" for all nodes')
def _(world: World, name: str, driver: str) -> None:
    """A hand-written slice of devices that every node can reach."""
    _slice(world, name, driver, {"allNodes": True})


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
    world.heard()


# -- what they are told and asked --------------------------------------------------------------------------------------


@then('the scripted driver "{driver}" is told that it is registered')
def _(world: World, driver: str) -> None:
    """NotifyRegistrationStatus comes with registered true."""
    _told(world, driver, registered=True, text="")


@then('the scripted driver "{driver}" is told that it is refused: "{text}"')
def _(world: World, driver: str, text: str) -> None:
    """NotifyRegistrationStatus comes with registered false and an error with this text."""
    _told(world, driver, registered=False, text=text)


def _told(world: World, alias: str, *, registered: bool, text: str) -> None:
    def look() -> Seen:
        server = scripted(world, alias).server
        status = server.registration_status if server else None
        if status is None:
            return False, "told nothing"
        ok = status.registered is registered and text in status.error
        return ok, {"registered": status.registered, "error": status.error}

    world.eventually(
        "the plugin is told the outcome", look, expected={"registered": registered, "error": text or "none"}
    )


@then('calls to the scripted driver "{driver}" on "{node}" use service "{version}"')
def _(world: World, driver: str, node: str, version: str) -> None:
    """The kubelet picks this service of those that the driver announced."""
    kubelet = world.node(node).kubelet

    def look() -> Seen:
        try:
            found = kubelet.plugin(name_of_driver(world, driver)).instance.version
        except DriverNotRegistered as error:
            return False, str(error)
        return found == version, found

    world.eventually("the kubelet picks a service", look, expected=version)


@then('the scripted driver "{driver}" is asked to prepare "{claims}" in one call')
def _(world: World, driver: str, claims: str) -> None:
    """One Prepare call with exactly these claims comes, each by namespace, uid and name."""
    wanted = sorted(words(claims))
    uids = {claim: uid_of(world.get(RESOURCE_CLAIMS, claim)) for claim in wanted}

    def look() -> Seen:
        for call in all_calls(world, driver, "Prepare"):
            if sorted((ref.namespace, ref.name, ref.uid) for ref in call) == sorted(
                (world.namespace, name, uid) for name, uid in uids.items()
            ):
                return True, names([call])
        return False, names(all_calls(world, driver, "Prepare")) or "no call"

    world.eventually("one call has all claims", look, expected=[wanted])


@then('the scripted driver "{driver}" has had {count:d} {method:word} calls')
def _(world: World, driver: str, count: int, method: str) -> None:
    """So many calls of Prepare or Unprepare came in all, also after everything has come to rest."""

    def look() -> Seen:
        seen = all_calls(world, driver, method)
        return len(seen) == count, names(seen)

    if count:
        world.wait(look)
    world.stays(f"{count} {method} calls", look, expected=f"{count} calls")


@then('the scripted driver "{driver}" is asked to prepare "{claim}" again')
def _(world: World, driver: str, claim: str) -> None:
    """The kubelet retries: a second Prepare call for the claim comes."""

    def look() -> Seen:
        seen = [call for call in all_calls(world, driver, "Prepare") if claim in {ref.name for ref in call}]
        return len(seen) > 1, f"{len(seen)} calls"

    world.eventually("Prepare is retried", look, expected="a second call")


@then('the scripted driver "{driver}" is asked to unprepare "{claim}"')
def _(world: World, driver: str, claim: str) -> None:
    """An Unprepare call for the claim comes."""

    def look() -> Seen:
        seen = names(all_calls(world, driver, "Unprepare"))
        return any(claim in call for call in seen), seen or "no call"

    world.eventually("Unprepare is called", look, expected=f"a call with {claim}")


@then('calls go to instance {number:d} of the scripted driver "{driver}"')
def _(world: World, number: int, driver: str) -> None:
    """The last Prepare call reached this instance (1: the first that was started)."""
    counts = [len(one.prepared) for one in instances(world, driver)]
    before: list[int] = world.memory.setdefault("counts-before", [0] * len(counts))

    def look() -> Seen:
        now = [len(one.prepared) for one in instances(world, driver)]
        gained = [a - b for a, b in zip(now, [*before, *([0] * len(now))], strict=False)]
        return gained[number - 1] > 0 and sum(gained) == gained[number - 1], {"calls an instance": gained}

    seen = world.wait(look)
    world.memory["counts-before"] = [len(one.prepared) for one in instances(world, driver)]
    world.check_seen(f"instance {number} is called", seen, expected=f"calls to instance {number} only")
