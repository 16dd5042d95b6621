"""Random clusters with every allocation feature, and the reference allocator run over their claims in turn."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from dra_api.objects import Obj, name_of
from dra_conformance.oracle import Case, Cluster, Settings, read_claim
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler import allocator
from reference_impl.scheduler.allocator import (
    AllocationError,
    Allocator,
    DeviceClass,
    Features,
    NodeInventory,
    Taken,
    taint_rules,
)

Said = Callable[..., tuple[int, str]]
"""Runs a command; returns its exit code and its output."""

DRIVER = "gpu.example.com"
NODES = {"n1": {"zone": "z1"}, "n2": {"zone": "z2"}}
FINALIZER = "resource.kubernetes.io/delete-protection"


def node(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": NODES[name]}}


def selector(key: str, value: str) -> Obj:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}


def resource_slice(
    name: str,
    devices: list[Obj] | None = None,
    *,
    pool: str,
    count: int = 1,
    generation: int = 1,
    counters: Obj | None = None,
    driver: str = DRIVER,
    **access: Any,
) -> Obj:
    spec: Obj = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        **access,
    }
    if counters is not None:
        spec["sharedCounters"] = [
            {"name": key, "counters": {counter: {"value": value} for counter, value in values.items()}}
            for key, values in counters.items()
        ]
    else:
        spec["devices"] = devices or []
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def device_class(name: str, *expressions: str, config: list[Obj] | None = None) -> Obj:
    spec: Obj = {"selectors": [{"cel": {"expression": text}} for text in expressions]}
    if config:
        spec["config"] = config
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def opaque(value: Any, *requests: str) -> Obj:
    entry: Obj = {"opaque": {"driver": DRIVER, "parameters": {"value": value}}}
    return {**entry, "requests": list(requests)} if requests else entry


def claim(name: str, *requests: Obj, **devices: Any) -> Obj:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "finalizers": [FINALIZER]},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def exactly(name: str, cls: str = "all", **fields: Any) -> Obj:
    body = {"deviceClassName": cls, "allocationMode": "ExactCount", "count": 1, **fields}
    if body["allocationMode"] == "All":
        del body["count"]
    return {"name": name, "exactly": body}


CLASSES = [
    device_class("all", config=[opaque("all")]),
    device_class("even", "device.attributes['gpu.example.com'].n % 2 == 0"),
    device_class("plain", "!('shared' in device.attributes['gpu.example.com'])", config=[opaque("p1"), opaque("p2")]),
]


@st.composite
def device(draw: st.DrawFn, name: str, kind: str) -> Obj:
    made: Obj = {
        "name": name,
        "attributes": {"n": {"int": draw(st.integers(0, 3))}},
    }
    if draw(st.integers(0, 3)):
        made["attributes"]["root"] = {"string": draw(st.sampled_from("ab"))}
    if draw(st.integers(0, 3)) == 0:
        made["attributes"]["lanes"] = {"ints": sorted(draw(st.sets(st.integers(0, 3), min_size=1, max_size=3)))}
    else:
        made["attributes"]["lanes"] = {"int": draw(st.integers(0, 3))}
    if draw(st.integers(0, 4)) == 4:
        made["taints"] = [{"key": "k", "value": "v", "effect": draw(st.sampled_from(["NoSchedule", "None"]))}]
    if kind == "counted":
        made["consumesCounters"] = [
            {"counterSet": "set", "counters": {"units": {"value": str(draw(st.integers(0, 3)))}}}
        ]
    if kind == "shared":
        made["allowMultipleAllocations"] = True
        made["attributes"]["shared"] = {"bool": True}
        made["capacity"] = {"mem": {"value": str(draw(st.integers(2, 8)))}}
        policy = draw(st.sampled_from(["none", "default", "range", "values"]))
        if policy == "default":
            made["capacity"]["mem"]["requestPolicy"] = {"default": "2"}
        if policy == "range":
            limits = {"min": "2", "max": "6", "step": "2"}
            made["capacity"]["mem"]["requestPolicy"] = {"default": "2", "validRange": limits}
        if policy == "values":
            made["capacity"]["mem"]["requestPolicy"] = {"default": "1", "validValues": ["1", "4"]}
    elif draw(st.booleans()):
        made["capacity"] = {"mem": {"value": str(draw(st.integers(1, 6)))}}
    if draw(st.integers(0, 6)) == 6:
        made["bindingConditions"] = ["ready"]
        made["bindingFailureConditions"] = ["broken"]
        made["bindsToNode"] = draw(st.booleans())
    return made


@st.composite
def pools(draw: st.DrawFn) -> list[Obj]:
    found: list[Obj] = []
    for number in range(draw(st.integers(1, 4))):
        pool = f"p{number}"
        access: Obj = draw(
            st.sampled_from(
                [{"nodeName": "n1"}, {"nodeName": "n1"}, {"allNodes": True}, {"nodeSelector": selector("zone", "z1")}]
            )
        )
        kind = draw(st.sampled_from(["plain", "plain", "counted", "shared"]))
        devices = [draw(device(f"d{number}{at}", kind)) for at in range(draw(st.integers(1, 6)))]
        if kind == "counted":
            counters = {"set": {"units": str(draw(st.integers(0, 5)))}}
            found.append(resource_slice(f"{pool}-c", pool=pool, count=2, counters=counters, **access))
            if draw(st.booleans()):
                for one in devices:
                    one |= draw(st.sampled_from([{"nodeName": "n1"}, {"nodeName": "n2"}, {"allNodes": True}]))
                access = {"perDeviceNodeSelection": True}
            found.append(resource_slice(f"{pool}-d", devices, pool=pool, count=2, **access))
            continue
        generation = draw(st.sampled_from([1, 1, 1, 2]))
        missing = draw(st.integers(0, 19)) == 19
        if generation == 2:
            found.append(resource_slice(f"{pool}-old", [{"name": "old"}], pool=pool, **access))
        found.append(
            resource_slice(f"{pool}-d", devices, pool=pool, generation=generation, count=1 + missing, **access)
        )
        if draw(st.integers(0, 19)) == 19:
            found[-1]["spec"]["devices"].append(copy.deepcopy(devices[0]))
    return found


@st.composite
def device_request(draw: st.DrawFn, *, sub: bool = False) -> Obj:
    made: Obj = {"deviceClassName": draw(st.sampled_from(["all", "all", "even", "plain"]))}
    if draw(st.integers(0, 9)) == 9:
        made["allocationMode"] = "All"
    else:
        made |= {"allocationMode": "ExactCount", "count": draw(st.sampled_from([1, 1, 1, 2, 3]))}
    if draw(st.integers(0, 2)) == 0:
        made["tolerations"] = [{"key": "k", "operator": draw(st.sampled_from(["Exists", "Equal"]))}]
        if made["tolerations"][0]["operator"] == "Equal":
            made["tolerations"][0]["value"] = draw(st.sampled_from(["v", "w"]))
    if draw(st.integers(0, 3)) == 3:
        made["capacity"] = {"requests": {"mem": str(draw(st.integers(1, 5)))}}
    if draw(st.integers(0, 3)) == 0:
        made["selectors"] = [
            {"cel": {"expression": f"device.attributes['gpu.example.com'].n != {draw(st.integers(0, 3))}"}}
        ]
    if not sub and draw(st.integers(0, 5)) == 5:
        made["adminAccess"] = True
    return made


@st.composite
def claims(draw: st.DrawFn, name: str) -> Obj:
    requests: list[Obj] = []
    names: list[str] = []
    for number in range(draw(st.sampled_from([1, 1, 2, 3]))):
        request = f"r{number}"
        names.append(request)
        if draw(st.integers(0, 3)) == 0:
            subs = [{"name": sub, **draw(device_request(sub=True))} for sub in ("a", "b")[: draw(st.integers(1, 2))]]
            requests.append({"name": request, "firstAvailable": subs})
            names.extend(f"{request}/{sub['name']}" for sub in subs)
        else:
            requests.append({"name": request, "exactly": draw(device_request())})
    scopes = st.lists(st.sampled_from(names), unique=True, max_size=2)
    devices: Obj = {}
    for kind in draw(st.sampled_from([[], [], ["matchAttribute"], ["distinctAttribute"], ["matchAttribute"] * 2])):
        attribute = draw(st.sampled_from(["n", "root", "lanes"]))
        entry: Obj = {kind: f"{DRIVER}/{attribute}"}
        if scope := draw(scopes):
            entry["requests"] = scope
        devices.setdefault("constraints", []).append(entry)
    for number in range(draw(st.integers(0, 2))):
        devices.setdefault("config", []).append(opaque(f"c{number}", *draw(scopes)))
    return claim(name, *requests, **devices)


@st.composite
def rules(draw: st.DrawFn) -> list[Obj]:
    if draw(st.integers(0, 9)) < 9:
        return []
    chosen = draw(st.sampled_from([{}, {"pool": "p0"}, {"driver": DRIVER, "device": "d00"}, {"driver": "other"}]))
    spec = {"deviceSelector": chosen, "taint": {"key": "rule", "effect": "NoExecute"}}
    return [
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "rule"},
            "spec": spec,
        }
    ]


@dataclass
class Scene:
    """A cluster, the claims in the order in which they were tried, and what the allocator did with each."""

    slices: list[Obj]
    rules: list[Obj]
    claims: list[Obj]
    classes: list[Obj] = field(default_factory=lambda: CLASSES)
    taken: Taken = field(default_factory=Taken)

    @property
    def objects(self) -> list[Obj]:
        return [*self.slices, *self.rules, *self.classes, *(node(name) for name in NODES), *self.claims]

    def cluster(self) -> Cluster:
        return Cluster.of(self.objects)

    def case(self, name: str, **settings: Any) -> Case:
        chosen = next(obj for obj in self.claims if name_of(obj) == name)
        return Case(self.cluster(), read_claim(chosen), Settings(**settings))

    def allocate(self, numbers: int | Sequence[int], where: str) -> str:
        """Let the reference allocate claims together on one node, and keep the results: yes, no or error."""
        features = Features()
        decoded = [allocator.decode_slice(obj) for obj in self.slices]
        laid = [taint_rules.TaintRule.decode(obj) for obj in self.rules]
        by_pool: dict[Any, list[allocator.Slice]] = {}
        for one in decoded:
            by_pool.setdefault(one.pool, []).append(taint_rules.apply(one, laid))
        classes = {name_of(obj): DeviceClass.decode(obj) for obj in self.classes}
        inventory = NodeInventory.build(NodeFacts(where, NODES[where]), list(by_pool.values()), features)
        objects = [self.claims[number] for number in ([numbers] if isinstance(numbers, int) else numbers)]
        try:
            wanted = [allocator.decode_claim(obj) for obj in objects]
            outcome = Allocator(wanted, classes, features=features).on(inventory, self.taken)
        except AllocationError:
            return "error"
        if outcome.allocations is None:
            return "no"
        for obj, allocation in zip(objects, outcome.allocations, strict=True):
            self.taken.add(allocation.result["devices"]["results"])
            obj["status"] = {"allocation": allocation.result}
        return "yes"


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    wanted = [draw(claims(f"c{number}")) for number in range(draw(st.integers(1, 4)))]
    return Scene(draw(pools()), draw(rules()), wanted)
