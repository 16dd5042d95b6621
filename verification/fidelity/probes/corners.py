"""Branches that the other tables leave out: rarely used fields, parameters, encodings, and two of each object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from verification.fidelity.dra_cases import TIME, UID
from verification.fidelity.probe import (
    JSON_PATCH,
    STRATEGIC,
    Probe,
    Query,
    Step,
    apply,
    delete,
    get,
    patch,
    post,
    put,
    watch,
)
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    CORE,
    CRDS,
    DRA,
    EVENTS,
    MAPS,
    MERGED,
    NEW_EVENTS,
    NODES,
    NS,
    PODS,
    PROTOBUF,
    RBAC,
    SLICES,
    TABLE,
    TEMPLATES,
    Obj,
    allocation,
    at,
    claim,
    config_map,
    device_class,
    exact,
    pod,
    slice_of,
)

_YAML = "application/yaml"
_KIND = "x-kubernetes-group-version-kind"
_REVIEWS = "/apis/authorization.k8s.io/v1"


def _event(**more: object) -> Obj:
    return {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
        "eventTime": "2020-01-02T03:04:05.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Act",
        "reason": "Because",
        "type": "Normal",
        "note": "text",
        **more,
    }


def _events() -> Iterator[Probe]:
    made = post(NEW_EVENTS, _event(), keep="none")
    for field, value in {
        "regarding": {"kind": "Pod", "namespace": "{ns}", "name": "q"},
        "reason": "Other",
        "note": "other",
        "type": "Warning",
        "eventTime": "2020-01-02T03:04:06.000000Z",
        "action": "Other",
        "related": {"kind": "Node", "name": "n"},
        "reportingController": "example.com/d",
        "reportingInstance": "c-2",
        "deprecatedCount": 3,
        "deprecatedFirstTimestamp": TIME,
        "deprecatedLastTimestamp": TIME,
        "deprecatedSource": {"component": "c"},
    }.items():
        yield Probe(f"event/new-changed-{field.lower()}", (made, put(NEW_EVENTS + "/e", _event(**{field: value}))))
    series = {"count": 2, "lastObservedTime": "2020-01-02T03:04:07.000000Z"}
    yield Probe("event/new-changed-series", (made, put(NEW_EVENTS + "/e", _event(series=series))))
    core = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
        "source": {"component": "one"},
        "reportingComponent": "two",
    }
    both = post(EVENTS, core, keep="none")
    for source in ("one", "two"):
        query = (("fieldSelector", f"source={source}"),)
        yield Probe(f"event/source-{source}", (both, get(EVENTS, query=query, keep=("items.metadata.name",))))


def _gone(path: str) -> Step:
    return get(path, until=404, keep="status")


def _owned(name: str, *owners: Obj) -> Obj:
    return config_map(name, ownerReferences=list(owners))


def _garbage() -> Iterator[Probe]:
    one = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "{0.metadata.uid}"}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "{1.metadata.uid}"}
    absent = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": UID}
    unknown = {"apiVersion": "nothing.example.com/v1", "kind": "Nothing", "name": "x", "uid": UID}
    first, second = post(MAPS, config_map("a"), keep="none"), post(MAPS, config_map("b"), keep="none")
    owners = ("metadata.ownerReferences.name",)
    left = {"metadata.ownerReferences.name": ["b"]}
    # Two owners: the references to deleted ones go, the object stays.
    for policy in ("Background", "Foreground"):
        options = {"propagationPolicy": policy}
        steps: tuple[Step, ...] = (
            first,
            second,
            post(MAPS, _owned("child", {**one, "blockOwnerDeletion": True}, other), keep="none"),
            delete(MAPS + "/a", options, keep="code"),
            _gone(MAPS + "/a"),
            get(MAPS + "/child", until_body=left, keep=(*owners, "metadata.deletionTimestamp")),
            delete(MAPS + "/b", options, keep="code"),
            _gone(MAPS + "/child"),
        )
        yield Probe(f"gc/two-owners-{policy.lower()}", steps)
    # Two dependents, of which one has a finalizer: the owner waits for it, if it blocks.
    for blocks in (True, False):
        guarded = _owned("kept", {**one, "blockOwnerDeletion": blocks})
        guarded["metadata"]["finalizers"] = ["example.com/guard"]
        free = patch(MAPS + "/kept", {"metadata": {"finalizers": None}}, keep="code")
        until = {"metadata.finalizers": ["foregroundDeletion"]}
        waits = get(MAPS + "/a", until_body=until) if blocks else _gone(MAPS + "/a")
        steps = (
            first,
            post(MAPS, guarded, keep="none"),
            post(MAPS, _owned("child", {**one, "blockOwnerDeletion": True}), keep="none"),
            delete(MAPS + "/a", {"propagationPolicy": "Foreground"}, keep=("metadata.finalizers",)),
            _gone(MAPS + "/child"),
            waits,
            get(MAPS + "/kept", keep=("metadata.finalizers",)),
            free,
            _gone(MAPS + "/a"),
            _gone(MAPS + "/kept"),
        )
        yield Probe(f"gc/guarded-dependent-{'blocking' if blocks else 'free'}", steps)
    # An owner of an unknown kind may exist: its dependents stay. The second object shows that the collector ran.
    steps = (
        post(MAPS, _owned("kept", unknown), keep="none"),
        post(MAPS, _owned("mixed", unknown, absent), keep="none"),
        post(MAPS, _owned("child", absent), keep="none"),
        _gone(MAPS + "/child"),
        get(MAPS + "/kept", keep="status"),
        get(MAPS + "/mixed", keep=owners),
    )
    yield Probe("gc/unknown-owner-kind", steps)
    # A cluster-scoped object cannot have a namespaced owner: the collector does not resolve it.
    config_owner = {**one, "name": "a", "uid": UID}
    node_owner = {"apiVersion": "v1", "kind": "Node", "name": "absent", "uid": UID}
    steps = (
        post(SLICES, slice_of("{id}-kept", metadata={"ownerReferences": [config_owner]}), keep="none"),
        post(SLICES, slice_of("{id}-gone", metadata={"ownerReferences": [node_owner]}), keep="none"),
        _gone(SLICES + "/{id}-gone"),
        get(SLICES + "/{id}-kept", keep="status"),
    )
    yield Probe("gc/namespaced-owner-of-cluster-scoped", steps)
    # The same name with another uid is another object, and so is the same uid with another name.
    renamed = {**one, "name": "b"}
    steps = (
        first,
        post(MAPS, config_map("b"), keep="none"),
        post(MAPS, _owned("child", renamed), keep="none"),
        _gone(MAPS + "/child"),
    )
    yield Probe("gc/other-name", steps)
    # References that are added later are checked then.
    steps = (
        post(MAPS, config_map("child"), keep="none"),
        patch(MAPS + "/child", {"metadata": {"ownerReferences": [absent]}}, keep="code"),
        _gone(MAPS + "/child"),
    )
    yield Probe("gc/reference-added", steps)
    # Dependents of dependents.
    grandchild = {"apiVersion": "v1", "kind": "ConfigMap", "name": "child", "uid": "{1.metadata.uid}"}
    for policy in ("Background", "Foreground", "Orphan"):
        steps = (
            first,
            post(MAPS, _owned("child", {**one, "blockOwnerDeletion": True}), keep="none"),
            post(MAPS, _owned("grandchild", {**grandchild, "blockOwnerDeletion": True}), keep="none"),
            delete(MAPS + "/a", {"propagationPolicy": policy}, keep="code"),
            _gone(MAPS + "/a"),
        )
        after = (
            (get(MAPS + "/child", keep=("metadata.ownerReferences",)), get(MAPS + "/grandchild", keep=owners))
            if policy == "Orphan"
            else (_gone(MAPS + "/child"), _gone(MAPS + "/grandchild"))
        )
        yield Probe(f"gc/grandchild-{policy.lower()}", (*steps, *after))
    for value in ("true", "false"):
        made = post(MAPS, _owned("child", one), keep="none")
        deleted = delete(MAPS + "/a", query=(("orphanDependents", value),), keep="code")
        child = get(MAPS + "/child", keep=("metadata.ownerReferences",)) if value == "true" else _gone(MAPS + "/child")
        yield Probe(f"gc/orphan-dependents-{value}", (first, made, deleted, _gone(MAPS + "/a"), child))
    for value in ("true", "false"):
        body = {"orphanDependents": value == "true"}
        yield Probe(f"gc/orphan-dependents-body-{value}", (first, delete(MAPS + "/a", body, keep="code")))
    query = (("orphanDependents", "true"), ("propagationPolicy", "Orphan"))
    yield Probe("gc/orphan-and-policy", (first, delete(MAPS + "/a", query=query)))


_GROUP = "{id}.example.com"


def _definition(scope: str, **version: object) -> Obj:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": scope,
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        },
    }


def _definitions() -> Iterator[Probe]:
    one = f"{CRDS}/things.{_GROUP}"
    typed = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing"}
    guard = {**typed, "metadata": {"name": "t", "finalizers": ["example.com/guard"]}}
    for scope in ("Namespaced", "Cluster"):
        things = f"/apis/{_GROUP}/v1/" + ("namespaces/{ns}/things" if scope == "Namespaced" else "things")
        ready = (post(CRDS, _definition(scope), keep="none"), get(things, until=200, keep="code"))
        terminating = {"status.conditions.type": ["NamesAccepted", "Established", "Terminating"]}
        steps = (
            *ready,
            post(things, guard, keep="code"),
            post(things, {**typed, "metadata": {"name": "u"}}, keep="code"),
            delete(one, keep="code"),
            get(one, until_body=terminating, keep=("metadata.finalizers", "status.conditions.type")),
            _gone(things + "/u"),
            get(things + "/t", keep=("metadata.finalizers", "kind")),
            patch(things + "/t", {"metadata": {"finalizers": None}}, keep="code"),
            _gone(one),
        )
        yield Probe(f"crd/deleted-{scope.lower()}", steps)
    fields = {
        "flag": {"type": "boolean"},
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "closed": {"type": "object"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
                  "items": {"type": "object", "required": ["k"], "properties": {
                      "k": {"type": "string"}, "l": {"type": "string", "default": "x"}, "v": {"type": "integer"}}}},
        "nested": {
            "type": "object",
            "properties": {"list": {"type": "array", "items": {"type": "object", "properties": {
                "deep": {"type": "string", "default": "yes"}, "null": {"type": "string", "default": "no"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                    "deep": {"type": "string", "default": "yes"}}}}},
        },
    }  # fmt: skip
    spec = {"type": "object", "properties": fields}
    version = {
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "selectableFields": [{"jsonPath": f".spec.{name}"} for name in ("flag", "text", "number")],
    }
    things = f"/apis/{_GROUP}/v1/things"
    ready = (post(CRDS, _definition("Cluster", **version), keep="none"), get(things, until=200, keep="code"))
    made = tuple(
        post(
            things,
            {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": value},
            keep="code",
        )
        for name, value in {
            "a": {"flag": True, "text": "x", "number": 1},
            "b": {"flag": False, "text": "y", "number": 2},
            "c": {},
        }.items()
    )
    names = ("items.metadata.name",)
    for name, selector in {
        "true": "spec.flag=true",
        "false": "spec.flag=false",
        "none": "spec.text=",
        "text": "spec.text!=x",
        "number": "spec.number=2",
        "both": "spec.flag=true,spec.number=1",
        "other": "spec.nested=x",
    }.items():
        listed = get(things, query=(("fieldSelector", selector),), keep=names)
        yield Probe(f"crd/selected-{name}", (*ready, *made, listed))
    document = f"/openapi/v3/apis/{_GROUP}/v1"
    schema = ("components", "schemas", "com.example.{id}.v1.Thing")
    # Published some time after the resource is served.
    published = get(document, until=200, keep="code")
    in_document = (
        get(document, at=(*schema, "properties", "spec")),
        get(document, at=schema, keep=("type", "x-kubernetes-group-version-kind")),
    )
    yield Probe("openapi/custom", (*ready, published, *in_document))
    merged = ("items", "metadata.name", _GROUP)
    yield Probe("discovery/custom", (*ready, get(f"/apis/{_GROUP}/v1"), get(f"/apis/{_GROUP}")))
    in_groups = (get("/apis", only=("groups", "name", _GROUP)), get("/apis", headers=MERGED, only=merged))
    yield Probe("discovery/custom-listed", (*ready, *in_groups))
    for name, value in {
        "list": {"nested": {"list": [{}, {"deep": "no"}, {"null": None}]}},
        "map": {"nested": {"map": {"a": {}, "b": {"deep": "no"}}}},
        "closed": {"closed": {"a": {"b": 1}}, "open": {"a": {"b": 1}}, "odd": 1},
        "keyed": {"keyed": [{"k": "a"}, {"k": "a", "l": "y"}, {"k": "b", "v": 1}]},
        "keyed-twice": {"keyed": [{"k": "a"}, {"k": "a", "l": "x"}]},
        "nulls": {"flag": None, "nested": {"list": None}},
        "wrong-list": {"nested": {"list": {}}},
        "wrong-map": {"nested": {"map": []}},
        "wrong-item": {"nested": {"list": ["x"]}},
        "wrong-flag": {"flag": "true", "number": 1.5, "text": 3},
    }.items():
        body = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": value}
        yield Probe(f"crd/filled-{name}", (*ready, post(things, body)))
    item = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    first = {**item, "spec": {"keyed": [{"k": "a", "v": 1}, {"k": "a", "l": "y", "v": 2}]}}
    second = {**item, "spec": {"keyed": [{"k": "a", "l": "y", "v": 3}, {"k": "b"}]}}
    applied = (
        apply(things + "/t", first, managed=True),
        apply(things + "/t", second, "two", managed=True),
        apply(things + "/t", second, "two", force=True, managed=True),
        apply(things + "/t", {**item, "spec": {}}, managed=True),
    )
    yield Probe("crd/applied-keys", (*ready, *applied))
    strict = (("fieldValidation", "Strict"),)
    body = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"odd": 1}}
    yield Probe("crd/strict", (*ready, post(things, body, query=strict)))
    yield Probe("crd/status-absent", (*ready, *made, get(things + "/a/status"), put(things + "/a/status", {})))
    yield Probe(
        "crd/merged",
        (
            *ready,
            *made,
            patch(things + "/a", {"spec": {"nested": {"list": [{"deep": "x"}]}}}),
            patch(things + "/a", [{"op": "remove", "path": "/spec/flag"}], JSON_PATCH),
            patch(things + "/a", {"spec": {"text": "z"}}, STRATEGIC),
        ),
    )


def _encodings() -> Iterator[Probe]:
    yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a"
    for name, text in {
        "dates": yaml + "}\ndata: {k: '2020-01-02', l: 2020-01-02}\n",
        "float": yaml + "}\ndata: {k: 1.5}\n",
        "immutable": yaml + "}\nimmutable: true\n",
        "anchors": yaml + "}\ndata: &d {k: v}\nbinaryData: {}\n",
    }.items():
        yield Probe(f"body/yaml-{name}", (post(MAPS, text.encode(), content_type=_YAML, keep="status"),))
    lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: a}\nspec: {leaseDurationSeconds: %s}\n"
    leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    for name, number in {"whole": "5.0", "half": "5.5", "octal": "010", "text": '"5"'}.items():
        yield Probe(
            f"body/yaml-number-{name}", (post(leases, (lease % number).encode(), content_type=_YAML, keep=("spec",)),)
        )
    yield Probe("body/yaml-broken", (post(MAPS, b"{a: [", content_type=_YAML, keep="status"),))
    yield Probe("body/yaml-list", (post(MAPS, b"[a]", content_type=_YAML, keep="status"),))
    for name, data in {
        "trailing": b'{"kind":"ConfigMap"} x',
        "cut": b'{"kind":"ConfigMap"',
        "bytes": b'{"kind":"\xff\xfe"}',
        "word": b"{nothing}",
        "list": b"[]",
        "null": b"null",
        "spaces": b"   ",
    }.items():
        yield Probe(f"body/json-{name}", (post(MAPS, data, keep="status"),))
    for name, size in {"at": 3145728, "over": 3145729}.items():
        padded = b'{"metadata":{"name":"a"},"data":{"k":"v"}}'.ljust(size)
        yield Probe(f"body/limit-{name}", (post(MAPS, padded, keep="status"),))
    twice = b'{"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"q","exactly":{"deviceClassName":"a.b"}},'
    twice += b'{"name":"r","name":"s","exactly":{"deviceClassName":"a.b","count":1,"count":2}}]}}}'
    for mode in ("Warn", "Strict", "Ignore"):
        yield Probe(f"body/duplicates-{mode.lower()}", (post(CLAIMS, twice, query=(("fieldValidation", mode),)),))
    wrong: dict[str, tuple[str, Obj]] = {
        "bool": (MAPS, {"metadata": {"name": "a"}, "immutable": "yes"}),
        "null": (MAPS, {"metadata": {"name": "a"}, "data": {"k": None}}),
        "list": (CLAIMS, claim(requests={"a": "b"})),
        "object": (CLAIMS, claim("c", {"name": "r", "exactly": []})),
        "number": (CLAIMS, claim("c", exact(count="1"))),
        "float": (CLAIMS, claim("c", exact(count=1.5))),
        "huge": (CLAIMS, claim("c", exact(count=9223372036854775808))),
        "quantity": (SLICES, slice_of("{id}", {"name": "d", "capacity": {"c": {"value": True}}})),
        "quantity-list": (SLICES, slice_of("{id}", {"name": "d", "capacity": {"c": {"value": []}}})),
        "quantity-text": (SLICES, slice_of("{id}", {"name": "d", "capacity": {"c": {"value": "many"}}})),
        "time": (EVENTS, {"metadata": {"name": "e"}, "firstTimestamp": "2020-13-02T03:04:05Z"}),
        "time-day": (EVENTS, {"metadata": {"name": "e"}, "firstTimestamp": "2020-02-31T03:04:05Z"}),
        "time-text": (EVENTS, {"metadata": {"name": "e"}, "firstTimestamp": "today"}),
        "micro": (EVENTS, {"metadata": {"name": "e"}, "eventTime": "2020-01-02T03:04:05Z"}),
        "base64": (NS + "/secrets", {"metadata": {"name": "s"}, "data": {"k": "a*b="}}),
    }
    for name, (path, body) in wrong.items():
        yield Probe(f"body/wrong-{name}", (post(path, body),))
    yield Probe("type/list-yaml", (get(MAPS, headers={"Accept": _YAML}, keep="code"),))
    table = "application/json;as=Table;v={};g={}"
    made = post(MAPS, config_map(labels={"k": "v"}), keep="none")
    # Not the configuration of the cluster's certificate authority.
    query = (("labelSelector", "k"),)
    for name, accept in {
        "table-group": table.format("v1", "other.k8s.io"),
        "table-then-json": table.format("v9", "meta.k8s.io") + ",application/json",
    }.items():
        yield Probe(f"type/accept-{name}", (made, get(MAPS, query=query, headers={"Accept": accept})))
    partial = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
    steps = (made, get(MAPS, query=query, headers={"Accept": partial.format("List")}))
    yield Probe("type/accept-partial-list", steps)
    yield Probe("type/accept-partial", (made, get(MAPS + "/a", headers={"Accept": partial.format("")})))


_VERSIONS = {
    "pod": ("v1", "Pod"),
    "slice": ("resource.k8s.io/v1", "ResourceSlice"),
    "claim": ("resource.k8s.io/v1", "ResourceClaim"),
    "secret": ("v1", "Secret"),
    "role": ("rbac.authorization.k8s.io/v1", "Role"),
    "budget": ("policy/v1", "PodDisruptionBudget"),
    "budget-number": ("policy/v1", "PodDisruptionBudget"),
    "lease": ("coordination.k8s.io/v1", "Lease"),
    "event": ("events.k8s.io/v1", "Event"),
    "node": ("v1", "Node"),
    "template": ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    "class": ("resource.k8s.io/v1", "DeviceClass"),
}


def _protobuf() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    both = {"Accept": PROTOBUF}
    objects: dict[str, tuple[str, str, Obj]] = {
        "pod": (
            PODS,
            "p",
            pod(
                "p",
                terminationGracePeriodSeconds=5,
                tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 3}],
                resourceClaims=[{"name": "c", "resourceClaimName": "d"}],
                volumes=[{"name": "v", "configMap": {"name": "m", "defaultMode": 420}}],
            ),
        ),
        "slice": (
            SLICES,
            "{id}",
            slice_of(
                "{id}",
                {
                    "name": "d",
                    "attributes": {
                        "a": {"int": -3},
                        "b": {"bool": False},
                        "c": {"string": "x"},
                        "d": {"version": "1.2.3"},
                        "e": {"strings": ["x", "y"]},
                        "f": {"ints": [1, -2]},
                        "g": {"bools": [True, False]},
                    },
                    "capacity": {"m": {"value": "1Gi"}, "n": {"value": "1500m"}},
                    "taints": [{"key": "a.b/c", "effect": "NoExecute", "timeAdded": TIME}],
                },
            ),
        ),
        "claim": (
            CLAIMS,
            "c",
            claim(
                "c",
                exact(
                    "r",
                    selectors=[{"cel": {"expression": "true"}}],
                    tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 30}],
                    capacity={"requests": {"m": "1Gi"}},
                ),
                {"name": "f", "firstAvailable": [{"name": "s", "deviceClassName": "a.b", "count": 2}]},
                constraints=[{"matchAttribute": "a.b/c", "requests": ["r"]}],
                config=[{"opaque": {"driver": "a.b", "parameters": {"k": [1, "two", None, {"x": 1.5}]}}}],
            ),
        ),
        "secret": (NS + "/secrets", "s", {"metadata": {"name": "s"}, "data": {"k": "YWI="}, "type": "Opaque"}),
        "role": (
            RBAC + "/namespaces/{ns}/roles",
            "r",
            {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        ),
        "budget": (
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            "b",
            {"metadata": {"name": "b"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}},
        ),
        "budget-number": (
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            "b",
            {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
        ),
        "lease": (
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
            "l",
            {"metadata": {"name": "l"}, "spec": {"renewTime": "2020-01-02T03:04:05.123456Z", "holderIdentity": "me"}},
        ),
        "event": (NEW_EVENTS, "e", _event()),
        "node": (
            NODES,
            "{id}",
            {"metadata": {"name": "{id}"}, "status": {"capacity": {"cpu": "500m", "memory": "1Gi"}}},
        ),
        "template": (
            TEMPLATES,
            "t",
            {"metadata": {"name": "t"}, "spec": {"metadata": {"labels": {"a": "b"}}, "spec": claim()["spec"]}},
        ),
        "class": (CLASSES, "{id}", device_class()),
    }
    for name, (path, one, body) in objects.items():
        # Controllers may have written the status and the annotations of some kinds.
        keep: tuple[str, ...] = ("kind", "apiVersion", "status.capacity" if name == "node" else "spec")
        if name.startswith(("secret", "role", "event")):
            keep = ("data", "type", "rules", "note", "eventTime", "regarding", "reason", "kind", "apiVersion")
        steps = (post(path, body, keep="none"), get(f"{path}/{one}", headers=both, keep=keep))
        yield Probe(f"protobuf/read-{name}", steps, pods=name == "pod")
        typed = {"apiVersion": _VERSIONS[name][0], "kind": _VERSIONS[name][1], **body}
        sent = post(path, typed, content_type=PROTOBUF, keep=("metadata.name", *keep))
        yield Probe(f"protobuf/write-{name}", (sent, get(f"{path}/{one}", keep=keep)), pods=name == "pod")
    made = post(CLAIMS, claim(), keep="none")
    status = {
        "allocation": {**allocation(), "allocationTimestamp": TIME},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": UID}],
        "devices": [
            {
                "driver": "gpu.example.com",
                "pool": "node-1",
                "device": "gpu-0",
                "data": {"a": [1, None]},
                "networkData": {"ips": ["10.0.0.1/24"]},
                "conditions": [
                    {"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": TIME}
                ],
            }
        ],
    }
    written = put(CLAIMS + "/c/status", {**claim(), "status": status}, keep="none")
    yield Probe("protobuf/read-status", (made, written, get(CLAIMS + "/c", headers=both)))
    yield Probe("protobuf/list", (made, written, get(CLAIMS, headers=both)))
    yield Probe("protobuf/deleted", (made, delete(CLAIMS + "/c", headers=both), get(CLAIMS + "/c", headers=both)))
    yield Probe("protobuf/patched", (made, patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}}, headers=both)))
    yield Probe("protobuf/refused", (made, post(CLAIMS, claim(), headers=both)))
    review: Obj = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "resourceAttributes": {"verb": "get", "resource": "pods"},
            "user": "x",
            "groups": ["g", "h"],
            "extra": {"a": ["b", "c"]},
        },
    }
    spoken = post(_REVIEWS + "/subjectaccessreviews", review, content_type=PROTOBUF, keep=("spec", "status"))
    yield Probe("protobuf/write-review", (spoken,))
    typed_claim = {**claim(), "status": status}
    written = put(CLAIMS + "/c/status", typed_claim, content_type=PROTOBUF)
    yield Probe("protobuf/write-status", (made, written))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    evicted = post(PODS + "/p/eviction", eviction, content_type=PROTOBUF)
    yield Probe("protobuf/write-eviction", (post(PODS, pod(), keep="none"), evicted), pods=True)
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target}
    bound = post(PODS + "/p/binding", binding, content_type=PROTOBUF)
    steps = (post(PODS, pod(), keep="none"), bound, get(PODS + "/p", keep=("spec.nodeName",)))
    yield Probe("protobuf/write-binding", steps, pods=True)
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": UID}}
    yield Probe("protobuf/write-delete", (made, delete(CLAIMS + "/c", options, content_type=PROTOBUF)))
    # Bodies that end too early, or inside a field.
    head = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap"
    for name, rest in {
        "cut-length": b"\x12\x7f\x0a",
        "cut-field": b"\x12\x05\x0a\x7f\x0a\x01a",
        "cut-number": b"\x12\x02\x0a\xff",
        "empty": b"\x12\x00",
        "no-raw": b"",
    }.items():
        yield Probe(f"protobuf/{name}", (post(MAPS, head + rest, content_type=PROTOBUF, keep="code"),))
    yield Probe(
        "protobuf/review",
        (post(_REVIEWS + "/subjectaccessreviews", review, headers=both, keep=("kind", "spec", "status")),),
    )


def _patches() -> Iterator[Probe]:
    made = post(MAPS, config_map(), keep="none")
    one = MAPS + "/a"
    for name, (body, kind) in {
        "json-broken": (b"[{", JSON_PATCH),
        "json-value": ([{"op": "replace", "path": "", "value": [1]}], JSON_PATCH),
        "json-whole": ([{"op": "replace", "path": "", "value": config_map("a", {"n": "new"})}], JSON_PATCH),
        "json-test": (
            [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "remove", "path": "/data/k"}],
            JSON_PATCH,
        ),
        "json-test-fails": ([{"op": "test", "path": "/data/k", "value": "w"}], JSON_PATCH),
        "json-copy": ([{"op": "copy", "from": "/data/k", "path": "/data/l"}], JSON_PATCH),
        "json-move": ([{"op": "move", "from": "/data/k", "path": "/data/l"}], JSON_PATCH),
        "merge-yaml": (b"data: {k: w}", "application/merge-patch+json"),
        "strategic-yaml": (b"data: {k: w}", STRATEGIC),
        "merge-broken": (b"{a: [", "application/merge-patch+json"),
        "merge-null": (b"null", "application/merge-patch+json"),
        "strategic-null": (b"null", STRATEGIC),
        "strategic-list": ([1], STRATEGIC),
    }.items():
        yield Probe(f"patch-json/{name}", (made, patch(one, body, kind, keep="status"), get(one, keep=("data",))))
    tainted = {"metadata": {"name": "{id}"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    node = post(NODES, tainted, keep="none")
    for name, change in {
        "finalizers": {"metadata": {"finalizers": ["example.com/a"], "$setElementOrder/finalizers": ["example.com/a"]}},
        "unschedulable": {"spec": {"unschedulable": True}},
        "condition": {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    }.items():
        path = NODES + "/{id}" + ("/status" if name == "condition" else "")
        yield Probe(
            f"strategic/node-{name}",
            (node, patch(path, change, STRATEGIC, keep=("metadata.finalizers", "status.conditions"))),
        )


def _applies() -> Iterator[Probe]:
    one = MAPS + "/a"
    absent = config_map()
    yield Probe("apply/absent-version", (apply(one, config_map(resourceVersion="1")),))
    yield Probe("apply/absent-uid", (apply(one, config_map(uid=UID)),))
    status = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
    yield Probe("apply/absent-status", (apply(CLAIMS + "/c/status", {**status, "status": {}}),))
    user = ("{id}-applier", ())
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "{id}-applier"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    spaces = RBAC + "/namespaces/{ns}"
    bound = {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]}
    for name, verbs in {"not-allowed-to-create": ["patch"], "allowed-to-create": ["patch", "create"]}.items():
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]
        granted = (
            post(spaces + "/roles", {"metadata": {"name": "r"}, "rules": rules}, keep="none"),
            post(spaces + "/rolebindings", bound, keep="none"),
        )
        yield Probe(f"apply/{name}", (*granted, apply(one, absent, user=user)))
    twice = {**status, "spec": {"devices": {"requests": [{"name": "r"}, {"name": "r"}]}}}
    yield Probe("apply/duplicate-key", (apply(CLAIMS + "/c", twice),))
    finalizers = config_map(finalizers=["example.com/a", "example.com/a"])
    yield Probe("apply/duplicate-value", (apply(one, finalizers),))
    twice = config_map(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": UID}] * 2)
    yield Probe("apply/duplicate-owner", (apply(one, twice),))
    yield Probe("apply/unknown-field", (apply(one, {**absent, "odd": 1}),))
    yield Probe("apply/duplicate-later", (apply(one, absent, keep="status"), apply(one, finalizers)))
    ports = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "m", "image": "i", "ports": [{"containerPort": 80}]}]},
    }
    shown = ("metadata.managedFields", "spec.containers.ports")
    yield Probe("apply/default-key", (apply(PODS + "/p", ports, keep=shown, managed=True),), pods=True)
    empty = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    made = post(MAPS, config_map(), keep="none")
    steps = (made, apply(one, empty, managed=True), apply(one, config_map(data={}), managed=True))
    yield Probe("apply/empty", steps)


def _lists() -> Iterator[Probe]:
    query: Query
    made = tuple(post(MAPS, config_map(name, labels=labels), keep="none") for name, labels in {
        "a": {"n": "5", "k": "v"}, "b": {"n": "x", "k": ""}, "c": {"k": "w"}}.items())  # fmt: skip
    # Every namespace has a ConfigMap of the cluster, but no Secret.
    secrets = tuple(replace(step, path=NS + "/secrets", body={"metadata": step.body["metadata"]}) for step in made)
    for name, selector in {
        "greater": "n>4",
        "less": "n<6",
        "greater-equal": "n>5",
        "negative": "n>-1",
        "not-a-number": "n>x",
        "no-value": "n>",
        "character": "k=%",
        "operator": "k ~ v",
        "two-words": "k v",
        "no-comma": "k=v n=5",
        "comma": "k=v,",
        "not-in": "k notin (v,w)",
        "in": "k in (v)",
        "in-empty": "k in (,v)",
        "in-open": "k in (v",
        "in-bare": "k in v",
        "in-two": "k in (v w)",
        "not": "!n",
        "not-not": "!!n",
        "not-value": "!n=5",
        "empty-value": "k=",
        "double": "k==v",
        "unequal": "k!=v",
        "number-first": "k=v,n=5",
        "only-comma": ",",
    }.items():
        query = (("labelSelector", selector),)
        listed = get(NS + "/secrets", query=query, keep=("items.metadata.name",))
        yield Probe(f"selector/{name}", (*secrets, listed))
    steps = (
        *made,
        watch(MAPS, 3, patch(MAPS + "/a", {"metadata": {"labels": {"k": "z"}}}, keep="none"),
              patch(MAPS + "/c", {"metadata": {"labels": {"k": "v"}}}, keep="none"),
              delete(MAPS + "/c", keep="none"),
              query=(("labelSelector", "k=v"), ("resourceVersion", "{2.metadata.resourceVersion}"))),
    )  # fmt: skip
    yield Probe("watch/selector-leaves", steps)
    # The path of an old watch names the object; the field selector of a list names it too.
    named = (("fieldSelector", "metadata.name=b"),)
    yield Probe("watch/field-name", (*made, watch(MAPS, 1, query=named)))
    old = "/api/v1/watch/namespaces/{ns}/configmaps"
    yield Probe("watch/old-path", (*made, watch(old, 1, query=named)))
    yield Probe("watch/old-path-named", (*made, watch(old + "/b", 1)))
    yield Probe("list/field-name", (*made, get(MAPS, query=named, keep=("items.metadata.name",))))
    yield Probe("list/name-and-selector", (*made, get(MAPS + "/a", query=named, keep=("metadata.name",))))
    for name, query in {
        "match-exact": (("resourceVersionMatch", "Exact"),),
        "match-odd": (("resourceVersionMatch", "Odd"), ("resourceVersion", "1")),
        "exact-zero": (("resourceVersionMatch", "Exact"), ("resourceVersion", "0")),
        "exact": (("resourceVersionMatch", "Exact"), ("resourceVersion", "{1.metadata.resourceVersion}")),
        "exact-paged": (
            ("resourceVersionMatch", "Exact"),
            ("resourceVersion", "{1.metadata.resourceVersion}"),
            ("limit", "1"),
        ),
        "version-odd": (("resourceVersion", "odd"),),
        "limit-odd": (("limit", "odd"),),
        "limit-negative": (("limit", "-1"),),
        "initial-events": (("sendInitialEvents", "true"),),
    }.items():
        keep = ("items.metadata.name", "metadata.continue", "metadata.remainingItemCount")
        # Not the configuration of the cluster's certificate authority.
        query = (*query, ("labelSelector", "k"))
        yield Probe(f"list/{name}", (*made, get(MAPS, query=query, keep=keep)))
    for name, query in {
        "zero": (("resourceVersion", "0"),),
        "none": (),
        "initial": (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")),
        "not-initial": (
            ("sendInitialEvents", "false"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("resourceVersion", "{1.metadata.resourceVersion}"),
        ),
        "since": (("resourceVersion", "{1.metadata.resourceVersion}"),),
        "match-odd": (("sendInitialEvents", "true"), ("resourceVersionMatch", "Odd")),
    }.items():
        events = {"not-initial": 1, "since": 1, "initial": 3}.get(name, 3)
        # Not the configuration of the cluster's certificate authority.
        query = (*query, ("labelSelector", "k"))
        yield Probe(f"watch/{name}", (*made, watch(MAPS, events, query=query)))
    bookmarked = (
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
        ("labelSelector", "k"),
    )
    partial = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    yield Probe("watch/bookmark-partial", (*made, watch(MAPS, 4, query=bookmarked, headers=partial)))


def _pods() -> Iterator[Probe]:
    made = post(PODS, pod(), keep="none")
    one = PODS + "/p"
    evict = one + "/eviction"
    binding = one + "/binding"
    eviction = {"metadata": {"name": "p"}}
    bind = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    yield Probe(
        "eviction/other-kind",
        (made, post(evict, {**eviction, "apiVersion": "v1", "kind": "Pod"}, keep="code")),
        pods=True,
    )
    yield Probe("eviction/empty", (made, post(evict, b"", keep="code")), pods=True)
    yield Probe(
        "binding/other-kind", (made, post(binding, {**bind, "apiVersion": "v1", "kind": "Pod"}, keep="code")), pods=True
    )
    yield Probe("binding/empty", (made, post(binding, b"", keep="code")), pods=True)
    yield Probe("eviction/other-name", (made, post(evict, {"metadata": {"name": "q"}}, keep="status")), pods=True)
    yield Probe(
        "eviction/dry", (made, post(evict, eviction, query=(("dryRun", "All"),)), get(one, keep="status")), pods=True
    )
    body = {**eviction, "deleteOptions": {"preconditions": {"uid": UID}}}
    yield Probe("eviction/other-uid", (made, post(evict, body)), pods=True)
    labelled = {**pod(), "metadata": {"name": "p", "labels": {"a": "b"}}}
    running = patch(one + "/status", {"status": {"phase": "Running"}}, keep="none")
    steps: tuple[Step, ...]
    budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    # Budgets are refused before the controller has counted the pods; another one selects no pod.
    for name, selector in {
        "other": {"matchLabels": {"a": "c"}},
        "in": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["c"]}]},
        "not-in": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]},
        "absent": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
        "two": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "z", "operator": "Exists"}]},
    }.items():
        budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
        steps = (post(PODS, labelled, keep="none"), running, post(budgets, budget, keep="code"), post(evict, eviction))
        yield Probe(f"eviction/budget-{name}", steps, pods=True)
    unset = {"metadata": {"name": "b"}}
    filled = {**unset, "spec": {"minAvailable": 1}, "status": {"currentHealthy": 3}}
    steps = (post(budgets, unset, keep="none"), patch(budgets + "/b/status", filled, keep=("spec.minAvailable",)))
    yield Probe("status/budget-without-spec", steps)
    container = {"name": "e", "image": "i", "targetContainerName": "main"}
    change = {"spec": {"ephemeralContainers": [container]}}
    ephemeral = patch(
        one + "/ephemeralcontainers", change, STRATEGIC, keep=("spec.ephemeralContainers", "metadata.generation")
    )
    yield Probe(
        "pod/ephemeral",
        (made, ephemeral, get(one, keep=("spec.ephemeralContainers", "metadata.generation"))),
        pods=True,
    )
    statuses = {"status": {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "d"}]}}
    claims = pod(resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}])
    steps = (
        post(PODS, claims, keep="none"),
        patch(one + "/status", statuses, keep=("status.resourceClaimStatuses",)),
        put(
            one + "/status",
            {**claims, "status": {"phase": "Running"}},
            keep=("status.resourceClaimStatuses", "status.phase"),
        ),
    )
    yield Probe("pod/claim-statuses-left-out", steps, pods=True)
    yield Probe(
        "table/pods-many",
        (made, post(PODS, pod("q"), keep="none"), get(PODS, headers=TABLE, keep=("rows.cells",))),
        pods=True,
    )


def _claims() -> Iterator[Probe]:
    made = post(CLAIMS, claim(), keep="none")
    status = CLAIMS + "/c/status"
    reserved = {"reservedFor": [{"resource": "pods", "name": "p", "uid": UID}]}
    allocated = {"allocation": allocation()}
    guarded = claim(metadata={"finalizers": ["example.com/guard"]})
    for name, steps in {
        "pending": (made,),
        "allocated": (made, patch(status, {"status": allocated}, keep="none")),
        "reserved": (made, patch(status, {"status": {**allocated, **reserved}}, keep="none")),
        "deleted": (post(CLAIMS, guarded, keep="none"), delete(CLAIMS + "/c", keep="none")),
        "deleted-reserved": (
            post(CLAIMS, guarded, keep="none"),
            patch(status, {"status": {**allocated, **reserved}}, keep="none"),
            delete(CLAIMS + "/c", keep="none"),
        ),
    }.items():
        yield Probe(f"table/claim-{name}", (*steps, get(CLAIMS, headers=TABLE, keep=("rows.cells",))))
    tolerated = {"allocation": allocation(tolerations=[{"key": "a"}])}
    yield Probe("claim-device/toleration-operator", (made, patch(status, {"status": tolerated})))
    for name, toleration in {
        "no-operator": {"key": "a", "operator": ""},
        "odd-operator": {"key": "a", "operator": "Odd"},
        "odd-effect": {"key": "a", "operator": "Exists", "effect": "Odd"},
        "exists-value": {"key": "a", "operator": "Exists", "value": "b"},
        "long-key": {"key": "a" * 64, "operator": "Exists"},
        "long-value": {"key": "a", "operator": "Equal", "value": "b" * 64},
        "seconds": {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1},
        "no-key": {"operator": "Exists"},
    }.items():
        yield Probe(f"claim-device/toleration-{name}", (post(CLAIMS, claim("c", exact(tolerations=[toleration]))),))
        sub = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "a.b", "tolerations": [toleration]}]}
        yield Probe(f"claim-device/sub-toleration-{name}", (post(CLAIMS, claim("c", sub)),))
    template: Obj = {"metadata": {"name": "t"}, "spec": {"spec": claim()["spec"]}}
    for name, metadata in {
        "empty-name": {"name": "", "labels": {"a": "b"}},
        "null-labels": {"labels": None, "annotations": {"a": "b"}},
        "generate": {"generateName": "x-"},
        "finalizers": {"finalizers": ["example.com/a"]},
        "uid": {"uid": UID},
    }.items():
        body = {**template, "spec": {**template["spec"], "metadata": metadata}}
        yield Probe(f"template/metadata-{name}", (post(TEMPLATES, body),))
    long = "a" * 300
    yield Probe(
        "claim-device/long-driver", (post(CLAIMS, claim(config=[{"opaque": {"driver": long, "parameters": {}}}])),)
    )
    yield Probe(
        "slice-devices/long-pool",
        (post(SLICES, slice_of("{id}", pool={"name": long, "generation": 1, "resourceSliceCount": 1})),),
    )
    yield Probe("slice-devices/long-node", (post(SLICES, slice_of("{id}", nodeName=long)),))
    yield Probe(
        "slice-devices/long-attribute",
        (post(SLICES, slice_of("{id}", {"name": "d", "attributes": {"a" * 80: {"int": 1}}})),),
    )
    yield Probe(
        "slice-devices/long-capacity",
        (post(SLICES, slice_of("{id}", {"name": "d", "capacity": {"a" * 80: {"value": "1"}}})),),
    )
    negative = {"value": "10", "requestPolicy": {"default": "2", "validRange": {"min": "2", "step": "-2"}}}
    for name, policy in {
        "negative-step": negative,
        "negative-min": {"value": "10", "requestPolicy": {"default": "2", "validRange": {"min": "-2"}}},
        "fraction": {
            "value": "10",
            "requestPolicy": {"default": "1500m", "validRange": {"min": "500m", "step": "500m"}},
        },
    }.items():
        yield Probe(f"slice-devices/policy-{name}", (post(SLICES, _slice_with(policy)),))
    yield from _fractions()
    yield from _flat_requests()
    rules = DRA.replace("/v1", "/v1beta2") + "/devicetaintrules"
    rule: Obj = {"metadata": {"name": "{id}"}, "spec": {"taint": {"key": "a.b/c", "effect": "NoExecute"}}}
    for name, selector in {
        "class": {"deviceClassName": "a.b"},
        "selectors": {"selectors": [{"cel": {"expression": "x"}}]},
    }.items():
        body = {**rule, "spec": {**rule["spec"], "deviceSelector": selector}}
        yield Probe(f"taint-rule/{name}", (post(rules, body),))


def _flat_requests() -> Iterator[Probe]:
    """Yield faults in requests of v1beta1: the fields that the errors name."""
    faults: dict[str, Obj] = {
        "count": {"count": -1},
        "class": {"deviceClassName": "G_"},
        "mode": {"allocationMode": "Some"},
        "selectors": {"selectors": [{"cel": {"expression": "true"}}] * 33},
        "operator": {"tolerations": [{"key": "k", "operator": "Some"}]},
        "key": {"tolerations": [{"key": "k_", "operator": "Exists"}]},
        "value": {"tolerations": [{"key": "k", "value": "v_"}, {"operator": "Exists", "value": "v"}]},
        "effect": {"tolerations": [{"operator": "Exists"}, {"operator": "Exists", "effect": "Some"}]},
        "expression": {"selectors": [{"cel": {"expression": "x"}}]},
        "alternatives": {"deviceClassName": "", "firstAvailable": [{"name": "s", "deviceClassName": "G_"}]},
    }
    for name, fields in faults.items():
        spec = {"devices": {"requests": [{"name": "r", "deviceClassName": "g", **fields}]}}
        old = {"apiVersion": "resource.k8s.io/v1beta1", "metadata": {"name": "{id}"}}
        for kind, path, body in (
            ("ResourceClaim", CLAIMS, spec),
            ("ResourceClaimTemplate", TEMPLATES, {"spec": spec}),
        ):
            yield Probe(
                f"flat-request/{kind}-{name}", (post(at("v1beta1", path), {**old, "kind": kind, "spec": body}),)
            )


def _slice_with(policy: Obj) -> Obj:
    return slice_of("{id}", {"name": "d", "allowMultipleAllocations": True, "capacity": {"c": policy}})


def _fractions() -> Iterator[Probe]:
    """Yield request policies with fractions, for which the gate DRAFractionalCapacityRange is on."""
    tenths = {"min": "100m", "max": "1", "step": "100m"}
    huge = "9223372036854775807"
    ranges: dict[str, tuple[str, Obj]] = {
        "tenths": ("300m", tenths),
        "tenths-off-step": ("350m", tenths),
        "max-off-step": ("300m", {**tenths, "max": "950m"}),
        "whole-range": ("1500m", {"min": "1", "step": "1"}),
        "whole-range-half-steps": ("1500m", {"min": "1", "step": "500m"}),
        "zero-step": ("300m", {"min": "100m", "step": "0"}),
        "negative": ("300m", {"min": "-100m", "step": "100m"}),
        "negative-off-step": ("350m", {"min": "-100m", "step": "100m"}),
        "fine-step": ("300m", {"min": "100m", "step": "100u"}),
        "fine-default": ("300100u", tenths),
        "fine-without-step": ("300m", {"min": "100u", "max": "1000100u"}),
        "fine-default-without-step": ("1500u", {"min": "1m"}),
        "fine-negative": ("300m", {"min": "-100u"}),
        "huge": ("300m", {**tenths, "max": huge}),
        "huge-without-step": ("300m", {"min": "100m", "max": huge}),
        "huge-milli": ("300m", {**tenths, "max": "9223372036854775800m"}),
        "below-min-and-fine": ("50m", {"min": "100m", "step": "100u"}),
    }
    values: dict[str, tuple[str, list[str]]] = {
        "tenths": ("100m", ["100m", "200m"]),
        "same": ("100m", ["100m", "100m"]),
        "other-notation": ("100m", ["0.1", "100m"]),
        "other-suffix": ("1", ["1", "1000m"]),
        "binary-suffix": ("1Ki", ["1Ki", "1024"]),
        "exponent": ("1", ["1", "1e0"]),
        "hundred": ("100", ["100", "1e2"]),
        "billionths": ("1n", ["1n", "2n"]),
        "unsorted": ("100m", ["200m", "100m"]),
    }
    policies = {
        **{f"range-{name}": {"default": default, "validRange": span} for name, (default, span) in ranges.items()},
        **{f"values-{name}": {"default": default, "validValues": some} for name, (default, some) in values.items()},
    }
    for name, policy in policies.items():
        body = _slice_with({"value": "30E", "requestPolicy": policy})
        yield Probe(f"fractions/{name}", (post(SLICES, body),))


def _nodes() -> Iterator[Probe]:
    one = NODES + "/{id}"
    made = post(NODES, {"metadata": {"name": "{id}"}}, keep="none")
    yield Probe(
        "node/put-status-field",
        (made, put(one, {"metadata": {"name": "{id}"}, "status": {"phase": "Running"}}, keep=("status.phase",))),
    )
    change = {"metadata": {"name": "{id}"}, "spec": {"unschedulable": True}, "status": {"phase": "Running"}}
    yield Probe(
        "node/status-spec-field", (made, put(one + "/status", change, keep=("spec.unschedulable", "status.phase")))
    )
    conditions = {
        "ready": ("Ready", "True"),
        "unknown": ("Ready", "Unknown"),
        "memory": ("MemoryPressure", "True"),
        "disk": ("DiskPressure", "True"),
        "pid": ("PIDPressure", "True"),
        "network": ("NetworkUnavailable", "True"),
        "no-memory": ("MemoryPressure", "False"),
    }
    for name, (kind, status) in conditions.items():
        body = {"status": {"conditions": [{"type": kind, "status": status}]}}
        keys = sorted({
            "unknown": ["node.kubernetes.io/unreachable"], "memory": ["node.kubernetes.io/memory-pressure"],
            "disk": ["node.kubernetes.io/disk-pressure"], "pid": ["node.kubernetes.io/pid-pressure"],
            "network": ["node.kubernetes.io/network-unavailable"]}.get(name, []))  # fmt: skip
        until = {"spec.taints.key": keys or None}
        yield Probe(
            f"node/taint-{name}",
            (
                made,
                patch(one + "/status", body, keep="none"),
                get(one, until_body=until, patience=15.0, keep=("spec.taints.key", "spec.taints.effect")),
            ),
        )
    csi = "/apis/storage.k8s.io/v1/csinodes"
    user = ("system:node:{id}", ("system:nodes",))
    driverless = {"metadata": {"name": "{id}"}, "spec": {"drivers": []}}
    yield Probe("identity/csinode-create", (post(csi, driverless, user=user, keep="code"),))
    yield Probe("identity/csinode-other", (get(csi + "/{id}-other", user=user, keep="status"),))
    yield Probe("identity/csinode-list", (get(csi, user=user, keep="status"),))


def _statuses_of_pods() -> Iterator[Probe]:
    made = post(PODS, pod(nodeName="{id}"), keep="none")
    user = ("system:node:{id}", ("system:nodes",))
    path = PODS + "/p/status"
    extended = {"resourceClaimName": "c", "requestMappings": []}
    stored = patch(path, {"status": {"extendedResourceClaimStatus": extended}}, keep="status")
    for name, status in {
        "phase": {"phase": "Running"},
        "extended": {"extendedResourceClaimStatus": {**extended, "resourceClaimName": "d"}},
        "claims": {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "d"}]},
    }.items():
        patched = patch(path, {"status": status}, user=user, keep="status")
        yield Probe(f"identity/pod-status-{name}", (made, stored, patched), pods=True)
    role = RBAC + "/clusterroles/cluster-admin"
    yield Probe("role/first", (get(role, keep=("metadata.labels", "rules")),))
    binding = RBAC + "/clusterrolebindings/cluster-admin"
    yield Probe("role/first-binding", (get(binding, keep=("metadata.labels", "roleRef", "subjects")),))
    for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
        keep = ("metadata.labels", "spec", "status")
        yield Probe(f"namespace/first-{name}", (get(f"{CORE}/namespaces/{name}", keep=keep),))
    for kind in ("roles", "rolebindings", "clusterroles", "clusterrolebindings"):
        space = RBAC + ("/namespaces/{ns}/" if not kind.startswith("cluster") else "/") + kind
        body: Obj = {"metadata": {"name": "{id}"}, "rules": []}
        if kind.endswith("bindings"):
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
            body = {"metadata": {"name": "{id}"}, "roleRef": reference, "subjects": []}
        yield Probe(f"role/put-creates-{kind}", (put(space + "/{id}", body, keep="status"),))


def _paths() -> Iterator[Probe]:
    yield Probe("openapi/core", (get("/openapi/v3/api/v1", keep=("openapi", "components.schemas.nothing")),))
    for path in ("/openapi/v3/nothing", "/openapi/v3/api/v9", "/openapi/v9"):
        yield Probe(f"openapi/path-{path.strip('/').replace('/', '-').replace('.', '-')}", (get(path, keep="code"),))
    for version, kinds in {
        "v1": ("DeviceClaim", "ResourceClaim", "ResourceSliceSpec", "DeviceCapacity", "CapacityRequestPolicyRange"),
        "v1beta1": ("BasicDevice", "DeviceRequest"),
    }.items():
        document = f"/openapi/v3/apis/resource.k8s.io/{version}"
        for kind in kinds:
            keys = ("components", "schemas", f"io.k8s.api.resource.{version}.{kind}")
            yield Probe(f"openapi/schema-{version}-{kind.lower()}", (get(document, at=keys),))
    document = "/openapi/v3/apis/resource.k8s.io/v1"
    for kind in ("api.resource.Quantity", "apis.meta.v1.ObjectMeta", "apis.meta.v1.Time", "runtime.RawExtension"):
        keys = ("components", "schemas", f"io.k8s.apimachinery.pkg.{kind}")
        yield Probe(f"openapi/schema-{kind.rpartition('.')[2].lower()}", (get(document, at=keys),))
    for group in ("api/v1", "apis/resource.k8s.io/v1", "apis/resource.k8s.io/v1beta1", "apis/apps/v1"):
        index = get("/openapi/v3", at=("paths", group))
        yield Probe(f"openapi/index-{group.replace('/', '-')}", (index,))
    policy = "/openapi/v3/apis/policy/v1"
    keys = ("components", "schemas", "io.k8s.apimachinery.pkg.util.intstr.IntOrString")
    yield Probe("openapi/schema-int-or-string", (get(policy, at=keys),))
    definition = ("definitions", "io.k8s.api.resource.v1.DeviceClaim")
    yield Probe("openapi/v2-definition", (get("/openapi/v2", at=definition),))
    base = "/apis/resource.k8s.io/v1"
    paths: dict[str, tuple[str, tuple[str, ...]]] = {
        "claims": (f"{base}/namespaces/{{namespace}}/resourceclaims", ("get", "post", "delete")),
        "claim": (f"{base}/namespaces/{{namespace}}/resourceclaims/{{name}}", ("get", "put", "patch", "delete")),
        "status": (
            f"{base}/namespaces/{{namespace}}/resourceclaims/{{name}}/status",
            ("get", "put", "patch"),
        ),
        "all-claims": (f"{base}/resourceclaims", ("get", "post")),
        "slices": (f"{base}/resourceslices", ("get", "post", "delete")),
        "slice": (f"{base}/resourceslices/{{name}}", ("get", "put", "patch", "delete")),
    }
    for name, (path, verbs) in paths.items():
        shown = tuple(f"{verb}.{key}" for verb in verbs for key in ("x-kubernetes-action", _KIND))
        shown = (*shown, "patch.requestBody.required")
        yield Probe(f"openapi/path-{name}", (get(document, at=("paths", path), keep=shown),))
    reviews = _REVIEWS + "/selfsubjectrulesreviews"
    yield Probe("review/rules", (post(reviews, {"spec": {"namespace": "{ns}"}}, keep=("status.incomplete",)),))
    for name, spec in {
        "path": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}, "user": "jane"},
        "path-refused": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": "jane"},
        "group": {"resourceAttributes": {"verb": "get", "resource": "pods"}, "user": "x", "groups": ["system:masters"]},
        "node": {
            "resourceAttributes": {"verb": "get", "resource": "nodes", "name": "a"},
            "user": "system:node:b",
            "groups": ["system:nodes"],
        },
        "subresource": {
            "resourceAttributes": {"verb": "update", "resource": "pods", "subresource": "status"},
            "user": "x",
        },
        "none": {"user": "x"},
        "both": {
            "user": "x",
            "resourceAttributes": {"verb": "get", "resource": "pods"},
            "nonResourceAttributes": {"path": "/x", "verb": "get"},
        },
    }.items():
        yield Probe(f"review/access-{name}", (post(_REVIEWS + "/subjectaccessreviews", {"spec": spec}),))
    for slug, name in {"dot": ".", "dots": "..", "slash": "a/b", "percent": "a%b"}.items():
        body = {"metadata": {"name": name}, "rules": []}
        yield Probe(f"role/name-{slug}", (post(RBAC + "/namespaces/{ns}/roles", body),))
    elsewhere = {"metadata": {"name": "{id}", "namespace": "{ns}"}}
    yield Probe(
        "metadata/cluster-with-namespace",
        (post(NODES, elsewhere), post(CORE + "/namespaces", {"metadata": {"name": "{id}-x", "namespace": "y"}})),
    )


_TABLES = (
    _events,
    _garbage,
    _definitions,
    _encodings,
    _protobuf,
    _patches,
    _applies,
    _lists,
    _pods,
    _claims,
    _nodes,
    _statuses_of_pods,
    _paths,
)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table, in the areas of the other tables."""
    for table in _TABLES:
        for probe in table():
            yield replace(probe, id=probe.id.replace("/", "/also-", 1))
