"""BindRequests: written from a decision, and read from other writers.

Pure functions over dicts. Two revisions of the protocol differ in name and labels: the documented one (KAI
docs/dra/README.md) and that of KAI release 0.17 (pkg/scheduler/cache/cache.go).

Source: KAI-Scheduler 0.17 pkg/apis/scheduling/v1alpha2/bindrequest_types.go, pkg/scheduler/api/bindrequest_info;
rules KAI-010 to KAI-024, KAI-070 to KAI-077.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from dra_api.allocations import results_of_allocation
from dra_api.objects import BIND_REQUESTS, Obj, meta, name_of, namespace_of, owner_reference
from reference_impl.gpu_groups import GPU, groups_of
from reference_impl.scheduler.gpu_shares import GrantedShare
from reference_impl.scheduler.options import Revision

# Kubernetes' own alphabet for generated names (apimachinery util/rand): no vowels, nothing that looks alike.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 10
_NAME_LIMIT = 253
_LABEL_LIMIT = 63
_MIG = "nvidia.com/mig-"  # the extended resources of MIG profiles, such as nvidia.com/mig-1g.10gb


def name_for(pod: Obj, revision: Revision, random_source: random.Random) -> str:
    """Return the BindRequest's name: the pod's name in 0.17, with ten random characters in the documented revision."""
    if revision == "kai-0.17":
        return name_of(pod)
    suffix = "".join(random_source.choice(_ALPHABET) for _ in range(_SUFFIX))
    return f"{name_of(pod)[: _NAME_LIMIT - _SUFFIX - 1]}-{suffix}"


def labels_for(pod: Obj, node: str, revision: Revision) -> dict[str, str]:
    """Return the BindRequest's labels (KAI-012)."""
    if revision == "kai-0.17":
        return {"selected-node": node}
    # A longer name is no value of a label (KAI-483).
    named = {"pod-name": name_of(pod)} if len(name_of(pod)) <= _LABEL_LIMIT else {}
    return {**named, "selected-node": node}


def received_type(requests: Mapping[str, int]) -> str:
    """Return the type of a pod without a share of GPUs: one with MIG devices of the device plugin differs (KAI-019)."""
    return "MigInstance" if any(name.startswith(_MIG) and amount for name, amount in requests.items()) else "Regular"


def received_gpu(requests: Mapping[str, int]) -> Obj:
    """Return whole device-plugin GPUs of a pod; devices of claims are not counted here (KAI-015, KAI-016, KAI-024)."""
    count = requests.get(GPU, 0) // 1000
    return {"count": count, "portion": "1.00"} if count else {"portion": "0.00"}


def make(
    pod: Obj,
    node: str,
    allocations: Sequence[tuple[str, Obj]],
    requests: Mapping[str, int],
    revision: Revision,
    random_source: random.Random,
    *,
    extended: Obj | None = None,
    share: GrantedShare | None = None,
) -> Obj:
    """Return the BindRequest of a decision.

    `allocations` pairs the pod-local name of each claim with its allocation; `requests` are the pod's requests of node
    resources, in thousandths; `extended` is the claim behind its extended resources, which the binder makes (KAI-064).
    `share` is the pod's share of GPUs (KAI-380).
    """
    spec: Obj = {
        "podName": name_of(pod),
        "selectedNode": node,
        "receivedResourceType": received_type(requests),
        "receivedGPU": received_gpu(requests),
    }
    if share is not None:
        spec |= {
            "receivedResourceType": "Fraction",
            "receivedGPU": share.received,
            "selectedGPUGroups": [*share.groups],
        }
    if allocations:
        spec["resourceClaimAllocations"] = [
            {"name": reference, "allocation": allocation} for reference, allocation in allocations
        ]
    if extended is not None:
        spec["extendedResourceClaimAllocation"] = extended
    pod_reference = owner_reference({"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]})
    return {
        "apiVersion": BIND_REQUESTS.api_version,
        "kind": BIND_REQUESTS.kind,
        "metadata": {
            "name": name_for(pod, revision, random_source),
            "namespace": namespace_of(pod),
            "labels": labels_for(pod, node, revision),
            "ownerReferences": [pod_reference],
        },
        "spec": spec,
    }


def same_decision(one: Obj, other: Obj) -> bool:
    """Return whether two BindRequests give the same pod, by uid, the same node, and the same devices and GPU groups."""
    return _decision(one) == _decision(other)


def _decision(request: Obj) -> object:
    allocations = (request.get("spec") or {}).get("resourceClaimAllocations") or ()
    devices = [
        (str(entry.get("name")), result.get("driver"), result.get("pool"), result.get("device"))
        for entry in allocations
        for result in results_of_allocation(entry.get("allocation"))
    ]
    # The owner's uid and not the pod's name: a pod created again under the same name is another pod.
    owners = [reference.get("uid") for reference in meta(request).get("ownerReferences") or ()]
    return owners, selected_node(request), devices, groups_of(request)


def pod_key(request: Obj) -> tuple[str, str]:
    """Return the pod that a BindRequest is about: spec.podName in its own namespace (KAI-077)."""
    return namespace_of(request), str((request.get("spec") or {}).get("podName") or "")


def selected_node(request: Obj) -> str:
    """Return the node that a BindRequest names."""
    return str((request.get("spec") or {}).get("selectedNode") or "")


def failed(request: Obj) -> bool:
    """Return whether the binder stopped trying: phase Failed and no attempt left (KAI-070 to KAI-072)."""
    status = request.get("status") or {}
    limit = (request.get("spec") or {}).get("backoffLimit")
    return status.get("phase") == "Failed" and (limit is None or int(status.get("failedAttempts") or 0) >= limit)


def alive(request: Obj) -> bool:
    """Return whether a BindRequest still counts for its pod."""
    return not failed(request) and not meta(request).get("deletionTimestamp")
