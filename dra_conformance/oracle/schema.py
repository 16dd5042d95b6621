"""Types of the objects that the checker reads: resource.k8s.io/v1, and the needed fields of nodes and pods.

Structures only: `decoding` creates them from objects of any served version, `well_formed` validates what types cannot
express. They are immutable.

Source: k8s.io/api resource/v1, v1beta2, v1beta1, v1alpha3 types.go (v0.36); digest of versions in DRA-001 to DRA-082.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import msgspec

from dra_api.quantity import Quantity

Name = Annotated[str, msgspec.Meta(min_length=1)]
Timestamp: TypeAlias = datetime | None


# `dict` gives instances the dictionary that cached_property needs.
class _ApiStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    pass


class OwnerReference(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of one entry of `metadata.ownerReferences`."""

    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of `metadata`."""

    name: Name
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    managed_fields: list[dict[str, Any]] = []

    @cached_property
    def changed(self) -> Timestamp:
        """The last known change: the creation, or the newest entry of managedFields outside of subresources."""
        times = [self.creation_timestamp] if self.creation_timestamp else []
        for entry in self.managed_fields:
            if not entry.get("subresource") and isinstance(entry.get("time"), str):
                times.append(parse_time(entry["time"]))
        return max(times, default=None)


class NodeSelectorRequirement(_ApiStruct, frozen=True, kw_only=True):
    """One requirement of a node selector term."""

    key: Name
    operator: str
    values: list[str] = []


class NodeSelectorTerm(_ApiStruct, frozen=True, kw_only=True):
    """One node selector term."""

    match_expressions: list[NodeSelectorRequirement] = []
    match_fields: list[NodeSelectorRequirement] = []


class NodeSelector(_ApiStruct, frozen=True, kw_only=True):
    """A v1.NodeSelector: it selects a node if one term does."""

    node_selector_terms: list[NodeSelectorTerm] = []


class Taint(_ApiStruct, frozen=True, kw_only=True):
    """A device taint."""

    key: Name
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class Toleration(_ApiStruct, frozen=True, kw_only=True):
    """A toleration of a device or node taint; an empty operator means Equal."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ValidRange(_ApiStruct, frozen=True, kw_only=True):
    """`requestPolicy.validRange`."""

    min: Quantity
    max: Quantity | None = None
    step: Quantity | None = None


class RequestPolicy(_ApiStruct, frozen=True, kw_only=True):
    """`requestPolicy`: how a request for a shared capacity is rounded and limited."""

    default: Quantity | None = None
    valid_values: list[Quantity] = []
    valid_range: ValidRange | None = None


class Capacity(_ApiStruct, frozen=True, kw_only=True):
    """One capacity of a device."""

    value: Quantity
    request_policy: RequestPolicy | None = None


class Counter(_ApiStruct, frozen=True, kw_only=True):
    """One counter."""

    value: Quantity


class CounterSet(_ApiStruct, frozen=True, kw_only=True):
    """Counters that devices of a pool share."""

    name: Name
    counters: dict[str, Counter] = {}


class Consumption(_ApiStruct, frozen=True, kw_only=True):
    """Consumption of one counter set by a device."""

    counter_set: Name
    counters: dict[str, Counter] = {}
    compatibility_groups: list[str] = []


class Device(_ApiStruct, frozen=True, kw_only=True):
    """One device of a slice."""

    name: Name
    attributes: dict[str, dict[str, Any]] = {}
    capacity: dict[str, Capacity] = {}
    consumes_counters: list[Consumption] = []
    taints: list[Taint] = []
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    binds_to_node: bool = False
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    allow_multiple_allocations: bool = False


class PoolRef(_ApiStruct, frozen=True, kw_only=True):
    """`spec.pool` of a slice."""

    name: Name
    generation: int = 0
    resource_slice_count: int


class SliceSpec(_ApiStruct, frozen=True, kw_only=True):
    """`spec` of a slice."""

    driver: Name
    pool: PoolRef
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []
    skip_node_operations: list[str] = []


class ResourceSlice(_ApiStruct, frozen=True, kw_only=True):
    """A ResourceSlice."""

    metadata: ObjectMeta
    spec: SliceSpec


class Cel(_ApiStruct, frozen=True, kw_only=True):
    """A CEL selector."""

    expression: str


class Selector(_ApiStruct, frozen=True, kw_only=True):
    """A device selector; `cel` is None for an unknown type of selector."""

    cel: Cel | None = None


class Config(_ApiStruct, frozen=True, kw_only=True):
    """One entry of a class's, a claim's or an allocation's config."""

    source: str = ""
    requests: list[str] = []
    opaque: dict[str, Any] | None = None


