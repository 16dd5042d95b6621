"""Deleting an object, at once or by a mark: finalizers, grace periods, propagation and preconditions.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go (Delete), pkg/registry/rest/delete.go.
"""

from __future__ import annotations

from datetime import timedelta

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.registry.admission import admit
from apiserver_emulator.registry.update import ATTEMPTS
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record, StaleWriteError
from apiserver_emulator.strategy import RequestContext
from dra_api.clock import parse_timestamp, timestamp
from dra_api.objects import Obj
from dra_api.request import RequestInfo
from dra_api.status import conflict, forbidden, not_found

_IMMORTAL = ("default", "kube-system", "kube-public")  # admission plugin NamespaceLifecycle
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


def delete_object(
    core: Core, resource: ResourceType, info: RequestInfo, ctx: RequestContext, options: Obj
) -> tuple[Record, bool]:
    """Delete an object, or mark it for deletion; return its last state, and whether it was deleted."""
    key = (info.namespace if resource.namespaced else "", info.name)
    for _ in range(ATTEMPTS):
        old = core.store.get(resource.storage_key, key)
        if old is None:
            raise not_found(info.group, info.resource, info.name)
        _check_preconditions(resource, info, old.obj["metadata"], options.get("preconditions") or {})
        if resource.key == ("", "namespaces") and info.name in _IMMORTAL:
            raise forbidden("", "namespaces", info.name, "this namespace may not be deleted")
        resource.strategy.authorize(None, old.obj, ctx)
        admit(core, resource, "DELETE", info, ctx, None, old.obj)
        marked = _mark(core, resource, old, options)
        final = _last_state(core, resource, old) if marked is None else None
        if ctx.dry_run:
            shown = marked or final
            return (Record(shown, orjson.dumps(shown), old.rv) if shown else old), marked is None
        try:
            if marked is None:
                return core.store.delete(resource.storage_key, key, old, final), True
            if marked == old.obj:
                return old, False  # marked before: no write, hence no event
            return core.store.update(resource.storage_key, key, marked, old), False
        except StaleWriteError:
            continue
    raise conflict(info.group, info.resource, info.name)


def _check_preconditions(resource: ResourceType, info: RequestInfo, meta: Obj, preconditions: Obj) -> None:
    uid, revision = preconditions.get("uid"), preconditions.get("resourceVersion")
    if resource.key == ("", "namespaces") and uid and uid != meta["uid"]:
        # The registry of namespaces compares it by itself.
        text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        raise conflict(info.group, resource.plural, info.name, text)
    if uid and uid != meta["uid"]:
        raise conflict(
            info.group,
            resource.kind,
            info.name,
            f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated",
        )
    if revision and revision != meta["resourceVersion"]:
        raise conflict(
            info.group,
            resource.kind,
            info.name,
            f"the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record "
            f"({meta['resourceVersion']}). The object might have been modified",
        )


def _last_state(core: Core, resource: ResourceType, old: Record) -> Obj | None:
    """Return the final state of an object that is deleted at once, for response and event; None: as it is stored."""
    if getattr(resource.strategy, "grace_period", None) is None:
        return None
    obj = old.copy()
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta and meta.get("generation"):
        meta["generation"] += 1
    meta["deletionTimestamp"] = timestamp(core.clock.now())
    meta["deletionGracePeriodSeconds"] = 0
    return obj


def _mark(core: Core, resource: ResourceType, old: Record, options: Obj) -> Obj | None:
    """The object marked for deletion, or None when it can go at once."""
    obj = old.copy()
    meta = obj["metadata"]
    now = core.clock.now()
    grace = 0
    # Only strategies of kinds with graceful deletion have it.
    graceful = getattr(resource.strategy, "grace_period", None)
    if graceful is not None:
        grace = graceful(obj, options)
    finalizers = _policy_finalizers(list(meta.get("finalizers") or ()), options)
    if finalizers != list(meta.get("finalizers") or ()):
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
    already = "deletionTimestamp" in meta
    if already:
        left = int(meta.get("deletionGracePeriodSeconds") or 0)
        if left and grace < left and options.get("gracePeriodSeconds") is not None:
            # The end moves forward by the difference: the period does not start again.
            moved = parse_timestamp(meta["deletionTimestamp"]) - timedelta(seconds=left - grace)
            if moved < now:  # the shorter period is over: the shortest one that a kubelet still notices
                moved, grace = now, min(grace, 1)
            meta["deletionTimestamp"] = timestamp(moved)
            meta["deletionGracePeriodSeconds"] = grace
        else:
            grace = left
    on_delete = getattr(resource.strategy, "on_delete", None)
    if on_delete is not None and not already:
        on_delete(obj, timestamp(now))
        finalizers = list(meta.get("finalizers") or ())
    if not grace and not finalizers and not _waits(resource, obj):
        return None
    if not already:
        meta["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
        if resource.key != ("", "namespaces"):  # their registry marks them by itself
            meta["deletionGracePeriodSeconds"] = grace
        if meta.get("generation"):
            meta["generation"] += 1
    return obj


def _waits(resource: ResourceType, obj: Obj) -> bool:
    """Namespaces wait for their content: spec.finalizers."""
    return resource.key == ("", "namespaces") and bool((obj.get("spec") or {}).get("finalizers"))


def _policy_finalizers(finalizers: list[str], options: Obj) -> list[str]:
    policy = options.get("propagationPolicy")
    if options.get("orphanDependents") is not None and policy is None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None:
        return finalizers
    # An explicit policy replaces the finalizer of an earlier one.
    kept = [f for f in finalizers if f not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        kept.append(FOREGROUND)
    elif policy == "Orphan":
        kept.append(ORPHAN)
    return kept
