"""The kubelet's own device manager and topology manager against those of the harness's kubelet.

A case is a machine with NUMA nodes, the settings of the topology manager, device plugins, and pods that are admitted
one after the other. Both sides must accept or refuse the settings, admit the same pods, and choose the same NUMA nodes
and devices. The plugins of both prefer the first devices by name, so that a case has one result.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dra_api.clock import RealClock
from dra_api.objects import Obj, uid_of
from dra_api.rpc.device_plugin import ContainerAllocation, PluginDevice, PluginOptions, PreferenceRequest
from dra_conformance.kubelet import topology
from dra_conformance.kubelet.device_allocation import DeviceAllocator
from dra_conformance.kubelet.device_plugins import DeviceManager
from dra_conformance.kubelet.errors import AdmissionRefused
from dra_conformance.kubelet.offered_resources import OfferedResources
from dra_conformance.kubelet.record import silent
from dra_conformance.kubelet.topology import Nodes, Topology
from verification.differential.rng import Dice
from verification.differential.upstream import Upstream

PROGRAM = Path(__file__).resolve().parent.parent / "bin" / "dra-device-manager"
_MANY_NODES = 9
_UNKNOWN_NODE = 50
_RESOURCES = ("example.com/gpu", "example.com/nic", "example.com/fpga")


@dataclass(frozen=True, slots=True)
class Difference:
    """A case with two answers, by the part of them that differs first."""

    case: Obj
    upstream: Obj
    reference: Obj

    def __str__(self) -> str:
        if self.upstream["outcome"] != self.reference["outcome"]:
            return f"upstream: {self.upstream['outcome']}, reference: {self.reference['outcome']}"
        for number, (theirs, ours) in enumerate(zip(self.upstream["pods"], self.reference["pods"], strict=True)):
            if theirs != ours:
                return f"pod {number}: upstream: {theirs}, reference: {ours}"
        return "no difference"


@dataclass(slots=True)
class Result:
    """Counts of cases and pods by their outcome, and the differences."""

    outcomes: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compare(program: Upstream, numbers: Iterable[int], seed: str) -> Result:
    """Compare the generated cases with these numbers; each depends on the seed and its number only."""
    result = Result()
    for number in numbers:
        question = case(Dice(f"{seed}/devices/{number}"))
        theirs, ours = _compared(program.call(question)), play(question)
        result.outcomes.update(one["reason"] or "admitted" for one in ours["pods"])
        result.outcomes["refused settings"] += ours["outcome"] == "refused"
        if theirs != ours:
            result.differences.append(Difference(question, theirs, ours))
    return result


def _compared(answer: Obj) -> Obj:
    """Return an answer without messages, whose wording is each side's own."""
    pods = [{key: value for key, value in one.items() if key != "message"} for one in answer.get("pods") or ()]
    return {"outcome": answer["outcome"], "pods": pods}


# -- cases -----------------------------------------------------------------------------------------------------------


def case(dice: Dice) -> Obj:
    """Return a generated case."""
    if dice.one_in(5):
        return _of_distances(dice)
    count = _MANY_NODES if dice.one_in(15) else dice.pick((1, 2, 2, 3, 3, 4, 4, 4))
    # Every set of these nodes is a hint, so there are few.
    with_devices = dice.some(range(count), 1, 4)
    plugins = {name: _devices(dice, name, with_devices) for name in dice.some(_RESOURCES, 1, 3)}
    return {
        "policy": dice.pick((*topology.POLICIES, topology.BEST_EFFORT, topology.RESTRICTED)),
        "scope": dice.pick(topology.SCOPES),
        "options": _options(dice, count),
        "numa": _machine(dice, count),
        "plugins": plugins,
        "pods": _pods(dice, [*plugins]),
    }


def _of_distances(dice: Dice) -> Obj:
    """Return a case in which each device has a NUMA node of its own: two need two nodes, and distances count."""
    count = dice.integer(3, 5)
    plugins: Obj = {
        name: [
            {"id": f"{name.rpartition('/')[2]}-{node}", "health": "Healthy", "nodes": [node]} for node in range(count)
        ]
        for name in _RESOURCES[: dice.integer(1, 2)]
    }
    return {
        "policy": dice.pick((topology.BEST_EFFORT, topology.RESTRICTED)),
        "scope": dice.pick(topology.SCOPES),
        "options": {topology.PREFER_CLOSEST: "true"},
        "numa": _machine(dice, count),
        "plugins": plugins,
        "pods": _pods(dice, [*plugins]),
    }


def _pods(dice: Dice, resources: Sequence[str]) -> list[Obj]:
    pods = [_pod(dice, number, resources) for number in range(dice.integer(1, 5))]
    return [
        {"pod": pod, "ended": [uid_of(one) for one in pods[:number] if dice.one_in(3)]}
        for number, pod in enumerate(pods)
    ]


def _options(dice: Dice, count: int) -> dict[str, str]:
    found = {}
    if dice.one_in(2):
        found[topology.PREFER_CLOSEST] = "yes" if dice.one_in(12) else dice.pick(("true", "true", "1", "false"))
    if dice.one_in(2 if count == _MANY_NODES else 10):
        found[topology.MAX_ALLOWABLE] = dice.pick(("7", "8", "9", "16", "many"))
    if dice.one_in(40):
        found["prefer-most-numa-nodes"] = "true"
    return found


