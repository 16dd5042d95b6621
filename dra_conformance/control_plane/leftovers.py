"""Objects of interrupted runs on a cluster: found by the run's label, deleted by UID.

The permission table has the resources that a run may create. Everything in a namespace of a run belongs to the run, and
so do ResourceSlices of its nodes, independent of their creator. A deletion has the object's UID as precondition, so
that a new object of the same name remains.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dra_api.client import ApiError, Conflict, Forbidden, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.objects import (
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_SLICES,
    Obj,
    Resource,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_conformance.core.labels import RUN_LABEL
from dra_conformance.rbac.table import finalized_by_runs, made_by_runs

FINALIZERS = frozenset(
    {
        "resource.kubernetes.io/delete-protection",  # of schedulers and binders, on claims
        "resource.nvidia.com/computeDomain",  # of the ComputeDomain controller
        "dra-conformance/hold",  # of scenarios with a slow deletion
    }
)
"""Finalizers that a run or its components add to objects. The cleanup removes no other finalizers."""

_GRACE, _ROUND = 5.0, 1.0
_TURN = 0.2
_LAST = (NODES.plural, NAMESPACES.plural)  # deleted last: other objects are found through them


@dataclass(frozen=True, slots=True)
class Leftover:
    """One existing object of a run. `held_by` are finalizers that block its deletion."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    run_id: str
    created: str = ""
    held_by: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        held = f" (held by {', '.join(self.held_by)})" if self.held_by else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.resource.kind} {where}{self.name}{held}{why}"


@dataclass(frozen=True, slots=True)
class Found:
    """The objects found, and the resources that this user may not list."""

    leftovers: Sequence[Leftover]
    unseen: Sequence[str] = field(default=())


def find(client: KubeClient, run_id: str = "", *, profiles: tuple[str, ...] = ()) -> Found:
    """Return all objects of one run, or of all runs if `run_id` is empty. Read-only.

    `profiles` of the run restrict the resources (none: all).
    """
    selector = f"{RUN_LABEL}={run_id}" if run_id else RUN_LABEL
    found: dict[str, Leftover] = {}
    unseen: list[str] = []
    for resource in made_by_runs(profiles):
        for obj in _list(client, resource, unseen, label_selector=selector):
            found[uid_of(obj)] = _leftover(resource, obj, str(meta(obj)["labels"][RUN_LABEL]))
    nodes = {each.name: each.run_id for each in found.values() if each.resource.plural == NODES.plural}
    if nodes:
        for obj in _list(client, RESOURCE_SLICES, unseen):
            if owner := nodes.get(str((obj.get("spec") or {}).get("nodeName") or "")):
                found.setdefault(uid_of(obj), _leftover(RESOURCE_SLICES, obj, owner))
    inside = {each.name for each in found.values() if each.resource.plural == NAMESPACES.plural}
    # Objects in a namespace of the run are deleted with it.
    kept = [each for each in found.values() if each.namespace not in inside]
    return Found(sorted(kept, key=_order), tuple(dict.fromkeys(unseen)))


def remove(client: KubeClient, found: Found, *, clock: Clock, patience: float) -> list[Leftover]:
    """Delete objects, wait at most `patience` seconds for their end, and return the remaining ones with reasons.

    The cluster's controllers have some seconds to remove their finalizers; then the run's finalizers are removed.
    """
    reasons: dict[str, str] = {}
    for each in found.leftovers:
        if each.resource.plural == NAMESPACES.plural:
            _empty(client, each.name)
        _delete(client, each, reasons)
    deadline = clock.monotonic() + patience
    refused = [
        each for each in found.leftovers if each.uid in reasons
    ]  # no deletion is in progress, so waiting is useless
    deleted = [each for each in found.leftovers if each.uid not in reasons]
    remaining = _wait(client, deleted, clock, clock.monotonic() + min(patience / 2, _GRACE))
    while remaining and clock.monotonic() < deadline:
        # Repeated: a cluster deletes the contents of a namespace in rounds, pods first.
        for each in remaining:
            held = _content(client, each.name) if each.resource.plural == NAMESPACES.plural else []
            for resource, obj in held or [(each.resource, _now(client, each) or {})]:
                _release(client, resource, obj)
        remaining = _wait(client, remaining, clock, min(clock.monotonic() + _ROUND, deadline))
    remaining = sorted([*remaining, *(each for each in refused if _there(client, each))], key=_order)
    return [replace(each, reason=reasons.get(each.uid) or _why(client, each)) for each in remaining]


