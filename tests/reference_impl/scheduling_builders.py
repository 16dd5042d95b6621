"""Short ways to write slices, classes and claims for the allocator's and scheduler's tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler import allocator
from reference_impl.scheduler.allocator import Allocator, DeviceClass, Features, NodeInventory, Taken
from reference_impl.scheduler.allocator.model import Allocation

DRIVER = "gpu.example.com"


def attribute(value: Any) -> Obj:
    """A DeviceAttribute of the right kind for a Python value; ("version", "1.0.0") and lists too."""
    if isinstance(value, tuple):
        return {value[0]: value[1]}
    if isinstance(value, list):
        kind = {bool: "bools", int: "ints", str: "strings"}[type(value[0])]
        return {kind: value}
    return {{bool: "bool", int: "int", str: "string"}[type(value)]: value}


def device(name: str, /, *, counters: dict[str, dict[str, str]] | None = None, **fields: Any) -> Obj:
    attributes = {key: attribute(value) for key, value in fields.pop("attributes", {}).items()}
    capacity = {
        key: value if isinstance(value, dict) else {"value": value} for key, value in fields.pop("capacity", {}).items()
    }
    made: Obj = {"name": name, **fields}
    if attributes:
        made["attributes"] = attributes
    if capacity:
        made["capacity"] = capacity
    if counters:
        made["consumesCounters"] = [
            {"counterSet": name, "counters": {counter: {"value": value} for counter, value in values.items()}}
            for name, values in counters.items()
        ]
    return made


def resource_slice(
    name: str,
    devices: Iterable[Obj] = (),
    *,
    driver: str = DRIVER,
    pool: str = "pool",
    generation: int = 1,
    count: int = 1,
    node: str | None = None,
    counter_sets: dict[str, dict[str, str]] | None = None,
    **place: Any,
) -> Obj:
    spec: Obj = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        **place,
    }
    if node:
        spec["nodeName"] = node
    if counter_sets:
        spec["sharedCounters"] = [
            {"name": set_name, "counters": {key: {"value": value} for key, value in values.items()}}
            for set_name, values in counter_sets.items()
        ]
    else:
        spec["devices"] = list(devices)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def gpus(count: int, *, node: str = "node-a", **fields: Any) -> Obj:
    """One slice with `count` equal devices d0, d1, …"""
    return resource_slice(f"{node}-gpus", [device(f"d{n}", **fields) for n in range(count)], node=node, pool=node)


def request(name: str = "gpu", /, *, cls: str = "gpu", **fields: Any) -> Obj:
    return {"name": name, "exactly": {"deviceClassName": cls, "allocationMode": "ExactCount", "count": 1, **fields}}


def all_request(name: str = "gpu", /, **fields: Any) -> Obj:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "All", **fields}}


def first_available(name: str, *subs: Obj) -> Obj:
    return {"name": name, "firstAvailable": list(subs)}


def sub(name: str, **fields: Any) -> Obj:
    return {"name": name, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}


def expression(*texts: str) -> list[Obj]:
    return [{"cel": {"expression": text}} for text in texts]


def claim(
    *requests: Obj, name: str = "c", namespace: str = "ns", constraints: Iterable[Obj] = (), config: Iterable[Obj] = ()
) -> Obj:
    devices: Obj = {"requests": list(requests)}
    if constraints := list(constraints):
        devices["constraints"] = constraints
    if config := list(config):
        devices["config"] = config
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"devices": devices},
    }


def device_class(name: str = "gpu", *expressions: str, config: Iterable[Obj] = ()) -> Obj:
    spec: Obj = {}
    if expressions:
        spec["selectors"] = expression(*expressions)
    if config := list(config):
        spec["config"] = config
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": spec,
    }


class Tried(NamedTuple):
    """The outcome of an allocation on one node, and the reason if there is none."""

    allocations: tuple[Allocation, ...] | None
    reason: str

    def __bool__(self) -> bool:
        return self.allocations is not None


class World:
    """Slices, classes and devices in use; allocates on one node."""

    def __init__(
        self,
        *slices: Obj,
        classes: Iterable[Obj] = (),
        features: Features | None = None,
        declared: Iterable[str] = (),
    ) -> None:
        self.declared = frozenset(declared)
        decoded = [allocator.decode_slice(piece) for piece in slices]
        self.by_pool: dict[Any, list[allocator.Slice]] = {}
        for piece in decoded:
            self.by_pool.setdefault(piece.pool, []).append(piece)
        made = [DeviceClass.decode(obj) for obj in (*classes, device_class())]
        self.classes = {made_class.name: made_class for made_class in reversed(made)}
        self.features = features or Features()
        self.taken = Taken()

    def inventory(self, node: str = "node-a", labels: dict[str, str] | None = None) -> NodeInventory:
        facts = NodeFacts(node, labels or {}, self.declared)
        return NodeInventory.build(facts, list(self.by_pool.values()), self.features)

    def allocate(
        self, *claims: Obj, node: str = "node-a", labels: dict[str, str] | None = None, max_steps: int = 20_000
    ) -> Tried:
        decoded = [allocator.decode_claim(obj) for obj in claims]
        asked = Allocator(decoded, self.classes, features=self.features, max_steps=max_steps)
        inventory = self.inventory(node, labels)
        found = asked.on(inventory, self.taken)
        reason = asked.why_not(inventory, self.taken) if found.allocations is None else ""
        return Tried(found.allocations, reason)

    def take(self, *claims: Obj, **where: Any) -> Tried:
        """Allocate and keep it."""
        outcome = self.allocate(*claims, **where)
        assert outcome.allocations is not None, outcome.reason
        for allocation in outcome.allocations:
            self.taken.add(allocation.result["devices"]["results"])
        return outcome


def picked(outcome: Tried) -> list[str]:
    """`request=device` of all results, in order."""
    assert outcome.allocations is not None, outcome.reason
    return [
        f"{result['request']}={result['device']}"
        for allocation in outcome.allocations
        for result in allocation.result["devices"]["results"]
    ]
