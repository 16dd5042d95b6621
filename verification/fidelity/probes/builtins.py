"""Kinds of the core and other built-in groups: events, secrets, nodes, namespaces, roles, leases, workloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import JSON_PATCH, Probe, Step, delete, get, patch, post, put, watch
from verification.fidelity.probes.objects import (
    CORE,
    EVENTS,
    LEASES,
    MAPS,
    NEW_EVENTS,
    NODE_AT_REST,
    NODES,
    NS,
    RBAC,
    config_map,
)

_ONE_NODE = NODES + "/{id}"
_SECRETS = NS + "/secrets"
_TIME = "2020-01-02T03:04:05.123456Z"


def _core_event(**more: Any) -> dict[str, Any]:
    involved = {"kind": "Pod", "name": "p", "namespace": "{ns}", "apiVersion": "v1"}
    return {"metadata": {"name": "e"}, "involvedObject": involved, "reason": "R", "type": "Normal", **more}


def _new_event(**more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}", "apiVersion": "v1"},
        "reportingController": "example.com/fidelity",
        "reportingInstance": "one",
        "action": "Testing",
        "reason": "R",
        "type": "Normal",
        "eventTime": _TIME,
        "note": "text",
        **more,
    }


def _events() -> Iterator[Probe]:
    both = (get(EVENTS + "/e"), get(NEW_EVENTS + "/e"))
    full = _core_event(
        message="text",
        source={"component": "c", "host": "h"},
        count=3,
        firstTimestamp="2020-01-02T03:04:05Z",
        lastTimestamp="2020-01-02T03:04:06Z",
        action="Testing",
        related={"kind": "Node", "name": "n"},
        series={"count": 2, "lastObservedTime": _TIME},
    )
    yield Probe("event/core", (post(EVENTS, full), *both))
    yield Probe("event/core-bare", (post(EVENTS, _core_event()), *both))
    yield Probe("event/new", (post(NEW_EVENTS, _new_event()), *both))
    series = {"count": 2, "lastObservedTime": _TIME}
    yield Probe("event/new-series", (post(NEW_EVENTS, _new_event(series=series)), *both))
    for field in ("reportingController", "reportingInstance", "action", "reason", "type", "eventTime", "note"):
        without = {name: value for name, value in _new_event().items() if name != field}
        yield Probe(f"event/new-without-{field.lower()}", (post(NEW_EVENTS, without),))
    yield Probe("event/new-type", (post(NEW_EVENTS, _new_event(type="Odd")),))
    yield Probe("event/new-warning", (post(NEW_EVENTS, _new_event(type="Warning")),))
    yield Probe("event/core-type", (post(EVENTS, _core_event(type="Odd")),))
    elsewhere = {"kind": "Pod", "name": "p", "namespace": "elsewhere"}
    yield Probe("event/core-elsewhere", (post(EVENTS, _core_event(involvedObject=elsewhere)),))
    yield Probe("event/new-elsewhere", (post(NEW_EVENTS, _new_event(regarding=elsewhere)),))
    cluster = {"kind": "Node", "name": "n", "uid": "n"}
    yield Probe("event/core-cluster", (post(EVENTS, _core_event(involvedObject=cluster)),))
    default = {**_core_event(involvedObject=cluster), "metadata": {"name": "{id}"}}
    yield Probe("event/core-cluster-default", (post(CORE + "/namespaces/default/events", default),))
    made = post(EVENTS, _core_event(message="text"), keep="none")
    yield Probe("event/patched", (made, patch(EVENTS + "/e", {"count": 5, "message": "new"}), *both))
    yield Probe("event/patched-new", (made, patch(NEW_EVENTS + "/e", {"note": "new"}), *both))
    yield Probe("event/listed", (made, get(EVENTS), get(NEW_EVENTS)))
    yield Probe("event/watched", (made, watch(NEW_EVENTS, 1, query=(("resourceVersion", "0"),))))
    for field, value in {
        "involvedObject.name": "p",
        "involvedObject.kind": "Pod",
        "involvedObject.uid": "x",
        "reason": "R",
        "type": "Warning",
        "source": "c",
        "reportingComponent": "example.com/fidelity",
        "metadata.name": "e",
    }.items():
        query = (("fieldSelector", f"{field}={value}"),)
        keep = ("items.metadata.name",)
        yield Probe(f"event/field-{field.lower()}", (made, get(EVENTS, query=query, keep=keep)))
    query = (("fieldSelector", "regarding.name=p"),)
    yield Probe("event/new-field", (made, get(NEW_EVENTS, query=query, keep=("items.metadata.name",))))
    yield Probe("event/put-creates", (put(EVENTS + "/e", _core_event()),))
    yield Probe("event/deleted", (made, delete(NEW_EVENTS + "/e"), get(EVENTS + "/e", keep="status")))


def _data() -> Iterator[Probe]:
    def secret(**more: Any) -> dict[str, Any]:
        return {"metadata": {"name": "s"}, **more}

    table: dict[str, dict[str, Any]] = {
        "plain": secret(data={"a": "Yg=="}),
        "not-base64": secret(data={"a": "###"}),
        "string-wins": secret(data={"a": "Yg=="}, stringData={"a": "other", "b": "more"}),
        "typed": secret(type="kubernetes.io/basic-auth", stringData={"username": "u", "password": "p"}),
        "bad-key": secret(data={"a b": "Yg=="}),
        "empty": secret(),
        "null": secret(data=None),
        "immutable": secret(immutable=True, data={"a": "Yg=="}),
    }
    for name, body in table.items():
        yield Probe(f"data/secret-{name}", (post(_SECRETS, body), get(_SECRETS + "/s")))
    first = post(_SECRETS, secret(data={"a": "Yg=="}), keep="none")
    one = _SECRETS + "/s"
    yield Probe("data/secret-type-fixed", (first, patch(one, {"type": "other/type"})))
    yield Probe("data/secret-string-patch", (first, patch(one, {"stringData": {"b": "c"}})))
    for kind, path, body, field in (
        ("secret", _SECRETS, secret(immutable=True, data={"a": "Yg=="}), "data"),
        ("map", MAPS, {"metadata": {"name": "s"}, "immutable": True, "data": {"a": "b"}}, "data"),
        ("binary", MAPS, {"metadata": {"name": "s"}, "immutable": True, "binaryData": {"a": "Yg=="}}, "binaryData"),
    ):
        fixed = post(path, body, keep="none")
        yield Probe(f"data/{kind}-immutable-data", (fixed, patch(path + "/s", {field: {"c": "Yg=="}})))
        yield Probe(f"data/{kind}-immutable-off", (fixed, patch(path + "/s", {"immutable": False})))
        yield Probe(f"data/{kind}-immutable-gone", (fixed, patch(path + "/s", {"immutable": None})))
        yield Probe(f"data/{kind}-immutable-label", (fixed, patch(path + "/s", {"metadata": {"labels": {"a": "b"}}})))
    on = patch(MAPS + "/a", {"immutable": True})
    yield Probe("data/map-made-immutable", (post(MAPS, config_map(), keep="none"), on))
    maps: dict[str, dict[str, Any]] = {
        "binary": {"binaryData": {"b": "Yg=="}},
        "binary-bad": {"binaryData": {"b": "#"}},
        "both": {"data": {"k": "v"}, "binaryData": {"k": "Yg=="}},
        "bad-key": {"data": {"a/b": "v"}},
        "dot-key": {"data": {"..": "v"}},
        "long-key": {"data": {"k" * 254: "v"}},
        "empty": {"data": {}},
        "generation": {"data": {"k": "v"}},
    }
    for name, body in maps.items():
        yield Probe(f"data/map-{name}", (post(MAPS, {"metadata": {"name": "m"}, **body}),))
    fields = (("fieldSelector", "type=Opaque"),)
    yield Probe("data/secret-field", (first, get(_SECRETS, query=fields, keep=("items.metadata.name",))))
    other = (("fieldSelector", "type=other"),)
    yield Probe("data/secret-field-other", (first, get(_SECRETS, query=other, keep=("items.metadata.name",))))


def _namespaces() -> Iterator[Probe]:
    yield Probe("namespace/finalize", (put(NS + "/finalize", {"metadata": {"name": "{ns}"}, "spec": {}}),))
    more = {"metadata": {"name": "{ns}"}, "spec": {"finalizers": ["example.com/x", "kubernetes"]}}
    yield Probe("namespace/finalize-more", (put(NS + "/finalize", more), get(NS, keep=("spec", "metadata.labels"))))
    status = {"metadata": {"name": "{ns}", "labels": {"a": "b"}}, "status": {"phase": "Active"}}
    yield Probe("namespace/status-put", (put(NS + "/status", status),))
    condition = {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}
    yield Probe("namespace/status-patch", (patch(NS + "/status", condition),))
    yield Probe("namespace/spec-kept", (patch(NS, {"spec": {"finalizers": ["example.com/x"]}}),))
    made = {"metadata": {"name": "{id}-x"}, "spec": {"finalizers": ["example.com/y"]}, "status": {"phase": "Odd"}}
    yield Probe("namespace/create-finalizers", (post(CORE + "/namespaces", made),))
    field = (("fieldSelector", "status.phase=Active,metadata.name={ns}"),)
    list_ = get(CORE + "/namespaces", query=field, keep=("items.metadata.name",))
    yield Probe("namespace/field", (get(NS, keep="code"), list_))
    guarded = {"metadata": {"finalizers": ["example.com/guard"]}}
    marks = ("status.phase", "metadata.finalizers", "spec.finalizers")
    yield Probe(
        "namespace/metadata-finalizer",
        (
            patch(NS, guarded, keep="code"),
            delete(NS, keep="code"),
            get(NS, keep=marks, until_body={"spec.finalizers": None}, patience=20.0),
            patch(NS, {"metadata": {"finalizers": None}}, keep="code"),
            get(NS, until=404, keep="status"),
        ),
    )
    yield Probe("namespace/uid-wrong", (delete(NS, {"preconditions": {"uid": "x"}}),))
    yield Probe("namespace/unnamed-label", (patch(NS, {"metadata": {"labels": None}}),))


def _nodes() -> Iterator[Probe]:
    made = (post(NODES, {"metadata": {"name": "{id}"}}, keep="none"), get(_ONE_NODE, until_body=NODE_AT_REST))
    spec = {"spec": {"providerID": "one://x"}}
    again = {"spec": {"providerID": "two://y"}}
    keep = ("spec",)
    yield Probe("node/provider", (*made, patch(_ONE_NODE, spec, keep=keep)))
    yield Probe("node/provider-changed", (*made, patch(_ONE_NODE, spec, keep="code"), patch(_ONE_NODE, again)))
    taint = {"key": "example.com/a", "effect": "NoSchedule"}
    taints: dict[str, list[dict[str, Any]]] = {
        "value": [{**taint, "value": "v"}],
        "value-bad": [{**taint, "value": "a b"}],
        "key-bad": [{**taint, "key": "a b"}],
        "key-empty": [{**taint, "key": ""}],
        "no-effect": [{"key": "a"}],
        "effect-bad": [{**taint, "effect": "Never"}],
        "twice": [taint, taint],
        "same-key": [taint, {**taint, "effect": "NoExecute"}],
        "prefer": [{**taint, "effect": "PreferNoSchedule"}],
        "second-bad": [taint, {"key": "", "effect": ""}],
    }
    for name, entries in taints.items():
        body = {"spec": {"taints": entries}}
        keep_ = ("spec.taints.key", "spec.taints.effect", "spec.taints.value")
        yield Probe(f"node/taint-{name}", (*made, patch(_ONE_NODE, body, keep=keep_)))
        named = {"metadata": {"name": "{id}"}, "spec": {"taints": entries}}
        yield Probe(f"node/create-taint-{name}", (post(NODES, named, keep="code"),))
    status = {
        "status": {
            "capacity": {"cpu": "4", "example.com/gpu": "2"},
            "allocatable": {"cpu": "4", "example.com/gpu": "2"},
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.2"},
        },
        "spec": {"unschedulable": True},
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/x"]},
    }
    parts = ("status", "spec", "metadata.labels", "metadata.annotations", "metadata.finalizers")
    yield Probe("node/status-all", (*made, patch(_ONE_NODE + "/status", status, keep=parts)))
    yield Probe("node/main-all", (*made, patch(_ONE_NODE, {"status": status["status"]}, keep=("status",))))
    whole = {"metadata": {"name": "{id}"}, "status": {"capacity": {"cpu": "8"}}}
    yield Probe("node/status-put", (*made, put(_ONE_NODE + "/status", whole, keep=("status", "spec"))))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for field in ("spec.unschedulable=false", "spec.unschedulable=true"):
        query = (("fieldSelector", f"{field},metadata.name={{id}}"),)
        steps = (*made, patch(_ONE_NODE + "/status", ready, keep="none"))
        yield Probe(f"node/field-{field}", (*steps, get(NODES, query=query, keep=("items.metadata.name",))))


def _roles() -> Iterator[Probe]:
    roles, cluster = RBAC + "/namespaces/{ns}/roles", RBAC + "/clusterroles"
    resource = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    rules: dict[str, dict[str, Any]] = {
        "no-verbs": {**resource, "verbs": []},
        "no-groups": {"resources": ["pods"], "verbs": ["get"]},
        "no-resources": {"apiGroups": [""], "verbs": ["get"]},
        "path": {"nonResourceURLs": ["/x"], "verbs": ["get"]},
        "both": {**resource, "nonResourceURLs": ["/x"]},
        "names": {**resource, "resourceNames": ["a"]},
    }
    for name, rule in rules.items():
        yield Probe(f"role/{name}", (post(roles, {"metadata": {"name": "r"}, "rules": [rule]}),))
        yield Probe(f"role/cluster-{name}", (post(cluster, {"metadata": {"name": "{id}"}, "rules": [resource, rule]}),))
    good = {"metadata": {"name": "r"}, "rules": [resource]}
    steps = (post(roles, good, keep="none"), put(roles + "/r", {**good, "rules": [rules["no-verbs"]]}))
    yield Probe("role/update", steps)
    bindings = RBAC + "/namespaces/{ns}/rolebindings"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}
    table: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
        "plain": (reference, [user]),
        "no-group": ({**reference, "apiGroup": ""}, [user]),
        "other-group": ({**reference, "apiGroup": "example.com"}, [user]),
        "no-name": ({**reference, "name": ""}, [user]),
        "bad-kind": ({**reference, "kind": "Nothing"}, [user]),
        "no-subjects": (reference, []),
        "account": (reference, [{"kind": "ServiceAccount", "name": "a", "namespace": "{ns}"}]),
        "account-no-namespace": (reference, [{"kind": "ServiceAccount", "name": "a"}]),
        "group": (reference, [{"kind": "Group", "name": "g"}]),
        "subject-kind": (reference, [{"kind": "Robot", "name": "g"}]),
        "subject-name": (reference, [{**user, "name": ""}]),
        "subject-group": (reference, [{**user, "apiGroup": "example.com"}]),
        "account-group": (reference, [{"kind": "ServiceAccount", "name": "a", "namespace": "n", "apiGroup": "x"}]),
        "second-subject": (reference, [user, {"kind": "Robot", "name": ""}]),
        "cluster-role": ({**reference, "kind": "ClusterRole"}, [user]),
    }
    for name, (role, subjects) in table.items():
        body = {"metadata": {"name": "b"}, "roleRef": role, "subjects": subjects}
        yield Probe(f"role/binding-{name}", (post(bindings, body),))
    whole = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [user]}
    second = {"subjects": [user, {**user, "name": "v"}]}
    yield Probe("role/binding-subject-added", (post(bindings, whole, keep="none"), patch(bindings + "/b", second)))


def _leases() -> Iterator[Probe]:
    def lease(**spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": "l"}, "spec": spec}

    table = {
        "duration-0": lease(leaseDurationSeconds=0),
        "duration-1": lease(leaseDurationSeconds=1),
        "transitions--1": lease(leaseTransitions=-1),
        "transitions-0": lease(leaseTransitions=0),
        "both": lease(leaseTransitions=-1, leaseDurationSeconds=-1),
        "holder-empty": lease(holderIdentity=""),
        "times": lease(acquireTime=_TIME, renewTime=_TIME, holderIdentity="me"),
        "times-short": lease(renewTime="2020-01-02T03:04:05Z"),
        "times-zone": lease(renewTime="2020-01-02T05:04:05.5+02:00"),
        "times-bad": lease(renewTime="soon"),
        "none": {"metadata": {"name": "l"}},
    }
    for name, body in table.items():
        yield Probe(f"lease/{name}", (post(LEASES, body), get(LEASES + "/l")))
    first = post(LEASES, lease(holderIdentity="me"), keep="none")
    one = LEASES + "/l"
    yield Probe("lease/patched", (first, patch(one, {"spec": {"leaseTransitions": -2}})))
    versioned = {
        **lease(holderIdentity="you"),
        "metadata": {"name": "l", "resourceVersion": "{0.metadata.resourceVersion}"},
    }
    yield Probe("lease/put", (first, put(one, versioned), put(one, versioned)))
    yield Probe("lease/put-creates", (put(one, lease(holderIdentity="me")),))


def _workloads() -> Iterator[Probe]:
    template: dict[str, Any] = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    spec: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    # Not what their controllers do with them: the emulator runs none of them.
    keep = ("spec.replicas", "spec.revisionHistoryLimit", "spec.selector", "metadata.generation")
    for kind, plural in (
        ("Deployment", "deployments"),
        ("DaemonSet", "daemonsets"),
        ("StatefulSet", "statefulsets"),
        ("ReplicaSet", "replicasets"),
    ):
        path = f"/apis/apps/v1/namespaces/{{ns}}/{plural}"
        body: dict[str, Any] = {"metadata": {"name": "w"}, "spec": {**spec, "replicas": 0}}
        if kind == "DaemonSet":
            # No node has this label, so that no pod is created.
            apart = {**template, "spec": {**template["spec"], "nodeSelector": {"example.com/none": "x"}}}
            body["spec"] = {**spec, "template": apart}
        name = kind.lower()
        yield Probe(f"workload/{name}", (post(path, body, keep=keep),))
        unselected = {**body, "spec": {**body["spec"], "selector": {"matchLabels": {"a": "c"}}}}
        yield Probe(f"workload/{name}-unselected", (post(path, unselected),))
        bare = {**body, "spec": {k: v for k, v in body["spec"].items() if k != "selector"}}
        yield Probe(f"workload/{name}-no-selector", (post(path, bare, keep="status"),))
        made = post(path, body, keep="none")
        change = [{"op": "replace", "path": "/spec/selector/matchLabels", "value": {"a": "b", "c": "d"}}]
        yield Probe(f"workload/{name}-selector-fixed", (made, patch(path + "/w", change, JSON_PATCH, keep="status")))
        size = patch(path + "/w", {"spec": {"minReadySeconds": 5}}, keep=("metadata.generation",))
        yield Probe(f"workload/{name}-generation", (made, size))
        label = patch(path + "/w", {"metadata": {"labels": {"a": "b"}}}, keep=("metadata.generation",))
        yield Probe(f"workload/{name}-label", (made, label))


def _others() -> Iterator[Probe]:
    keep = "all"
    table: dict[str, tuple[str, dict[str, Any]]] = {
        "priority-class": (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"metadata": {"name": "{id}"}, "value": 7, "preemptionPolicy": "Never", "description": "d"},
        ),
        "priority-class-high": (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"metadata": {"name": "{id}"}, "value": 1000000001},
        ),
        "account": (NS + "/serviceaccounts", {"metadata": {"name": "a"}, "automountServiceAccountToken": False}),
        "budget": (
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            {"metadata": {"name": "b"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}},
        ),
    }
    for name, (path, body) in table.items():
        steps: tuple[Step, ...] = (
            post(path, body, keep=keep if name != "budget" else ("spec", "metadata.generation")),
        )
        yield Probe(f"other/{name}", steps)
    path, body = table["priority-class"]
    for name, change in {"value": {"value": 8}, "policy": {"preemptionPolicy": "PreemptLowerPriority"}}.items():
        yield Probe(f"other/priority-{name}-fixed", (post(path, body, keep="none"), patch(path + "/{id}", change)))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _events()
    yield from _data()
    yield from _namespaces()
    yield from _nodes()
    yield from _roles()
    yield from _leases()
    yield from _workloads()
    yield from _others()
