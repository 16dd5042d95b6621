"""Patches of every format, and field ownership."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import APPLY, JSON_PATCH, MERGE, STRATEGIC, Probe, apply, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    MAPS,
    PODS,
    SLICES,
    allocation,
    claim,
    config_map,
    device_class,
    exact,
    pod,
    slice_of,
)

_JSON: dict[str, Any] = {
    "null-operation": [None],
    "move-from-nowhere": [{"op": "move", "path": "/data/x"}],
    "copy-from-nowhere": [{"op": "copy", "path": "/data/x"}],
    "from-of-another-type": [{"op": "copy", "from": 1, "path": "/data/x"}],
    "path-of-another-type": [{"op": "add", "path": {}, "value": 1}],
    "remove-nothing": [{"op": "remove"}],
    "empty-operation": [{}],
    "zero-operation": [0],
    "list-operation": [[]],
    "add": [{"op": "add", "path": "/data/n", "value": "1"}],
    "add-deep-missing": [{"op": "add", "path": "/x/y/z", "value": "1"}],
    "remove": [{"op": "remove", "path": "/data/k"}],
    "remove-missing": [{"op": "remove", "path": "/data/none"}],
    "replace": [{"op": "replace", "path": "/data/k", "value": "w"}],
    "replace-missing": [{"op": "replace", "path": "/data/none", "value": "w"}],
    "test-right": [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "add", "path": "/data/n", "value": "1"}],
    "test-wrong": [{"op": "test", "path": "/data/k", "value": "x"}, {"op": "add", "path": "/data/n", "value": "1"}],
    "test-missing": [{"op": "test", "path": "/data/none", "value": "x"}],
    "test-null": [{"op": "test", "path": "/data/none", "value": None}],
    "move": [{"op": "move", "from": "/data/k", "path": "/data/l"}],
    "copy": [{"op": "copy", "from": "/data/k", "path": "/data/l"}],
    "copy-missing": [{"op": "copy", "from": "/data/none", "path": "/data/l"}],
    "escaped": [{"op": "add", "path": "/metadata/annotations", "value": {"example.com~a": "b"}}],
    "tilde": [{"op": "add", "path": "/data/a~1b", "value": "x"}],
    "unknown-op": [{"op": "frobnicate", "path": "/data/k"}],
    "no-op": [{"path": "/data/k", "value": "x"}],
    "no-path": [{"op": "add", "value": "x"}],
    "no-value": [{"op": "add", "path": "/data/n"}],
    "object": {"op": "add", "path": "/data/n", "value": "1"},
    "empty": [],
    "bad-type": [{"op": "replace", "path": "/data", "value": "text"}],
    "unknown-field": [{"op": "add", "path": "/nonsense", "value": 1}],
    "stale-version": [{"op": "add", "path": "/metadata/resourceVersion", "value": "1"}],
    "uid-test": [
        {"op": "test", "path": "/metadata/uid", "value": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"},
        {"op": "add", "path": "/data/n", "value": "1"},
    ],
}
_MERGE: dict[str, Any] = {
    "add": {"data": {"n": "1"}},
    "remove": {"data": {"k": None}},
    "remove-map": {"data": None},
    "unknown": {"nonsense": 1},
    "bad-type": {"data": "text"},
    "array": [],
    "string": "x",
    "empty": {},
    "kind": {"kind": "Secret"},
    "api-version": {"apiVersion": "v2"},
    "stale-version": {"metadata": {"resourceVersion": "1"}},
    "same-version": {"metadata": {"resourceVersion": "{0.metadata.resourceVersion}"}, "data": {"k": "w"}},
    "not-json": b"{",
    "null": b"null",
    "replace-key": {"data": {"$patch": "replace"}},
}


def _plain() -> Iterator[Probe]:
    first = post(MAPS, config_map(), keep="none")
    for name, body in _JSON.items():
        yield Probe(f"patch-json/{name}", (first, patch(MAPS + "/a", body, JSON_PATCH)))
    for name, body in _MERGE.items():
        yield Probe(f"patch-merge/{name}", (first, patch(MAPS + "/a", body, MERGE)))
        yield Probe(f"patch-strategic/{name}", (first, patch(MAPS + "/a", body, STRATEGIC)))
    for name, kind in {"json": JSON_PATCH, "merge": MERGE, "strategic": STRATEGIC}.items():
        nothing: Any = [] if kind == JSON_PATCH else {}
        yield Probe(f"patch-{name}/absent", (patch(MAPS + "/a", nothing, kind),))
        query = (("fieldValidation", "Strict"),)
        bad: Any = _JSON["unknown-field"] if kind == JSON_PATCH else {"nonsense": 1}
        yield Probe(f"patch-{name}/strict", (first, patch(MAPS + "/a", bad, kind, query=query)))
    for name, kind in {"json": "application/json", "text": "text/plain", "yaml": "application/yaml"}.items():
        yield Probe(f"patch-type/{name}", (first, patch(MAPS + "/a", {}, kind)))
    spec = {"spec": {"devices": {"requests": [exact("other")]}}}
    for name, kind in {"merge": MERGE, "strategic": STRATEGIC}.items():
        yield Probe(f"patch-{name}/claim-spec", (post(CLAIMS, claim(), keep="none"), patch(CLAIMS + "/c", spec, kind)))
        devices = {"spec": {"devices": [{"name": "gpu-1"}]}}
        yield Probe(
            f"patch-{name}/slice-devices",
            (post(SLICES, slice_of(), keep="none"), patch(SLICES + "/{id}", devices, kind)),
        )


def _strategic_pods() -> Iterator[Probe]:
    first = post(PODS, pod(tolerations=[{"key": "a", "operator": "Exists"}]), keep="none")
    keep = ("metadata", "spec.containers", "spec.tolerations", "spec.schedulingGates", "status")
    table: dict[str, Any] = {
        "container-image": {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}},
        "container-added": {"spec": {"containers": [{"name": "two", "image": "x"}]}},
        "container-deleted": {"spec": {"containers": [{"name": "main", "$patch": "delete"}]}},
        "no-key": {"spec": {"containers": [{"image": "x"}]}},
        "toleration-added": {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}},
        "finalizer-deleted": {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}},
        "labels-replaced": {"metadata": {"labels": {"$patch": "replace", "z": "1"}}},
    }
    for name, body in table.items():
        yield Probe(f"patch-strategic/pod-{name}", (first, patch(PODS + "/p", body, STRATEGIC, keep=keep)), pods=True)
    wrong: dict[str, dict[str, Any]] = {
        "order": {"spec": {"$setElementOrder/containers": 1}},
        "primitives": {"metadata": {"$deleteFromPrimitiveList/finalizers": 1}},
        "retained": {"spec": {"$retainKeys": 1}},
    }
    for name, body in wrong.items():
        changed = patch(PODS + "/p", body, STRATEGIC, keep=("message", "reason", "code"))
        yield Probe(f"patch-strategic/pod-{name}-of-another-type", (first, changed), pods=True)
    conditions = {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}
    again = {"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Mine", "status": "False"}]}}
    status = PODS + "/p/status"
    steps = (
        first,
        patch(status, conditions, STRATEGIC, keep=("status.conditions",)),
        patch(status, again, STRATEGIC, keep=("status.conditions",)),
    )
    yield Probe("patch-strategic/pod-conditions", steps, pods=True)


def _applied() -> Iterator[Probe]:
    one = MAPS + "/a"
    base = config_map()
    other = config_map(data={"k": "theirs"})
    keep = ("data", "metadata.managedFields")
    more: dict[str, Any] = {"managed": True, "keep": keep}
    table: dict[str, tuple[Any, ...]] = {
        "creates": (apply(one, base, managed=True),),
        "twice": (apply(one, base, keep="none"), apply(one, base, managed=True)),
        "conflict": (apply(one, base, keep="none"), apply(one, other, "two")),
        "forced": (apply(one, base, keep="none"), apply(one, other, "two", force=True, **more)),
        "shared": (apply(one, base, keep="none"), apply(one, base, "two", **more)),
        "given-up": (
            apply(one, config_map(data={"k": "v", "l": "w"}), keep="none"),
            apply(one, base, **more),
        ),
        "given-up-shared": (
            apply(one, base, keep="none"),
            apply(one, base, "two", keep="none"),
            apply(one, config_map(data={"l": "w"}), **more),
        ),
        "over-update": (post(MAPS, base, keep="none"), apply(one, other)),
        "over-update-forced": (post(MAPS, base, keep="none"), apply(one, other, force=True, **more)),
        "then-update": (apply(one, base, keep="none"), put(one, other, **more)),
        "then-update-same": (apply(one, base, keep="none"), put(one, base, **more)),
        "then-merge": (apply(one, base, keep="none"), patch(one, {"data": {"n": "1"}}, **more)),
        "then-merge-removes": (apply(one, base, keep="none"), patch(one, {"data": {"k": None}}, **more)),
        "named-update": (apply(one, base, keep="none"), put(one, other, query=(("fieldManager", "me"),), **more)),
        "no-manager": (patch(one, base, APPLY),),
        "long-manager": (apply(one, base, "x" * 129),),
        "bad-manager": (apply(one, base, "a\tb"),),
        "no-kind": (apply(one, {"metadata": {"name": "a"}}),),
        "other-name": (apply(one, config_map("b")),),
        "no-name": (apply(one, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}, keep=("data",)),),
        "unknown-field": (apply(one, {**base, "nonsense": 1}),),
        "managed-given": (apply(one, config_map(managedFields=[{"manager": "x"}])),),
        "wrong-type": (apply(one, config_map(data={"k": {"a": 1}})),),
        "stale-version": (apply(one, base, keep="none"), apply(one, config_map(resourceVersion="1"))),
        "dry": (apply(one, base, query=(("dryRun", "All"),), managed=True), get(one, keep="status")),
        "yaml": (apply(one, b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n", managed=True),),
        "not-yaml": (apply(one, b"{a: b: c"),),
        "force-elsewhere": (post(MAPS, base, keep="none"), patch(one, {}, query=(("force", "true"),))),
        "reset": (apply(one, base, keep="none"), patch(one, {"metadata": {"managedFields": [{}]}}, **more)),
        "uid-wrong": (
            apply(one, base, keep="none"),
            apply(one, config_map(uid="0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11")),
        ),
        "empty": (apply(one, base, keep="none"), apply(one, b"", keep="status")),
        "create-manager": (post(MAPS, base, query=(("fieldManager", "me"),), managed=True),),
    }
    for name, steps in table.items():
        yield Probe(f"apply/{name}", steps)
    yield from _applied_resources()


def _applied_resources() -> Iterator[Probe]:
    one = CLAIMS + "/c"
    status = one + "/status"
    keep = ("status", "metadata.managedFields")
    more: dict[str, Any] = {"managed": True, "keep": keep}

    def device(name: str, value: str) -> dict[str, Any]:
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "status": {
                "devices": [{"driver": "gpu.example.com", "pool": "node-1", "device": name, "data": {"a": value}}]
            },
        }

    first = post(CLAIMS, claim(), keep="none")
    two = [{**allocation()["devices"]["results"][0], "device": name} for name in ("gpu-0", "gpu-1")]
    allocated = patch(status, {"status": {"allocation": {"devices": {"results": two}}}}, keep="code")
    yield Probe("apply/claim", (apply(one, claim(), managed=True),))
    yield Probe("apply/claim-status-device", (first, allocated, apply(status, device("gpu-0", "x"), **more)))
    yield Probe(
        "apply/claim-status-two-drivers",
        (
            first,
            allocated,
            apply(status, device("gpu-0", "x"), keep="none"),
            apply(status, device("gpu-1", "y"), "two", **more),
            apply(status, device("gpu-0", "z"), "two"),
        ),
    )
    reserved = {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u-1"}]}}
    yield Probe("patch-merge/claim-reserved", (first, allocated, patch(status, reserved, **more)))
    again = {"status": {"reservedFor": [{"resource": "pods", "name": "q", "uid": "u-2"}]}}
    yield Probe(
        "patch-strategic/claim-reserved",
        (first, allocated, patch(status, reserved, keep="none"), patch(status, again, STRATEGIC, **more)),
    )
    yield Probe("apply/slice", (apply(SLICES + "/{id}", slice_of(), managed=True),))
    yield Probe(
        "apply/slice-devices",
        (
            apply(SLICES + "/{id}", slice_of(), keep="none"),
            apply(SLICES + "/{id}", slice_of("{id}", {"name": "gpu-1"}), "two"),
        ),
    )
    yield Probe("apply/class", (apply(CLASSES + "/{id}", device_class(), managed=True),))
    yield Probe("apply/pod", (apply(PODS + "/p", pod(), managed=True, keep=("metadata",)),), pods=True)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _plain()
    yield from _strategic_pods()
    yield from _applied()
