"""The objects of the workloads: nodes, devices, classes, claims and pods. Pure functions."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_api.objects import (
    DEVICE_CLASSES,
    NODES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SCHEDULING_POD_GROUPS,
    Obj,
    Resource,
)
from verification.benchmarks.cluster import DRIVER

CLASS, TEMPLATE, NAMESPACE = "device", "claim", "default"
# Nodes with the driver; network-attached devices select it.
LABEL = "scheduler-perf.dra.test/driver"
ROOM: Mapping[str, str] = {"pods": "110", "cpu": "4", "memory": "32Gi"}
"""What a node of upstream has."""

New = tuple[Resource, Obj]
"""An object to create. A claim with a status gets it in a second write."""


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """Devices of one node that a claim can have."""

    node: str
    devices: tuple[str, ...]


def node_name(number: int) -> str:
    """Return the name of a node, which is also the name of its pool."""
    return f"node-{number:04d}"


def nodes(count: int) -> Iterator[New]:
    """Nodes with the driver's label."""
    for number in range(count):
        yield NODES, {"metadata": {"name": node_name(number), "labels": {LABEL: "yes"}}}


def device_class(name: str = CLASS, *, more: str = "", **spec: object) -> New:
    """A class of the driver's devices; `more` is a further condition in CEL."""
    expression = f'device.driver == "{DRIVER}"' + (f" && {more}" if more else "")
    return DEVICE_CLASSES, {
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **spec},
    }


def empty_class(name: str) -> New:
    """A class of a driver that has no devices."""
    selector = {"cel": {"expression": f'device.driver == "absent.{DRIVER}"'}}
    return DEVICE_CLASSES, {"metadata": {"name": name}, "spec": {"selectors": [selector]}}


def gpus(count: int) -> list[Obj]:
    """Devices with 13 attributes and 2 capacities each, alternating between two PCI roots."""
    return [_gpu(number) for number in range(count)]


def _gpu(number: int) -> Obj:
    root, bus = f"pci0000:{number % 2:02d}", f"0000:{number:02x}:00.0"
    texts = {
        "product": "B60",
        "family": "accelerator",
        "kind": "gpu",
        "kernelDriver": "xe",
        "state": "healthy",
        "vendorAndDevice": "8086-e211",
        "address": bus,
        "root": root,
        "slot": f"slot-{number}",
        "resource.kubernetes.io/pciBusID": bus,
        "resource.kubernetes.io/pciRoot": root,
    }
    attributes: Obj = {name: {"string": text} for name, text in texts.items()}
    attributes["driverVersion"] = {"version": "1.2.3"}
    attributes["virtualFunctions"] = {"bool": True}
    return {
        "name": f"gpu-{number}",
        "attributes": attributes,
        "capacity": {"memory": {"value": "24480Mi"}, "millicores": {"value": "1k"}},
    }


def slices(count: int, devices: Sequence[Obj], counters: Sequence[Obj] = ()) -> Iterator[New]:
    """One pool for each of `count` nodes. Counter sets are in a slice of their own, as the API demands."""
    for number in range(count):
        node = node_name(number)
        pool = {"name": node, "generation": 1, "resourceSliceCount": 2 if counters else 1}
        common = {"driver": DRIVER, "nodeName": node, "pool": pool}
        if counters:
            yield (
                RESOURCE_SLICES,
                {"metadata": {"name": f"{node}-counters"}, "spec": {**common, "sharedCounters": list(counters)}},
            )
        yield RESOURCE_SLICES, {"metadata": {"name": f"{node}-devices"}, "spec": {**common, "devices": list(devices)}}


def network_slices(count: int) -> Iterator[New]:
    """`count` pools of one device that every node with the driver can use."""
    term = {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]}
    for number in range(count):
        name = f"network-{number:04d}"
        spec = {
            "driver": DRIVER,
            "nodeSelector": {"nodeSelectorTerms": [term]},
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "device"}],
        }
        yield RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec}


def request(name: str = "r0", **exactly: object) -> Obj:
    """A request for devices of the class."""
    return {"name": name, "exactly": {"deviceClassName": CLASS, **exactly}}


def devices_of(*requests: Obj, constraints: Sequence[Obj] = ()) -> Obj:
    """The spec of a claim."""
    wanted: Obj = {"requests": list(requests)}
    return {"devices": {**wanted, "constraints": list(constraints)} if constraints else wanted}


def template(spec: Obj) -> New:
    """The template that pods name."""
    return RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": TEMPLATE, "namespace": NAMESPACE}, "spec": {"spec": spec}}


def claims(count: int, spec: Obj, *, prefix: str = "shared") -> Iterator[New]:
    """Claims that are not allocated."""
    for number in range(count):
        yield RESOURCE_CLAIMS, {"metadata": {"name": f"{prefix}-{number}", "namespace": NAMESPACE}, "spec": spec}


def allocated_claims(count: int, spec: Obj, places: Iterable[NodeDevices]) -> Iterator[New]:
    """Claims in use, on nodes that are drawn with a fixed seed. Raises ValueError if there are too few places."""
    left: dict[str, list[NodeDevices]] = {}
    for place in places:
        left.setdefault(place.node, []).append(place)
    draw = random.Random("scheduler-perf")  # noqa: S311  # The same nodes in every run; nothing secret.
    names = sorted(left)
    for resource, claim in claims(count, spec, prefix="initial"):
        if not names:
            raise ValueError(f"{count} claims need more places")
        name = draw.choice(names)
        place = left[name].pop(0)
        if not left[name]:
            names.remove(name)
        yield resource, {**claim, "status": {"allocation": _allocation(spec, place)}}


def _allocation(spec: Obj, place: NodeDevices) -> Obj:
    wanted = spec["devices"]["requests"][0]["name"]
    field = {"key": "metadata.name", "operator": "In", "values": [place.node]}
    results = [{"request": wanted, "driver": DRIVER, "pool": place.node, "device": name} for name in place.devices]
    return {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def pod_groups(count: int, entry: Mapping[str, str]) -> Iterator[New]:
    """PodGroups of scheduling.k8s.io with a claim each; `{group}` in `entry` is the number of the group."""
    for number in range(count):
        claim = {key: value.format(group=number) for key, value in entry.items()}
        spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": [{"name": "device", **claim}]}
        yield SCHEDULING_POD_GROUPS, {"metadata": {"name": f"group-{number}", "namespace": NAMESPACE}, "spec": spec}


def pod(name: str, **spec: object) -> Obj:
    """A pod with one container."""
    own = {"containers": [{"name": "main", "image": "pause"}], **spec}
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": own}


def pod_with_claim(name: str, entry: Mapping[str, str], **spec: object) -> Obj:
    """A pod with one claim: `entry` names it or its template."""
    container = {"name": "main", "image": "pause", "resources": {"claims": [{"name": "device"}]}}
    return pod(name, containers=[container], resourceClaims=[{"name": "device", **entry}], **spec)


def pod_with_template(name: str) -> Obj:
    """A pod with a claim from the template."""
    return pod_with_claim(name, {"resourceClaimTemplateName": TEMPLATE})


def pod_with_resource(name: str, resource: str) -> Obj:
    """A pod that requests one unit of an extended resource."""
    resources = {"requests": {resource: "1"}, "limits": {resource: "1"}}
    return pod(name, containers=[{"name": "main", "image": "pause", "resources": resources}])
