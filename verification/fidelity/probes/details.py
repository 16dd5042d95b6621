"""Details of reading and patching: tables, selectors, times in columns, directives of patches, protobuf bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import JSON_PATCH, STRATEGIC, Probe, Step, apply, delete, get, patch, post, watch
from verification.fidelity.probes.custom import definition
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    CORE,
    CRDS,
    DRA,
    LEASES,
    MAPS,
    NS,
    PODS,
    PROTOBUF,
    SLICES,
    TABLE,
    claim,
    config_map,
    pod,
)
from verification.fidelity.probes.verbs import KINDS

_GROUP = "{id}.example.com"
_THINGS = f"/apis/{_GROUP}/v1/namespaces/{{ns}}/things"


def _tables() -> Iterator[Probe]:
    # Not the columns of kinds that only the emulator's users do not print (secrets, roles and the like).
    for kind in ("configmap", "claim", "template", "slice", "class", "node", "namespace", "lease", "service-account"):
        path, body = KINDS[kind]
        one = f"{path}/{body['metadata']['name']}"
        keep = ("kind", "columnDefinitions.name", "columnDefinitions.priority", "rows.object.kind")
        yield Probe(f"table/{kind}", (post(path, body, keep="none"), get(one, headers=TABLE, keep=keep)))
    made = post(MAPS, config_map("a", labels={"both": "yes"}), keep="none")
    parts = ("columnDefinitions.name", "rows.cells", "rows.object", "metadata.remainingItemCount", "kind")
    for include in ("None", "Metadata", "Object", "Wrong"):
        query = (("includeObject", include), ("labelSelector", "both"))
        yield Probe(f"table/include-{include}", (made, get(MAPS, query=query, headers=TABLE, keep=parts)))
    since = (("resourceVersion", "0"), ("labelSelector", "both"))
    changed = patch(MAPS + "/a", {"data": {"k": "w"}}, keep="none")
    yield Probe("table/watch", (made, watch(MAPS, 2, changed, query=since, headers=TABLE, keep="status")))
    none = (*since, ("includeObject", "None"))
    yield Probe("table/watch-none", (made, watch(MAPS, 1, query=none, headers=TABLE, keep="status")))
    two = (("limit", "1"), ("labelSelector", "both"))
    second = post(MAPS, config_map("b", labels={"both": "yes"}), keep="none")
    yield Probe("table/page", (made, second, get(MAPS, query=two, headers=TABLE, keep=parts)))
    yield Probe("table/empty", (get(MAPS, query=(("labelSelector", "x=y"),), headers=TABLE, keep=("kind", "rows")),))
    statuses: dict[str, dict[str, Any]] = {
        "running": {"phase": "Running", "podIP": "192.0.2.1"},
        "waiting": {"containerStatuses": [_container("main", waiting={"reason": "ImagePullBackOff"})]},
        "terminated": {"containerStatuses": [_container("main", terminated={"reason": "Error", "exitCode": 1})]},
        "ready": {
            "phase": "Running",
            "containerStatuses": [_container("main", ready=True, restarts=3, running={"startedAt": None})],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
        "reason": {"phase": "Failed", "reason": "Evicted"},
        "succeeded": {"phase": "Succeeded"},
    }
    for name, status in statuses.items():
        steps = (
            post(PODS, pod(nodeName="n-1"), keep="none"),
            patch(PODS + "/p/status", {"status": status}, STRATEGIC, keep="code"),
            get(PODS + "/p", headers=TABLE, keep=("columnDefinitions.name", "rows.cells")),
        )
        yield Probe(f"table/pod-{name}", steps, pods=True)
    gated = post(PODS, pod(schedulingGates=[{"name": "example.com/a"}]), keep="none")
    yield Probe("table/pod-gated", (gated, get(PODS + "/p", headers=TABLE, keep=("rows.cells",))), pods=True)
    going = (post(PODS, pod(nodeName="n-1"), keep="none"), delete(PODS + "/p", keep="none"))
    yield Probe("table/pod-deleted", (*going, get(PODS + "/p", headers=TABLE, keep=("rows.cells",))), pods=True)
    node = CORE + "/nodes"
    for name, condition in {"ready": "True", "not-ready": "False", "unknown": "Unknown"}.items():
        status = {"status": {"conditions": [{"type": "Ready", "status": condition}]}}
        body = {"metadata": {"name": "{id}", "labels": {"node-role.kubernetes.io/gpu": "", "a": "b"}}}
        before = (post(node, body, keep="none"), patch(node + "/{id}/status", status, keep="none"))
        yield Probe(f"table/node-{name}", (*before, get(node + "/{id}", headers=TABLE, keep=("rows.cells",))))
    cordoned = {"metadata": {"name": "{id}"}, "spec": {"unschedulable": True}}
    yield Probe(
        "table/node-cordoned",
        (post(node, cordoned, keep="none"), get(node + "/{id}", headers=TABLE, keep=("rows.cells",))),
    )


def _container(name: str, *, ready: bool = False, restarts: int = 0, **state: Any) -> dict[str, Any]:
    return {"name": name, "ready": ready, "restartCount": restarts, "image": "x", "imageID": "x", "state": state}


def _ages() -> Iterator[Probe]:
    """Times in the printer columns of a custom resource, as people read them."""
    columns = [
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Port", "type": "integer", "jsonPath": ".spec.ports[0].port"},
        {"name": "Second", "type": "string", "jsonPath": ".spec.ports[1].name"},
        {"name": "Named", "type": "integer", "jsonPath": '.spec.ports[?(@.name=="b")].port'},
        {"name": "All", "type": "string", "jsonPath": ".spec.ports[*].name"},
        {"name": "Dotted", "type": "string", "jsonPath": ".metadata.annotations.example\\.com/a"},
        {"name": "Fixed", "type": "string", "jsonPath": ".spec.fixed", "description": "text"},
        {"name": "Free", "type": "string", "jsonPath": ".spec.free"},
        {"name": "Absent", "type": "string", "jsonPath": ".spec.nested.none"},
    ]
    made = definition(_GROUP, version={"additionalPrinterColumns": columns})
    ready = (post(CRDS, made, keep="none"), get(_THINGS, until=200, keep="code", patience=8.0))
    hour, day = 3600, 86400
    # In the middle of what each text stands for: the request takes a moment.
    seconds = {
        "minutes": 15 * 60 + 30,
        "minutes-2-hours": 150 * 60 + 30,
        "hours-minutes": 5 * hour + 20 * 60 + 30,
        "hours": 5 * hour + 30,
        "hours-20": 20 * hour + 1800,
        "days-hours": 3 * day + 5 * hour + 1800,
        "days-only": 3 * day + 1800,
        "days": 100 * day + hour,
        "days-many": 729 * day + hour,
        "years-days": 3 * 365 * day + 20 * day + hour,
        "years-only": 3 * 365 * day + hour,
        "years": 9 * 365 * day + 50 * day,
        "now": 0,
    }
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    keep = ("columnDefinitions.name", "columnDefinitions.type", "columnDefinitions.priority", "rows.cells")
    for name, ago in seconds.items():
        spec = {"size": 1, "when": f"{{{ago} s ago}}", "ports": ports if name == "minutes" else [], "fixed": name}
        metadata = {"name": "t", "annotations": {"example.com/a": "dotted"}}
        body = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": metadata, "spec": spec}
        if name == "hours":
            body["spec"] = {"size": 1, "free": {"a": 1}}
        yield Probe(f"age/{name}", (*ready, post(_THINGS, body, keep="code"), get(_THINGS, headers=TABLE, keep=keep)))


def _selectors() -> Iterator[Probe]:
    made = tuple(
        post(MAPS, config_map(name, labels={"app": name, "n": str(number), "both": "yes"}), keep="none")
        for number, name in enumerate(("a", "b", "c"), start=4)
    )
    labels = {
        "greater": "n>4",
        "less": "n<6",
        "greater-none": "n>99",
        "greater-word": "n>x",
        "greater-no-number": "app>1",
        "comma-end": "app=a,",
        "comma-start": ",app=a",
        "two-commas": "app=a,,both",
        "no-comma": "app=a both",
        "only-not": "!",
        "not-in-word": "!app in (a)",
        "in-empty": "app in ()",
        "in-empty-value": "app in (a,)",
        "in-open": "app in (a",
        "in-no-paren": "app in a",
        "in-comma": "app in (,a)",
        "notin-empty": "app notin (),both",
        "in-first": "in in (a)",
        "operator-first": "=a",
        "operator-two": "app=!a",
        "spaces": "  app  =  a  ,  both ",
        "value-empty": "app=",
        "value-not-empty": "app!=,both",
        "prefix": "example.com/a=b",
        "prefix-bad": "Example_/a=b",
        "prefix-two": "a/b/c=d",
        "key-long": "k" * 64 + "=a",
        "value-long": "app=" + "v" * 64,
        "value-bad": "app in (a,b_)",
        "bang-value": "app=a!b",
        "semicolon": "app;a",
        "quote": 'app="a"',
        "exists-two": "app,n",
        "tab": "app=a\t",
        "unicode": "app=é",
    }
    keep = ("items.metadata.name",)
    for name, text in labels.items():
        yield Probe(f"selector/{name}", (*made, get(MAPS, query=(("labelSelector", text),), keep=keep)))
    fields = {
        "and": "metadata.name!=a,metadata.name!=b,metadata.name!=kube-root-ca.crt",
        "double": "metadata.name==b",
        "escaped": "metadata.name=a\\,b",
        "escape-bad": "metadata.name=a\\b",
        "escape-end": "metadata.name=a\\",
        "empty-term": "metadata.name=b,",
        "value-empty": "metadata.name=",
        "no-operator": "metadata.name b",
        "equals-in-value": "metadata.name=a=b",
        "namespace": "metadata.namespace={ns},metadata.name=c",
        "namespace-not": "metadata.namespace!={ns}",
    }
    for name, text in fields.items():
        yield Probe(f"selector/field-{name}", (*made, get(MAPS, query=(("fieldSelector", text),), keep=keep)))
    both = (("fieldSelector", "metadata.name!=b"), ("labelSelector", "both"))
    yield Probe("selector/both", (*made, get(MAPS, query=both, keep=keep)))
    selected = (("fieldSelector", "metadata.name!=b"), ("labelSelector", "both"), ("resourceVersion", "0"))
    yield Probe("selector/watch-both", (*made, watch(MAPS, 2, query=selected, keep="status")))


def _strategic() -> Iterator[Probe]:
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": "main",
                "image": "x",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80}],
            }
        ],
        "tolerations": [{"key": "a", "operator": "Exists"}],
    }
    made = post(
        PODS, {**pod(**spec), "metadata": {"name": "p", "finalizers": ["example.com/a", "example.com/b"]}}, keep="none"
    )
    conditions = [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}, {"type": "C", "status": "True"}]
    filled = patch(PODS + "/p/status", {"status": {"conditions": conditions}}, STRATEGIC, keep="none")
    status: dict[str, Any] = {
        "order": {"$setElementOrder/conditions": [{"type": "C"}, {"type": "A"}, {"type": "B"}]},
        "order-part": {"$setElementOrder/conditions": [{"type": "C"}, {"type": "A"}]},
        "order-and-change": {
            "$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}],
            "conditions": [{"type": "B", "status": "False"}],
        },
        "delete": {"conditions": [{"type": "B", "$patch": "delete"}]},
        "delete-absent": {"conditions": [{"type": "Z", "$patch": "delete"}]},
        "replace": {"conditions": [{"$patch": "replace"}, {"type": "Z", "status": "True"}]},
        "merge": {"conditions": [{"type": "B", "$patch": "merge", "status": "False"}]},
        "unknown": {"conditions": [{"type": "B", "$patch": "sideways"}]},
        "null": {"conditions": None},
        "not-objects": {"conditions": ["x"]},
        "no-key": {"conditions": [{"status": "True"}]},
        "twice": {"conditions": [{"type": "Z", "status": "True"}, {"type": "Z", "status": "False"}]},
        "retain": {"$retainKeys": ["phase"], "phase": "Running"},
        "whole-replace": {"$patch": "replace", "phase": "Running"},
        "whole-delete": {"$patch": "delete"},
        "whole-unknown": {"$patch": "odd"},
        "new-replace": {"resourceClaimStatuses": [{"$patch": "replace"}]},
    }
    for name, change in status.items():
        step = patch(PODS + "/p/status", {"status": change}, STRATEGIC, keep=("status.conditions", "status.phase"))
        yield Probe(f"strategic/status-{name}", (made, filled, step), pods=True)
    metadata: dict[str, Any] = {
        "finalizers-deleted": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]},
        "finalizers-added": {"finalizers": ["example.com/c"]},
        "finalizers-same": {"finalizers": ["example.com/b"]},
        "finalizers-order": {
            "$setElementOrder/finalizers": ["example.com/b", "example.com/c", "example.com/a"],
            "finalizers": ["example.com/c"],
        },
        "finalizers-null": {"finalizers": None},
        "labels-nested": {"labels": {"a": "b", "c": None}},
        "labels-replace": {"labels": {"$patch": "replace", "z": "1"}},
        "labels-delete": {"labels": {"$patch": "delete"}},
        "labels-retain": {"labels": {"$retainKeys": ["q"], "q": "1"}},
        "annotations-directive": {"annotations": {"x": "y"}},
        "directive-number": {"labels": {"$patch": 1}},
    }
    for name, change in metadata.items():
        step = patch(PODS + "/p", {"metadata": change}, STRATEGIC, keep=("metadata.finalizers", "metadata.labels"))
        yield Probe(f"strategic/{name}", (made, step), pods=True)
    # The key of a new item is null: the merged item has none.
    nameless = {"spec": {"containers": [{"name": None, "image": "i"}]}}
    yield Probe("strategic/container-null", (made, patch(PODS + "/p", nameless, STRATEGIC)), pods=True)
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u-1"}]
    again = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "y", "uid": "u-2"}]
    first = patch(PODS + "/p", {"metadata": {"ownerReferences": owners}}, STRATEGIC, keep="none")
    keep = ("metadata.ownerReferences",)
    yield Probe(
        "strategic/owners",
        (
            made,
            first,
            patch(PODS + "/p", {"metadata": {"ownerReferences": again}}, STRATEGIC, keep=keep),
            patch(
                PODS + "/p",
                {"metadata": {"ownerReferences": [{"uid": "u-1", "$patch": "delete"}]}},
                STRATEGIC,
                keep=keep,
            ),
        ),
        pods=True,
    )


def _json_patches() -> Iterator[Probe]:
    made = post(CLAIMS, claim(metadata={"finalizers": ["example.com/a", "example.com/b"]}), keep="none")
    table: dict[str, list[dict[str, Any]]] = {
        "append": [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/c"}],
        "insert": [{"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/c"}],
        "insert-end": [{"op": "add", "path": "/metadata/finalizers/2", "value": "example.com/c"}],
        "insert-far": [{"op": "add", "path": "/metadata/finalizers/3", "value": "example.com/c"}],
        "remove-first": [{"op": "remove", "path": "/metadata/finalizers/0"}],
        "remove-far": [{"op": "remove", "path": "/metadata/finalizers/5"}],
        "remove-negative": [{"op": "remove", "path": "/metadata/finalizers/-1"}],
        "replace": [{"op": "replace", "path": "/metadata/finalizers/1", "value": "example.com/c"}],
        "index-word": [{"op": "replace", "path": "/metadata/finalizers/x", "value": "example.com/c"}],
        "index-zero": [{"op": "replace", "path": "/metadata/finalizers/01", "value": "example.com/c"}],
        "test-list": [{"op": "test", "path": "/metadata/finalizers", "value": ["example.com/a", "example.com/b"]}],
        "test-list-other": [{"op": "test", "path": "/metadata/finalizers", "value": ["example.com/b"]}],
        "test-item": [{"op": "test", "path": "/metadata/finalizers/0", "value": "example.com/a"}],
        "move-item": [{"op": "move", "from": "/metadata/finalizers/1", "path": "/metadata/finalizers/0"}],
        "copy-item": [{"op": "copy", "from": "/metadata/finalizers/1", "path": "/metadata/finalizers/0"}],
        "move-missing": [{"op": "move", "from": "/metadata/nothing", "path": "/metadata/labels"}],
        "whole": [{"op": "replace", "path": "", "value": {}}],
        "no-slash": [{"op": "add", "path": "metadata", "value": {}}],
        "several": [
            {"op": "add", "path": "/metadata/labels", "value": {}},
            {"op": "add", "path": "/metadata/labels/a", "value": "b"},
            {"op": "test", "path": "/metadata/labels/a", "value": "b"},
            {"op": "remove", "path": "/metadata/finalizers/1"},
        ],
        "last-fails": [
            {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
            {"op": "test", "path": "/metadata/labels/a", "value": "c"},
        ],
        "not-objects": ["x"],  # type: ignore[list-item]
        "status": [{"op": "add", "path": "/status", "value": {"reservedFor": []}}],
    }
    keep = ("metadata.finalizers", "metadata.labels", "status")
    for name, body in table.items():
        yield Probe(
            f"json-patch/{name}",
            (made, patch(CLAIMS + "/c", body, JSON_PATCH, keep=keep), get(CLAIMS + "/c", keep=keep)),
        )
    many = [{"op": "test", "path": "/kind", "value": "ResourceClaim"}]
    for count in (10000, 10001):
        yield Probe(f"json-patch/many-{count}", (made, patch(CLAIMS + "/c", many * count, JSON_PATCH, keep=keep)))


def _field(number: int, value: bytes | int) -> bytes:
    """One field of a protobuf message: a number."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def _unknown(version: str, kind: str, raw: bytes, **more: bytes) -> bytes:
    meta = _field(1, version.encode()) + _field(2, kind.encode())
    encoding = _field(3, more["encoding"]) if "encoding" in more else b""
    media = _field(4, more["media"]) if "media" in more else b""
    return b"k8s\x00" + _field(1, meta) + _field(2, raw) + encoding + media


