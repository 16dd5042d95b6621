"""The quota that Kueue charges for the claims and extended resources of one pod, before any device is allocated.

A pure function. Kueue counts devices from ResourceClaimTemplates: a DeviceClass of `deviceClassMappings` stands for a
resource of a ClusterQueue. With a source, it charges a counter or a capacity of the devices instead of their number.

Source: sigs.k8s.io/kueue v0.19.0, pkg/dra (claims.go, counters.go, capacity.go, extended_resources.go, mapper.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.cel import CelError, compile_selector
from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.pools import PoolDevice
from dra_conformance.oracle.schema import Capacity, Claim, DeviceClass, ExactDeviceRequest, ResourceSlice, Selector

MAX = 2**63 - 1
_NATIVE = "kubernetes.io/"
_HUGE_PAGES = "hugepages-"


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a mapping: a counter or a capacity of the devices of a driver that its selector selects."""

    driver: str
    name: str
    selector: str
    counter: bool


@dataclass(frozen=True, slots=True)
class Mappings:
    """`deviceClassMappings` of Kueue's configuration: the resource of each DeviceClass, and its sources with theirs."""

    resources: Mapping[str, str]
    sources: Mapping[str, Sequence[tuple[str, Source]]]

    @classmethod
    def of(cls, entries: Iterable[Obj]) -> Mappings:
        """Return the mappings of a configuration. The first mapping of a class decides its resource."""
        resources: dict[str, str] = {}
        sources: dict[str, list[tuple[str, Source]]] = {}
        for entry in entries:
            for name in entry["deviceClassNames"]:
                resources.setdefault(name, entry["name"])
                for source in entry.get("sources") or ():
                    for kind in ("counter", "capacity"):
                        if (found := source.get(kind)) is not None:
                            expression = ((found.get("deviceSelector") or {}).get("cel") or {}).get("expression", "")
                            made = Source(found["driver"], found["name"], expression, kind == "counter")
                            sources.setdefault(name, []).append((entry["name"], made))
        return cls(resources, sources)


class Refused(Exception):
    """Kueue does not admit the pod. `retried`: only the state of the cluster is the reason, so that it tries again."""

    def __init__(self, message: str, *, retried: bool = False) -> None:
        super().__init__(message)
        self.retried = retried


def charges(cluster: Cluster, templates: Mapping[str, Claim], pod_spec: Obj, mappings: Mappings) -> dict[str, int]:
    """Return what a pod is charged, by resource of the quota.

    Args:
        cluster: slices and classes.
        templates: claims as each ResourceClaimTemplate of the pod's namespace has them.
        pod_spec: `spec` of the pod. Claims that it names directly are not charged: others may use them too.
        mappings: the configuration.

    Raises:
        Refused: Kueue does not admit such a pod.
    """
    count = _Count(cluster, mappings)
    names = [entry.get("resourceClaimTemplateName") for entry in pod_spec.get("resourceClaims") or ()]
    claims: list[Claim] = []
    for name in filter(None, names):
        if name not in templates:
            raise Refused(f"the ResourceClaimTemplate {name} does not exist", retried=True)
        claims.append(templates[name])
    for claim in claims:
        count.devices(claim)
    for counter in (True, False):
        for claim in claims:
            for request in (one.exactly for one in claim.spec.devices.requests):
                if request is not None:
                    count.source(request, counter=counter)
    count.extended(pod_spec)
    return count.charged


