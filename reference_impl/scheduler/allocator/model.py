"""The allocator's types: devices, slices, requests and claims, decoded once from the API's dicts.

Everything is frozen; a decoded object lives as long as the object it came from is current. `Device.verdicts` is the
one exception: a cache of selector verdicts that lives and dies with its device.

Source: resource.k8s.io/v1 types of k8s.io/api v0.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from dra_api.objects import Obj, name_of, namespace_of, uid_of
from dra_api.quantity import Quantity

# Limits of resource.k8s.io/v1 (types.go).
MAX_RESULTS = 32


class PoolId(NamedTuple):
    """A pool is unique by its driver and name; equal names of two drivers are different pools."""

    driver: str
    pool: str


class DeviceId(NamedTuple):
    """A device is unique by driver, pool and name."""

    driver: str
    pool: str
    device: str

    @property
    def pool_id(self) -> PoolId:
        """Return the device's pool."""
        return PoolId(self.driver, self.pool)

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


# An attribute's value for comparison: its type and text, so that "1" the string never equals 1 the number.
AttributeValue: TypeAlias = tuple[str, Any]
_SCALARS = {"string": "string", "int": "int", "bool": "bool", "version": "version"}
_LISTS = {"strings": "string", "ints": "int", "bools": "bool", "versions": "version"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One device attribute: one value, or several if it is a list."""

    values: tuple[AttributeValue, ...]
    is_list: bool = False

    @classmethod
    def decode(cls, raw: Obj) -> Attribute:
        """Read a v1.DeviceAttribute; one of an unknown type has no values and equals nothing."""
        for key, kind in _SCALARS.items():
            if raw.get(key) is not None:
                return cls(((kind, raw[key]),))
        for key, kind in _LISTS.items():
            if raw.get(key) is not None:
                return cls(tuple((kind, value) for value in raw[key]), is_list=True)
        return cls(())


@dataclass(frozen=True, slots=True)
class Taint:
    """One device taint."""

    key: str
    value: str
    effect: str

    @classmethod
    def decode(cls, raw: Obj) -> Taint:
        """Read a v1.DeviceTaint."""
        return cls(str(raw.get("key") or ""), str(raw.get("value") or ""), str(raw.get("effect") or ""))


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device: its name as published, its value, and the policy that rounds requests (KEP-5075)."""

    name: str
    value: Quantity
    policy: Obj | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One device of one slice, with the properties of the slice that apply to it.

    `attributes` and `capacity` are keyed by fully qualified names (`domain/id`). `counters` maps counter set and
    counter name to the consumption, in billionths. `node_name`, `node_selector` and `all_nodes` select the nodes that
    can use the device; exactly one is set. `skipped_operations`: the slice's `skipNodeOperations`.
    """

    id: DeviceId
    attributes: Mapping[str, Attribute]
    capacity: Mapping[str, Capacity]
    taints: tuple[Taint, ...]
    counters: Mapping[tuple[str, str], int]
    node_name: str
    node_selector: Obj | None
    all_nodes: bool
    per_device_node: bool
    allow_multiple: bool
    binds_to_node: bool
    binding_conditions: tuple[str, ...]
    binding_failure_conditions: tuple[str, ...]
    raw: Obj
    skipped_operations: tuple[str, ...] = ()
    verdicts: dict[Any, Any] = field(default_factory=dict)

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute of a fully qualified name, or None."""
        return self.attributes.get(name)


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """One ResourceSlice. `node_name`, `node_selector`, `all_nodes` and `per_device` are its four forms of node
    selection.
    """

    name: str
    pool: PoolId
    generation: int
    slice_count: int
    node_name: str
    node_selector: Obj | None
    all_nodes: bool
    per_device: bool
    devices: tuple[Device, ...]
    counter_sets: tuple[tuple[str, Mapping[str, int]], ...]
    has_compatibility_groups: bool = False

    @property
    def local_to(self) -> str:
        """Return the only node that this slice concerns; empty when it may concern several."""
        return self.node_name


def qualified(name: str, driver: str) -> str:
    """Return an attribute or capacity name with its domain, by default the driver's."""
    return name if "/" in name else f"{driver}/{name}"


def amount(text: Any) -> int:
    """Return a quantity in billionths: exact for every quantity that the API stores."""
    return Quantity.parse(str(text)).scaled_value(-9)


def decode_device(raw: Obj, *, pool: PoolId, spec: Obj) -> Device:
    """Read one device of a slice with spec `spec`."""
    per_device = bool(spec.get("perDeviceNodeSelection"))
    place = raw if per_device else spec
    return Device(
        id=DeviceId(pool.driver, pool.pool, str(raw["name"])),
        attributes={
            qualified(name, pool.driver): Attribute.decode(value)
            for name, value in (raw.get("attributes") or {}).items()
        },
        capacity={
            qualified(name, pool.driver): Capacity(
                name, Quantity.parse(str(value["value"])), value.get("requestPolicy")
            )
            for name, value in (raw.get("capacity") or {}).items()
        },
        taints=tuple(Taint.decode(taint) for taint in raw.get("taints") or ()),
        counters={
            (consumed["counterSet"], name): amount(counter["value"])
            for consumed in raw.get("consumesCounters") or ()
            for name, counter in (consumed.get("counters") or {}).items()
        },
        node_name=str(place.get("nodeName") or ""),
        node_selector=place.get("nodeSelector"),
        all_nodes=bool(place.get("allNodes")),
        per_device_node=per_device,
        allow_multiple=bool(raw.get("allowMultipleAllocations")),
        binds_to_node=bool(raw.get("bindsToNode")),
        binding_conditions=tuple(raw.get("bindingConditions") or ()),
        binding_failure_conditions=tuple(raw.get("bindingFailureConditions") or ()),
        raw=raw,
        skipped_operations=tuple(spec.get("skipNodeOperations") or ()),
    )


def decode_slice(obj: Obj) -> Slice:
    """Read a ResourceSlice."""
    spec = obj["spec"]
    pool = PoolId(str(spec["driver"]), str(spec["pool"]["name"]))
    return Slice(
        name=name_of(obj),
        pool=pool,
        generation=int(spec["pool"].get("generation") or 0),
        slice_count=int(spec["pool"].get("resourceSliceCount") or 0),
        node_name=str(spec.get("nodeName") or ""),
        node_selector=spec.get("nodeSelector"),
        all_nodes=bool(spec.get("allNodes")),
        per_device=bool(spec.get("perDeviceNodeSelection")),
        devices=tuple(decode_device(raw, pool=pool, spec=spec) for raw in spec.get("devices") or ()),
        counter_sets=tuple(
            (
                str(counter_set["name"]),
                {name: amount(value["value"]) for name, value in (counter_set.get("counters") or {}).items()},
            )
            for counter_set in spec.get("sharedCounters") or ()
        ),
        has_compatibility_groups=any(
            consumed.get("compatibilityGroups")
            for raw in spec.get("devices") or ()
            for consumed in raw.get("consumesCounters") or ()
        ),
    )


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """One DeviceClass: its selectors' CEL expressions, its configs, and the extended resource that it provides."""

    name: str
    selectors: tuple[str | None, ...]
    configs: tuple[Obj, ...]
    extended_resource: str = ""
    created: str = ""

    @classmethod
    def decode(cls, obj: Obj) -> DeviceClass:
        """Read a DeviceClass."""
        spec = obj.get("spec") or {}
        return cls(
            name_of(obj),
            expressions(spec.get("selectors")),
            tuple(spec.get("config") or ()),
            str(spec.get("extendedResourceName") or ""),
            str((obj.get("metadata") or {}).get("creationTimestamp") or ""),
        )


def expressions(selectors: Iterable[Obj] | None) -> tuple[str | None, ...]:
    """Return the CEL expressions of a selector list; None is a selector of an unknown kind."""
    return tuple((selector.get("cel") or {}).get("expression") for selector in selectors or ())


@dataclass(frozen=True, slots=True)
class SubRequest:
    """One request or subrequest.

    `name` is `request`, or `request/subrequest`; `count` is unused when `all_devices`; `capacity` maps the capacity
    names of `capacity.requests`, as written, to quantities; `derived` the names of `derivedAttributes` to expressions.
    """

    name: str
    parent: str
    class_name: str
    selectors: tuple[str | None, ...]
    count: int
    all_devices: bool
    admin_access: bool
    tolerations: tuple[Obj, ...]
    capacity: tuple[tuple[str, Quantity], ...]
    mode: str
    derived: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One entry of `spec.devices.requests`: one alternative (`exactly`), or several in order of preference."""

    name: str
    alternatives: tuple[SubRequest, ...]
    prioritized: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """One entry of `spec.devices.constraints`; `attribute` is fully qualified."""

    kind: str  # matchAttribute, distinctAttribute, or empty when it is neither
    attribute: str
    requests: tuple[str, ...]

    def covers(self, request: SubRequest) -> bool:
        """Return whether the constraint applies to a (sub)request: to all when it names none."""
        return not self.requests or request.name in self.requests or request.parent in self.requests


@dataclass(frozen=True)
class Claim:
    """One ResourceClaim that is to be allocated."""

    namespace: str
    name: str
    uid: str
    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]
    configs: tuple[Obj, ...]

    @cached_property
    def key(self) -> str:
        """Return namespace and name, for messages."""
        return f"{self.namespace}/{self.name}"

    @cached_property
    def needs_free_devices(self) -> bool:
        """Return whether every alternative of every request wants some device to itself, and all together fit into a
        claim.
        """
        wishes = [sub for request in self.requests for sub in request.alternatives]
        least = sum(min(sub.count for sub in request.alternatives) for request in self.requests)
        return 0 < least <= MAX_RESULTS and not any(sub.all_devices or sub.admin_access for sub in wishes)


def _subrequest(raw: Obj, *, name: str, parent: str) -> SubRequest:
    mode = str(raw.get("allocationMode") or "ExactCount")
    return SubRequest(
        name=name,
        parent=parent,
        class_name=str(raw.get("deviceClassName") or ""),
        selectors=expressions(raw.get("selectors")),
        count=int(raw.get("count") or 1),
        all_devices=mode == "All",
        admin_access=bool(raw.get("adminAccess")),
        tolerations=tuple(raw.get("tolerations") or ()),
        capacity=tuple(
            (key, Quantity.parse(str(value)))
            for key, value in ((raw.get("capacity") or {}).get("requests") or {}).items()
        ),
        mode=mode,
        derived={str(one["name"]): str(one["expression"]) for one in raw.get("derivedAttributes") or ()},
    )


def _request(raw: Obj) -> Request:
    name = str(raw["name"])
    if raw.get("firstAvailable"):
        subs = (_subrequest(sub, name=f"{name}/{sub['name']}", parent=name) for sub in raw["firstAvailable"])
        return Request(name, tuple(subs), prioritized=True)
    return Request(name, (_subrequest(raw["exactly"], name=name, parent=name),), prioritized=False)


def _constraint(raw: Obj) -> Constraint:
    for kind in ("matchAttribute", "distinctAttribute"):
        if raw.get(kind):
            return Constraint(kind, str(raw[kind]), tuple(raw.get("requests") or ()))
    return Constraint("", "", tuple(raw.get("requests") or ()))


def decode_claim(obj: Obj) -> Claim:
    """Decode the spec of a ResourceClaim."""
    devices: Obj = (obj.get("spec") or {}).get("devices") or {}
    return Claim(
        namespace=namespace_of(obj),
        name=name_of(obj),
        uid=uid_of(obj),
        requests=tuple(_request(raw) for raw in devices.get("requests") or ()),
        constraints=tuple(_constraint(raw) for raw in devices.get("constraints") or ()),
        configs=tuple(devices.get("config") or ()),
    )


@dataclass(frozen=True, slots=True)
class Features:
    """Optional features of the allocator; each is the Kubernetes gate of nearly the same name.

    `readable_lists`: without `list_attributes`, selectors still run on devices with lists (DRA-487).
    `fractional_ranges`: only for `bug_compatible`; without it, the API does not say how fractions are rounded, and
    this allocator is exact.
    """

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    binding_conditions: bool = True
    consumable_capacity: bool = True
    list_attributes: bool = True
    readable_lists: bool = True
    fractional_ranges: bool = True
    compatibility_groups: bool = True
    derived_attributes: bool = True
    optional_node_operations: bool = True
    extended_resources: bool = True
    node_allocatable: bool = True


class Allocation(NamedTuple):
    """One claim's outcome: the v1.AllocationResult, and the device ids in it."""

    claim: Claim
    result: Obj
    chosen_alternatives: tuple[int, ...]


class Outcome(NamedTuple):
    """The outcome of an allocation on one node: one allocation for each claim, or None.

    `steps` is the cost of the search.
    """

    allocations: tuple[Allocation, ...] | None
    steps: int


class AllocationError(Exception):
    """The allocation is impossible because of the pod or of a pool.

    `on_node_only` means that only this node is unsuitable, as without free devices; otherwise the whole attempt fails.
    `steps` is the cost of the search so far.
    """

    def __init__(self, message: str, *, on_node_only: bool = False) -> None:
        super().__init__(message)
        self.on_node_only = on_node_only
        self.steps = 0


class MissingClass(AllocationError):
    """A request names a DeviceClass that does not exist; the claim can be allocated once it does (DRA-124, DRA-188)."""


Classes: TypeAlias = Mapping[str, DeviceClass]
Slices: TypeAlias = Sequence[Slice]
