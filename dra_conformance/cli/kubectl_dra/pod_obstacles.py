"""Obstacles of a pod that do not depend on a node, and the objects as they would be without them.

Pure functions. Scheduling gates, and claims, templates and DeviceClasses that do not exist, keep schedulers from a pod.
The obstacles of nodes are computed as if they were resolved. Requests that cannot be known are left out.

Source: k8s.io/dynamic-resource-allocation/resourceclaim and the dynamicresources plugin of kube-scheduler (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_api.objects import Obj, key_of, meta, name_of, namespace_of
from dra_conformance.cli.node_groups import identified
from dra_conformance.cli.simulation import generated_name
from dra_conformance.oracle.dumps import Dump, Located
from reference_impl.scheduler import extended_resources, pod_claims

_Key = tuple[str, str, str]


@dataclass
class Repair:
    """The obstacles of a pod, the requests that are `unknown`, and the changed objects; None removes an object."""

    obstacles: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    changed: dict[_Key, Obj | None] = field(default_factory=dict)

    def of(self, dump: Dump) -> Dump:
        """Return a dump with the changed objects. Its `cluster` is as before."""
        objects = (Located(self.changed.get(_key(one.obj), one.obj) or {}, one.where) for one in dump.objects)
        return replace(dump, objects=tuple(one for one in objects if one.obj))


def repair(dump: Dump, pod: Obj) -> Repair:
    """Return the obstacles of a pending pod, and the changes after which it has none of them."""
    found = Repair([*_gates(pod)])
    objects = {_key(obj): obj for kind in ("ResourceClaim", "ResourceClaimTemplate") for obj in dump.of_kind(kind)}
    repaired = _with_claims(identified(pod), objects, found)
    repaired = _with_classes(dump, repaired, objects, found)
    found.changed[_key(pod)] = repaired
    # An earlier attempt of a scheduler may have left a claim for extended resources. The next one makes another.
    for claim in dump.of_kind("ResourceClaim"):
        if extended_resources.is_claim_of(claim, identified(pod)):
            found.changed[_key(claim)] = None
    return found


def _key(obj: Obj) -> _Key:
    return str(obj.get("kind")), namespace_of(obj) or "default", name_of(obj)


def _gates(pod: Obj) -> Iterator[str]:
    gates = (pod.get("spec") or {}).get("schedulingGates")
    for gate in gates if isinstance(gates, list) else ():
        if isinstance(gate, dict):
            yield f"scheduling gate {gate.get('name')}: a controller must remove it first"


# -- claims and templates ----------------------------------------------------------------------------------------------


def _with_claims(pod: Obj, objects: Mapping[_Key, Obj], found: Repair) -> Obj:
    """Return the pod without entries whose claims are not known, and note all obstacles of its claims."""
    kept: list[Obj] = []
    recorded: list[Obj] = []
    for entry in pod_claims.references(pod):
        reference, named = str(entry.get("name")), entry.get("resourceClaimName")
        status = pod_claims.recorded(pod, reference)
        if not named and status is not None:
            if pod_claims.needs_no_claim(status) or _usable(
                pod, entry, str(status["resourceClaimName"]), objects, found
            ):
                recorded.append(status)
                kept.append(entry)
                continue
        elif named and _usable(pod, entry, str(named), objects, found):
            kept.append(entry)
            continue
        if not named and _template(pod, entry, objects, found):
            kept.append(entry)
        else:
            found.unknown.append(f"entry {reference}")
    spec = {**(pod.get("spec") or {}), "resourceClaims": kept}
    return {**pod, "spec": spec, "status": {**(pod.get("status") or {}), "resourceClaimStatuses": recorded}}


def _usable(pod: Obj, entry: Obj, name: str, objects: Mapping[_Key, Obj], found: Repair) -> bool:
    """Whether a claim shows what the pod needs. What keeps schedulers from using it is noted and repaired."""
    namespace = namespace_of(pod)
    key = ("ResourceClaim", namespace, name)
    who = f"ResourceClaim {namespace}/{name} of its entry {entry.get('name')}"
    claim = objects.get(key)
    if claim is None:
        found.obstacles.append(f"{who} does not exist")
        return False
    if not entry.get("resourceClaimName") and not pod_claims.belongs_to(claim, pod):
        found.obstacles.append(f"{who} was created for another pod")
        return False
    if meta(claim).get("deletionTimestamp"):
        found.obstacles.append(f"{who} is being deleted")
        claim = {**claim, "metadata": {k: v for k, v in meta(claim).items() if k != "deletionTimestamp"}}
    if not pod_claims.consumers_left(claim, pod):
        found.obstacles.append(f"{who} has {pod_claims.MAX_RESERVED_FOR} consumers, which is all that it can have")
        claim = {**claim, "status": {**claim["status"], "reservedFor": []}}
    found.changed[key] = claim
    return True


def _template(pod: Obj, entry: Obj, objects: Mapping[_Key, Obj], found: Repair) -> bool:
    """Whether the template of an entry is there, from which the simulation makes the claim."""
    namespace, name = namespace_of(pod), str(entry.get("resourceClaimTemplateName"))
    if ("ResourceClaimTemplate", namespace, name) in objects:
        return True
    found.obstacles.append(f"ResourceClaimTemplate {namespace}/{name} of its entry {entry.get('name')} does not exist")
    return False


# -- classes -----------------------------------------------------------------------------------------------------------


def _with_classes(dump: Dump, pod: Obj, objects: Mapping[_Key, Obj], found: Repair) -> Obj:
    """Return the pod without claims of which no request has a DeviceClass; the others lose requests without one."""
    kept: list[Obj] = []
    for entry in pod_claims.references(pod):
        key = _source(pod, entry)
        obj = found.changed.get(key) or objects.get(key)
        if obj is None or (obj.get("status") or {}).get("allocation"):
            kept.append(entry)
            continue
        template = key[0] == "ResourceClaimTemplate"
        spec = (obj.get("spec") or {}).get("spec") or {} if template else obj.get("spec") or {}
        who = claim_of_entry(entry) if template else f"claim {key[1]}/{key[2]}"
        lost = [*_lost(spec, {name_of(one) for one in dump.of_kind("DeviceClass")}, who, found)]
        if not lost:
            kept.append(entry)
            continue
        left = _without_requests(spec, lost)
        if left["devices"]["requests"]:
            kept.append(entry)
            found.changed[key] = {**obj, "spec": {**obj["spec"], "spec": left} if template else left}
    return {**pod, "spec": {**pod["spec"], "resourceClaims": kept}}


def _source(pod: Obj, entry: Obj) -> _Key:
    """Return the key of the claim of an entry or, if the claim is to be made, of its template."""
    status = pod_claims.recorded(pod, str(entry.get("name"))) or {}
    name = entry.get("resourceClaimName") or status.get("resourceClaimName")
    if name:
        return "ResourceClaim", namespace_of(pod), str(name)
    return "ResourceClaimTemplate", namespace_of(pod), str(entry.get("resourceClaimTemplateName"))


def _lost(spec: Obj, classes: set[str], who: str, found: Repair) -> Iterator[str]:
    """Yield the requests with a DeviceClass that does not exist, and note them."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        alternatives = [request["exactly"]] if request.get("exactly") else request.get("firstAvailable") or []
        missing = [one for one in alternatives if one.get("deviceClassName") not in classes]
        for one in missing:
            name = f"{request['name']}/{one['name']}" if one.get("name") else request["name"]
            text = f"{who}, request {name}: DeviceClass {one.get('deviceClassName')} does not exist"
            if text not in found.obstacles:  # two entries may have one claim or template
                found.obstacles.append(text)
        if missing:
            found.unknown.append(f"{who}, request {request['name']}")
            yield str(request["name"])