class ClassSpec(_ApiStruct, frozen=True, kw_only=True):
    """`spec` of a class."""

    selectors: list[Selector] = []
    config: list[Config] = []
    extended_resource_name: str = ""


class DeviceClass(_ApiStruct, frozen=True, kw_only=True):
    """A DeviceClass."""

    metadata: ObjectMeta
    spec: ClassSpec = ClassSpec()


class CapacityRequests(_ApiStruct, frozen=True, kw_only=True):
    """`capacity` of a request."""

    requests: dict[str, Quantity] = {}


class DerivedAttribute(_ApiStruct, frozen=True, kw_only=True):
    """One entry of `derivedAttributes`: an attribute for constraints that a CEL expression computes (1.37)."""

    name: Name
    expression: str


class ExactDeviceRequest(_ApiStruct, frozen=True, kw_only=True):
    """An ExactDeviceRequest or a DeviceSubRequest; `name` is empty in an ExactDeviceRequest.

    One type for both: the fields are the same, except that a subrequest cannot have `adminAccess`.
    """

    device_class_name: Name
    name: str = ""
    selectors: list[Selector] = []
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: list[Toleration] = []
    capacity: CapacityRequests = CapacityRequests()
    derived_attributes: list[DerivedAttribute] = []

    @cached_property
    def expressions(self) -> dict[str, str]:
        """The expressions of derived attributes by name."""
        return {one.name: one.expression for one in self.derived_attributes}

    @property
    def all_devices(self) -> bool:
        """Whether the allocation mode is All."""
        return self.allocation_mode == "All"


class DeviceRequest(_ApiStruct, frozen=True, kw_only=True):
    """One entry of `requests`: one exact request, or alternatives in order of preference."""

    name: Name
    exactly: ExactDeviceRequest | None = None
    first_available: list[ExactDeviceRequest] = []

    @property
    def alternatives(self) -> list[tuple[str, ExactDeviceRequest]]:
        """The names that results use, with the exact request or subrequest of each."""
        if self.exactly is not None:
            return [(self.name, self.exactly)]
        return [(f"{self.name}/{request.name}", request) for request in self.first_available]


class Constraint(_ApiStruct, frozen=True, kw_only=True):
    """One entry of `constraints`; matchAttribute takes precedence if both are set."""

    requests: list[str] = []
    match_attribute: str = ""
    distinct_attribute: str = ""

    def covers(self, request: str) -> bool:
        """Whether the constraint applies to the results of `request` (DRA-171, DRA-186)."""
        return not self.requests or request in self.requests or request.partition("/")[0] in self.requests


class DeviceClaim(_ApiStruct, frozen=True, kw_only=True):
    """`spec.devices` of a claim."""

    requests: list[DeviceRequest] = []
    constraints: list[Constraint] = []
    config: list[Config] = []


class ClaimSpec(_ApiStruct, frozen=True, kw_only=True):
    """`spec` of a claim."""

    devices: DeviceClaim = DeviceClaim()


class Result(_ApiStruct, frozen=True, kw_only=True):
    """One allocated device."""

    request: Name
    driver: Name
    pool: Name
    device: Name
    admin_access: bool = False
    tolerations: list[Toleration] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    share_id: str = msgspec.field(name="shareID", default="")
    consumed_capacity: dict[str, Quantity] = {}
    skip_node_operations: list[str] = []

    @property
    def id(self) -> tuple[str, str, str]:
        """Driver, pool and device."""
        return (self.driver, self.pool, self.device)


class Results(_ApiStruct, frozen=True, kw_only=True):
    """`allocation.devices`."""

    results: list[Result] = []
    config: list[Config] = []


class Allocation(_ApiStruct, frozen=True, kw_only=True):
    """`status.allocation`."""

    devices: Results = Results()
    node_selector: NodeSelector | None = None
    allocation_timestamp: datetime | None = None


class Consumer(_ApiStruct, frozen=True, kw_only=True):
    """One entry of `status.reservedFor`."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


class ClaimStatus(_ApiStruct, frozen=True, kw_only=True):
    """`status` of a claim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] = []


