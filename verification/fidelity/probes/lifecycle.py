"""Controllers of the control plane: garbage collection, namespace deletion; and status subresources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, apply, delete, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CORE,
    MAPS,
    NODE_AT_REST,
    NODES,
    NS,
    SLICES,
    allocation,
    claim,
    config_map,
    slice_of,
)


def _owned(**more: Any) -> Any:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "{0.metadata.uid}", **more}
    return config_map("child", ownerReferences=[owner])


def _collected() -> Iterator[Probe]:
    first = post(MAPS, config_map(), keep="none")
    child = MAPS + "/child"
    # The garbage collector runs later than the delete request.
    gone = get(child, until=404, keep="status")
    background = {"propagationPolicy": "Background"}
    yield Probe("gc/background", (first, post(MAPS, _owned(), keep="code"), delete(MAPS + "/a", background), gone))
    yield Probe("gc/default", (first, post(MAPS, _owned(), keep="code"), delete(MAPS + "/a", keep="code"), gone))
    foreground = {"propagationPolicy": "Foreground"}
    blocking = post(MAPS, _owned(blockOwnerDeletion=True), keep="code")
    yield Probe(
        "gc/foreground",
        (
            first,
            blocking,
            delete(MAPS + "/a", foreground, keep="code"),
            gone,
            get(MAPS + "/a", until=404, keep="status"),
        ),
    )
    orphan = {"propagationPolicy": "Orphan"}
    yield Probe(
        "gc/orphan",
        (
            first,
            post(MAPS, _owned(), keep="code"),
            delete(MAPS + "/a", orphan, keep="code"),
            get(MAPS + "/a", until=404, keep="status"),
            get(child, keep=("metadata.ownerReferences", "metadata.finalizers")),
        ),
    )
    absent = config_map(
        "child",
        ownerReferences=[
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"}
        ],
    )
    yield Probe("gc/owner-never-there", (post(MAPS, absent, keep="code"), gone))
    node = post(NODES, {"metadata": {"name": "{id}"}}, keep="none")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "{id}", "uid": "{0.metadata.uid}", "controller": True}
    owned = slice_of(metadata={"ownerReferences": [owner]})
    yield Probe(
        "gc/slice-of-node",
        (
            node,
            post(SLICES, owned),
            delete(NODES + "/{id}", keep="code"),
            get(SLICES + "/{id}", until=404, keep="status"),
        ),
    )


def _namespaces() -> Iterator[Probe]:
    steps: tuple[Step, ...] = (
        post(MAPS, config_map(), keep="code"),
        post(CLAIMS, claim(), keep="code"),
        delete(NS, keep=("status.phase", "spec.finalizers")),
        get(NS, until=404),
        get(MAPS + "/a", keep="status"),
        get(CLAIMS + "/c", keep="status"),
    )
    yield Probe("namespace/deleted", steps)
    # The finalizer of one object holds the whole namespace.
    held = claim(metadata={"finalizers": ["example.com/guard"]})
    free = {"metadata": {"finalizers": None}}
    steps = (
        post(CLAIMS, held, keep="code"),
        delete(NS, keep="code"),
        post(MAPS, config_map("late")),
        get(CLAIMS + "/c", keep=("metadata.finalizers",)),
        delete(NS),
        patch(CLAIMS + "/c", free, keep="code"),
        get(NS, until=404, keep="status"),
    )
    yield Probe("namespace/held", steps)
    yield Probe("namespace/read", (get(NS),))
    yield Probe("namespace/relabel", (patch(NS, {"metadata": {"labels": {"a": "b"}}}),))
    yield Probe("namespace/name-label", (patch(NS, {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}}),))
    yield Probe("namespace/too-long", (post(CORE + "/namespaces", {"metadata": {"name": "a" * 64}}),))
    yield Probe("namespace/dots", (post(CORE + "/namespaces", {"metadata": {"name": "a.b"}}),))
    yield Probe(
        "namespace/default-forbidden", (delete(CORE + "/namespaces/default"), delete(CORE + "/namespaces/kube-system"))
    )


def _statuses() -> Iterator[Probe]:
    first = post(CLAIMS, {**claim(), "status": {"allocation": allocation()}})
    status = CLAIMS + "/c/status"
    yield Probe("status/create-drops", (first, get(status)))
    make = post(CLAIMS, claim(), keep="none")
    new = {**claim(), "status": {"allocation": allocation()}}
    yield Probe("status/claim-put", (make, put(status, new)))
    yield Probe("status/claim-spec-through-status", (make, patch(status, {"spec": {"devices": {"requests": []}}})))
    yield Probe("status/claim-label-through-status", (make, patch(status, {"metadata": {"labels": {"a": "b"}}})))
    finalizers = {"metadata": {"finalizers": ["example.com/x"]}}
    yield Probe("status/claim-finalizer-through-status", (make, patch(status, finalizers)))
    through = {"status": {"allocation": allocation()}}
    yield Probe("status/claim-status-through-spec", (make, patch(CLAIMS + "/c", through), get(CLAIMS + "/c")))
    allocated = patch(status, through, keep="none")
    yield Probe("status/claim-deallocate", (make, allocated, patch(status, {"status": {"allocation": None}})))
    other = {"status": {"allocation": allocation(device="gpu-7")}}
    yield Probe("status/claim-reallocate", (make, allocated, patch(status, other)))
    reserve = {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u-1"}]}}
    yield Probe("status/claim-reserve-unallocated", (make, patch(status, reserve)))
    yield Probe("status/claim-reserve", (make, allocated, patch(status, reserve)))
    # The limit is 256 consumers (ResourceClaimReservedForMaxSize).
    many = [{"resource": "pods", "name": f"p-{n}", "uid": f"u-{n}"} for n in range(257)]
    yield Probe("status/claim-reserve-257", (make, allocated, patch(status, {"status": {"reservedFor": many}})))
    twice = {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u-1"}] * 2}}
    yield Probe("status/claim-reserve-twice", (make, allocated, patch(status, twice)))
    drop = {"status": {"allocation": None}}
    reserved = patch(status, reserve, keep="none")
    yield Probe("status/claim-deallocate-reserved", (make, allocated, reserved, patch(status, drop)))
    deleted = delete(CLAIMS + "/c")
    yield Probe("status/claim-delete-reserved", (make, allocated, reserved, deleted, get(CLAIMS + "/c", keep="status")))
    guard = post(CLAIMS, claim(metadata={"finalizers": ["example.com/guard"]}), keep="none")
    late = (guard, allocated, delete(CLAIMS + "/c", keep="none"), patch(status, reserve))
    yield Probe("status/claim-reserve-deleted", late)
    yield Probe("status/claim-stale", (make, put(status, {**new, "metadata": {"name": "c", "resourceVersion": "1"}})))
    yield Probe("status/claim-absent", (get(status), patch(status, {}), put(status, new)))
    yield Probe("status/slice-none", (post(SLICES, slice_of(), keep="none"), get(SLICES + "/{id}/status")))
    yield Probe("status/delete", (make, delete(status)))
    yield Probe("status/create", (make, post(status, new)))
    made = post(NODES, {"metadata": {"name": "{id}"}, "status": {"capacity": {"cpu": "4"}}})
    node = (made, get(NODES + "/{id}", until_body=NODE_AT_REST))
    capacity = {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3900m"}}}
    yield Probe("status/node", (*node, patch(NODES + "/{id}/status", capacity)))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Up"}]}}
    yield Probe("status/node-condition", (*node, patch(NODES + "/{id}/status", ready)))
    taint = {"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}}
    yield Probe("status/node-taint-bad", (*node, patch(NODES + "/{id}", taint)))
    off = patch(NODES + "/{id}", {"spec": {"unschedulable": True}}, keep="code")
    cordoned = get(NODES + "/{id}", until_body={"spec.taints.effect": ["NoSchedule"]}, keep=("spec.taints.key",))
    yield Probe("status/node-cordoned", (*node, off, cordoned))
    taint = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    yield Probe("status/node-taint", (*node, patch(NODES + "/{id}", taint, keep=("spec",))))
    applied = {**new, "metadata": {"name": "c"}}
    yield Probe("status/claim-apply", (make, apply(status, applied, managed=True)))
    for endpoint in ("scale", "nonsense"):
        yield Probe(
            f"status/claim-subresource-{endpoint}",
            (make, get(CLAIMS + f"/c/{endpoint}"), patch(CLAIMS + f"/c/{endpoint}", {})),
        )


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _collected()
    yield from _namespaces()
    yield from _statuses()
