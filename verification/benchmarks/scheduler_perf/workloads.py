"""The workloads: upstream's shapes for a number of pods.

`2n`, `n/5` and the like are upstream's proportions: with n = 2,500 the names are those of its largest clusters
(`5000pods_500nodes`, `empty_500nodes`). Small numbers of pods get enough nodes for the workload to make sense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.objects import DEVICE_TAINT_RULES, Obj
from verification.benchmarks.cluster import DRIVER
from verification.benchmarks.scheduler_perf import objects as of
from verification.benchmarks.scheduler_perf.objects import New, NodeDevices

BACKLOG = 10
"""Pods that wait at a time in a steady state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One workload of a size.

    `pods` are measured; `backlog` is 0 for a burst, and otherwise the number of pods that wait at a time. `objects` are
    created before; `initial` makes the pods that kube-scheduler binds before, for either scheduler. `templated` means
    that a controller makes the claims of the pods. `scoring` are the resources of kube-scheduler's LeastAllocated
    strategy, if not the default ones. `unsupported` is why the reference cannot run it.
    """

    name: str
    pods: int
    nodes: int
    objects: Sequence[New]
    pod: Callable[[str, int], Obj]
    initial: int = 0
    backlog: int = 0
    templated: bool = True
    gates: Mapping[str, bool] = field(default_factory=dict)
    scoring: Sequence[str] = ()
    unsupported: str = ""
    null_client: bool = False

    @property
    def total(self) -> int:
        """The pods that are created. In a steady state some come before and after the measured ones."""
        return self.pods + 2 * self.backlog


def workloads(pods: int) -> list[Workload]:
    """Return all workloads for a number of pods. Raises ValueError for fewer than 10."""
    if pods < BACKLOG:
        raise ValueError(f"{pods} pods: at least {BACKLOG} are needed")
    return [
        *_claim_templates(pods),
        _claims(pods),
        *_consumable_capacity(pods),
        *_partitionable(pods),
        _device_taints(pods),
        *_extended_resources(pods),
        _scoring(pods),
        _first_available(pods),
        _list_attributes(pods // 5),
        *_pod_groups(pods),
    ]


def _templated(name: str, _: int) -> Obj:
    return of.pod_with_template(name)


def _base(nodes: int, devices: Sequence[Obj], counters: Sequence[Obj] = (), *, more: str = "") -> Iterator[New]:
    yield from of.nodes(nodes)
    yield from of.slices(nodes, devices, counters)
    yield of.device_class(more=more)


def _single(nodes: int, devices: int) -> list[NodeDevices]:
    """A place for each device of each node."""
    return [NodeDevices(of.node_name(node), (f"gpu-{number}",)) for node in range(nodes) for number in range(devices)]


def _claim_templates(pods: int) -> Iterator[Workload]:
    test, devices = "SchedulingWithResourceClaimTemplate", 10
    nodes = max(pods // 5, 2)
    capacity, one = nodes * devices, of.devices_of(of.request())

    def made(name: str, *, used: int = 0, spec: Obj = one, backlog: int = BACKLOG) -> Workload:
        initial = of.allocated_claims(used, one, _single(nodes, devices))
        return Workload(
            name=f"{test}/{name}",
            pods=pods,
            nodes=nodes,
            objects=[*_base(nodes, of.gpus(devices)), of.template(spec), *initial],
            pod=_templated,
            backlog=backlog,
            null_client=not backlog,
        )

    yield made(f"{2 * pods}pods_{nodes}nodes", used=min(pods, capacity - pods), backlog=0)
    yield made(f"empty_{nodes}nodes")
    yield made(f"half_{nodes}nodes", used=capacity // 2)
    yield made(f"full_{nodes}nodes", used=capacity - BACKLOG)
    expression = (
        f'device.attributes["{DRIVER}"].driverVersion.isGreaterThan(semver("0.9.0"))'
        f' && device.capacity["{DRIVER}"].memory.compareTo(quantity("1Mi")) > 0'
    )
    selected = of.request(selectors=[{"cel": {"expression": expression}}])
    yield made(f"selector_empty_{nodes}nodes", spec=of.devices_of(selected))
    match = {"matchAttribute": "resource.kubernetes.io/pciRoot"}
    five = (of.request(f"r{number}") for number in range(5))
    yield made(f"match_empty_{nodes}nodes", spec=of.devices_of(*five, constraints=[match]))


def _claims(pods: int) -> Workload:
    """Five pods share a claim, and a node has two devices. Half of the pods are there before."""
    nodes, spec = max(pods // 5, 2), of.devices_of(of.request())
    shared = [*of.claims(-(-pods // 5), spec), *of.claims(-(-pods // 5), spec, prefix="before")]

    def made(name: str, number: int) -> Obj:
        prefix = "before" if name.startswith("initial") else "shared"
        return of.pod_with_claim(name, {"resourceClaimName": f"{prefix}-{number // 5}"})

    return Workload(
        name=f"SchedulingWithResourceClaim/{2 * pods}pods_{nodes}nodes",
        pods=pods,
        nodes=nodes,
        objects=[*_base(nodes, of.gpus(2)), *shared],
        pod=made,
        initial=pods,
        templated=False,
    )


def _consumable_capacity(pods: int) -> Iterator[Workload]:
    """Four devices of 10G that many claims share; a pod takes 2500M of two of them, so that 8 fit on a node."""
    nodes = max(pods // 5, 4)
    devices: list[Obj] = [
        {
            "name": f"shared-{number}",
            "allowMultipleAllocations": True,
            "attributes": {"index": {"int": number}},
            "capacity": {
                "bandwidth": {
                    "value": "10G",
                    "requestPolicy": {"default": "1M", "validRange": {"min": "1M", "step": "8"}},
                }
            },
        }
        for number in range(4)
    ]
    wanted = of.request(count=2, capacity={"requests": {"bandwidth": "2500M"}})
    distinct = {"requests": ["r0"], "distinctAttribute": f"{DRIVER}/index"}
    created = [
        *_base(nodes, devices, more="device.allowMultipleAllocations == true"),
        of.template(of.devices_of(wanted, constraints=[distinct])),
    ]
    for level, initial in (("empty", 0), ("half", nodes // 2 * 8), ("full", nodes * 8 - BACKLOG)):
        yield Workload(
            name=f"ConsumableCapacity/{level}_{nodes}nodes",
            pods=pods,
            nodes=nodes,
            objects=created,
            pod=_templated,
            initial=initial,
            backlog=BACKLOG,
            gates={"DRAConsumableCapacity": True},
        )


def _counters(**values: str) -> Obj:
    return {name: {"value": value} for name, value in values.items()}


def _partitionable(pods: int) -> Iterator[Workload]:
    """A claim takes all that the counters of a node allow. With backtracking, the first device is too large for it."""
    nodes = max(pods // 5, BACKLOG + 2)
    parts = (_counters(a="1", b="1"), _counters(c="1", d="1"))

    def devices(**more: object) -> list[Obj]:
        return [
            {"name": f"gpu-{at}", "consumesCounters": [{"counterSet": "all", "counters": part, **more}]}
            for at, part in enumerate(parts)
        ]

    one_of_each = [{"name": "all", "counters": _counters(a="1", b="1", c="1", d="1")}]
    cores = [
        {"name": "cores", "counters": _counters(**{f"core-{at}": "1" for at in range(8)})},
        {"name": "memory", "counters": _counters(memory="70Gi")},
    ]
    # 20Gi and six times 10Gi are more than 70Gi: a search that starts with the first device has to go back.
    large_first: list[Obj] = [
        {
            "name": f"gpu-{at}",
            "consumesCounters": [
                {"counterSet": "cores", "counters": _counters(**{f"core-{at}": "1"})},
                {"counterSet": "memory", "counters": _counters(memory="10Gi" if at else "20Gi")},
            ],
        }
        for at in range(8)
    ]
    partitions = {"DRAPartitionableDevices": True}
    groups = {**partitions, "DRADeviceCompatibilityGroups": True}
    for test, offered, counters, count, gates in (
        ("Partitionable", devices(), one_of_each, 2, partitions),
        ("PartitionableBacktracking", large_first, cores, 7, partitions),
        ("CompatibilityGroups", devices(compatibilityGroups=["parts"]), one_of_each, 2, groups),
    ):
        spec = of.devices_of(of.request(count=count))
        taken = tuple(device["name"] for device in offered[-count:])
        places = [NodeDevices(of.node_name(node), taken) for node in range(nodes)]
        for level, used in (("empty", 0), ("half", nodes // 2), ("full", nodes - BACKLOG)):
            yield Workload(
                name=f"{test}/{level}_{nodes}nodes",
                pods=pods,
                nodes=nodes,
                objects=[
                    *_base(nodes, offered, counters),
                    of.template(spec),
                    *of.allocated_claims(used, spec, places),
                ],
                pod=_templated,
                backlog=BACKLOG,
                gates=gates,
            )


def _device_taints(pods: int) -> Workload:
    """Every device has a taint, which the claims tolerate."""
    nodes = -(-pods // 10)
    taint = {"key": "dra.test/taint", "value": "tainted", "effect": "NoSchedule"}
    # An empty selector selects all devices; without one the rule would select none.
    rule = {"metadata": {"name": "all-devices"}, "spec": {"deviceSelector": {}, "taint": taint}}
    tolerating = of.request(tolerations=[{"key": taint["key"], "operator": "Exists"}])
    return Workload(
        name=f"DeviceTaintToleration/{pods}pods_{nodes}nodes",
        pods=pods,
        nodes=nodes,
        objects=[
            (DEVICE_TAINT_RULES.at("v1"), rule),
            *_base(nodes, of.gpus(10)),
            of.template(of.devices_of(tolerating)),
        ],
        pod=_templated,
        gates={"DRADeviceTaints": True, "DRADeviceTaintRules": True},
    )


def _extended_resources(pods: int) -> Iterator[Workload]:
    """Pods request an extended resource that one of many classes serves, by its own name or the implicit one."""
    nodes = max(pods // 5, 2)
    for form, classes in (("Explicit", 25), ("Explicit", 50), ("Implicit", 25)):
        explicit = form == "Explicit"
        prefix = "dra.test/gpu" if explicit else "deviceclass.resource.kubernetes.io/gpu"
        made = (
            of.device_class(f"gpu-{at}", **({"extendedResourceName": f"{prefix}-{at}"} if explicit else {}))
            for at in range(classes)
        )
        yield Workload(
            name=f"ExtendedResource/{form}_{classes}classes_{2 * pods}pods_{nodes}nodes",
            pods=pods,
            nodes=nodes,
            objects=[*of.nodes(nodes), *of.slices(nodes, of.gpus(10)), *made],
            pod=_cycling(prefix, classes),
            initial=min(pods, nodes * 10 - pods),
            templated=False,
        )


def _cycling(prefix: str, classes: int) -> Callable[[str, int], Obj]:
    return lambda name, number: of.pod_with_resource(name, f"{prefix}-{number % classes}")


def _scoring(pods: int) -> Workload:
    """Many classes serve one extended resource, which kube-scheduler also counts when it scores nodes."""
    nodes, resource = -(-pods // 10), "dra.test/gpu"
    classes = (
        of.device_class(f"gpu-{at}", extendedResourceName=resource) for at in range(min(max(pods // 250, 2), 20))
    )
    return Workload(
        name=f"ExtendedResourceScoring/{pods}pods_{nodes}nodes",
        pods=pods,
        nodes=nodes,
        objects=[*of.nodes(nodes), *of.slices(nodes, of.gpus(10)), *classes],
        pod=lambda name, _: of.pod_with_resource(name, resource),
        templated=False,
        scoring=("cpu", "memory", resource),
        unsupported="no scoringStrategy",
    )


def _first_available(pods: int) -> Workload:
    """The first alternative of a request never fits."""
    nodes, absent = -(-pods // 10), "absent"
    alternatives = [{"name": "first", "deviceClassName": absent}, {"name": "second", "deviceClassName": of.CLASS}]
    wanted = {"name": "r0", "firstAvailable": alternatives}
    return Workload(
        name=f"FirstAvailable/{pods}pods_{nodes}nodes",
        pods=pods,
        nodes=nodes,
        objects=[*_base(nodes, of.gpus(10)), of.empty_class(absent), of.template(of.devices_of(wanted))],
        pod=_templated,
    )


def _list_attributes(pods: int) -> Workload:
    """Of 64 devices only the last 32 share a value of a list, and a claim matches 32: a pod fills its node."""
    attribute = f"{DRIVER}/match"
    devices: list[Obj] = [
        {
            "name": f"gpu-{at}",
            "attributes": {
                attribute: {
                    "strings": [*(["shared"] if at >= 32 else []), *(f"gpu-{at}-only-{value}" for value in range(47))]
                }
            },
        }
        for at in range(64)
    ]
    wanted = of.devices_of(
        *(of.request(f"r{number}") for number in range(32)), constraints=[{"matchAttribute": attribute}]
    )
    return Workload(
        name=f"SchedulingWithResourceClaimTemplateListAttributes/empty_{pods}nodes",
        pods=pods,
        nodes=pods,
        objects=[*_base(pods, devices), of.template(wanted)],
        pod=_templated,
        backlog=pods,
        gates={"DRAListTypeAttributes": True},
    )


def _pod_groups(pods: int) -> Iterator[Workload]:
    """The pods of a group share its claim, for a device that any node can reach."""
    gates = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
    spec = of.devices_of(of.request())
    nodes = max(pods // 100, 1)
    for test, entry in (
        ("SharedPodGroupResourceClaim", {"resourceClaimName": "shared-{group}"}),
        ("SharedPodGroupResourceClaimTemplate", {"resourceClaimTemplateName": of.TEMPLATE}),
    ):
        templated = "resourceClaimTemplateName" in entry
        for groups in (1, max(pods // 50, 2)):
            source = [of.template(spec)] if templated else [*of.claims(groups, spec)]
            yield Workload(
                name=f"{test}/{groups}podgroup{'s' * (groups > 1)}_{pods}pods",
                pods=pods,
                nodes=nodes,
                objects=[
                    *of.nodes(nodes),
                    *of.network_slices(groups),
                    of.device_class(),
                    *source,
                    *of.pod_groups(groups, entry),
                ],
                pod=_grouped(groups, entry),
                templated=templated,
                gates=gates,
            )


def _grouped(groups: int, entry: Mapping[str, str]) -> Callable[[str, int], Obj]:
    def made(name: str, number: int) -> Obj:
        group = number % groups
        claim = {key: value.format(group=group) for key, value in entry.items()}
        return of.pod_with_claim(name, claim, schedulingGroup={"podGroupName": f"group-{group}"})

    return made


def selected(named: Iterable[str], pods: int) -> list[Workload]:
    """Return the workloads whose name contains one of `named`, or all. Raises ValueError if one matches none."""
    found = workloads(pods)
    wanted = list(named)
    if unknown := [one for one in wanted if not any(one in workload.name for workload in found)]:
        raise ValueError(f"no workload has {unknown[0]!r} in its name: {', '.join(one.name for one in found)}")
    return [workload for workload in found if not wanted or any(one in workload.name for one in wanted)]
