"""The objects that the judge reads, as typed facts: resource.k8s.io in its v1 shape, and the little of nodes and pods.

Structures only: `decoding` makes them from objects of any served version, `well_formed` knows what types do not say.
Facts are immutable and own copies of what they hold.

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


class _Fact(msgspec.Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    pass


class Meta(_Fact, frozen=True, kw_only=True):
    """`metadata`, as far as it matters. `changed` is the last time that the object is known to have changed."""

    name: Name
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    finalizers: list[str] = []
    creation_timestamp: datetime | None = None
    managed_fields: list[dict[str, Any]] = []

    @cached_property
    def changed(self) -> Timestamp:
        """The creation, or the newest entry of managedFields that is not about status."""
        times = [self.creation_timestamp] if self.creation_timestamp else []
        for entry in self.managed_fields:
            if not entry.get("subresource") and isinstance(entry.get("time"), str):
                times.append(parse_time(entry["time"]))
        return max(times, default=None)


class Requirement(_Fact, frozen=True, kw_only=True):
    """One requirement of a node selector term."""

    key: Name
    operator: str
    values: list[str] = []


class Term(_Fact, frozen=True, kw_only=True):
    """One node selector term."""

    match_expressions: list[Requirement] = []
    match_fields: list[Requirement] = []


class NodeSelector(_Fact, frozen=True, kw_only=True):
    """A v1.NodeSelector: terms are alternatives."""

    node_selector_terms: list[Term] = []


class Taint(_Fact, frozen=True, kw_only=True):
    """A device taint."""

    key: Name
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class Toleration(_Fact, frozen=True, kw_only=True):
    """A device toleration; an empty operator means Equal."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ValidRange(_Fact, frozen=True, kw_only=True):
    """`requestPolicy.validRange`."""

    min: Quantity
    max: Quantity | None = None
    step: Quantity | None = None


class RequestPolicy(_Fact, frozen=True, kw_only=True):
    """How a request for a shared capacity is rounded and bounded."""

    default: Quantity | None = None
    valid_values: list[Quantity] = []
    valid_range: ValidRange | None = None


class Capacity(_Fact, frozen=True, kw_only=True):
    """One capacity of a device."""

    value: Quantity
    request_policy: RequestPolicy | None = None


class Counter(_Fact, frozen=True, kw_only=True):
    """One counter."""

    value: Quantity


class CounterSet(_Fact, frozen=True, kw_only=True):
    """Counters that devices of a pool share."""

    name: Name
    counters: dict[str, Counter] = {}


class Consumption(_Fact, frozen=True, kw_only=True):
    """What a device takes of one counter set."""

    counter_set: Name
    counters: dict[str, Counter] = {}


class Device(_Fact, frozen=True, kw_only=True):
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


class PoolRef(_Fact, frozen=True, kw_only=True):
    """`spec.pool` of a slice."""

    name: Name
    generation: int = 0
    resource_slice_count: int


class SliceSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a slice."""

    driver: Name
    pool: PoolRef
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class Slice(_Fact, frozen=True, kw_only=True):
    """A ResourceSlice."""

    metadata: Meta
    spec: SliceSpec


class Cel(_Fact, frozen=True, kw_only=True):
    """A CEL selector."""

    expression: str


class Selector(_Fact, frozen=True, kw_only=True):
    """A device selector; None is a kind of selector that we do not know."""

    cel: Cel | None = None


class Config(_Fact, frozen=True, kw_only=True):
    """One entry of a class's, a claim's or an allocation's config."""

    source: str = ""
    requests: list[str] = []
    opaque: dict[str, Any] | None = None


class ClassSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a class."""

    selectors: list[Selector] = []
    config: list[Config] = []
    extended_resource_name: str = ""


class DeviceClass(_Fact, frozen=True, kw_only=True):
    """A DeviceClass."""

    metadata: Meta
    spec: ClassSpec = ClassSpec()


class CapacityRequests(_Fact, frozen=True, kw_only=True):
    """`capacity` of a request."""

    requests: dict[str, Quantity] = {}


class Wish(_Fact, frozen=True, kw_only=True):
    """What one request or subrequest asks for; `name` is empty in `exactly`."""

    device_class_name: Name
    name: str = ""
    selectors: list[Selector] = []
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: list[Toleration] = []
    capacity: CapacityRequests = CapacityRequests()

    @property
    def everything(self) -> bool:
        """Whether all matching devices are wanted."""
        return self.allocation_mode == "All"


class Request(_Fact, frozen=True, kw_only=True):
    """One entry of `requests`: exactly one wish, or several in order of preference."""

    name: Name
    exactly: Wish | None = None
    first_available: list[Wish] = []

    @property
    def alternatives(self) -> list[tuple[str, Wish]]:
        """The names that results use, with what each stands for."""
        if self.exactly is not None:
            return [(self.name, self.exactly)]
        return [(f"{self.name}/{wish.name}", wish) for wish in self.first_available]


class Constraint(_Fact, frozen=True, kw_only=True):
    """One entry of `constraints`; matchAttribute wins where both are set."""

    requests: list[str] = []
    match_attribute: str = ""
    distinct_attribute: str = ""

    def covers(self, request: str) -> bool:
        """Whether the constraint is about the results of `request` (DRA-171, DRA-186)."""
        return not self.requests or request in self.requests or request.partition("/")[0] in self.requests


class DeviceClaim(_Fact, frozen=True, kw_only=True):
    """`spec.devices` of a claim."""

    requests: list[Request] = []
    constraints: list[Constraint] = []
    config: list[Config] = []


class ClaimSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a claim."""

    devices: DeviceClaim = DeviceClaim()


