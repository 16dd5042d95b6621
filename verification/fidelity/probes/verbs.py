"""Create, read, replace and delete; generated names, dry runs, field validation, conflicts, preconditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, delete, get, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    CORE,
    LEASES,
    MAPS,
    NODE_AT_REST,
    NS,
    SLICES,
    TEMPLATES,
    claim,
    config_map,
    device_class,
    exact,
    slice_of,
)

# The kinds that drivers, schedulers and controllers write, each with a path and an object that is valid.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "configmap": (MAPS, config_map("{id}")),
    "claim": (CLAIMS, claim("{id}")),
    "template": (
        TEMPLATES,
        {"metadata": {"name": "{id}"}, "spec": {"spec": {"devices": {"requests": [exact()]}}}},
    ),
    "slice": (SLICES, slice_of()),
    "class": (CLASSES, device_class()),
    "taint-rule": (
        "/apis/resource.k8s.io/v1beta2/devicetaintrules",
        {"metadata": {"name": "{id}"}, "spec": {"taint": {"key": "example.com/broken", "effect": "NoSchedule"}}},
    ),
    "node": (CORE + "/nodes", {"metadata": {"name": "{id}"}}),
    "secret": (NS + "/secrets", {"metadata": {"name": "{id}"}, "stringData": {"a": "b"}}),
    "service-account": (NS + "/serviceaccounts", {"metadata": {"name": "{id}"}}),
    "lease": (
        LEASES,
        {"metadata": {"name": "{id}"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
    ),
    "event": (
        NS + "/events",
        {
            "metadata": {"name": "{id}"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}", "apiVersion": "v1"},
            "reason": "Testing",
            "message": "m",
            "type": "Normal",
            "source": {"component": "fidelity"},
        },
    ),
    "namespace": (CORE + "/namespaces", {"metadata": {"name": "{id}-two"}}),
    "role": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
        {"metadata": {"name": "{id}"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ),
    "priority-class": (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "{id}"}, "value": 5},
    ),
}


def _of_kinds() -> Iterator[Probe]:
    for kind, (path, body) in KINDS.items():
        name = body["metadata"]["name"]
        one = f"{path}/{name}"
        # Controllers change a new node; its content is defined after that.
        at_rest = NODE_AT_REST if kind == "node" else {}
        steps = (post(path, body), get(one, until_body=at_rest), put(one, body), delete(one, keep="code"))
        yield Probe(f"verbs/{kind}-life", steps)
        yield Probe(f"verbs/{kind}-managed", (post(path, body, keep=("metadata.managedFields",), managed=True),))
        yield Probe(f"verbs/{kind}-twice", (post(path, body, keep="none"), post(path, body)))
        yield Probe(f"verbs/{kind}-absent", (get(one), put(one, body), delete(one)))
        stale = {**body, "metadata": {**body["metadata"], "resourceVersion": "1"}}
        yield Probe(f"verbs/{kind}-stale", (post(path, body, keep="none"), put(one, stale)))
        unnamed = {**body, "metadata": {}}
        yield Probe(f"verbs/{kind}-unnamed", (post(path, unnamed),))
        bad = {**body, "metadata": {"name": "Not_Valid"}}
        yield Probe(f"verbs/{kind}-bad-name", (post(path, bad),))
        unknown = {**body, "nonsense": 1}
        yield Probe(f"verbs/{kind}-strict", (post(path, unknown, query=(("fieldValidation", "Strict"),)),))


def _generated() -> Iterator[Probe]:
    for kind in ("configmap", "claim", "slice", "class"):
        path, body = KINDS[kind]
        unnamed = {**body, "metadata": {"generateName": "gen-"}}
        yield Probe(f"verbs/{kind}-generate-name", (post(path, unnamed),))
    # The label with the name is set after managedFields: it has no owner.
    unnamed = {"metadata": {"generateName": "gen-"}}
    yield Probe("verbs/namespace-generate-name", (post(CORE + "/namespaces", unnamed, managed=True),))
    long = "a" * 300
    yield Probe("verbs/generate-name-invalid", (post(MAPS, config_map("", generateName="Bad_")),))
    yield Probe("verbs/generate-name-long", (post(MAPS, config_map("", generateName="a" * 250), keep="code"),))
    # Names of Services have at most 63 characters: longer prefixes are cut, so that the suffix fits.
    for length in (58, 59, 62):
        named = {"metadata": {"generateName": "a" * length}, "spec": {"ports": [{"port": 80}]}}
        yield Probe(f"verbs/generate-name-cut-{length}", (post(NS + "/services", named, keep="code"),))
    yield Probe("verbs/name-long", (post(MAPS, config_map(long)),))


def _dry() -> Iterator[Probe]:
    dry = (("dryRun", "All"),)
    for kind in ("configmap", "claim", "slice", "class"):
        path, body = KINDS[kind]
        one = f"{path}/{body['metadata']['name']}"
        yield Probe(f"verbs/{kind}-dry-create", (post(path, body, query=dry), get(one, keep="status")))
        steps = (post(path, body, keep="none"), delete(one, query=dry), get(one, keep=("metadata.name",)))
        yield Probe(f"verbs/{kind}-dry-delete", steps)
    yield Probe("verbs/dry-unknown", (post(MAPS, config_map(), query=(("dryRun", "Some"),)),))
    changed = config_map(data={"k": "new"})
    yield Probe(
        "verbs/dry-update",
        (post(MAPS, config_map(), keep="none"), put(MAPS + "/a", changed, query=dry), get(MAPS + "/a")),
    )


def _fields() -> Iterator[Probe]:
    bodies: dict[str, Any] = {
        "unknown-top": {**config_map(), "foo": 1},
        "unknown-metadata": config_map(bar=1),
        "unknown-two": {**config_map(), "foo": 1, "bar": {"x": 2}},
    }
    for mode in ("Strict", "Warn", "Ignore", "Wrong"):
        query = (("fieldValidation", mode),)
        for name, body in bodies.items():
            yield Probe(f"fields/{mode}-{name}", (post(MAPS, body, query=query),))
        nested = claim("c", exact(nonsense=1))
        yield Probe(f"fields/{mode}-claim", (post(CLAIMS, nested, query=query),))
        device = slice_of("{id}", {"name": "gpu-0", "extra": 1, "attributes": {"a": {"string": "x", "other": 1}}})
        yield Probe(f"fields/{mode}-slice", (post(SLICES, device, query=query),))
        # Bytes: no serializer writes one key twice.
        double = b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
        yield Probe(f"fields/{mode}-duplicate", (post(MAPS, double, query=query),))
        double_name = b'{"metadata":{"name":"a","name":"b"}}'
        yield Probe(f"fields/{mode}-duplicate-name", (post(MAPS, double_name, query=query),))
    yield Probe("fields/default-mode", (post(MAPS, bodies["unknown-two"]),))
    cased = {"METADATA": {"name": "x"}, "metadata": {"name": "a"}, "Data": {"k": "v"}}
    yield Probe("fields/case-matters", (post(MAPS, cased, query=(("fieldValidation", "Strict"),)),))
    kinds: dict[str, Any] = {
        "string-for-int": slice_of("{id}", pool={"name": "n", "generation": "1", "resourceSliceCount": 1}),
        "int-for-string": slice_of("{id}", driver=5),
        "list-for-map": slice_of("{id}", pool=[]),
        "map-for-list": slice_of("{id}", devices={}),
        "null-list": slice_of("{id}", devices=None),
        "float-for-int": slice_of("{id}", pool={"name": "n", "generation": 1.5, "resourceSliceCount": 1}),
        "whole-float-for-int": slice_of("{id}", pool={"name": "n", "generation": 1.0, "resourceSliceCount": 1}),
        "bad-quantity": slice_of("{id}", {"name": "d", "capacity": {"m": {"value": "lots"}}}),
        "number-quantity": slice_of("{id}", {"name": "d", "capacity": {"m": {"value": 5}}}),
        "quantity-canonical": slice_of("{id}", {"name": "d", "capacity": {"m": {"value": "1024Mi"}}}),
        "bool-for-string-attribute": slice_of("{id}", {"name": "d", "attributes": {"a": {"string": True}}}),
        "huge-int": slice_of("{id}", {"name": "d", "attributes": {"a": {"int": 9223372036854775808}}}),
    }
    for name, body in kinds.items():
        yield Probe(f"fields/type-{name}", (post(SLICES, body),))
    times = {"a": {**config_map(creationTimestamp="yesterday")}, "b": config_map(creationTimestamp=None)}
    yield Probe("fields/type-bad-time", (post(MAPS, times["a"]),))
    yield Probe("fields/type-null-time", (post(MAPS, times["b"]),))
    yield Probe("fields/type-data-int", (post(MAPS, config_map(data={"k": 1})),))
    yield Probe("fields/type-labels-int", (post(MAPS, config_map(labels={"k": 1})),))


def _bodies() -> Iterator[Probe]:
    table: dict[str, Any] = {
        "empty": b"",
        "not-json": b"{",
        "array": b"[]",
        "string": b'"x"',
        "null": b"null",
        "trailing": b'{"metadata":{"name":"a"}} x',
        "no-kind": b'{"metadata":{"name":"a"}}',
        "wrong-kind": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
        "wrong-version": {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}},
        "unknown-group": {"apiVersion": "example.com/v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        "kind-only": {"kind": "ConfigMap", "metadata": {"name": "a"}},
        "other-namespace": config_map(namespace="elsewhere"),
        "with-uid": config_map(uid="0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"),
        "with-version": config_map(resourceVersion="7"),
        "with-deletion": config_map(deletionTimestamp="2020-01-02T03:04:05Z"),
        "with-generation": config_map(generation=7),
        "with-self-link": config_map(selfLink="/x"),
    }
    for name, body in table.items():
        yield Probe(f"body/create-{name}", (post(MAPS, body),))
    for name, claimed in {"version": "resource.k8s.io/v1beta1", "unknown": "resource.k8s.io/v9"}.items():
        yield Probe(f"body/claim-other-{name}", (post(CLAIMS, {**claim(), "apiVersion": claimed}),))
    updates: dict[str, Any] = {
        "other-name": config_map("b"),
        "no-name": {"data": {"k": "w"}},
        "other-namespace": config_map(namespace="elsewhere"),
        "other-uid": config_map(uid="0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"),
        "same-version": config_map(resourceVersion="{0.metadata.resourceVersion}", data={"k": "w"}),
        "bad-version": config_map(resourceVersion="abc"),
        "zero-version": config_map(resourceVersion="0"),
        "future-version": config_map(resourceVersion="999999999"),
        "no-change": config_map(),
        "not-json": b"{",
    }
    for name, body in updates.items():
        yield Probe(f"body/update-{name}", (post(MAPS, config_map(), keep="none"), put(MAPS + "/a", body)))
    yield Probe("body/namespace-absent", (post(CORE + "/namespaces/nowhere-at-all/configmaps", config_map()),))
    yield Probe("body/claim-namespace-absent", (post(CLAIMS.replace("{ns}", "nowhere-at-all"), claim()),))
    yield Probe("body/too-large", (post(MAPS, config_map(data={"k": "x" * 1_100_000})),))
    yield Probe("body/far-too-large", (post(MAPS, config_map(data={"k": "x" * 3_200_000}), keep="status"),))


def _preconditions() -> Iterator[Probe]:
    table: dict[str, Any] = {
        "uid-right": {"preconditions": {"uid": "{0.metadata.uid}"}},
        "uid-wrong": {"preconditions": {"uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"}},
        "version-right": {"preconditions": {"resourceVersion": "{0.metadata.resourceVersion}"}},
        "version-wrong": {"preconditions": {"resourceVersion": "1"}},
        "policy-unknown": {"propagationPolicy": "Sideways"},
        "policy-and-orphan": {"propagationPolicy": "Orphan", "orphanDependents": True},
        "grace-negative": {"gracePeriodSeconds": -5},
        "dry-run": {"dryRun": ["All"]},
        "dry-run-unknown": {"dryRun": ["Some"]},
        "foreground": {"propagationPolicy": "Foreground"},
        "empty": {},
        "with-kind": {"apiVersion": "v1", "kind": "DeleteOptions"},
        "wrong-kind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "not-json": b"{",
    }
    for name, body in table.items():
        # The body of a foreground deletion depends on how far the garbage collector is.
        keep = "code" if name == "foreground" else "all"
        yield Probe(f"delete/{name}", (post(MAPS, config_map(), keep="none"), delete(MAPS + "/a", body, keep=keep)))
        if name in ("uid-wrong", "version-wrong", "empty"):
            steps: tuple[Step, ...] = (post(CLAIMS, claim(), keep="none"), delete(CLAIMS + "/c", body))
            yield Probe(f"delete/claim-{name}", steps)
    for name, query in {
        "policy": ("propagationPolicy", "Background"),
        "policy-unknown": ("propagationPolicy", "Sideways"),
        "grace": ("gracePeriodSeconds", "0"),
        "grace-word": ("gracePeriodSeconds", "soon"),
    }.items():
        steps = (post(MAPS, config_map(), keep="none"), delete(MAPS + "/a", query=(query,)))
        yield Probe(f"delete/query-{name}", steps)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _of_kinds()
    yield from _generated()
    yield from _dry()
    yield from _fields()
    yield from _bodies()
    yield from _preconditions()