def _machine(dice: Dice, count: int) -> list[Obj]:
    known = not dice.one_in(30)
    same = dice.one_in(5)
    found: list[Obj] = []
    for node in range(count):
        others = [10 if node == other else 20 if same else dice.pick((11, 12, 20, 21, 40)) for other in range(count)]
        found.append({"id": node, "distances": others if known else None})
    return found


def _devices(dice: Dice, resource: str, nodes: Sequence[int]) -> list[Obj]:
    name = resource.rpartition("/")[2]
    found: list[Obj] = []
    placed = not dice.one_in(8)
    for number in range(dice.integer(1, 7)):
        its = dice.some(nodes, 1, 2 if dice.one_in(6) else 1) if placed and not dice.one_in(8) else []
        if dice.one_in(25):
            its = [*its, _UNKNOWN_NODE]
        health = "Unhealthy" if dice.one_in(7) else "Healthy"
        found.append({"id": f"{name}-{number}", "health": health, "nodes": its})
    return found


def _pod(dice: Dice, number: int, resources: Sequence[str]) -> Obj:
    inits: list[Obj] = []
    for at in range(dice.integer(1, 2) if dice.one_in(3) else 0):
        inits.append({"name": f"init-{at}", **({"restartPolicy": "Always"} if dice.one_in(3) else {})})
    mains: list[Obj] = [{"name": f"main-{at}"} for at in range(dice.integer(1, 2))]
    containers = [*inits, *mains]
    for resource in resources:
        users = [one for one in containers if not dice.one_in(3)]
        # No container leaves devices of an init container to a later one: the kubelet would leave any of them.
        counts = sorted(dice.pick((1, 1, 2, 2, 3, 4)) for _ in users)
        for container, wanted in zip(users, counts, strict=True):
            container.setdefault("resources", {"limits": {}})["limits"][resource] = str(wanted)
    name = f"pod-{number}"
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"initContainers": inits, "containers": mains},
    }


# -- the harness's kubelet -------------------------------------------------------------------------------------------


class _Plugin:
    """A device plugin that prefers the first devices by name."""

    options = PluginOptions(get_preferred_allocation_available=True)

    def prefer(self, request: PreferenceRequest) -> Sequence[Sequence[str]]:
        chosen = dict.fromkeys((*request.must_include, *sorted(request.available)))
        return [[*chosen][: request.size]]

    def allocate(self, ids: Sequence[str]) -> Sequence[ContainerAllocation]:
        return [ContainerAllocation()]


class _Manager:
    """The manager of device plugins, all of which are connected."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def serving(self, resource: str) -> _Plugin:
        return _Plugin()


class _Allocator(DeviceAllocator):
    """The allocator; it keeps the NUMA nodes of each container by pod and container."""

    chosen: dict[tuple[str, str], Nodes | None]

    def _allocate_container(
        self,
        pod: Obj,
        container: Mapping[str, Any],
        reusable: Mapping[str, Sequence[str]],
        nodes: Nodes | None,
    ) -> None:
        self.chosen[uid_of(pod), container["name"]] = nodes
        super()._allocate_container(pod, container, reusable, nodes)


def play(question: Obj) -> Obj:
    """Return the answer of the harness's kubelet to a case, in upstream's form."""
    settings = Topology(
        policy=question["policy"],
        scope=question["scope"],
        options=question["options"],
        numa_nodes=tuple(one["id"] for one in question["numa"]),
        distances={one["id"]: one["distances"] for one in question["numa"] if one["distances"] is not None},
    )
    if settings.problem():
        return {"outcome": "refused", "pods": []}
    offered = OfferedResources(RealClock())
    for resource, devices in question["plugins"].items():
        offered.take(resource, [PluginDevice(one["id"], one["health"], tuple(one["nodes"]) or None) for one in devices])
    active: list[str] = []
    pods = []
    with tempfile.TemporaryDirectory(prefix="dra-devices-") as folder:
        manager = cast("DeviceManager", _Manager(Path(folder)))
        allocator = _Allocator(manager, offered, record=silent, active=lambda: active, aligned=settings)
        allocator.chosen = {}
        for one in question["pods"]:
            active = [uid for uid in active if uid not in one["ended"]]
            pods.append(_admit(allocator, one["pod"]))
            if pods[-1]["admitted"]:
                active.append(uid_of(one["pod"]))
    return {"outcome": "admitted", "pods": pods}


def _admit(allocator: _Allocator, pod: Obj) -> Obj:
    try:
        allocator.admit(pod)
    except AdmissionRefused as refused:
        return {"admitted": False, "reason": refused.reason, "nodes": {}, "devices": {}}
    names = [one["name"] for one in (*pod["spec"]["initContainers"], *pod["spec"]["containers"])]
    chosen = {name: allocator.chosen[uid_of(pod), name] for name in names}
    return {
        "admitted": True,
        "reason": "",
        "nodes": {name: None if nodes is None else sorted(nodes) for name, nodes in chosen.items()},
        "devices": {
            name: {one.resource: sorted(one.ids) for one in allocator.held(uid_of(pod), name)} for name in names
        },
    }
