"""The protection of PodGroups: a deleted group keeps its finalizer until its pods have ended or are gone.

Source: pkg/controller/scheduling/podgroupprotection, release 1.37; rule DRA-554b.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.builtin.pod_groups import FINALIZER
from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.quotas.usage import ENDED, PODS
from apiserver_emulator.store import Event, Key, TypeKey

Obj = dict[str, Any]

POD_GROUPS: TypeKey = ("scheduling.k8s.io", "podgroups")


class PodGroupProtection:
    """Removes the finalizer of groups in deletion. Keeps nothing between calls."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._writes = ControllerWrites(
            core, account="podgroup-protection-controller", agent="podgroup-protection-controller"
        )

    def affected(self, kind: TypeKey, event: Event) -> Key | None:
        """Return the group to look at after a commit: one in deletion, or that of a pod that has ended or is gone."""
        if kind == POD_GROUPS:
            return event.key if event.type != "DELETED" and _is_protected(event.record.obj) else None
        if kind == PODS and (event.type == "DELETED" or _has_ended(event.record.obj)):
            name = _group_of(event.record.obj)
            return (event.key[0], name) if name else None
        return None

    def release(self, key: Key) -> None:
        """Remove the finalizer of a group in deletion if no pod of it runs. Raises StatusError."""
        group = self._core.store.get(POD_GROUPS, key)
        if group is None or not _is_protected(group.obj):
            return
        pods = self._core.store.snapshot(PODS, key[0])[0]
        if not any(_group_of(pod.obj) == key[1] and not _has_ended(pod.obj) for pod in pods):
            self._writes.remove_finalizer(POD_GROUPS, key, FINALIZER)


def _is_protected(group: Obj) -> bool:
    """Return whether a group is in deletion and waits for this controller."""
    meta = group["metadata"]
    return "deletionTimestamp" in meta and FINALIZER in (meta.get("finalizers") or ())


def _group_of(pod: Obj) -> str:
    return str((pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or "")


def _has_ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ENDED
