"""Claims for IMEX channels and daemons, allocated by hand, and the Prepare calls that ask for them and may wait."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from dra_api.objects import RESOURCE_CLAIMS, Obj, uid_of
from dra_api.rpc import ClaimRef, PrepareResult, RpcError
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.events import PrepareReturned
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.claims import allocate_by_hand, claim_object
from dra_conformance.steps.compute_domains import DRIVER_NAMESPACE, domain, domain_object, make_domain

CONFIG_API = "resource.nvidia.com/v1beta1"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
DAEMON_CLASS = "compute-domain-daemon.nvidia.com"


@dataclass(slots=True)
class Waiting:
    """A Prepare call that may take as long as it likes: its answer, once there is one."""

    ref: ClaimRef
    thread: threading.Thread | None = None
    answer: PrepareResult | None = None
    error: str = ""
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def ids(self) -> list[str]:
        """The CDI ids of the answer; empty where there is none."""
        return [
            device_id for device in (self.answer.devices if self.answer else ()) for device_id in device.cdi_device_ids
        ]


def domain_claim(world: World, claim: str, node: str, *, device: str, class_name: str, config: Obj) -> None:
    """A claim for `<device>-0` of a node, allocated by hand as scheduler and controller leave it."""
    requests = [{"name": device, "exactly": {"deviceClassName": class_name}}]
    world.create(claim_object(world, claim, {"devices": {"requests": requests}}))
    result = {"request": device, "driver": DOMAIN_DRIVER, "pool": world.name(node), "device": f"{device}-0"}
    opaque = {"driver": DOMAIN_DRIVER, "parameters": {"apiVersion": CONFIG_API, **config}}
    allocation = [{"source": "FromClaim", "requests": [device], "opaque": opaque}]
    allocate_by_hand(world, claim, world.name(node), [result], config=allocation)


def channel_claim(world: World, claim: str, node: str, domain_uid: str, **fields: str) -> None:
    """A claim for channel-0 of a node; `fields` are more of its configuration."""
    config = {"kind": "ComputeDomainChannelConfig", "domainID": domain_uid, **fields}
    domain_claim(world, claim, node, device="channel", class_name=CHANNEL_CLASS, config=config)


def waiting(world: World, claim: str) -> Waiting:
    """The call for a claim. Raises SpecificationError when none was made."""
    found = world.memory.get(f"imex {claim}")
    if not isinstance(found, Waiting):
        raise SpecificationError(f"{world.scenario.where}: no step asked to prepare {claim}")
    return found


def ask(world: World, claim: str, node: str) -> Waiting:
    """Call Prepare in a thread of its own; the log wakes who waits for the answer."""
    obj = world.get(RESOURCE_CLAIMS, claim)
    call = Waiting(ClaimRef(world.namespace, uid_of(obj), claim))
    plugin = world.node(node).domain_plugin

    def run() -> None:
        try:
            answers = plugin.prepare([call.ref], timeout=60.0)
            call.answer = answers.get(call.ref.uid)
            call.error = call.answer.error if call.answer else "the answer has no entry for the claim"
        except (RpcError, KubeletError) as error:
            call.error = f"the call failed: {error}"
        call.done.set()
        world.log.emit(PrepareReturned(claim=claim, error=call.error))

    call.thread = threading.Thread(target=run, name=f"prepare-{claim}", daemon=True)
    world.memory[f"imex {claim}"] = call
    call.thread.start()
    return call


@given('a channel claim "{claim}" on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, name: str, node: str) -> None:
    """A channel claim for a domain of this namespace, with an allocation written by hand."""
    channel_claim(world, claim, node, uid_of(domain(world, name)))


@given('a channel claim "{claim}" with allocationMode {mode:word} on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, mode: str, node: str, name: str) -> None:
    """A channel claim whose configuration says how many channels it wants."""
    channel_claim(world, claim, node, uid_of(domain(world, name)), allocationMode=mode)


@given('a channel claim "{claim}" on "{node}" for a ComputeDomain that does not exist')
def _(world: World, claim: str, node: str) -> None:
    """A channel claim that names the uid of no domain."""
    channel_claim(world, claim, node, "00000000-0000-4000-8000-000000000000")


@given('a channel claim "{claim}" with an unknown field on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, name: str, node: str) -> None:
    """A channel claim whose configuration has a field that the driver does not know."""
    channel_claim(world, claim, node, uid_of(domain(world, name)), surprise="yes")


@given('a channel claim "{claim}" on "{node}" for a ComputeDomain "{name}" of another namespace')
def _(world: World, claim: str, name: str, node: str) -> None:
    """A channel claim that names a domain of the driver's namespace."""
    obj = domain_object(world, f"{name}-{world.suffix}")
    obj["metadata"]["namespace"] = DRIVER_NAMESPACE
    channel_claim(world, claim, node, uid_of(make_domain(world, obj)))


@given('a daemon claim "{claim}" on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, node: str, name: str) -> None:
    """A claim for daemon-0 of a node, allocated by hand as scheduler and controller leave it."""
    config = {"kind": "ComputeDomainDaemonConfig", "domainID": uid_of(domain(world, name))}
    domain_claim(world, claim, node, device="daemon", class_name=DAEMON_CLASS, config=config)


@given('the channel of claim "{claim}" has been prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Prepare a channel claim; the scenario starts from there."""
    call = ask(world, claim, node)
    world.require(f"claim {claim} is prepared", lambda: (call.done.is_set() and not call.error, call.error or "waits"))


@when('the channel of claim "{claim}" is asked for on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Prepare and do not wait for the answer."""
    ask(world, claim, node)


@when('the daemon of claim "{claim}" is asked for on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Prepare and do not wait for the answer."""
    ask(world, claim, node)


@when('the channel of claim "{claim}" is given back on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Unprepare."""
    try:
        answers = world.node(node).domain_plugin.unprepare([waiting(world, claim).ref], timeout=45.0)
    except (RpcError, KubeletError) as error:
        raise Untestable(f"Unprepare failed: {error}") from error
    if any(answers.values()):
        raise Untestable(f"Unprepare failed: {answers}")
