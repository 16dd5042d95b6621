"""PodGroups of scheduling.k8s.io for a scheduler that binds pods itself: the claims of a group are reserved for it.

How many pods of a group are placed together is the concern of `gangs`.

Source: kube-scheduler v1.37 dynamicresources plugin (bindClaim, deallocatePodGroupClaims),
k8s.io/dynamic-resource-allocation/resourceclaim; rules DRA-309, DRA-552, DRA-560, DRA-561.
"""

from __future__ import annotations

import threading

from dra_api.informer import Change
from dra_api.objects import Obj, key_of, namespace_of
from reference_impl.pod_groups import group_name, is_entry_of, typed

GroupKey = tuple[str, str]


class WorkloadGroups:
    """The groups that exist."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[GroupKey, Obj] = {}

    def on_group(self, change: Change) -> None:
        """Handle a change of a PodGroup."""
        key = key_of(change.object)
        with self._lock:
            if change.type == "DELETED":
                self._groups.pop(key, None)
            else:
                self._groups[key] = typed(change.object)

    def user_of(self, pod: Obj, reference: str) -> Obj:
        """Return the object that a claim of the pod is reserved for: its group if the entry is the group's."""
        with self._lock:
            group = self._groups.get((namespace_of(pod), group_name(pod)))
        entries = (entry for entry in pod["spec"].get("resourceClaims") or () if entry.get("name") == reference)
        entry = next(entries, None)
        return group if group is not None and entry is not None and is_entry_of(group, entry) else pod
