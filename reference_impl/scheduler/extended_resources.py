"""Extended resources that devices provide (KEP-5004): class, requests, and one claim for all of a pod.

Pure functions. A pod requests a resource as it would from a device plugin; on a node without one, a claim that belongs
to the pod requests devices of the class instead.

Source: kube-scheduler dynamicresources createRequestsAndMappings, k8s.io/dynamic-resource-allocation/deviceclass
extendedresourcecache (v1.36); rules DRA-239 to DRA-249, KAI-064, KAI-065.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dra_api.objects import Obj, controller_of, meta, name_of, namespace_of, uid_of
from reference_impl.scheduler import pod_resources
from reference_impl.scheduler.allocator.model import DeviceClass

IMPLICIT = "deviceclass.resource.kubernetes.io/"
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
# The claim's name before it has one: no real claim can be called so.
UNNAMED = "<extended-resources>"

ClassOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requests of the claim of a pod on one node, and the container that uses each of them."""

    requests: tuple[Obj, ...]
    mappings: tuple[Obj, ...]

    def claim(self, pod: Obj) -> Obj:
        """Return the claim, unnamed and not yet created."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod), "controller": True}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": f"{name_of(pod)[:220]}-extended-resources-",
                "namespace": namespace_of(pod),
                "annotations": {ANNOTATION: "true"},
                "ownerReferences": [{**owner, "blockOwnerDeletion": True}],
            },
            "spec": {"devices": {"requests": [dict(request) for request in self.requests]}},
        }


def key_for(pod: Obj) -> tuple[str, str]:
    """Return the key that counts the claim's devices before the claim exists."""
    return namespace_of(pod), f"{UNNAMED}/{name_of(pod)}"


def resolver(classes: Iterable[DeviceClass]) -> ClassOf:
    """Return a function from resource to class: of several the youngest, then the first by name (DRA-240, DRA-243)."""
    by_name: dict[str, str] = {}
    for found in sorted(classes, key=lambda one: one.name, reverse=True):
        by_name[IMPLICIT + found.name] = found.name
    # Sorting is stable: among equals in time, the smaller name comes later and so wins.
    named = sorted((one for one in classes if one.extended_resource), key=lambda one: one.name, reverse=True)
    for found in sorted(named, key=lambda one: one.created):
        by_name[found.extended_resource] = found.name
    return by_name.get


def requested(needs: Mapping[str, int], class_of: ClassOf) -> dict[str, str]:
    """Return the requested resources that a class provides, with the class; none for amounts of 0 (DRA-245)."""
    found = {name: class_of(name) for name, value in needs.items() if value and "/" in name}
    return {name: device_class for name, device_class in found.items() if device_class}


def by_devices(resources: Mapping[str, str], allocatable: Mapping[str, int] | None) -> frozenset[str]:
    """Return those that a node has no device plugin for (DRA-241)."""
    return frozenset(name for name in resources if not (allocatable or {}).get(name))


def wanted(pod: Obj, resources: Mapping[str, str], names: Iterable[str]) -> Wanted:
    """Return the requests for some of a pod's resources, container by container (DRA-239, DRA-242, DRA-244)."""
    spec = pod.get("spec") or {}
    init = list(spec.get("initContainers") or ())
    containers = [*init, *(spec.get("containers") or ())]
    brief = {at for at, one in enumerate(init) if one.get("restartPolicy") != "Always"}
    requests: list[Obj] = []
    mappings: list[Obj] = []
    for name in sorted(names):
        mine, used = _for_resource(containers, brief, name, resources[name])
        requests += mine
        mappings += used
    return Wanted(tuple(sorted(requests, key=lambda one: str(one["name"]))), tuple(mappings))


def _for_resource(
    containers: Sequence[Obj], brief: set[int], name: str, device_class: str
) -> tuple[list[Obj], list[Obj]]:
    """Return requests and mappings of one resource.

    Long-running containers have devices of their own. Init containers use those of later containers first; the rest is
    one request that all of them share, as large as the largest rest.
    """
    own = [pod_resources.container_requests(one).get(name, 0) // 1000 for one in containers]
    lasting = {
        at: _request(container, at, name, device_class, own[at])
        for at, container in enumerate(containers)
        if own[at] and at not in brief
    }
    mappings = [_mapping(containers[at], name, request) for at, request in lasting.items()]
    extra: Obj | None = None
    users: list[int] = []
    borrowed: list[Obj] = []
    for at in sorted(brief):
        missing = own[at]
        for later in sorted(lasting):
            # Only devices of containers that start later are unused while an init container runs.
            if later > at and missing > 0:
                borrowed.append(_mapping(containers[at], name, lasting[later]))
                missing -= lasting[later]["exactly"]["count"]
        if missing > 0:
            users.append(at)
            if extra is None or extra["exactly"]["count"] < missing:
                extra = _request(containers[at], at, name, device_class, missing)
    if extra is not None:
        borrowed += [_mapping(containers[at], name, extra) for at in users]
    return [*([extra] if extra else []), *lasting.values()], [*mappings, *borrowed]


def _request(container: Obj, at: int, name: str, device_class: str, count: int) -> Obj:
    # The name counts the container's resources in alphabetical order, as upstream does.
    order = sorted(pod_resources.container_requests(container))
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": f"container-{at}-request-{order.index(name)}", "exactly": exactly}


def _mapping(container: Obj, name: str, request: Obj) -> Obj:
    return {"containerName": container["name"], "resourceName": name, "requestName": request["name"]}


def is_claim_of(claim: Obj, pod: Obj) -> bool:
    """Return whether a claim was made for the extended resources of this very pod."""
    marked = (meta(claim).get("annotations") or {}).get(ANNOTATION) == "true"
    return marked and (controller_of(claim) or {}).get("uid") == uid_of(pod)
