"""The driver under test, called as a kubelet calls it: registration, Prepare, Unprepare, restarts, its slices.

Calls go straight to the driver, without pods, so that a scenario decides when and how often. What each call came to is
kept in the scenario's memory until it ends; the kubelet's log holds every request and answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from dra_api.objects import NAMESPACES, NODES, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, name_of, uid_of
from dra_api.rpc import (
    DRA_PLUGIN_TYPE,
    DRA_VERSIONS,
    ClaimRef,
    DRAPluginClient,
    PluginInfo,
    PreparedDevice,
    PrepareResult,
    RegistrationClient,
    RpcError,
)
from dra_conformance.errors import Untestable
from dra_conformance.kubelet import PluginInstance
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.seats.node import NodeSeat
from dra_conformance.steps import faults
from dra_conformance.steps.claims import (
    allocate_by_hand,
    claim_object,
    claim_spec,
    driver_class,
    free_results,
    results_of,
)
from dra_conformance.suite.vocabulary import given, then, when
from dra_conformance.suite.world import Seen, World

CALL = 45.0
"""Seconds that a driver has for one call, as with a real kubelet (rule DRA-268)."""

PCI_BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
PCIE_ROOT = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}")


@dataclass(slots=True)
class Call:
    """One call and what it came to: answers by claim uid, or the error of the whole call."""

    prepared: Mapping[str, PrepareResult] = field(default_factory=dict)
    unprepared: Mapping[str, str] = field(default_factory=dict)
    error: RpcError | None = None


@dataclass(slots=True)
class Calls:
    """All calls of one scenario. `refs` are the claims by the scenario's names, as they were when first called."""

    refs: dict[str, ClaimRef] = field(default_factory=dict)
    made: list[Call] = field(default_factory=list)
    info: PluginInfo | None = None
    before: list[PluginInstance] = field(default_factory=list)
    prepared: dict[str, list[tuple[PreparedDevice, ...]]] = field(default_factory=dict)

    @property
    def last(self) -> Call:
        """The last call. Raises Untestable when there was none."""
        if not self.made:
            raise Untestable("no call was made yet")
        return self.made[-1]


def calls(world: World) -> Calls:
    """The calls of this scenario."""
    found = world.memory.get("driver-calls")
    if not isinstance(found, Calls):
        found = world.memory["driver-calls"] = Calls()
    return found


def reference_to(world: World, claim: str) -> ClaimRef:
    """What a kubelet would say of a claim; remembered, so that it can be said when the claim is gone."""
    held = calls(world).refs
    if claim not in held:
        obj = world.get(RESOURCE_CLAIMS, claim)
        held[claim] = ClaimRef(world.namespace, uid_of(obj), claim)
    return held[claim]


def prepare(world: World, node: str, refs: Sequence[ClaimRef]) -> Call:
    """Make one NodePrepareResources call."""
    return _call(world, lambda: Call(prepared=world.node(node).plugin.prepare(refs, timeout=CALL)))


def unprepare(world: World, node: str, refs: Sequence[ClaimRef]) -> Call:
    """Make one NodeUnprepareResources call."""
    return _call(world, lambda: Call(unprepared=world.node(node).plugin.unprepare(refs, timeout=CALL)))


def _call(world: World, make: Callable[[], Call]) -> Call:
    try:
        made = make()
    except RpcError as error:
        made = Call(error=error)
    except KubeletError as error:
        raise Untestable(str(error)) from error
    calls(world).made.append(made)
    return made


def problem_of(call: Call, ref: ClaimRef) -> str:
    """Why a claim is not prepared after a call; empty when it is."""
    if call.error is not None:
        return f"the call failed: {call.error.code}: {call.error.details}"
    result = call.prepared.get(ref.uid)
    if result is None:
        return f"the answer has no entry for uid {ref.uid}, but {sorted(call.prepared) or 'none at all'}"
    return result.error


