"""Prepare and Unprepare calls to the driver under test, made as a kubelet makes them, and their outcomes.

Calls go straight to the driver, without pods, so that a scenario decides when and how often they are made. The outcomes
belong to the scenario's state; the kubelet's log has every request and response.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.allocations import results_of
from dra_api.objects import RESOURCE_CLAIMS, Obj, uid_of
from dra_api.rpc import (
    ClaimRef,
    PluginInfo,
    PreparedDevice,
    PrepareResult,
    RpcError,
)
from dra_conformance.components.node import DriverEnded, ScenarioNode
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import PluginInstance
from dra_conformance.kubelet.errors import KubeletError

CALL = 45.0
"""Timeout of one call in seconds, as with a real kubelet (rule DRA-268)."""


@dataclass(slots=True)
class Call:
    """The outcome of one call: results by claim uid, or the error of the whole call."""

    prepared: Mapping[str, PrepareResult] = field(default_factory=dict)
    unprepared: Mapping[str, str] = field(default_factory=dict)
    error: RpcError | None = None


@dataclass(slots=True)
class Calls:
    """All calls of one scenario.

    `refs` maps the scenario's claim names to what the kubelet passes to drivers, as it was at the first call.
    `prepared` maps them to the devices of each successful Prepare. `before` are the registrations of earlier runs of
    the driver.
    """

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
    return world.state(Calls)


def reference_to(world: World, claim: str) -> ClaimRef:
    """Return what a kubelet passes to drivers for a claim. It is kept, so that it can be used after a deletion."""
    refs = calls(world).refs
    if claim not in refs:
        obj = world.get(RESOURCE_CLAIMS, claim)
        refs[claim] = ClaimRef(world.namespace, uid_of(obj), claim)
    return refs[claim]


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
    """Return why a claim is not prepared after a call; empty if it is."""
    if call.error is not None:
        return f"the call failed: {call.error.code}: {call.error.details}"
    result = call.prepared.get(ref.uid)
    if result is None:
        return f"the response has no entry for uid {ref.uid}; its entries: {sorted(call.prepared) or 'none'}"
    return result.error


def succeeded(world: World, call: Call, claim: str) -> tuple[bool, object]:
    """Return whether a call prepared a claim, and its devices or the problem. Devices are kept for later steps."""
    ref = reference_to(world, claim)
    problem = problem_of(call, ref)
    if problem:
        return False, problem
    devices = call.prepared[ref.uid].devices
    calls(world).prepared.setdefault(claim, []).append(devices)
    return True, [show_device(device) for device in devices]


def show_device(device: PreparedDevice) -> Obj:
    """Return a device of a response in the form that reports show."""
    return {
        "requests": list(device.request_names),
        "pool": device.pool_name,
        "device": device.device_name,
        "cdi": list(device.cdi_device_ids),
    }


def own_results(world: World, claim: str) -> list[Obj]:
    """Return the allocation results of the driver under test in a claim."""
    driver = world.run.options.driver_name
    return [r for r in results_of(world.get(RESOURCE_CLAIMS, claim)) if r["driver"] == driver]


def start_again(world: World, node: ScenarioNode, *, as_process: bool = False) -> None:
    """Start the driver, and keep the registrations that it had before. Nothing is waited for.

    An error that ends the driver is kept in the node: a later step checks whether the driver is registered.
    """
    # Before the start, because the driver may register before `start_driver` returns.
    # An externally started driver is never restarted, and it may have registered when the node was created.
    registered = [] if node.external_driver else node.kubelet.plugins.instances(node.driver_name)
    calls(world).before = registered
    with contextlib.suppress(DriverEnded):
        node.start_driver(as_process=as_process)


def look_registered(world: World, node: ScenarioNode) -> Seen[str]:
    """Return whether an instance that started since the last `start_again` is registered and connected."""
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
    """Return the devices of the last successful Prepare of a claim. Raises Untestable if there was none."""
    answers = calls(world).prepared.get(claim)
    if not answers:
        raise Untestable(f"claim {claim} was not prepared: {problem_of(calls(world).last, reference_to(world, claim))}")
    return answers[-1]


def unprepare_problem(call: Call, ref: ClaimRef) -> str:
    """Return why a claim is not unprepared after a call; empty if it is."""
    if call.error is not None:
        return f"the call failed: {call.error.code}: {call.error.details}"
    if ref.uid not in call.unprepared:
        return f"the response has no entry for uid {ref.uid}"
    return call.unprepared[ref.uid]


def kill_while(world: World, node: str, claim: str, what: str, reached: Callable[[], bool]) -> None:
    """Call Prepare for a claim, and kill the driver's process as soon as something is reached."""
    component = world.node(node)
    reference = reference_to(world, claim)

    def call() -> None:
        try:
            prepare(world, node, [reference])
        except (Untestable, KubeletError):
            return

    caller = threading.Thread(target=call, name="prepare", daemon=True)
    caller.start()
    world.require(what, lambda: (reached(), "not yet"))
    # Killed before a fault ends, because the hanging call would go on then.
    component.kill_driver()
    caller.join(world.run.patience)
