"""Calls to the driver under test as a kubelet makes them, and what each came to.

Calls go straight to the driver, without pods, so that a scenario decides when and how often. What each call came to is
kept in the scenario's memory until it ends; the kubelet's log holds every request and answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.objects import RESOURCE_CLAIMS, Obj, uid_of
from dra_api.rpc import (
    ClaimRef,
    PluginInfo,
    PreparedDevice,
    PrepareResult,
    RpcError,
)
from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import PluginInstance
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.claims import (
    results_of,
)

CALL = 45.0
"""Seconds that a driver has for one call, as with a real kubelet (rule DRA-268)."""


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


def start_anew(world: World, node: ScenarioNode, *, as_process: bool = False) -> None:
    """Start the driver again, and remember which registrations are of its former life."""
    calls(world).before = node.kubelet.plugins.instances(node.driver_name)
    node.start_driver(as_process=as_process)


def look_registered(world: World, node: ScenarioNode) -> Seen:
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