def succeeded(world: World, call: Call, claim: str) -> tuple[bool, object]:
    """Whether a call prepared a claim; its devices are remembered."""
    ref = reference_to(world, claim)
    problem = problem_of(call, ref)
    if problem:
        return False, problem
    devices = call.prepared[ref.uid].devices
    calls(world).prepared.setdefault(claim, []).append(devices)
    return True, [show_device(device) for device in devices]


def show_device(device: PreparedDevice) -> Obj:
    """A device of an answer, for reports."""
    return {
        "requests": list(device.request_names),
        "pool": device.pool_name,
        "device": device.device_name,
        "cdi": list(device.cdi_device_ids),
    }


def own_results(world: World, claim: str) -> list[Obj]:
    """The allocation results of the driver under test in a claim."""
    driver = world.run.options.driver_name
    return [r for r in results_of(world.get(RESOURCE_CLAIMS, claim)) if r["driver"] == driver]


def start_anew(world: World, node: NodeSeat, *, as_process: bool = False) -> None:
    """Start the driver again, and remember which registrations are of its former life."""
    calls(world).before = node.kubelet.plugins.instances(node.driver_name)
    node.start_driver(as_process=as_process)


def look_registered(world: World, node: NodeSeat) -> Seen:
    """Whether a driver that is not of a former life is registered and connected."""
    fresh = [
        instance
        for instance in node.kubelet.plugins.instances(node.driver_name)
        if instance not in calls(world).before and instance.connected
    ]
    if fresh:
        return True, "registered"
    process = node.process_state()
    return False, node.kubelet.plugins.explain(node.driver_name) + (f"; {process}" if process else "")


def split(names: str) -> list[str]:
    """Names of a comma-separated list."""
    return [name.strip() for name in names.split(",")]


# -- life of the driver ------------------------------------------------------------------------------------------------


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
    seat = world.node(node)
    seat.stop_driver()
    start_anew(world, seat)


@when('the driver on "{node}" is killed and started again')
def _(world: World, node: str) -> None:
    """End the driver's process with SIGKILL and start it again; nothing is waited for."""
    seat = world.node(node)
    seat.kill_driver()
    start_anew(world, seat, as_process=True)