class Result(_Fact, frozen=True, kw_only=True):
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

    @property
    def id(self) -> tuple[str, str, str]:
        """Driver, pool and device."""
        return (self.driver, self.pool, self.device)


class Results(_Fact, frozen=True, kw_only=True):
    """`allocation.devices`."""

    results: list[Result] = []
    config: list[Config] = []


class Allocation(_Fact, frozen=True, kw_only=True):
    """`status.allocation`."""

    devices: Results = Results()
    node_selector: NodeSelector | None = None
    allocation_timestamp: datetime | None = None


class Consumer(_Fact, frozen=True, kw_only=True):
    """One entry of `status.reservedFor`."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


class ClaimStatus(_Fact, frozen=True, kw_only=True):
    """`status` of a claim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] = []


class Claim(_Fact, frozen=True, kw_only=True):
    """A ResourceClaim."""

    metadata: Meta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return (self.metadata.namespace, self.metadata.name)

    @property
    def title(self) -> str:
        """Namespace and name, as messages say it."""
        return "/".join(part for part in self.key if part)

    @property
    def results(self) -> list[Result]:
        """The allocated devices; empty without an allocation."""
        return self.status.allocation.devices.results if self.status.allocation else []

    @cached_property
    def wishes(self) -> dict[str, Wish]:
        """Every name that a result may use, with what it stands for."""
        return {name: wish for request in self.spec.devices.requests for name, wish in request.alternatives}


class TemplateSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a template: the spec of the claims made from it."""

    spec: ClaimSpec


class Template(_Fact, frozen=True, kw_only=True):
    """A ResourceClaimTemplate."""

    metadata: Meta
    spec: TemplateSpec


class DeviceSelector(_Fact, frozen=True, kw_only=True):
    """Which devices a DeviceTaintRule taints; empty fields select all."""

    driver: str = ""
    pool: str = ""
    device: str = ""


class TaintRuleSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a DeviceTaintRule. Without a selector it taints nothing."""

    taint: Taint
    device_selector: DeviceSelector | None = None


class TaintRule(_Fact, frozen=True, kw_only=True):
    """A DeviceTaintRule."""

    metadata: Meta
    spec: TaintRuleSpec


class NodeTaint(_Fact, frozen=True, kw_only=True):
    """A taint of a node."""

    key: Name
    value: str = ""
    effect: str = ""


class NodeSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a node, as far as it decides about pods."""

    unschedulable: bool = False
    taints: list[NodeTaint] = []


class NodeStatus(_Fact, frozen=True, kw_only=True):
    """`status` of a node, as far as it decides about pods."""

    allocatable: dict[str, Quantity] = {}


class Node(_Fact, frozen=True, kw_only=True):
    """A Node."""

    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PodClaim(_Fact, frozen=True, kw_only=True):
    """A pod's reference to a claim or template, in spec or status."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class ExtendedClaim(_Fact, frozen=True, kw_only=True):
    """`status.extendedResourceClaimStatus` of a pod."""

    resource_claim_name: str = ""


class Resources(_Fact, frozen=True, kw_only=True):
    """`resources` of a container."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: list[dict[str, Any]] = []


class Container(_Fact, frozen=True, kw_only=True):
    """A container, as far as its resources go."""

    name: str = ""
    resources: Resources = Resources()


class PodSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a pod, as far as claims and the choice of a node go."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] = {}
    tolerations: list[dict[str, Any]] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    resource_claims: list[PodClaim] = []


class PodStatus(_Fact, frozen=True, kw_only=True):
    """`status` of a pod, as far as claims go."""

    phase: str = ""
    resource_claim_statuses: list[PodClaim] = []
    extended_resource_claim_status: ExtendedClaim | None = None


class Pod(_Fact, frozen=True, kw_only=True):
    """A Pod."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def claim_names(self) -> set[str]:
        """The claims of its namespace that the pod uses, as far as they are known."""
        entries = [*self.spec.resource_claims, *self.status.resource_claim_statuses]
        extended = self.status.extended_resource_claim_status
        names = {entry.resource_claim_name for entry in entries} | {extended.resource_claim_name if extended else ""}
        return names - {""}


Fact: TypeAlias = Slice | DeviceClass | Claim | Template | TaintRule | Node | Pod


def parse_time(text: str) -> datetime:
    """An RFC 3339 time. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