def _without_requests(spec: Obj, lost: Sequence[str]) -> Obj:
    """Return the spec of a claim without some requests, and without the constraints that are only about these."""
    devices = spec["devices"]
    constraints = []
    for constraint in devices.get("constraints") or ():
        covered = constraint.get("requests") or ()
        left = [name for name in covered if name.partition("/")[0] not in lost]
        if left or not covered:
            constraints.append({**constraint, "requests": left})
    requests = [request for request in devices["requests"] if request["name"] not in lost]
    return {**spec, "devices": {**devices, "requests": requests, "constraints": constraints, "config": []}}


# -- names -------------------------------------------------------------------------------------------------------------


def claim_of_entry(entry: Obj) -> str:
    """Return how sentences name a claim that is still to be made from a template."""
    return f"claim of entry {entry.get('name')} (ResourceClaimTemplate {entry.get('resourceClaimTemplateName')})"


def generated_names(pod: Obj) -> dict[tuple[str, str], str]:
    """Return how sentences name the claims that the simulation makes for a pod, by their key."""
    return {
        (namespace_of(pod), generated_name(pod, entry)): claim_of_entry(entry)
        for entry in pod_claims.references(pod)
        if not entry.get("resourceClaimName")
    }


def is_other_pending(obj: Obj, pod: Obj) -> bool:
    """Whether an object is another pod that waits for a node."""
    if obj.get("kind") != "Pod" or (obj.get("spec") or {}).get("nodeName"):
        return False
    return key_of(identified(obj)) != key_of(identified(pod))