@when('another instance of the driver starts on "{node}" with "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """Start the driver once more beside the one that runs, with these flags besides; nothing is waited for."""
    seat = world.node(node)
    calls(world).before = seat.kubelet.plugins.instances(seat.driver_name)
    seat.roll_driver(flags.split())


@when('the older instance of the driver on "{node}" stops')
def _(world: World, node: str) -> None:
    """Stop the first of two instances in good order."""
    world.node(node).retire_driver()


@when('the kubelet of "{node}" restarts')
def _(world: World, node: str) -> None:
    """Stop the kubelet as if killed and start it again; the driver keeps running."""
    seat = world.node(node)
    seat.kubelet.restart()


@then('the driver on "{node}" stays registered')
def _(world: World, node: str) -> None:
    """Nothing takes the driver away from the kubelet, also once all has come to rest."""
    seat = world.node(node)
    world.stays(
        f"the driver on {node} stays registered",
        lambda: look_registered(world, seat),
        expected=f"a registered driver {seat.driver_name}",
    )


@then('the driver on "{node}" comes to be registered')
def _(world: World, node: str) -> None:
    """The driver (a new life of it, when it was started again) registers and its service can be connected to."""
    seat = world.node(node)
    world.eventually(
        f"the driver {seat.driver_name} registers",
        lambda: look_registered(world, seat),
        expected=f"a registered driver {seat.driver_name}",
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


def ask_info(world: World, node: NodeSeat) -> PluginInfo:
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
    seat = world.node(node)

    def look() -> Seen:
        drivers = seat.kubelet.plugins.drivers()
        files = sorted(path.name for path in seat.kubelet.registration_dir.iterdir() if not path.name.startswith("."))
        return not files and seat.driver_name not in drivers, files or drivers or "nothing"

    world.eventually("the registration socket is removed", look, expected="an empty registration folder")


# -- Prepare and Unprepare ---------------------------------------------------------------------------------------------


@given('claim "{claim}" is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Prepare an allocated claim; the scenario cannot go on without it."""
    ok, observed = succeeded(world, prepare(world, node, [reference_to(world, claim)]), claim)
    if not ok:
        raise Untestable(f"claim {claim} cannot be prepared: {observed}")


@given('claim "{claim}" is unprepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Unprepare a claim; the scenario cannot go on without it."""
    call = unprepare(world, node, [reference_to(world, claim)])
    problem = unprepare_problem(call, reference_to(world, claim))
    if problem:
        raise Untestable(f"claim {claim} cannot be unprepared: {problem}")


@when('claim "{claim}" is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources with one claim; the driver may refuse."""
    succeeded(world, prepare(world, node, [reference_to(world, claim)]), claim)


@when('claims "{claims}" are prepared on "{node}" in one call')
def _(world: World, claims: str, node: str) -> None:
    """Call NodePrepareResources once with several claims."""
    call = prepare(world, node, [reference_to(world, claim) for claim in split(claims)])
    for claim in split(claims):
        succeeded(world, call, claim)


@when('claims "{claims}" are prepared on "{node}" at the same time')
def _(world: World, claims: str, node: str) -> None:
    """Call NodePrepareResources once for each claim, all at the same time; a name may stand there twice."""
    refs = [reference_to(world, claim) for claim in split(claims)]
    try:
        outcomes = world.node(node).plugin.concurrently([("NodePrepareResources", [ref]) for ref in refs], timeout=CALL)
    except KubeletError as error:
        raise Untestable(str(error)) from error
    merged: dict[str, PrepareResult] = {}
    for claim, ref, outcome in zip(split(claims), refs, outcomes, strict=True):
        call = Call(prepared=outcome.answer or {}, error=outcome.error)
        problem = problem_of(call, ref)
        ok, _seen = succeeded(world, call, claim)
        if not ok and not (ref.uid in merged and merged[ref.uid].error):
            merged[ref.uid] = PrepareResult(error=problem)
        elif ok and ref.uid not in merged:
            merged[ref.uid] = call.prepared[ref.uid]
    calls(world).made.append(Call(prepared=merged))


@when('the driver on "{node}" is asked to prepare nothing')
def _(world: World, node: str) -> None:
    """Call NodePrepareResources with an empty list."""
    prepare(world, node, [])


@when('claim "{claim}" is prepared on "{node}" under another uid')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources for a claim of this name that had another uid, as if it had been replaced since."""
    ref = ClaimRef(world.namespace, str(uuid4()), claim)
    calls(world).refs[f"{claim} before"] = ref
    prepare(world, node, [ref])


@when('a claim "{claim}" that does not exist is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources for a claim that the API server does not know."""
    ref = calls(world).refs[claim] = ClaimRef(world.namespace, str(uuid4()), claim)
    prepare(world, node, [ref])


@when('claim "{claim}" is unprepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodeUnprepareResources with one claim."""
    unprepare(world, node, [reference_to(world, claim)])


@when('claims "{claims}" are unprepared on "{node}" in one call')
def _(world: World, claims: str, node: str) -> None:
    """Call NodeUnprepareResources once with several claims; a name may stand there twice."""
    unprepare(world, node, [reference_to(world, claim) for claim in split(claims)])


@when('a claim that was never prepared is unprepared on "{node}"')
def _(world: World, node: str) -> None:
    """Call NodeUnprepareResources for a claim that nobody ever heard of."""
    ref = calls(world).refs["unknown"] = ClaimRef(world.namespace, str(uuid4()), "unknown")
    unprepare(world, node, [ref])


@when('the claim "{claim}" is deleted behind the driver\'s back')
def _(world: World, claim: str) -> None:
    """Delete a claim that is still prepared, finalizer and all."""
    reference_to(world, claim)
    finalizers = (world.get(RESOURCE_CLAIMS, claim).get("metadata") or {}).get("finalizers")
    world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)
    if finalizers:
        world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"finalizers": None}}, world.namespace)
    world.require("the claim is gone", lambda: (world.seen(RESOURCE_CLAIMS, claim) is None, "still there"))


@then('claim "{claim}" is prepared')
def _(world: World, claim: str) -> None:
    """The last call answered for this claim, without an error."""
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    observed: object = problem or [show_device(device) for device in call.prepared[ref.uid].devices]
    world.check(not problem, f"claim {claim} is prepared", expected="an answer without error", observed=observed)


@then('claim "{claim}" is refused')
def _(world: World, claim: str) -> None:
    """The last call gave no devices for this claim: it failed, or the claim's entry tells an error or is missing."""
    ref = reference_to(world, claim)
    _check_refused(world, ref, claim)


@then('the former claim "{claim}" is refused')
def _(world: World, claim: str) -> None:
    """The same for the claim that had another uid."""
    _check_refused(world, calls(world).refs[f"{claim} before"], claim)


def _check_refused(world: World, ref: ClaimRef, claim: str) -> None:
    call = calls(world).last
    problem = problem_of(call, ref)
    if call.error is not None and call.error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"):
        world.check(False, f"claim {claim} is refused", expected="an answer that says why", observed=problem)
    observed: object = problem or [show_device(device) for device in call.prepared[ref.uid].devices]
    world.check(bool(problem), f"claim {claim} is refused", expected="an error", observed=observed)


@then('claim "{claim}" is refused because "{text}"')
def _(world: World, claim: str, text: str) -> None:
    """The claim's own entry of the last answer tells an error with this text; the call itself succeeded."""
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    wanted = world.text(text)
    ok = call.error is None and wanted in problem
    world.check(
        ok, f"claim {claim} is refused", expected=f"an error with {wanted!r}", observed=problem or "it was prepared"
    )


@then('the whole call fails because "{text}"')
def _(world: World, text: str) -> None:
    """The last call failed as a whole, with this text in its status."""
    error = calls(world).last.error
    wanted = world.text(text)
    world.check(
        error is not None and wanted in error.details,
        "the call fails",
        expected=f"a failed call with {wanted!r}",
        observed=f"{error.code}: {error.details}" if error else "the call succeeded",
    )


@then("the call succeeds and answers nothing")
def _(world: World) -> None:
    """The last call succeeded with an empty answer."""
    call = calls(world).last
    world.check(
        call.error is None and not call.prepared,
        "an empty call succeeds",
        expected="OK and no entry",
        observed=str(call.error) if call.error else {uid: r.error for uid, r in call.prepared.items()} or "no entry",
    )


@then('the answer has one entry for each of "{claims}" and no other')
def _(world: World, claims: str) -> None:
    """The answer of the last call is keyed by exactly the uids that were asked for."""
    call = calls(world).last
    wanted = sorted(reference_to(world, claim).uid for claim in split(claims))
    observed: object = str(call.error) if call.error else sorted(call.prepared)
    world.check(observed == wanted, "an entry for each claim", expected=wanted, observed=observed)


@then('the answer for claim "{claim}" names only devices that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every device of the answer is a result of the claim's allocation, with that result's request or none."""
    allowed = {
        (result["pool"], result["device"]): result["request"].partition("/")[0] for result in own_results(world, claim)
    }
    strangers = []
    for device in answer_for(world, claim):
        request = allowed.get((device.pool_name, device.device_name))
        if request is None or set(device.request_names) - {request}:
            strangers.append(show_device(device))
    world.check(
        not strangers,
        "the answer fits the allocation",
        expected=[{"request": request, "pool": pool, "device": name} for (pool, name), request in allowed.items()],
        observed=strangers or "the same",
    )


@then('the answer for claim "{claim}" names every device that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every allocation result of the driver is in the answer."""
    wanted = sorted((result["pool"], result["device"]) for result in own_results(world, claim))
    told = sorted({(device.pool_name, device.device_name) for device in answer_for(world, claim)})
    world.check(told == wanted, "the answer is complete", expected=wanted, observed=told)


@then('the answer for claim "{claim}" speaks of request "{request}" only')
def _(world: World, claim: str, request: str) -> None:
    """Request names are those of the claim's requests, without the subrequest; none stands for all."""
    told = sorted({name for device in answer_for(world, claim) for name in device.request_names})
    world.check(told in ([], [request]), "requests are named as in the claim", expected=[request], observed=told)


@then('all answers for claim "{claim}" are the same')
def _(world: World, claim: str) -> None:
    """Every successful Prepare of this claim gave the same devices and CDI ids."""
    answers = calls(world).prepared.get(claim, [])
    shown = [[show_device(device) for device in answer] for answer in answers]
    ok = len(shown) > 1 and all(answer == shown[0] for answer in shown)
    world.check(ok, f"{len(shown)} answers for {claim} are the same", expected=shown[:1], observed=shown[1:])


def answer_for(world: World, claim: str) -> tuple[PreparedDevice, ...]:
    """The devices that the driver answered for a claim last. Raises Untestable when it never did."""
    answers = calls(world).prepared.get(claim)
    if not answers:
        raise Untestable(f"claim {claim} was not prepared: {problem_of(calls(world).last, reference_to(world, claim))}")
    return answers[-1]


def unprepare_problem(call: Call, ref: ClaimRef) -> str:
    """Why a claim is not unprepared after a call; empty when it is."""
    if call.error is not None:
        return f"the call failed: {call.error.code}: {call.error.details}"
    if ref.uid not in call.unprepared:
        return f"the answer has no entry for uid {ref.uid}"
    return call.unprepared[ref.uid]


@then('claim "{claim}" is unprepared')
def _(world: World, claim: str) -> None:
    """The last NodeUnprepareResources call succeeded for this claim."""
    problem = unprepare_problem(calls(world).last, reference_to(world, claim))
    world.check(not problem, f"claim {claim} is unprepared", expected="no error", observed=problem or "no error")


# -- claims for the driver ---------------------------------------------------------------------------------------------


@given('a ResourceClaim "{claim}" allocated the same device as claim "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim with a hand-written allocation to devices that another claim has; a control plane would not do that."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    allocate_by_hand(world, claim, world.name(node), own_results(world, other))


@given('an admin ResourceClaim "{claim}" allocated the same device as claim "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim with admin access to the devices of another claim; the namespace is allowed to have such."""
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    world.client.patch(NAMESPACES, world.namespace, label)
    spec = claim_spec(driver_class(world))
    spec["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    world.create(claim_object(world, claim, spec))
    results = [{**result, "adminAccess": True} for result in own_results(world, other)]
    allocate_by_hand(world, claim, world.name(node), results)


@given('a ResourceClaim "{claim}" allocated a device that the driver on "{node}" does not have')
def _(world: World, claim: str, node: str) -> None:
    """A claim with a hand-written allocation to a device that is in no slice."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    spec = next((obj["spec"] for obj in world.node(node).slices()), None)
    if spec is None:
        raise Untestable(f"the driver publishes no slice for {node}")
    result = {"request": "gpu", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": "no-such-device"}
    allocate_by_hand(world, claim, world.name(node), [result])


@given(
    'a ResourceClaim "{claim}" allocated the device of claim "{other}" '
    'and one that the driver on "{node}" does not have'
)
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim that cannot be prepared for one of its devices, and has the other in common with another claim."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world), 2)))
    shared = own_results(world, other)
    results = [*shared, {**shared[0], "device": "no-such-device"}]
    allocate_by_hand(world, claim, world.name(node), results)


@given('a ResourceClaim "{claim}" that is not allocated')
def _(world: World, claim: str) -> None:
    """A claim for one device of the driver that no scheduler has seen."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))


@given('a ResourceClaim "{claim}" of the driver on "{node}" and of the driver "{other}"')
def _(world: World, claim: str, node: str, other: str) -> None:
    """An allocation with one device of the driver under test and one of another, each with a config of its own."""
    spec = claim_spec(driver_class(world))
    spec["devices"]["requests"].append({"name": "other", "exactly": {"deviceClassName": driver_class(world)}})
    world.create(claim_object(world, claim, spec))
    foreign = {"request": "other", "driver": other, "pool": world.name(node), "device": "other-0"}
    config = {
        "source": "FromClaim",
        "requests": ["other"],
        "opaque": {"driver": other, "parameters": {"nobody": "understands this"}},
    }
    allocate_by_hand(world, claim, world.name(node), [*free_results(world, node, 1), foreign], config=[config])


@given('a ResourceClaim "{claim}" allocated a subrequest "{subrequest}" of request "{request}" on "{node}"')
def _(world: World, claim: str, subrequest: str, request: str, node: str) -> None:
    """A claim with a prioritized list, allocated its only alternative."""
    alternative = {"name": subrequest, "deviceClassName": driver_class(world)}
    spec = {"devices": {"requests": [{"name": request, "firstAvailable": [alternative]}]}}
    world.create(claim_object(world, claim, spec))
    results = free_results(world, node, 1, request=f"{request}/{subrequest}")
    allocate_by_hand(world, claim, world.name(node), results)


@when('the allocation of claim "{claim}" is put right on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Deallocate the claim and allocate a device that exists, as a control plane does after a failure."""
    results = free_results(world, node, 1)

    def clear(obj: Obj) -> None:
        obj.setdefault("status", {}).pop("allocation", None)

    world.update(RESOURCE_CLAIMS, claim, clear, subresource="status")
    allocate_by_hand(world, claim, world.name(node), results)


# -- slices ------------------------------------------------------------------------------------------------------------


def newest(slices: Sequence[Obj]) -> dict[str, list[Obj]]:
    """The slices of the highest generation, by pool."""
    pools: dict[str, list[Obj]] = {}
    for obj in slices:
        pools.setdefault(obj["spec"]["pool"]["name"], []).append(obj)
    return {
        name: [obj for obj in several if _generation(obj) == max(_generation(other) for other in several)]
        for name, several in pools.items()
    }


def _generation(obj: Obj) -> int:
    return int(obj["spec"]["pool"].get("generation") or 0)


def look_complete(seat: NodeSeat) -> Seen:
    """Whether each pool of the node has as many slices of its newest generation as each of them says."""
    pools = newest(seat.slices())
    seen = {
        name: {
            "slices": len(several),
            "resourceSliceCount": sorted({obj["spec"]["pool"]["resourceSliceCount"] for obj in several}),
            "generation": _generation(several[0]),
        }
        for name, several in pools.items()
    }
    ok = bool(pools) and all(row["resourceSliceCount"] == [row["slices"]] for row in seen.values())
    return ok, seen or "no slice"


@given('the devices of "{node}" are remembered')
def _(world: World, node: str) -> None:
    """Keep the names of the published devices, to compare with later."""
    world.memory["devices-before"] = sorted(device["name"] for device in world.node(node).devices())


@when('somebody deletes the slices of the driver on "{node}"')
def _(world: World, node: str) -> None:
    """Delete every slice of the driver on this node, as a careless administrator would."""
    seat = world.node(node)
    gone = {uid_of(obj): name_of(obj) for obj in seat.slices()}
    for name in gone.values():
        world.client.delete_if_there(RESOURCE_SLICES, name)

    def look() -> Seen:
        left = [name_of(obj) for obj in seat.slices() if uid_of(obj) in gone]
        return not left, left

    world.require("the slices are deleted", look)


@then('every pool of the driver on "{node}" comes to be complete')
def _(world: World, node: str) -> None:
    """Each pool comes to have as many slices of its newest generation as they say it has."""
    seat = world.node(node)
    world.eventually("pools are complete", lambda: look_complete(seat), expected="resourceSliceCount slices a pool")


@then('the devices of "{node}" are published again within {seconds:d} seconds')
def _(world: World, node: str, seconds: int) -> None:
    """The remembered devices come to be published again, in complete pools; within the given time."""
    seat = world.node(node)
    wanted = world.memory["devices-before"]
    in_process = world.run.seats.spec("driver").in_process
    if in_process:
        world.settle()
        world.clock.advance(seconds)
    faults.require_met(world)

    def look() -> Seen:
        complete, seen = look_complete(seat)
        told = sorted(device["name"] for device in seat.devices())
        return complete and told == wanted, seen if told == wanted else told

    within = world.run.patience if in_process else float(seconds)
    world.eventually("the devices are published again", look, expected=wanted, within=within)


@then('the driver on "{node}" publishes the same devices as before')
def _(world: World, node: str) -> None:
    """The newest generation of the pools comes to hold the remembered devices, each once."""
    seat = world.node(node)
    wanted = world.memory["devices-before"]

    def look() -> Seen:
        told = sorted(
            device["name"]
            for several in newest(seat.slices()).values()
            for obj in several
            for device in obj["spec"].get("devices") or ()
        )
        complete, seen = look_complete(seat)
        return complete and told == wanted, told if told != wanted else seen

    world.eventually("the devices are the same", look, expected=wanted)


@then('every slice of the driver on "{node}" is owned by the Node')
def _(world: World, node: str) -> None:
    """Slices with a node name have the Node as owner, so that they go when it goes."""
    seat = world.node(node)
    uid = uid_of(world.client.get(NODES, seat.name))
    orphans = {
        name_of(obj): obj["metadata"].get("ownerReferences") or "no owner"
        for obj in seat.slices()
        if not any(owner.get("uid") == uid for owner in obj["metadata"].get("ownerReferences") or ())
    }
    world.check(not orphans, "slices are owned by the Node", expected=f"an owner with uid {uid}", observed=orphans)


@then('no two devices of one pool of the driver on "{node}" share a name')
def _(world: World, node: str) -> None:
    """In the newest generation of a pool every device name is there once, and every consumed counter is declared."""
    wrong: list[str] = []
    for pool, several in newest(world.node(node).slices()).items():
        names = [device["name"] for obj in several for device in obj["spec"].get("devices") or ()]
        wrong += [f"{pool}/{name} twice" for name in sorted({name for name in names if names.count(name) > 1})]
        declared = {
            (counters["name"], counter)
            for obj in several
            for counters in obj["spec"].get("sharedCounters") or ()
            for counter in counters["counters"]
        }
        wrong += [
            f"{pool}/{device['name']} consumes {use['counterSet']}/{counter}, which nobody declares"
            for obj in several
            for device in obj["spec"].get("devices") or ()
            for use in device.get("consumesCounters") or ()
            for counter in use["counters"]
            if (use["counterSet"], counter) not in declared
        ]
    world.check(not wrong, "devices of a pool fit together", expected="unique names, known counters", observed=wrong)


@then('standard attributes of the devices on "{node}" have their standard form')
def _(world: World, node: str) -> None:
    """pciBusID and pcieRoot, where published, read as Linux writes them."""
    wrong: dict[str, object] = {}
    for device in world.node(node).devices():
        for name, form in (("pciBusID", PCI_BUS_ID), ("pcieRoot", PCIE_ROOT)):
            value = (device.get("attributes") or {}).get(f"resource.kubernetes.io/{name}")
            if value is not None and not form.fullmatch(str(value.get("string") or "")):
                wrong[f"{device['name']}: {name}"] = value
    world.check(
        not wrong,
        "standard attributes",
        expected=f"pciBusID {PCI_BUS_ID.pattern}, pcieRoot {PCIE_ROOT.pattern}",
        observed=wrong,
    )


@then('the slices of the driver on "{node}" stay')
def _(world: World, node: str) -> None:
    """The slices are there after everything has come to rest."""
    seat = world.node(node)
    world.stays("slices stay", lambda: (bool(seat.slices()), f"{len(seat.slices())} slices"), expected="slices")
