"""What an object uses of the resources that a ResourceQuota can limit.

Counted are objects of any kind (`count/<resource>.<group>`), the devices that claims request, by DeviceClass and by
extended resource, and the extended resources that pods request. Nothing else is: cpu, memory, storage and the older
names of object counts have no usage here. Stateless over the objects of the server.

Source: pkg/quota/v1/evaluator/core/resource_claims.go and pods.go, k8s.io/apiserver pkg/quota/v1/generic/evaluator.go,
releases 1.34 to 1.37; rules DRA-620 to DRA-631.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from apiserver_emulator.core import Core
from apiserver_emulator.dra.device_class import is_extended_resource_name
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import TypeKey
from dra_api.claim_devices import QUOTA, devices_by_class
from dra_api.objects import controller_of
from dra_api.quantity import Quantity

Obj = dict[str, Any]
Amounts = dict[str, Quantity]

CLAIMS: TypeKey = ("resource.k8s.io", "resourceclaims")
_CLASSES: TypeKey = ("resource.k8s.io", "deviceclasses")
PODS: TypeKey = ("", "pods")
_UNCOUNTED = frozenset({("", "events"), ("events.k8s.io", "events")})

REQUESTS = "requests."
_OF_CLASS = "deviceclass.resource.kubernetes.io/"
_FOR_EXTENDED_RESOURCE = "resource.kubernetes.io/extended-resource-claim"
# Pods that have ended use nothing.
ENDED = ("Succeeded", "Failed")


class QuotaUsage:
    """Answers for one server which resources of a quota a kind counts for, and how much an object uses."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def names(self, resource: ResourceType, limited: Iterable[str]) -> list[str]:
        """Return those of a quota's resources that objects of this kind use, in the quota's order."""
        if resource.key in _UNCOUNTED or not resource.namespaced:
            return []
        return [name for name in limited if self._counts_for(resource, name)]

    def of(self, resource: ResourceType, obj: Obj) -> Amounts:
        """Return what an object uses."""
        if resource.key == CLAIMS:
            found = self._of_claim(obj)
        elif resource.key == PODS:
            found = self._of_pod(obj)
        else:
            found = {}
        return {_count(resource): Quantity(1), **found}

    def _counts_for(self, resource: ResourceType, name: str) -> bool:
        if name == _count(resource):
            return True
        if resource.key == CLAIMS:
            return name.endswith(QUOTA) or (self._claims_use_extended_resources() and self._has_class(name))
        return resource.key == PODS and self._is_of_pods(name)

    # -- claims --------------------------------------------------------------------------------------------------

    def _claims_use_extended_resources(self) -> bool:
        return self._minor >= 35 and bool(self._core.feature_gates.get("DRAExtendedResource"))

    @property
    def _minor(self) -> int:
        return int(self._core.kubernetes_version.split(".")[1])

    def _has_class(self, name: str) -> bool:
        """Return whether `requests.<extended resource>` is a resource that a DeviceClass provides."""
        if not name.startswith(REQUESTS):
            return False
        wanted = name.removeprefix(REQUESTS)
        if wanted.startswith(_OF_CLASS):
            return self._core.store.get(_CLASSES, ("", wanted.removeprefix(_OF_CLASS))) is not None
        classes = self._core.store.snapshot(_CLASSES)[0]
        return any(record.obj["spec"].get("extendedResourceName") == wanted for record in classes)

    def _of_claim(self, claim: Obj) -> Amounts:
        devices = devices_by_class(claim["spec"])
        found = {class_name + QUOTA: Quantity(number) for class_name, number in devices.items()}
        if self._claims_use_extended_resources():
            found |= self._beyond_the_pod(devices, self._charged_to_pod(claim))
        return found

    def _beyond_the_pod(self, devices: Counter[str], charged: Amounts) -> Amounts:
        """Return the devices of a claim as extended resources, less those for which its pod is charged."""
        named: dict[str, int] = {}
        for class_name, number in devices.items():
            named[REQUESTS + _OF_CLASS + class_name] = number
            record = self._core.store.get(_CLASSES, ("", class_name))
            if record is not None and record.obj["spec"].get("extendedResourceName"):
                named[REQUESTS + record.obj["spec"]["extendedResourceName"]] = number
        left = {name: Quantity(number) - charged.get(name, Quantity(0)) for name, number in named.items()}
        return {name: amount for name, amount in left.items() if amount.sign > 0}

    def _charged_to_pod(self, claim: Obj) -> Amounts:
        """Return what the pod uses for which a scheduler made this claim; nothing for any other claim."""
        meta = claim["metadata"]
        owner = controller_of(claim)
        if (meta.get("annotations") or {}).get(_FOR_EXTENDED_RESOURCE) != "true" or owner is None:
            return {}
        if (owner.get("kind"), owner.get("apiVersion")) != ("Pod", "v1"):
            return {}
        record = self._core.store.get(PODS, (meta.get("namespace", ""), owner.get("name", "")))
        if record is None or record.obj["metadata"]["uid"] != owner.get("uid"):
            return {}
        named = (record.obj.get("status") or {}).get("extendedResourceClaimStatus")
        if named is not None:
            is_the_one = named.get("resourceClaimName") == meta.get("name")
        else:
            is_the_one = self._minor < 36 or self._is_first(claim, owner["uid"])
        return self._of_pod(record.obj) if is_the_one else {}

    def _is_first(self, claim: Obj, pod_uid: str) -> bool:
        """Return whether no earlier claim says that it is for extended resources of this pod."""
        return all(_age(claim) <= _age(other) for other in self._claims_of_pod(claim, pod_uid))

    def _claims_of_pod(self, claim: Obj, pod_uid: str) -> list[Obj]:
        found = []
        for record in self._core.store.snapshot(CLAIMS, claim["metadata"].get("namespace", ""))[0]:
            owner = controller_of(record.obj)
            annotations = record.obj["metadata"].get("annotations") or {}
            if annotations.get(_FOR_EXTENDED_RESOURCE) == "true" and (owner or {}).get("uid") == pod_uid:
                found.append(record.obj)
        return found

    # -- pods ----------------------------------------------------------------------------------------------------

    def _is_of_pods(self, name: str) -> bool:
        return name.startswith(REQUESTS) and self._is_extended(name.removeprefix(REQUESTS))

    def _is_extended(self, name: str) -> bool:
        return is_extended_resource_name(name) or (self._minor >= 35 and name.startswith(_OF_CLASS))

    def _of_pod(self, pod: Obj) -> Amounts:
        if (pod.get("status") or {}).get("phase") in ENDED:
            return {}
        wanted = _requested(pod["spec"])
        return {REQUESTS + name: amount for name, amount in wanted.items() if self._is_extended(name)}


def _age(claim: Obj) -> tuple[str, str]:
    return claim["metadata"]["creationTimestamp"], claim["metadata"].get("name", "")


def _count(resource: ResourceType) -> str:
    return f"count/{resource.plural}.{resource.group}" if resource.group else f"count/{resource.plural}"


def _requested(spec: Obj) -> Amounts:
    """Return what the containers of a pod request at most at any time (PodRequests)."""
    running: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _requests_of(container)
        if container.get("restartPolicy") == "Always":  # a sidecar, which runs until the pod ends
            running = _sum(running, own)
            own = {}
        peak = _largest(peak, _sum(running, own))
    for container in spec.get("containers") or ():
        running = _sum(running, _requests_of(container))
    return _largest(peak, running)


def _requests_of(container: Obj) -> Amounts:
    requests = (container.get("resources") or {}).get("requests") or {}
    return {name: Quantity.parse(str(text)) for name, text in requests.items()}


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return {name: left.get(name, Quantity(0)) + right.get(name, Quantity(0)) for name in {**left, **right}}


def _largest(left: Amounts, right: Amounts) -> Amounts:
    return {name: max(left.get(name, Quantity(0)), right.get(name, Quantity(0))) for name in {**left, **right}}