# -- inside ----------------------------------------------------------------------------------------------------------


def _order(each: Leftover) -> tuple[int, str, str, str]:
    plural = each.resource.plural
    rank = 1 + _LAST.index(plural) if plural in _LAST else 0
    return rank, each.resource.kind, each.namespace, each.name


def _leftover(resource: Resource, obj: Obj, run_id: str) -> Leftover:
    return Leftover(
        resource=resource,
        namespace=namespace_of(obj),
        name=name_of(obj),
        uid=uid_of(obj),
        run_id=run_id,
        created=str(meta(obj).get("creationTimestamp") or ""),
        held_by=tuple(meta(obj).get("finalizers") or ()),
    )


def _list(client: KubeClient, resource: Resource, unseen: list[str], *, label_selector: str = "") -> list[Obj]:
    try:
        return client.list(resource, label_selector=label_selector, limit=500).items
    except NotFound:  # the cluster does not serve this resource, so no run has created one
        return []
    except Forbidden:
        unseen.append(str(resource))
        return []


def _content(client: KubeClient, namespace: str) -> list[tuple[Resource, Obj]]:
    """Return objects in a run's namespace of all resources that may have a finalizer of a run."""
    found: list[tuple[Resource, Obj]] = []
    for resource in finalized_by_runs():
        try:
            found += [(resource, obj) for obj in client.list(resource, namespace).items]
        except (NotFound, Forbidden):
            continue
    return found


def _empty(client: KubeClient, namespace: str) -> None:
    """Delete the pods of a run's namespace at once: their nodes have no kubelet that would end them."""
    try:
        pods = client.list(PODS, namespace).items
    except (NotFound, Forbidden):
        return
    for pod in pods:
        try:
            client.delete(PODS, name_of(pod), namespace, uid=uid_of(pod), grace_period_seconds=0)
        except (NotFound, Conflict):
            continue


def _delete(client: KubeClient, each: Leftover, reasons: dict[str, str]) -> None:
    try:
        client.delete(
            each.resource,
            each.name,
            each.namespace or None,
            uid=each.uid,
            # The nodes of pods have no kubelet that would end them.
            grace_period_seconds=0 if each.resource == PODS else None,
        )
    except (NotFound, Conflict):  # deleted, or replaced by a new object
        return
    except ApiError as error:
        reasons[each.uid] = error.message


def _release(client: KubeClient, resource: Resource, obj: Obj) -> None:
    """Remove the run's finalizers from an object that is being deleted; others remain."""
    held = list(meta(obj).get("finalizers") or ())
    kept = [name for name in held if name not in FINALIZERS]
    if not held or kept == held or not meta(obj).get("deletionTimestamp"):
        return
    # With the UID the server answers 409 if there is a new object of this name.
    patch = {"metadata": {"uid": uid_of(obj), "finalizers": kept or None}}
    try:
        client.patch(resource, name_of(obj), patch, namespace_of(obj) or None)
    except (NotFound, Conflict):
        return


def _wait(client: KubeClient, leftovers: Iterable[Leftover], clock: Clock, deadline: float) -> list[Leftover]:
    """Return the objects that exist at the deadline."""
    never = threading.Event()
    remaining = list(leftovers)
    while True:
        remaining = [each for each in remaining if _there(client, each)]
        if not remaining or clock.monotonic() >= deadline:
            return remaining
        clock.wait(never, _TURN)


def _there(client: KubeClient, each: Leftover) -> bool:
    try:
        return _now(client, each) is not None
    except ApiError:
        return True


def _now(client: KubeClient, each: Leftover) -> Obj | None:
    """Return the current object. It uses list, the only permission for reading that a cleanup needs."""
    selector = f"metadata.name={each.name}"
    try:
        found = client.list(each.resource, each.namespace or None, field_selector=selector).items
    except NotFound:
        return None
    return next((obj for obj in found if uid_of(obj) == each.uid), None)


def _why(client: KubeClient, each: Leftover) -> str:
    """Return what blocks the deletion of an object."""
    if each.resource.plural == NAMESPACES.plural:
        held = [
            f"{resource.kind} {name_of(obj)} by {', '.join(meta(obj)['finalizers'])}"
            for resource, obj in _content(client, each.name)
            if meta(obj).get("finalizers")
        ]
        return f"still being deleted; in it are held: {'; '.join(held)}" if held else "still being deleted"
    found = _now(client, each) or {}
    names = ", ".join(meta(found).get("finalizers") or ())
    return f"still being deleted; blocked by the finalizer {names}" if names else "still there"