class Claim(_ApiStruct, frozen=True, kw_only=True):
    """A ResourceClaim."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return (self.metadata.namespace, self.metadata.name)

    @property
    def title(self) -> str:
        """Namespace and name for messages."""
        return "/".join(part for part in self.key if part)

    @property
    def results(self) -> list[Result]:
        """The allocated devices; empty without an allocation."""
        return self.status.allocation.devices.results if self.status.allocation else []

    @cached_property
    def requests_by_name(self) -> dict[str, ExactDeviceRequest]:
        """The exact request or subrequest of every name that a result may use."""
        return {
            name: request
            for device_request in self.spec.devices.requests
            for name, request in device_request.alternatives
        }


class TemplateSpec(_ApiStruct, frozen=True, kw_only=True):
    """`spec` of a template: the spec of the claims that are created from it."""

    spec: ClaimSpec


class Template(_ApiStruct, frozen=True, kw_only=True):
    """A ResourceClaimTemplate."""

    metadata: ObjectMeta
    spec: TemplateSpec


class DeviceSelector(_ApiStruct, frozen=True, kw_only=True):
    """`deviceSelector` of a DeviceTaintRule; empty fields select all devices."""

    driver: str = ""
    pool: str = ""
    device: str = ""


class TaintRuleSpec(_ApiStruct, frozen=True, kw_only=True):
    """`spec` of a DeviceTaintRule. Without a selector it taints nothing."""

    taint: Taint
    device_selector: DeviceSelector | None = None


class TaintRule(_ApiStruct, frozen=True, kw_only=True):
    """A DeviceTaintRule."""

    metadata: ObjectMeta
    spec: TaintRuleSpec


class NodeTaint(_ApiStruct, frozen=True, kw_only=True):
    """A taint of a node."""

    key: Name
    value: str = ""
    effect: str = ""


class NodeSpec(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a node's `spec`."""

    unschedulable: bool = False
    taints: list[NodeTaint] = []


class NodeStatus(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a node's `status`."""

    allocatable: dict[str, Quantity] = {}
    declared_features: list[str] = []


class Node(_ApiStruct, frozen=True, kw_only=True):
    """A Node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PodClaim(_ApiStruct, frozen=True, kw_only=True):
    """A pod's reference to a claim or template, in spec or status."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class ExtendedClaim(_ApiStruct, frozen=True, kw_only=True):
    """`status.extendedResourceClaimStatus` of a pod."""

    resource_claim_name: str = ""


class Resources(_ApiStruct, frozen=True, kw_only=True):
    """`resources` of a container."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: list[dict[str, Any]] = []


class Container(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a container."""

    name: Name
    resources: Resources = Resources()
    restart_policy: str = ""


class NodeAffinity(_ApiStruct, frozen=True, kw_only=True):
    """`affinity.nodeAffinity` of a pod, without the preferences."""

    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a pod's `affinity`."""

    node_affinity: NodeAffinity = NodeAffinity()


class SchedulingGate(_ApiStruct, frozen=True, kw_only=True):
    """One entry of a pod's `schedulingGates`."""

    name: Name


class PodSpec(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a pod's `spec`."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: list[Toleration] = []
    scheduler_name: str = ""
    scheduling_gates: list[SchedulingGate] = []
    overhead: dict[str, Quantity] = {}
    containers: list[Container] = []
    init_containers: list[Container] = []
    resource_claims: list[PodClaim] = []


class ResourceHealth(_ApiStruct, frozen=True, kw_only=True):
    """One device of an entry of `allocatedResourcesStatus`."""

    resource_id: str = msgspec.field(default="", name="resourceID")


class ResourceStatus(_ApiStruct, frozen=True, kw_only=True):
    """One entry of `allocatedResourcesStatus`: an extended resource, or `claim:NAME`."""

    name: str = ""
    resources: list[ResourceHealth] = []


class ContainerStatus(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a container's status."""

    allocated_resources_status: list[ResourceStatus] = []


class PodStatus(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a pod's `status`."""

    phase: str = ""
    container_statuses: list[ContainerStatus] = []
    resource_claim_statuses: list[PodClaim] = []
    extended_resource_claim_status: ExtendedClaim | None = None


class Pod(_ApiStruct, frozen=True, kw_only=True):
    """A Pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def claim_names(self) -> set[str]:
        """The names of the claims that the pod uses and that spec or status contain."""
        entries = [*self.spec.resource_claims, *self.status.resource_claim_statuses]
        extended = self.status.extended_resource_claim_status
        names = {entry.resource_claim_name for entry in entries} | {extended.resource_claim_name if extended else ""}
        return names - {""}


class QuotaSpec(_ApiStruct, frozen=True, kw_only=True):
    """The needed fields of a quota's `spec`."""

    hard: dict[str, Quantity] = {}


class QuotaStatus(_ApiStruct, frozen=True, kw_only=True):
    """`status` of a quota."""

    hard: dict[str, Quantity] = {}
    used: dict[str, Quantity] = {}


class Quota(_ApiStruct, frozen=True, kw_only=True):
    """A ResourceQuota."""

    metadata: ObjectMeta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


DecodedObject: TypeAlias = ResourceSlice | DeviceClass | Claim | Template | TaintRule | Node | Pod | Quota


def parse_time(text: str) -> datetime:
    """Return an RFC 3339 time. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
