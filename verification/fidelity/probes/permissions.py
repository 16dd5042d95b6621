"""Permissions that depend on the content of a claim's status (DRAResourceClaimGranularStatusAuthorization)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, get, patch, post, put
from verification.fidelity.probes.objects import CLAIMS, RBAC, allocation, claim

_ONE = CLAIMS + "/c"
_STATUS = _ONE + "/status"
_AGENT = "system:serviceaccount:{ns}:agent"
_NODE_EXTRA = "Impersonate-Extra-Authentication.kubernetes.io%2fNode-Name"
_CAN_READ = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]}
_CAN_WRITE = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["patch", "update"]}


def _rule(subresource: str, *verbs: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "apiGroups": ["resource.k8s.io"],
        "resources": [f"resourceclaims/{subresource}"],
        "verbs": list(verbs),
    }
    return {**rule, "resourceNames": list(names)} if names else rule


def _granted(*rules: dict[str, Any], namespaced: tuple[dict[str, Any], ...] = ()) -> tuple[Step, ...]:
    """Create the claim, a role for the agent in the cluster and one in the namespace, and wait until both apply."""
    group = "rbac.authorization.k8s.io"
    subjects = [{"kind": "User", "apiGroup": group, "name": name} for name in (_AGENT, "{id}-user")]
    steps = [post(CLAIMS, claim(), keep="none")]
    for kind, path, found in (
        ("Role", RBAC + "/namespaces/{ns}/role", [_CAN_READ, *namespaced]),
        ("ClusterRole", RBAC + "/clusterrole", [_CAN_WRITE, *rules]),
    ):
        reference = {"apiGroup": group, "kind": kind, "name": "{id}"}
        body = {"metadata": {"name": "{id}"}, "roleRef": reference, "subjects": subjects}
        steps += [
            post(path + "s", {"metadata": {"name": "{id}"}, "rules": found}, keep="none"),
            post(path + "bindings", body, keep="none"),
        ]
    # The server's caches of roles are filled later: reading and an empty patch show that they are.
    ready = patch(_STATUS, {}, headers=_as(), until=200, patience=5.0, keep="code")
    return (*steps, get(_ONE, headers=_as(), until=200, patience=5.0, keep="code"), ready)


def _as(node: str = "", *, user: str = _AGENT) -> dict[str, str]:
    return {"Impersonate-User": user, **({_NODE_EXTRA: node} if node else {})}


def _bound(*terms: dict[str, Any]) -> Step:
    selector = {"nodeSelector": {"nodeSelectorTerms": list(terms)}} if terms else {}
    return patch(_STATUS, {"status": {"allocation": {**_three(), **selector}}}, keep="code")


def _three() -> dict[str, Any]:
    first = allocation()["devices"]["results"][0]
    others = ({"device": "gpu-1"}, {"driver": "nic.example.com", "pool": "p", "device": "nic-0"})
    return {"devices": {"results": [first, *({**first, **more} for more in others)]}}


def _device(device: str = "gpu-0", **more: Any) -> dict[str, Any]:
    return {"driver": "gpu.example.com", "pool": "node-1", "device": device, **more}


_NIC = {"driver": "nic.example.com", "pool": "p", "device": "nic-0"}


def _devices(*entries: dict[str, Any], headers: dict[str, str] | None = None) -> Step:
    return patch(_STATUS, {"status": {"devices": list(entries)}}, headers=headers or _as(), keep=_KEPT)


_KEPT = ("status.devices", "status.allocation.devices.results.device", "status.reservedFor")


def _named(field: str = "metadata.name", operator: str = "In", *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": field, "operator": operator, "values": list(values) or ["node-1"]}]}


def _bindings() -> Iterator[Probe]:
    allocate = patch(_STATUS, {"status": {"allocation": allocation()}}, headers=_as(), keep=_KEPT)
    whole = put(_STATUS, {**claim(), "status": {"allocation": allocation()}}, headers=_as(), keep=_KEPT)
    pods = [{"resource": "pods", "name": "p", "uid": "u-1"}]
    reserve = patch(_STATUS, {"status": {"reservedFor": pods}}, headers=_as(), keep=_KEPT)
    rules: dict[str, tuple[Step, ...]] = {
        "none": _granted(),
        "patch": _granted(_rule("binding", "patch")),
        "update": _granted(_rule("binding", "update")),
        # The permission must be valid in the whole cluster.
        "namespace": _granted(namespaced=(_rule("binding", "patch", "update"),)),
        "driver": _granted(_rule("driver", "arbitrary-node:patch", "arbitrary-node:update")),
    }
    for name, granted in rules.items():
        yield Probe(f"permission/binding-{name}", (*granted, allocate))
    for name in ("patch", "update"):
        yield Probe(f"permission/binding-put-{name}", (*rules[name], whole))
    for name in ("none", "patch"):
        yield Probe(f"permission/reserve-{name}", (*rules[name], _bound(_named()), reserve))
    # Only one of the two fields changes; an equal one needs no permission.
    same = patch(_STATUS, {"status": {"allocation": _three(), "conditions": None}}, headers=_as(), keep=_KEPT)
    yield Probe("permission/binding-same", (*rules["none"], _bound(), same))
    away = patch(_STATUS, {"status": {"allocation": None}}, headers=_as(), keep=_KEPT)
    yield Probe("permission/binding-removed", (*rules["none"], _bound(), away))


def _drivers() -> Iterator[Probe]:
    anywhere = _rule("driver", "arbitrary-node:patch", names=("gpu.example.com",))
    here = _rule("driver", "associated-node:patch", names=("gpu.example.com",))
    change = _devices(_device(data={"a": 1}))
    rules: dict[str, tuple[Step, ...]] = {
        "none": _granted(),
        "anywhere": _granted(anywhere),
        "anywhere-put": _granted(_rule("driver", "arbitrary-node:update")),
        "anywhere-all": _granted(_rule("driver", "arbitrary-node:patch")),
        "anywhere-other": _granted(_rule("driver", "arbitrary-node:patch", names=("nic.example.com",))),
        "namespace": _granted(namespaced=(anywhere,)),
        "here": _granted(here),
        "namespace-here": _granted(namespaced=(here,)),
        "binding": _granted(_rule("binding", "patch")),
    }
    for name, granted in rules.items():
        yield Probe(f"permission/driver-{name}", (*granted, _bound(_named()), change))
        on_node = _devices(_device(data={"a": 1}), headers=_as("node-1"))
        yield Probe(f"permission/driver-{name}-node", (*granted, _bound(_named()), on_node))
    two = _devices(_device(), _NIC)
    for name in ("anywhere", "anywhere-all", "none"):
        yield Probe(f"permission/drivers-two-{name}", (*rules[name], _bound(_named()), two))
    # Only the drivers whose entries change need permission, also for an entry that goes.
    first = patch(_STATUS, {"status": {"devices": [_device(), _device("gpu-1"), _NIC]}}, keep="code")
    changes: dict[str, tuple[dict[str, Any], ...]] = {
        "order": (_NIC, _device("gpu-1"), _device()),
        "changed": (_device(data={"a": 1}), _device("gpu-1"), _NIC),
        "changed-second": (_device(), _device("gpu-1", data={"a": 1}), _NIC),
        "removed": (_device(), _NIC),
        "removed-other": (_device(), _device("gpu-1")),
        "changed-other": (_device(), _device("gpu-1"), {**_NIC, "data": {"a": 1}}),
        "all-removed": (),
    }
    for name, entries in changes.items():
        for role in ("none", "anywhere"):
            steps = (*rules[role], _bound(_named()), first, _devices(*entries))
            yield Probe(f"permission/entries-{name}-{role}", steps)


def _nodes() -> Iterator[Probe]:
    granted = _granted(_rule("driver", "associated-node:patch"))
    expression = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    fields = _named()["matchFields"]
    selectors: dict[str, tuple[dict[str, Any], ...]] = {
        "absent": (),
        "two-terms": (_named(), _named()),
        "expression": (expression,),
        "both": ({**_named(), **expression},),
        "two-fields": ({"matchFields": [*fields, *fields]},),
        "not-in": (_named("metadata.name", "NotIn"),),
        "other": (_named("metadata.name", "In", "node-2"),),
    }
    for name, terms in selectors.items():
        change = _devices(_device(), headers=_as("node-1"))
        yield Probe(f"permission/node-{name}", (*granted, _bound(*terms), change))
    users: dict[str, dict[str, str]] = {
        "no-account": _as("node-1", user="{id}-user"),
        "other": _as("node-2"),
        "none": _as(),
        "case": _as("Node-1"),
    }
    for name, headers in users.items():
        steps = (*granted, _bound(_named()), _devices(_device(), headers=headers))
        yield Probe(f"permission/user-{name}", steps)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _bindings()
    yield from _drivers()
    yield from _nodes()
