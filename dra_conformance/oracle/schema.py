"""The objects that the judge reads, as typed facts: resource.k8s.io in its v1 shape, and the little of nodes and pods.

`decode` turns one object of any served version into a fact, or says which field is wrong; facts are immutable and own
copies of what they hold. Fields of errors are those of the v1 shape, as in Kubernetes' own messages.

Source: k8s.io/api resource/v1, v1beta2, v1beta1, v1alpha3 types.go (v0.36); digest of versions in DRA-001 to DRA-082.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import msgspec

from dra_api import versions
from dra_api.objects import Obj
from dra_api.quantity import Quantity, QuantityError

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


class Node(_Fact, frozen=True, kw_only=True):
    """A Node."""

    metadata: Meta


class PodClaim(_Fact, frozen=True, kw_only=True):
    """A pod's reference to a claim or template, in spec or status."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class ExtendedClaim(_Fact, frozen=True, kw_only=True):
    """`status.extendedResourceClaimStatus` of a pod."""

    resource_claim_name: str = ""


class PodSpec(_Fact, frozen=True, kw_only=True):
    """`spec` of a pod, as far as claims go."""

    node_name: str = ""
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


Fact: TypeAlias = Slice | DeviceClass | Claim | TaintRule | Node | Pod
_KINDS: dict[str, tuple[str, type[Fact]]] = {
    "ResourceSlice": ("resource.k8s.io", Slice),
    "DeviceClass": ("resource.k8s.io", DeviceClass),
    "ResourceClaim": ("resource.k8s.io", Claim),
    "DeviceTaintRule": ("resource.k8s.io", TaintRule),
    "Node": ("", Node),
    "Pod": ("", Pod),
}


class Malformed(ValueError):
    """An object that cannot be read: `field` is the path of the field, `problem` what is wrong with it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


def decode(obj: Obj) -> Fact | None:
    """The fact in an object of any version, or None for a kind that the judge does not need. Raises Malformed."""
    group, fact = _KINDS.get(str(obj.get("kind")), ("", None))
    if fact is None or str(obj.get("apiVersion") or "").rpartition("/")[0] != group:
        return None
    shaped = versions.in_v1(_cleaned(obj))
    try:
        found: Fact = msgspec.convert(shaped, fact, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)) from None
    _check(found)
    return found


def _cleaned(value: Any) -> Any:
    """A copy in which null means absent and times are texts, whatever the loader made of them."""
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return value


def _read(kind: type, value: Any) -> Any:
    if kind is Quantity:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"expected a quantity such as 40Gi, got {value!r}")
        try:
            return Quantity.parse(str(value))
        except QuantityError as error:
            raise ValueError(f"{value!r} is no quantity: {error}") from None
    raise NotImplementedError(kind)


_AT = re.compile(r" - at (?:key in )?`\$\.?(.*)`$")


def _malformed(message: str) -> Malformed:
    found = _AT.search(message)
    missing = re.search(r"missing required field `(\w+)`", message)
    problem = message[: found.start()] if found else message
    field = found[1] if found else ""
    if missing:
        field, problem = f"{field}.{missing[1]}".lstrip("."), "is missing"
    return Malformed(field, problem)


ATTRIBUTE_KINDS = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")


def _check(fact: Fact) -> None:
    """What types alone do not say."""
    if isinstance(fact, Slice):
        for number, device in enumerate(fact.spec.devices):
            for name, value in device.attributes.items():
                if len([kind for kind in ATTRIBUTE_KINDS if kind in value]) != 1:
                    raise Malformed(
                        f"spec.devices[{number}].attributes[{name}]",
                        f"needs exactly one of {', '.join(ATTRIBUTE_KINDS)}, has {', '.join(value) or 'none'}",
                    )
    if isinstance(fact, Claim):
        for number, request in enumerate(fact.spec.devices.requests):
            field = f"spec.devices.requests[{number}]"
            if (request.exactly is None) == (not request.first_available):
                raise Malformed(field, "needs exactly one of exactly, firstAvailable")
            for name, wish in request.alternatives:
                if wish.allocation_mode not in ("ExactCount", "All"):
                    raise Malformed(field, f"{name}: unsupported allocation mode {wish.allocation_mode!r}")


def parse_time(text: str) -> datetime:
    """An RFC 3339 time. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