@dataclass
class _Count:
    """The count for one pod."""

    cluster: Cluster
    mappings: Mappings
    charged: dict[str, int] = field(default_factory=dict)

    def _charge(self, resource: str, amount: int) -> None:
        self.charged[resource] = self.charged.get(resource, 0) + amount

    def _class(self, name: str) -> DeviceClass:
        if (found := self.cluster.classes_by_name.get(name)) is None:
            raise Refused(f"the DeviceClass {name} does not exist", retried=True)
        return found

    # -- numbers of devices ----------------------------------------------------------------------------------------

    def devices(self, claim: Claim) -> None:
        """Charge the number of devices of the requests of one claim, each class for itself."""
        numbers: dict[str, int] = {}
        for device_request in claim.spec.devices.requests:
            request = device_request.exactly
            if request is None:
                raise Refused(f"request {device_request.name}: firstAvailable is not supported")
            _compiled(request.selectors, f"request {device_request.name}")
            if request.admin_access:
                raise Refused(f"request {device_request.name}: adminAccess is not supported")
            if request.allocation_mode != "ExactCount":
                raise Refused(f"request {device_request.name}: only allocationMode ExactCount is supported")
            name = request.device_class_name
            numbers[name] = min(numbers.get(name, 0) + request.count, MAX)
        self._satisfiable(claim)
        for name, number in numbers.items():
            resource = self.mappings.resources.get(name)
            if resource is None:
                raise Refused(f"the DeviceClass {name} has no mapping")
            if not self.mappings.sources.get(name):
                self._charge(resource, number)

    def _satisfiable(self, claim: Claim) -> None:
        """Refuse selectors that too few devices of the cluster match; a device counts for one request of the claim."""
        requests = [one.exactly for one in claim.spec.devices.requests if one.exactly and one.exactly.selectors]
        if not requests:
            return
        # All slices, also outdated ones, unless every class has a source: then those of the sources' drivers.
        drivers: set[str] | None = set()
        for request in requests:
            sources = self.mappings.sources.get(request.device_class_name)
            drivers = None if drivers is None or not sources else drivers | {source.driver for _, source in sources}
        slices = [one for one in self.cluster.slices if drivers is None or one.spec.driver in drivers]
        devices = [PoolDevice(device, one, ()) for one in slices for device in one.spec.devices]
        taken: set[int] = set()
        problems: list[Refused] = []
        for request in requests:
            try:
                selectors = [*self._class(request.device_class_name).spec.selectors, *request.selectors]
                _compiled(selectors, f"DeviceClass {request.device_class_name}")
                matching = 0
                for at, device in enumerate(devices):
                    if matching < request.count and at not in taken and _selected(device, selectors, retried=False):
                        taken.add(at)
                        matching += 1
                if matching < request.count:
                    words = f"{matching} devices match the selectors of a request of {request.device_class_name}"
                    raise Refused(f"{words}, not {request.count}", retried=True)
            except Refused as problem:
                problems.append(problem)
        if problems:
            raise Refused("; ".join(map(str, problems)), retried=all(problem.retried for problem in problems))

    # -- counters and capacity -------------------------------------------------------------------------------------

    def source(self, request: ExactDeviceRequest, *, counter: bool) -> None:
        """Charge the counters, or the capacities, of one request: the most of one matching device for each device."""
        name = request.device_class_name
        for resource, source in self.mappings.sources.get(name) or ():
            if source.counter != counter:
                continue
            # A capacity is charged to the resource of the class, a counter to that of its mapping.
            resource = resource if counter else self.mappings.resources[name]
            matching = list(self._matching(request, source))
            if len(matching) < request.count:
                raise Refused(f"{len(matching)} devices match the source of {name}, not {request.count}", retried=True)
            most = _counter(matching, source) if counter else _capacity(matching, source, request)
            self._charge(resource, min(max(most, 0) * max(request.count, 1), MAX))

    def _matching(self, request: ExactDeviceRequest, source: Source) -> Iterator[PoolDevice]:
        selectors = [*self._class(request.device_class_name).spec.selectors, *request.selectors]
        _compiled(selectors, f"DeviceClass {request.device_class_name}")
        pools: dict[str, list[ResourceSlice]] = {}
        for one in self.cluster.slices:
            if one.spec.driver == source.driver:
                found = pools.setdefault(one.spec.pool.name, [])
                newest = found[0].spec.pool.generation if found else -1
                if one.spec.pool.generation > newest:
                    found[:] = [one]
                elif one.spec.pool.generation == newest:
                    found.append(one)
        for slices in pools.values():
            if len(slices) != slices[0].spec.pool.resource_slice_count:
                continue
            for device in (PoolDevice(device, one, ()) for one in slices for device in one.spec.devices):
                if source.selector and not _matches(device, source.selector, retried=True):
                    continue
                if _selected(device, selectors, retried=True):
                    yield device

    # -- extended resources ----------------------------------------------------------------------------------------

    def extended(self, pod_spec: Obj) -> None:
        """Charge extended resources that classes stand for: the sum of containers, or the largest init container."""
        init: dict[str, int] = {}
        for container in pod_spec.get("initContainers") or ():
            for name, value in self._of_container(container).items():
                init[name] = max(init.get(name, 0), value)
        running: dict[str, int] = {}
        for container in pod_spec.get("containers") or ():
            for name, value in self._of_container(container).items():
                running[name] = running.get(name, 0) + value
        for name in init.keys() | running.keys():
            self._charge(name, max(init.get(name, 0), running.get(name, 0)))

    def _of_container(self, container: Obj) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
            amount = Quantity.parse(str(text)).scaled_value(-9)
            domain = name.partition("/")[0] + "/"
            if not amount or "/" not in name or domain == _NATIVE or name.startswith(_HUGE_PAGES):
                continue
            classes = [one for one in self.cluster.classes if one.spec.extended_resource_name == name]
            if not classes:
                continue
            if amount % 10**9:
                raise Refused(f"the amount of {name} is not an integer")
            key = name
            for one in classes:
                mapped = self.mappings.resources.get(one.metadata.name)
                if mapped is not None:
                    if self.mappings.sources.get(one.metadata.name):
                        raise Refused(f"{name} stands for the DeviceClass {one.metadata.name}, which has sources")
                    key = mapped
                    break
            found[key] = found.get(key, 0) + amount // 10**9
        return found


