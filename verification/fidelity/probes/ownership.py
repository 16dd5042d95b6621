"""Managed fields of many writers, null entries of lists, and limits of events and labels: what few clients send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, apply, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    MAPS,
    NEW_EVENTS,
    NODES,
    NS,
    PODS,
    SLICES,
    claim,
    config_map,
    exact,
    pod,
    slice_of,
)

_MANAGED = ("metadata.managedFields",)


def _managers() -> Iterator[Probe]:
    one = MAPS + "/a"
    made = post(MAPS, config_map(), query=(("fieldManager", "first"),), keep="none")

    def change(number: int, body: dict[str, Any]) -> Step:
        return patch(one, body, query=(("fieldManager", f"manager-{number:02}"),), keep="none")

    shown = get(one, keep=_MANAGED, managed=True)
    for count in (9, 10, 11, 13):
        changes = [change(number, {"data": {f"k{number:02}": "v"}}) for number in range(count)]
        yield Probe(f"managed/many-{count}", (made, *changes, shown))
    bare = post(MAPS, {"metadata": {"name": "a"}}, keep=_MANAGED, managed=True)
    yield Probe("managed/none", (bare, change(1, {"data": {"k": "w"}}), shown, change(2, {"data": {"l": "w"}}), shown))
    nothing = patch(one, {"data": None}, query=(("fieldManager", "first"),), keep=_MANAGED, managed=True)
    yield Probe("managed/all-removed", (made, nothing, change(1, {"data": {"k": "w"}}), shown))
    node = post(NODES, {"metadata": {"name": "{id}"}}, keep=_MANAGED, managed=True)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    status = patch(NODES + "/{id}/status", ready, query=(("fieldManager", "kubelet"),), keep="code")
    yield Probe("managed/node", (node, status))
    claims = post(CLAIMS, claim(), keep="none")
    # Two versions among the oldest: each gets an entry of its own.
    beta = CLAIMS.replace("/v1/", "/v1beta1/")
    steps = [
        patch(
            (CLAIMS if number % 2 else beta) + "/c",
            {"metadata": {"labels": {f"l{number:02}": "v"}}},
            query=(("fieldManager", f"manager-{number:02}"),),
            keep="none",
        )
        for number in range(14)
    ]
    yield Probe("managed/many-versions", (claims, *steps, get(CLAIMS + "/c", keep=_MANAGED, managed=True)))
    # Apply takes fields from, and gives fields back to, the managers of updates.
    mine = config_map(data={"k": "mine", "own": "x"})
    forced = apply(one, mine, force=True, keep=_MANAGED, managed=True)
    left = apply(one, config_map(data={"own": "x"}), keep=("data", *_MANAGED), managed=True)
    two = apply(one, config_map(data={"own": "x", "k": "mine"}), "two", keep=_MANAGED, managed=True)
    yield Probe("managed/apply-forced", (made, change(1, {"data": {"k": "w"}}), forced, left))
    yield Probe("managed/apply-shared", (made, forced, two, left))
    yield Probe("managed/apply-shared-changed", (made, forced, two, apply(one, config_map(data={"own": "y"}), "two")))
    several = apply(one, config_map(data={"k": "a", "l": "b", "m": "c"}))
    writes = (change(1, {"data": {"k": "w", "l": "1"}}), change(2, {"data": {"m": "2"}}))
    yield Probe("managed/apply-conflicts", (made, *writes, several))
    emptied = patch(one, {"metadata": {"managedFields": [{}]}}, keep=_MANAGED, managed=True)
    yield Probe("managed/emptied", (made, emptied, change(1, {"data": {"k": "w"}}), shown))
    yield Probe("managed/emptied-apply", (made, emptied, apply(one, mine), apply(one, mine, force=True)))
    unowned = patch(one, {"metadata": {"managedFields": None}}, keep=_MANAGED, managed=True)
    yield Probe("managed/null", (made, unowned))
    for name, field in {"value": 'v:"x"', "index": "i:0", "key": 'k:{"a":1}'}.items():
        entry: dict[str, Any] = {"manager": "x", "operation": "Update", "apiVersion": "v1"}
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": {field: {}}}
        given = patch(one, {"metadata": {"managedFields": [entry]}}, keep=_MANAGED, managed=True)
        yield Probe(f"managed/given-{name}", (made, given, apply(one, config_map(data={"k": "v"}), managed=True)))
    finalizers = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": ["example.com/a"]}}
    more = {**finalizers, "metadata": {"name": "a", "finalizers": ["example.com/b"]}}
    kept = ("metadata.finalizers", *_MANAGED)
    steps = [apply(one, finalizers, keep=kept, managed=True), apply(one, more, "two", keep=kept, managed=True)]
    yield Probe("managed/sets", (made, *steps, apply(one, more, keep=kept, managed=True)))
    requests = claim("c", exact("a"), exact("b"))
    del requests["kind"], requests["apiVersion"]
    whole = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **requests}
    yield Probe("managed/text-as-metadata", (apply(CLAIMS + "/c", {**whole, "metadata": "a/b"}),))
    yield Probe("managed/number-as-metadata", (apply(CLAIMS + "/c", {**whole, "metadata": 7}),))
    yield Probe("managed/list-as-metadata", (apply(CLAIMS + "/c", {**whole, "metadata": ["a"]}),))
    yield Probe("managed/text-as-spec", (apply(CLAIMS + "/c", {**whole, "spec": "a"}),))
    yield Probe("managed/text-as-list", (apply(CLAIMS + "/c", {**whole, "spec": {"devices": {"requests": "a"}}}),))
    number = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": "a"}}]}}
    yield Probe("managed/text-as-number", (apply(CLAIMS + "/c", {**whole, "spec": number}),))
    yield Probe("managed/number-as-name", (apply(CLAIMS + "/c", {**whole, "metadata": {"name": 1}}),))
    yield Probe("managed/claim", (apply(CLAIMS + "/c", whole, managed=True), post(CLAIMS, claim(), keep="status")))
    devices = slice_of("{id}", {"name": "a", "attributes": {"x": {"int": 1}}}, {"name": "b"})
    steps = [
        apply(SLICES + "/{id}", devices, managed=True),
        apply(SLICES + "/{id}", slice_of("{id}", {"name": "b"}), managed=True),
    ]
    yield Probe("managed/slice", tuple(steps))
    same = put(one, config_map(), query=(("fieldManager", "second"),), keep=_MANAGED, managed=True)
    yield Probe("managed/put-same", (made, same))
    fewer = put(one, config_map(data={}), query=(("fieldManager", "second"),), keep=_MANAGED, managed=True)
    yield Probe("managed/put-fewer", (made, change(1, {"data": {"l": "w"}}), fewer))


def _nulls() -> Iterator[Probe]:
    """Yield probes of lists with null entries, which Go decodes to empty values."""
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "requests": (CLAIMS, claim(requests=[None, exact()])),
        "selectors": (CLAIMS, claim("c", exact(selectors=[None]))),
        "tolerations": (CLAIMS, claim("c", exact(tolerations=[None]))),
        "constraints": (CLAIMS, claim(constraints=[None])),
        "constraint-requests": (CLAIMS, claim(constraints=[{"matchAttribute": "a.b/c", "requests": [None]}])),
        "config": (CLAIMS, claim(config=[None])),
        "config-requests": (
            CLAIMS,
            claim(config=[{"requests": [None], "opaque": {"driver": "a.b", "parameters": {}}}]),
        ),
        "subrequests": (CLAIMS, claim("c", {"name": "r", "firstAvailable": [None]})),
        "devices": (SLICES, slice_of("{id}", None)),  # type: ignore[arg-type]
        "taints": (SLICES, slice_of("{id}", {"name": "d", "taints": [None]})),
        "strings": (SLICES, slice_of("{id}", {"name": "d", "attributes": {"a": {"strings": [None, "x"]}}})),
        "ints": (SLICES, slice_of("{id}", {"name": "d", "attributes": {"a": {"ints": [None, 1]}}})),
        "bools": (SLICES, slice_of("{id}", {"name": "d", "attributes": {"a": {"bools": [None, True]}}})),
        "versions": (SLICES, slice_of("{id}", {"name": "d", "attributes": {"a": {"versions": [None, "1.0.0"]}}})),
        "counters": (SLICES, slice_of("{id}", {"name": "d"}, sharedCounters=[None])),
        "consumes": (SLICES, slice_of("{id}", {"name": "d", "consumesCounters": [None]})),
        "conditions": (SLICES, slice_of("{id}", {"name": "d", "bindingConditions": [None]})),
        "terms": (SLICES, slice_of("{id}", {"name": "d"}, nodeName=None, nodeSelector={"nodeSelectorTerms": [None]})),
        "class-selectors": (CLASSES, {"metadata": {"name": "{id}"}, "spec": {"selectors": [None]}}),
        "class-config": (CLASSES, {"metadata": {"name": "{id}"}, "spec": {"config": [None]}}),
    }
    for name, (path, body) in bodies.items():
        yield Probe(f"null/{name}", (post(path, body),))
    container = {"name": "c", "image": "i"}
    specs: dict[str, dict[str, Any]] = {
        "containers": {"containers": [container, None]},
        "init-containers": {"initContainers": [None]},
        "claims": {"resourceClaims": [None]},
        "container-claims": {"containers": [{**container, "resources": {"claims": [None]}}]},
        "pod-tolerations": {"tolerations": [None]},
        "gates": {"schedulingGates": [None]},
        "volumes": {"volumes": [None]},
        "env": {"containers": [{**container, "env": [None]}]},
        "ports": {"containers": [{**container, "ports": [None]}]},
        "mounts": {"containers": [{**container, "volumeMounts": [None]}]},
        "args": {"containers": [{**container, "args": [None, "x"]}]},
    }
    for name, spec in specs.items():
        yield Probe(f"null/{name}", (post(PODS, pod(**spec), keep=("message", "details", "spec.containers")),))
    made = post(CLAIMS, claim(), keep="none")
    status = CLAIMS + "/c/status"
    changes: dict[str, dict[str, Any]] = {
        "results": {"allocation": {"devices": {"results": [None]}}},
        "allocation-config": {"allocation": {"devices": {"results": [], "config": [None]}}},
        "reserved": {"reservedFor": [None]},
        "devices-status": {"devices": [None]},
        "allocation": {"allocation": {}},
        "allocation-devices": {"allocation": {"devices": None}},
    }
    for name, change in changes.items():
        yield Probe(f"null/{name}", (made, patch(status, {"status": change})))
    metadata: dict[str, Any] = {
        "labels": {"labels": {"a": None}},
        "annotations": {"annotations": {"a": None}},
        "finalizers": {"finalizers": [None]},
        "owners": {"ownerReferences": [None]},
    }
    for name, given in metadata.items():
        yield Probe(f"null/{name}", (post(MAPS, config_map(**given)),))
    yield Probe("null/data", (post(MAPS, config_map(data={"a": None, "b": "c"})),))


def _empty() -> Iterator[Probe]:
    """Yield probes of empty lists and maps, which are stored as absent."""
    device = {
        "name": "d", "attributes": {}, "capacity": {}, "taints": [], "consumesCounters": [], "bindingConditions": [],
        "bindingFailureConditions": [],
    }  # fmt: skip
    yield Probe("empty/slice", (post(SLICES, slice_of("{id}", device, sharedCounters=[])),))
    yield Probe("empty/devices", (post(SLICES, slice_of("{id}", devices=[])),))
    request = exact(selectors=[], tolerations=[], capacity={})
    yield Probe("empty/claim", (post(CLAIMS, claim("c", request, constraints=[], config=[])),))
    yield Probe("empty/requests", (post(CLAIMS, claim(requests=[])),))
    yield Probe(
        "empty/class", (post(CLASSES, {"metadata": {"name": "{id}"}, "spec": {"selectors": [], "config": []}}),)
    )
    for name in ("example.com/x", "kubernetes.io/x", "a.kubernetes.io/x", "cpu"):
        mapped = {"name": "d", "nodeAllocatableResourceMappings": {name: {}}}
        yield Probe(f"slice-devices/mapping-{name}", (post(SLICES, slice_of("{id}", mapped)),))
        requests: dict[str, Any] = {"containers": [{"name": "m", "image": "i", "resources": {"requests": {name: "1"}}}]}
        yield Probe(f"pod-fields/requests-{name}", (post(NS + "/pods", pod(**requests), keep="status"),), pods=True)
    made = post(CLAIMS, claim(), keep="none")
    status = {"reservedFor": [], "devices": [], "allocation": {"devices": {"results": [], "config": []}}}
    yield Probe("empty/status", (made, patch(CLAIMS + "/c/status", {"status": status})))
    metadata: dict[str, Any] = {"labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}
    first = post(MAPS, config_map(data={}, **metadata))
    yield Probe("empty/metadata", (first, patch(MAPS + "/a", {"metadata": metadata, "data": {}})))


def _limits() -> Iterator[Probe]:
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}", "apiVersion": "v1"},
        "reason": "R",
        "action": "A",
        "type": "Normal",
        "note": "n",
        "eventTime": "2020-01-02T03:04:05.000006Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
    }
    limits = {"reason": 128, "action": 128, "reportingInstance": 128, "note": 1024}
    for field, limit in limits.items():
        for size in (limit, limit + 1):
            body = {**event, field: "x" * size}
            yield Probe(f"event/{field.lower()}-{size}", (post(NEW_EVENTS, body, keep=("metadata.name",)),))
    for name, controller in {"bad": "not valid", "long": "x" * 64, "prefix": "a/b/c", "prefix-bad": "A_/b"}.items():
        yield Probe(f"event/controller-{name}", (post(NEW_EVENTS, {**event, "reportingController": controller}),))
    first = post(NEW_EVENTS, event, keep="none")
    changes: dict[str, Any] = {
        "reason": "S", "action": "B", "note": "m", "type": "Warning", "reportingInstance": "j",
        "reportingController": "example.com/d", "eventTime": "2021-01-02T03:04:05.000006Z", "deprecatedCount": 3,
        "deprecatedFirstTimestamp": "2021-01-02T03:04:05Z",
        "deprecatedLastTimestamp": "2021-01-02T03:04:05Z",
        "series": {"count": 2, "lastObservedTime": "2021-01-02T03:04:05.000006Z"},
    }  # fmt: skip
    for field, value in changes.items():
        yield Probe(f"event/change-{field.lower()}", (first, patch(NEW_EVENTS + "/e", {field: value})))
    # The message quotes a struct of Go.
    objects = {
        "source": {"deprecatedSource": {"component": "x"}},
        "related": {"related": {"kind": "Node", "name": "n"}},
    }
    for field, change in {**objects, "regarding": {"regarding": {"name": "q"}}}.items():
        yield Probe(f"event/change-{field}", (first, patch(NEW_EVENTS + "/e", change, keep="status")))
    both = {**event, "regarding": {"kind": "Node", "name": "n"}}
    for space in ("default", "kube-system"):
        path = NEW_EVENTS.replace("{ns}", space)
        yield Probe(f"event/cluster-{space}", (post(path, {**both, "metadata": {"name": "{id}"}}, keep="status"),))
    yield Probe("event/cluster-elsewhere", (post(NEW_EVENTS, both),))
    keys = {"prefix-empty": "/a", "name-empty": "a.b/", "name-64": "x" * 64, "name-63": "x" * 63, "two": "a/b/c"}
    for name, key in keys.items():
        yield Probe(f"metadata/labels-key-{name}", (post(MAPS, config_map(labels={key: "v"})),))
        yield Probe(f"metadata/annotations-key-{name}", (post(MAPS, config_map(annotations={key: "v"})),))
    for name in ("prefix-empty", "name-64", "two"):
        yield Probe(f"metadata/finalizer-key-{name}", (post(MAPS, config_map(finalizers=[keys[name]])),))
        late = {"metadata": {"finalizers": [keys[name], "plain"]}}
        made = post(MAPS, config_map(finalizers=["example.com/a"]), keep="none")
        yield Probe(f"metadata/finalizer-change-{name}", (made, patch(MAPS + "/a", late)))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"}
    changed: dict[str, dict[str, Any]] = {
        "labels": {"labels": {"a b": "c d", "e": "x" * 64}},
        "annotations": {"annotations": {"a b": "c"}},
        "owner": {"ownerReferences": [{**owner, "kind": "", "name": "", "apiVersion": ""}]},
        "owners-two-controllers": {"ownerReferences": [{**owner, "controller": True}, {**owner, "controller": True}]},
        "owner-event": {"ownerReferences": [{**owner, "kind": "Event"}]},
    }
    for name, metadata in changed.items():
        yield Probe(
            f"metadata/change-{name}",
            (post(MAPS, config_map(), keep="none"), patch(MAPS + "/a", {"metadata": metadata})),
        )
        yield Probe(
            f"metadata/change-claim-{name}",
            (post(CLAIMS, claim(), keep="none"), patch(CLAIMS + "/c", {"metadata": metadata})),
        )
    for number, key in enumerate(("..", "..a", ".", "a/b", "a" * 254, "", "ok")):
        yield Probe(f"data/key-{number}", (post(MAPS, config_map(data={key: "v"})),))
        yield Probe(
            f"data/secret-key-{number}", (post(NS + "/secrets", {"metadata": {"name": "s"}, "stringData": {key: "v"}}),)
        )
    both_maps = {**config_map(), "binaryData": {"k": "AAAA", "l": "AAAA"}}
    yield Probe("data/both-maps", (post(MAPS, both_maps),))
    fixed = post(MAPS, {**config_map(), "immutable": True}, keep="none")
    fixed_changes: dict[str, dict[str, Any]] = {
        "data": {"data": {"k": "w"}},
        "key": {"data": {"l": "w"}},
        "binary": {"binaryData": {"b": "AAAA"}},
        "mutable": {"immutable": False},
        "removed": {"immutable": None},
        "label": {"metadata": {"labels": {"a": "b"}}},
        "bad-key": {"data": {"a/b": "c"}},
    }
    for name, change in fixed_changes.items():
        yield Probe(f"data/fixed-{name}", (fixed, patch(MAPS + "/a", change)))
    yield Probe(
        "data/change-bad-key", (post(MAPS, config_map(), keep="none"), patch(MAPS + "/a", {"data": {"a/b": "c"}}))
    )


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _managers()
    yield from _nulls()
    yield from _empty()
    yield from _limits()
