"""Fields of features that are switched off while objects use them: the API server keeps or drops them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from verification.fidelity import dra_cases
from verification.fidelity.dra_cases import TIME, UID
from verification.fidelity.probe import Probe, Step, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    DRA,
    PODS,
    RBAC,
    SLICES,
    TEMPLATES,
    Obj,
    allocation,
    at,
    claim,
    device_class,
    exact,
    pod,
    slice_of,
)
from verification.fidelity.probes.resources import path_of, prepared

_COUNTERS = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
_CONSUMED = [{"counterSet": "set", "counters": {"memory": {"value": "1Gi"}}}]
_NODES = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}
_POLICY = {"value": "4", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}}}

# The fields of each feature in a slice: (of the spec, of the second device).
_OF_SLICES: dict[str, dict[str, tuple[Obj, Obj]]] = {
    "taints": {
        "taint": ({}, {"taints": [{"key": "a.example.com/k", "effect": "NoSchedule", "timeAdded": TIME}]}),
        "empty": ({}, {"taints": []}),
    },
    "partitions": {
        "consumed": ({}, {"consumesCounters": _CONSUMED}),
        "nodes": ({"perDeviceNodeSelection": True, "nodeName": None}, {"nodeName": "a"}),
        "selector": ({"perDeviceNodeSelection": True, "nodeName": None}, {"nodeSelector": _NODES}),
        "all-nodes": ({"perDeviceNodeSelection": True, "nodeName": None}, {"allNodes": True}),
    },
    "binding": {
        "binds": ({}, {"bindsToNode": True}),
        "conditions": ({}, {"bindingConditions": ["a.example.com/b"], "bindingFailureConditions": ["a.example.com/c"]}),
    },
    "shares": {
        "multiple": ({}, {"allowMultipleAllocations": True}),
        "not-multiple": ({}, {"allowMultipleAllocations": False}),
        "policy": ({}, {"allowMultipleAllocations": True, "capacity": {"c": _POLICY, "d": {"value": "1"}}}),
    },
    "lists": {
        "strings": ({}, {"attributes": {"a": {"strings": ["x"]}, "b": {"int": 1}}}),
        "ints": ({}, {"attributes": {"a": {"ints": [1, 2]}}}),
    },
    "node-resources": {
        "mapping": ({}, {"nodeAllocatableResourceMappings": {"memory": {"allocationMultiplier": "1"}}}),
    },
}
_OF_REQUESTS: dict[str, dict[str, tuple[Obj, Obj]]] = {
    "tolerations": {"toleration": ({}, {"tolerations": [{"key": "a", "operator": "Exists"}]})},
    "capacity": {
        "requests": ({}, {"capacity": {"requests": {"c": "1"}}}),
        "distinct": ({"constraints": [{"distinctAttribute": "a.example.com/b"}]}, {}),
        "distinct-too": (
            {"constraints": [{"matchAttribute": "a.example.com/b", "distinctAttribute": "a.example.com/b"}]},
            {},
        ),
    },
}


def _slice(spec: Obj, device: Obj, **labels: str) -> Obj:
    made = slice_of("{id}", {"name": "gpu-0"}, {"name": "gpu-1", **device}, metadata={"labels": labels}, **spec)
    # nodeName None: the devices have their own nodes.
    made["spec"] = {key: value for key, value in made["spec"].items() if value is not None}
    return made


def _of_slices() -> Iterator[Probe]:
    path = SLICES + "/{id}"
    for feature, variants in _OF_SLICES.items():
        for name, fields in variants.items():
            probe = f"gates-off/{feature}-{name}"
            yield Probe(f"{probe}-created", (), (post(SLICES, _slice(*fields)),))
            plain = post(SLICES, _slice({}, {}), keep="none")
            yield Probe(f"{probe}-added", (plain,), (put(path, _slice(*fields)), get(path)))
        for first, second in product(variants, variants):
            stored = (post(SLICES, _slice(*variants[first]), keep="none"),)
            changed = (put(path, _slice(*variants[second], new="label")), get(path))
            yield Probe(f"gates-off/{feature}-{first}-then-{second}", stored, changed)
    # The server sets the time of a taint that comes without one, which is a change.
    untimed = _slice({}, {"taints": [{"key": "a.example.com/k", "effect": "NoSchedule"}]})
    stored = (post(SLICES, _slice(*_OF_SLICES["taints"]["taint"]), keep="none"),)
    yield Probe("gates-off/taints-untimed", stored, (put(path, untimed),))
    yield Probe("slice-taints/untimed", (*stored, put(path, untimed)))
    counters = slice_of("{id}", devices=None, sharedCounters=_COUNTERS)
    del counters["spec"]["devices"]
    more = {**counters, "metadata": {"name": "{id}", "labels": {"new": "label"}}}
    yield Probe("gates-off/counters-created", (), (post(SLICES, counters),))
    yield Probe("gates-off/counters-kept", (post(SLICES, counters, keep="none"),), (put(path, more), get(path)))


def _of_claims() -> Iterator[Probe]:
    for feature, variants in _OF_REQUESTS.items():
        for name, (devices, request) in variants.items():
            made = claim("c", exact("q"), exact("r", **request), **devices)
            template = {"metadata": {"name": "t"}, "spec": {"spec": made["spec"]}}
            probe = f"gates-off/{feature}-{name}"
            yield Probe(f"{probe}-claim", (), (post(CLAIMS, made),))
            yield Probe(f"{probe}-template", (), (post(TEMPLATES, template),))
            kept = {**made, "metadata": {"name": "c", "labels": {"new": "label"}}}
            yield Probe(f"{probe}-claim-kept", (post(CLAIMS, made, keep="none"),), (put(CLAIMS + "/c", kept),))
            kept = {**template, "metadata": {"name": "t", "labels": {"new": "label"}}}
            stored = (post(TEMPLATES, template, keep="none"),)
            yield Probe(f"{probe}-template-kept", stored, (put(TEMPLATES + "/t", kept),))
            first = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "a.example.com", **request}]}
            made = claim("c", exact("q"), first, **devices)
            kept = {**made, "metadata": {"name": "c", "labels": {"new": "label"}}}
            yield Probe(f"{probe}-alternatives", (), (post(CLAIMS, made),))
            yield Probe(f"{probe}-alternatives-kept", (post(CLAIMS, made, keep="none"),), (put(CLAIMS + "/c", kept),))
    named = device_class("{id}", extendedResourceName="example.com/gpu")
    path = CLASSES + "/{id}"
    for name, before, after in (
        ("kept", named, {**named["spec"], "selectors": [{"cel": {"expression": "true"}}]}),
        ("removed", named, {"selectors": [{"cel": {"expression": "true"}}]}),
        ("added", device_class(), named["spec"]),
    ):
        steps = (put(path, {**named, "spec": after}), get(path))
        yield Probe(f"gates-off/class-{name}", (post(CLASSES, before, keep="none"),), steps)


def _of_statuses() -> Iterator[Probe]:
    path = CLAIMS + "/c/status"
    device = {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    results: dict[str, Obj] = {
        "plain": {},
        "share": {"shareID": UID},
        "consumed": {"shareID": UID, "consumedCapacity": {"c": "1"}},
        "binding": {"bindingConditions": ["a.example.com/b"], "bindingFailureConditions": ["a.example.com/c"]},
        "admin": {"adminAccess": True},
        "tolerated": {"tolerations": [{"key": "a", "operator": "Exists"}]},
    }
    label = {"resource.kubernetes.io/admin-access": "true"}
    for name, fields in results.items():
        share = {"shareID": UID} if "shareID" in fields else {}
        allocated = {"allocation": allocation(**fields)}
        both = {**allocated, "devices": [{**device, **share, "data": {"a": 1}}]}
        steps = (post(CLAIMS, claim(), keep="none"),)
        for what, status in (("allocated", allocated), ("reported", both)):
            wrong = {**status, "devices": [{**device, **share, "data": {"a": 2}}]}
            probe = f"gates-off/status-{name}-{what}"
            yield Probe(probe, steps, (put(path, {**claim(), "status": status}),), labels=label)
            stored = (*steps, put(path, {**claim(), "status": status}, keep="status"))
            yield Probe(f"{probe}-changed", stored, (put(path, {**claim(), "status": wrong}),), labels=label)
            yield Probe(f"{probe}-released", stored, (put(path, {**claim(), "status": {}}),), labels=label)
    # The claim's spec uses the feature, which keeps the fields of its status.
    spec = claim("c", exact("r", capacity={"requests": {"c": "1"}}))
    full = {"allocation": allocation(shareID=UID, consumedCapacity={"c": "1"})}
    yield Probe(
        "gates-off/status-consumed-as-requested",
        (post(CLAIMS, spec, keep="none"),),
        (put(path, {**spec, "status": full}),),
    )


def _of_permissions() -> Iterator[Probe]:
    user = ("{id}-driver", ())
    rules = [
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["update", "patch"]},
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]},
    ]
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "{id}-driver"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "d"}
    spaces = RBAC + "/namespaces/{ns}"
    path = CLAIMS + "/c/status"
    device = {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    reported = {"allocation": allocation(), "devices": [device]}
    yield Probe(
        "gates-off/status-by-a-driver",
        (
            post(spaces + "/roles", {"metadata": {"name": "d"}, "rules": rules}, keep="none"),
            post(
                spaces + "/rolebindings",
                {"metadata": {"name": "d"}, "roleRef": reference, "subjects": [subject]},
                keep="none",
            ),
            post(CLAIMS, claim(), keep="none"),
            put(path, {**claim(), "status": reported}, keep="status"),
            # Refused with the gate: the role has neither of the permissions for a driver.
            patch(path, {"status": {"devices": [{**device, "data": {"a": 1}}]}}, user=user),
        ),
        (
            patch(path, {"status": {"devices": [{**device, "data": {"a": 1}}]}}, user=user),
            patch(path, {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": UID}]}}, user=user),
        ),
    )


def _of_kinds() -> Iterator[Probe]:
    rule = {"metadata": {"name": "{id}"}, "spec": {"taint": {"key": "a.example.com/b", "effect": "NoExecute"}}}
    for version in ("v1alpha3", "v1beta2"):
        path = at(version, DRA + "/devicetaintrules")
        yield Probe(f"gates-off/rule-{version}", (), (post(path, rule),))
    for version in ("v1", "v1beta2", "v1beta1", "v1alpha3"):
        yield Probe(f"gates-off/discovery-{version}", (), (get(f"/apis/resource.k8s.io/{version}"),))
    statuses = [{"name": "main", "allocatedResourcesStatus": [{"name": "claim:c", "resources": []}]}]
    body = {"status": {"containerStatuses": statuses}}
    steps = (post(PODS, pod(), keep="none"),)
    yield Probe("gates-off/pod-health", steps, (patch(PODS + "/p/status", body, keep="code"),), pods=True)


def _of_cases() -> Iterator[Probe]:
    """Yield the cases of the emulator's own tests that disable a gate, here with all of them off."""
    for number, case in enumerate(dra_cases.CASES):
        if not case.gates:
            continue
        path, new = path_of(case.obj), prepared(case.obj)
        probe = f"gates-off/{number}-{case.rule}-{case.name.replace(' ', '-')}"
        if case.op == "create":
            yield Probe(probe, (), (post(path, new),), labels=case.labels)
            continue
        if case.old is None:
            raise ValueError(f"{case.id} has no stored object")
        old, where = prepared(case.old), path_of(case.old)
        before: tuple[Step, ...] = (post(where, old, keep="none"),)
        one = f"{where}/{old['metadata'].get('name', '{id}')}"
        if old.get("status"):
            # A create drops the status: it takes a second request.
            before += (put(f"{one}/status", old, keep="status"),)
        name = new["metadata"].get("name", "{id}")
        changed = put(f"{path}/{name}" + ("/status" if case.op == "status" else ""), new)
        yield Probe(probe, before, (changed,), labels=case.labels)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _of_slices()
    yield from _of_claims()
    yield from _of_statuses()
    yield from _of_permissions()
    yield from _of_kinds()
    yield from _of_cases()