def _compiled(selectors: Iterable[Selector], where: str) -> None:
    for selector in selectors:
        if selector.cel is not None:
            try:
                compile_selector(selector.cel.expression)
            except CelError as error:
                raise Refused(f"{where}: a CEL selector does not compile: {error}") from error


def _matches(device: PoolDevice, expression: str, *, retried: bool) -> bool:
    found = device.matches(expression)
    if isinstance(found, str):
        raise Refused(f"a CEL selector fails for device {device.device.name}: {found}", retried=retried)
    return found


def _selected(device: PoolDevice, selectors: Iterable[Selector], *, retried: bool) -> bool:
    return all(_matches(device, one.cel.expression, retried=retried) for one in selectors if one.cel is not None)


def _value(quantity: Quantity) -> int:
    return min(quantity.scaled_value(0), MAX)


def _counter(devices: Iterable[PoolDevice], source: Source) -> int:
    """Return the most that one device takes of a counter, in any of its counter sets."""
    found = [
        entry.counters[source.name].value
        for device in devices
        for entry in device.device.consumes_counters
        if source.name in entry.counters
    ]
    if not found:
        raise Refused(f"no matching device consumes the counter {source.name}", retried=True)
    return _value(max(found))


def _capacity(devices: Iterable[PoolDevice], source: Source, request: ExactDeviceRequest) -> int:
    """Return the most that the request takes of a capacity of one device, rounded by the policy of that device."""
    capacities = [device.device.capacity[source.name] for device in devices if source.name in device.device.capacity]
    if not capacities:
        raise Refused(f"no matching device has the capacity {source.name}", retried=True)
    rounded = [_rounded(one, request.capacity.requests.get(source.name)) for one in capacities]
    possible = [one for one in rounded if one is not None]
    if not possible:
        raise Refused(f"the policy of no matching device allows the requested capacity {source.name}")
    return max(possible)


def _rounded(capacity: Capacity, requested: Quantity | None) -> int | None:
    """Return what a device takes for a request; None if its policy does not allow it."""
    policy = capacity.request_policy
    default = policy.default if policy is not None else None
    base = requested if requested is not None else default if default is not None else capacity.value
    if policy is None:
        return _value(base)
    if policy.valid_values:
        return next((_value(one) for one in policy.valid_values if one >= base), None)
    valid = policy.valid_range
    if valid is None:
        return _value(base)
    value = _value(base)
    if valid.min is not None:
        low = _value(valid.min)
        value = max(value, low)
        if valid.step is not None and (step := _value(valid.step)) > 0:
            value = min(low + -(-(value - low) // step) * step, MAX)
    return None if valid.max is not None and value > _value(valid.max) else value
