"""Metadata that the server keeps or refuses: labels, annotations, owners, finalizers, generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import JSON_PATCH, Probe, delete, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    LEASES,
    MAPS,
    NODES,
    SLICES,
    claim,
    config_map,
    device_class,
    slice_of,
)

_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"}

_CREATE: dict[str, Any] = {
    "label-key-bad": {"labels": {"not valid": "x"}},
    "label-value-bad": {"labels": {"a": "not valid"}},
    "label-value-long": {"labels": {"a": "x" * 64}},
    "label-prefix-bad": {"labels": {"Bad_Prefix/a": "x"}},
    "label-empty": {"labels": {"a": ""}},
    "annotation-key-bad": {"annotations": {"not valid": "x"}},
    "annotation-key-case": {"annotations": {"Example.COM/A": "x"}},
    # The limit for all annotations of an object is 256 KiB.
    "annotations-too-large": {"annotations": {"a": "x" * 262145}},
    "finalizer-unqualified": {"finalizers": ["plain"]},
    "finalizer-qualified": {"finalizers": ["example.com/guard"]},
    "finalizer-bad": {"finalizers": ["bad name/x"]},
    "finalizer-foreground": {"finalizers": ["foregroundDeletion"]},
    "finalizer-both": {"finalizers": ["foregroundDeletion", "orphan"]},
    "finalizer-twice": {"finalizers": ["example.com/a", "example.com/a"]},
    "owner-no-uid": {"ownerReferences": [{**_OWNER, "uid": ""}]},
    "owner-no-name": {"ownerReferences": [{**_OWNER, "name": ""}]},
    "owner-no-kind": {"ownerReferences": [{**_OWNER, "kind": ""}]},
    "owner-bad-version": {"ownerReferences": [{**_OWNER, "apiVersion": "a/b/c"}]},
    "owner-event": {"ownerReferences": [{**_OWNER, "kind": "Event"}]},
    "owner-two-controllers": {
        "ownerReferences": [
            {**_OWNER, "controller": True},
            {**_OWNER, "name": "p", "uid": "1b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11", "controller": True},
        ]
    },
    "owner-twice": {"ownerReferences": [_OWNER, _OWNER]},
    "managed-fields-given": {"managedFields": []},
}


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    for name, given in _CREATE.items():
        object_ = config_map(**given)
        keep = ("metadata.name",) if name == "owner-twice" or name.startswith("owner-event") else "all"
        yield Probe(f"metadata/create-{name}", (post(MAPS, object_, keep=keep),))
        if name in ("label-key-bad", "finalizer-unqualified", "owner-no-uid", "annotation-key-bad"):
            yield Probe(f"metadata/claim-{name}", (post(CLAIMS, claim(metadata=given)),))
            yield Probe(f"metadata/slice-{name}", (post(SLICES, slice_of("{id}", metadata=given)),))
    changes: dict[str, Any] = {
        "label-bad": {"labels": {"a": "not valid"}},
        "uid": {"uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"},
        "name": {"name": "b"},
        "namespace": {"namespace": "elsewhere"},
        "generation": {"generation": 9},
        "creation-null": {"creationTimestamp": None},
        "creation-other": {"creationTimestamp": "2020-01-02T03:04:05Z"},
        "deletion": {"deletionTimestamp": "2020-01-02T03:04:05Z"},
        "grace": {"deletionGracePeriodSeconds": 5},
        "self-link": {"selfLink": "/x"},
        "generate-name": {"generateName": "gen-"},
        "version": {"resourceVersion": "1"},
        "finalizer": {"finalizers": ["example.com/guard"]},
    }
    for name, given in changes.items():
        steps = (post(MAPS, config_map(), keep="none"), patch(MAPS + "/a", {"metadata": given}))
        yield Probe(f"metadata/patch-{name}", steps)
        steps = (post(CLAIMS, claim(), keep="none"), patch(CLAIMS + "/c", {"metadata": given}))
        yield Probe(f"metadata/patch-claim-{name}", steps)
    yield from _finalizers()
    yield from _generation()


def _finalizers() -> Iterator[Probe]:
    guarded = claim(metadata={"finalizers": ["example.com/guard"]})
    first = post(CLAIMS, guarded, keep="none")
    one = CLAIMS + "/c"
    free = {"metadata": {"finalizers": None}}
    yield Probe("finalizers/held", (first, delete(one), get(one)))
    yield Probe("finalizers/freed", (first, delete(one, keep="none"), patch(one, free), get(one)))
    yield Probe("finalizers/twice", (first, delete(one, keep="none"), delete(one)))
    more = {"metadata": {"finalizers": ["example.com/guard", "example.com/more"]}}
    yield Probe("finalizers/added-late", (first, delete(one, keep="none"), patch(one, more)))
    labels = {"metadata": {"labels": {"a": "b"}}}
    yield Probe("finalizers/label-late", (first, delete(one, keep="none"), patch(one, labels)))
    yield Probe("finalizers/create-while-held", (first, delete(one, keep="none"), post(CLAIMS, guarded)))
    gone = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    yield Probe("finalizers/json-patch", (first, delete(one, keep="none"), patch(one, gone, JSON_PATCH)))
    foreground = {"propagationPolicy": "Foreground"}
    yield Probe("finalizers/foreground", (first, delete(one, foreground), patch(one, free, keep="code")))
    orphan = {"propagationPolicy": "Orphan"}
    yield Probe("finalizers/orphan", (first, delete(one, orphan, keep="code")))


def _generation() -> Iterator[Probe]:
    keep = ("metadata.generation",)
    table: dict[str, tuple[str, str, Any, Any]] = {
        "slice-spec": (SLICES, "{id}", slice_of(), {"spec": {"devices": [{"name": "gpu-1"}]}}),
        "slice-label": (SLICES, "{id}", slice_of(), {"metadata": {"labels": {"a": "b"}}}),
        "class-spec": (CLASSES, "{id}", device_class(), {"spec": {"selectors": []}}),
        "claim-label": (CLAIMS, "c", claim(), {"metadata": {"labels": {"a": "b"}}}),
        "configmap-data": (MAPS, "a", config_map(), {"data": {"k": "w"}}),
        "node-spec": (NODES, "{id}", {"metadata": {"name": "{id}"}}, {"spec": {"unschedulable": True}}),
        "pod-none": (
            LEASES,
            "l",
            {"metadata": {"name": "l"}},
            {"spec": {"holderIdentity": "x"}},
        ),
    }
    for name, (path, key, body, change) in table.items():
        one = f"{path}/{key}"
        yield Probe(f"generation/{name}", (post(path, body, keep=keep), patch(one, change, keep=keep)))
    same = ("metadata.resourceVersion", "metadata.generation")
    yield Probe(
        "generation/no-change-no-version",
        (
            post(MAPS, config_map(), keep="none"),
            put(MAPS + "/a", config_map(), keep=same),
            # a write without a change must keep the version: this write with the first version succeeds
            put(MAPS + "/a", config_map(data={"k": "2"}, resourceVersion="{0.metadata.resourceVersion}"), keep="code"),
        ),
    )
