"""From picked devices to the v1.AllocationResult of a claim: results, configs, node selector.

Source: allocator_incubating.go (v0.36) result assembly, createNodeSelector; rules DRA-141 to DRA-144, DRA-177 to
DRA-180, DRA-197, DRA-198, DRA-220, DRA-517. Class configs follow 1.37: each class once, without a list of requests if
it covers them all; claim configs appear once (kubernetes/kubernetes#139731, #139732).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator.model import AllocationError, Claim, Classes, Device, SubRequest

# One chosen (sub)request with its devices, in the order of allocation.
Chosen = Sequence[tuple[SubRequest, Sequence[Device]]]
MakeShareId = Callable[[], str]
# Consumption of each capacity of a shared device by a request, as text; None for an exclusive device.
ConsumedBy = Callable[[Device, SubRequest], Mapping[str, str] | None]


def device_result(
    request: SubRequest, device: Device, *, consumed: Mapping[str, str] | None, make_share_id: MakeShareId
) -> Obj:
    """Return one entry of `devices.results`."""
    result: Obj = {
        "request": request.name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.device,
    }
    if request.admin_access:
        result["adminAccess"] = True
    if request.tolerations:
        # Recorded, because taint eviction reads tolerations from the allocation and not from the spec.
        result["tolerations"] = [dict(toleration) for toleration in request.tolerations]
    if device.binding_conditions:
        result["bindingConditions"] = list(device.binding_conditions)
    if device.binding_failure_conditions:
        result["bindingFailureConditions"] = list(device.binding_failure_conditions)
    if device.skipped_operations:
        # A copy, because the kubelet decides by the allocation and not by the slice.
        result["skipNodeOperations"] = list(device.skipped_operations)
    if consumed is not None:
        result["shareID"] = make_share_id()
        if consumed:
            result["consumedCapacity"] = dict(consumed)
    return result


def configs(claim: Claim, chosen: Chosen, classes: Classes) -> list[Obj]:
    """Return class configs in the order of requests, then claim configs in the order of the spec (DRA-177)."""
    return [*class_configs(chosen, classes), *claim_configs(claim, chosen)]


def class_configs(chosen: Chosen, classes: Classes) -> list[Obj]:
    """Return each class's configs once, naming the requests that use the class unless all do (DRA-178)."""
    users: dict[str, list[str]] = {}
    for request, _ in chosen:
        users.setdefault(request.class_name, []).append(request.name)
    found: list[Obj] = []
    for class_name, requests in users.items():
        for config in classes[class_name].configs:
            entry: Obj = {"source": "FromClass", **config}
            # No list means that the config is for all requests.
            if len(requests) < len(chosen):
                entry["requests"] = list(requests)
            found.append(entry)
    return found


def claim_configs(claim: Claim, chosen: Chosen) -> list[Obj]:
    """Return the claim's own configs that name no request or a chosen one, each once and with its scope (DRA-179,
    DRA-180).
    """
    # A config for a request applies to its subrequests too, whichever was chosen.
    names = {name for request, _ in chosen for name in (request.name, request.parent)}
    return [
        {"source": "FromClaim", **config}
        for config in claim.configs
        if not config.get("requests") or names.intersection(config["requests"])
    ]


def without_lists_of_all(allocation: Obj) -> Obj:
    """Return an allocation whose configs for all requests list none, as kube-scheduler writes it since 1.37 (DRA-482).

    KAI's documented BindRequests keep the lists, which mean the same.
    """
    devices = allocation["devices"]
    if not devices.get("config"):
        return allocation
    used = {result["request"] for result in devices["results"]}

    def for_all(config: Obj) -> bool:
        named = config.get("requests") or ()
        return all(request in named or request.partition("/")[0] in named for request in used)

    entries = [
        {key: value for key, value in config.items() if key != "requests"} if for_all(config) else config
        for config in devices["config"]
    ]
    return {**allocation, "devices": {**devices, "config": entries}}


def node_selector(devices: Sequence[Device], node: NodeFacts) -> Obj | None:
    """Return the nodes that can use the allocation; None means all.

    A device of this node alone pins the allocation to it; otherwise the requirements of all devices' selectors, each
    once, in one term (DRA-141 to DRA-144). Raises AllocationError for a selector with several terms.
    """
    fields: list[Obj] = []
    expressions: list[Obj] = []
    for device in devices:
        if device.node_name or device.binds_to_node:
            only = {"key": "metadata.name", "operator": "In", "values": [node.name]}
            return {"nodeSelectorTerms": [{"matchFields": [only]}]}
        terms = (device.node_selector or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            raise AllocationError(f"device {device.id}: unsupported node selector with {len(terms)} terms")
        for term in terms:
            _merge(fields, term.get("matchFields") or ())
            _merge(expressions, term.get("matchExpressions") or ())
    if not fields and not expressions:
        return None
    merged: Obj = {}
    if expressions:
        merged["matchExpressions"] = expressions
    if fields:
        merged["matchFields"] = fields
    return {"nodeSelectorTerms": [merged]}


def _merge(into: list[Obj], requirements: Sequence[Obj]) -> None:
    into.extend(requirement for requirement in requirements if requirement not in into)


def assemble(
    claim: Claim,
    chosen: Chosen,
    node: NodeFacts,
    classes: Classes,
    *,
    consumed_by: ConsumedBy,
    make_share_id: MakeShareId,
) -> Obj:
    """Return the claim's v1.AllocationResult."""
    devices: Obj = {
        "results": [
            device_result(request, device, consumed=consumed_by(device, request), make_share_id=make_share_id)
            for request, picked in chosen
            for device in picked
        ]
    }
    if entries := configs(claim, chosen, classes):
        devices["config"] = entries
    result: Obj = {"devices": devices}
    if selector := node_selector([device for _, picked in chosen for device in picked], node):
        result["nodeSelector"] = selector
    return result