def _protobuf() -> Iterator[Probe]:
    accept = {"Accept": PROTOBUF}
    name = _field(1, b"a")

    def sent(path: str, version: str, kind: str, raw: bytes, **more: bytes) -> Step:
        return post(path, _unknown(version, kind, raw, **more), content_type=PROTOBUF)

    data = _field(2, _field(1, b"k") + _field(2, b"v"))
    maps: dict[str, bytes] = {
        "data": _field(1, name) + data,
        "labels": _field(1, name + _field(11, _field(1, b"l") + _field(2, b"m"))),
        "binary": _field(1, name) + _field(3, _field(1, b"b") + _field(2, b"\x00\xff")),
        "immutable": _field(1, name) + _field(4, 1),
        "unknown-field": _field(1, name) + _field(99, b"x"),
        "wrong-type": _field(1, 5),
        "truncated": _field(1, name)[:-1],
        "not-utf8": _field(1, _field(1, b"\xff")),
        "group-end": _field(1, name) + b"\x0c",
        "field-zero": _field(1, name) + b"\x00\x01",
        "varint-long": _field(1, name) + b"\x20" + b"\xff" * 11,
        "varint-open": _field(1, name) + b"\x20\x80",
        "empty": b"",
        "generated": _field(1, _field(2, b"gen-")),
    }
    for label, raw in maps.items():
        yield Probe(
            f"protobuf/map-{label}",
            (
                post(
                    MAPS,
                    _unknown("v1", "ConfigMap", raw),
                    content_type=PROTOBUF,
                    keep="all" if label in ("data", "labels", "binary", "immutable", "empty") else "status",
                ),
            ),
        )
    as_json = _unknown("v1", "ConfigMap", b'{"metadata":{"name":"a"}}', media=b"application/json")
    yield Probe("protobuf/json-inside", (post(MAPS, as_json, content_type=PROTOBUF, keep="status"),))
    packed = _unknown("v1", "ConfigMap", _field(1, name), encoding=b"gzip")
    yield Probe("protobuf/encoding", (post(MAPS, packed, content_type=PROTOBUF, keep="status"),))
    yield Probe("protobuf/other-kind", (sent(MAPS, "v1", "Secret", _field(1, name)),))
    yield Probe("protobuf/no-kind", (sent(MAPS, "", "", _field(1, name)),))
    # Lease: spec{holderIdentity=1, leaseDurationSeconds=2, acquireTime=3, renewTime=4, leaseTransitions=5}
    moment = _field(1, 1577934245) + _field(2, 123456000)
    spec = _field(1, b"me") + _field(2, 15) + _field(3, moment) + _field(4, moment) + _field(5, 2)
    leases = LEASES
    lease = sent(leases, "coordination.k8s.io/v1", "Lease", _field(1, name) + _field(2, spec))
    yield Probe("protobuf/lease", (lease, get(leases + "/a", headers=accept), get(leases + "/a")))
    # Event: involvedObject=2, reason=3, message=4, firstTimestamp=6, count=8, type=9, eventTime=10
    involved = _field(1, b"Pod") + _field(2, b"protobuf-event") + _field(3, b"p")
    event = _field(1, name) + _field(2, involved) + _field(3, b"R") + _field(4, b"m") + _field(6, _field(1, 1577934245))
    event += _field(8, 3) + _field(9, b"Normal")
    yield Probe("protobuf/event", (sent(NS + "/events", "v1", "Event", event), get(NS + "/events/a", headers=accept)))
    # PodDisruptionBudget: spec=2 {minAvailable=1 IntOrString{type=1,intVal=2,strVal=3}}
    budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    for label, amount in {"text": _field(1, 1) + _field(3, b"50%"), "number": _field(1, 0) + _field(2, 2)}.items():
        budget = _field(1, name) + _field(2, _field(1, amount))
        steps = (
            post(budgets, _unknown("policy/v1", "PodDisruptionBudget", budget), content_type=PROTOBUF, keep=("spec",)),
            get(budgets + "/a", headers=accept, keep=("spec",)),
        )
        yield Probe(f"protobuf/budget-{label}", steps)
    # Every kind of the table, written as JSON and read as protobuf.
    for kind, (path, body) in KINDS.items():
        if kind not in ("node", "namespace", "taint-rule"):
            one = f"{path}/{body['metadata']['name']}"
            yield Probe(f"protobuf/read-{kind}", (post(path, body, keep="none"), get(one, headers=accept)))
    full = claim(
        "c",
        constraints=[{"matchAttribute": "a.b/c"}],
        config=[{"opaque": {"driver": "d", "parameters": {"a": [1, {"b": None}]}}}],
    )
    yield Probe("protobuf/read-parameters", (post(CLAIMS, full, keep="none"), get(CLAIMS + "/c", headers=accept)))
    device = {
        "name": "d",
        "attributes": {"s": {"string": "x"}, "i": {"int": -5}, "b": {"bool": False}, "v": {"version": "1.2.3"}},
        "capacity": {"m": {"value": "1Gi"}, "n": {"value": "500m"}},
        "taints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "2020-01-02T03:04:05Z"}],
    }
    made = {
        "metadata": {"name": "{id}"},
        "spec": {
            "driver": "a.b",
            "nodeName": "n",
            "devices": [device],
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        },
    }
    yield Probe("protobuf/read-devices", (post(SLICES, made, keep="none"), get(SLICES + "/{id}", headers=accept)))
    yield Probe(
        "protobuf/read-crd",
        (post(CRDS, definition(_GROUP), keep="none"), get(f"{CRDS}/things.{_GROUP}", headers=accept, keep=("spec",))),
    )
    yield Probe("protobuf/status", (get(CLASSES + "/nothing", headers=accept),))
    yield Probe("protobuf/delete", (post(CLAIMS, claim(), keep="none"), delete(CLAIMS + "/c", headers=accept)))
    managed = apply(CLAIMS + "/c", claim(), keep="none")
    yield Probe("protobuf/managed", (managed, get(CLAIMS + "/c", headers=accept, managed=True)))
    wanted = {"Accept": f"{PROTOBUF},application/json"}
    yield Probe("protobuf/or-json", (post(CLAIMS, claim(), keep="none"), get(CLAIMS + "/c", headers=wanted)))
    yield Probe("protobuf/discovery", (get(DRA, headers=accept, keep=("kind", "groupVersion")),))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _tables()
    yield from _ages()
    yield from _selectors()
    yield from _strategic()
    yield from _json_patches()
    yield from _protobuf()
