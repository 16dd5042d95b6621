"""The claims of PodGroups: one for each template entry of a group, shared by the pods of the group.

A pod's claim is its group's if name and reference equal an entry of the group; any other is the pod's own. Everything
here is off on an API server that does not serve PodGroups.

Source: kube-controller-manager v1.37 pkg/controller/resourceclaim/controller.go (syncPodGroup, handlePodGroup),
k8s.io/dynamic-resource-allocation/resourceclaim; rules DRA-548 to DRA-556.
"""

from __future__ import annotations

from collections.abc import Callable

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.informer import Informer
from dra_api.objects import SCHEDULING_POD_GROUPS, Obj, name_of, namespace_of, uid_of
from reference_impl.claim_controller import recorded_claims
from reference_impl.claim_controller.pod_state import pod_claims, recorded, template_names
from reference_impl.pod_groups import group_name, is_entry_of, is_group, typed


class GroupClaims:
    """PodGroups, and which of their claims a pod shares.

    `informer` is None if PodGroups are not served. The claim controller starts and stops it. `find_owned` returns the
    claim that was made for an entry of a group, if there is one.
    """

    def __init__(
        self, client: KubeClient, *, clock: Clock, field_manager: str, find_owned: Callable[[Obj, str], Obj | None]
    ) -> None:
        self._client = client
        self._field_manager = field_manager
        self._find_owned = find_owned
        self.informer: Informer | None = None
        if client.serves(SCHEDULING_POD_GROUPS):
            self.informer = Informer(client, SCHEDULING_POD_GROUPS, clock=clock)
            self.informer.add_index(
                "template", lambda group: [f"{namespace_of(group)}/{name}" for name in template_names(group)]
            )

    def get(self, name: str, namespace: str) -> Obj | None:
        """Return a PodGroup, with apiVersion and kind, if it exists."""
        group = self.informer.get(name, namespace) if self.informer is not None else None
        return None if group is None else typed(group)

    def by_template(self, key: str) -> list[Obj]:
        """Return the groups with an entry for a template (namespace/name)."""
        return list(self.informer.by_index("template", key)) if self.informer is not None else []

    def is_awaited(self, pod: Obj) -> bool:
        """Return whether the pod's group does not exist yet: which of its claims are the group's is then unknown."""
        name = group_name(pod)
        return bool(name) and self.informer is not None and self.informer.get(name, namespace_of(pod)) is None

    def claims_of(self, pod: Obj) -> dict[str, str | None]:
        """Return the claims of the pod's group that the pod shares, by entry; None if a claim is not there yet."""
        found: dict[str, str | None] = {}
        for entry in pod_claims(pod):
            if entry.get("resourceClaimTemplateName") and (group := self.group_with(pod, entry)) is not None:
                name = str(entry["name"])
                claim = self._find_owned(group, name)
                found[name] = name_of(claim) if claim is not None else recorded(group).get(name)
        return found

    def group_with(self, pod: Obj, entry: Obj) -> Obj | None:
        """Return the pod's group if this entry of the pod is one of the group's (DRA-549, DRA-550)."""
        group = self.get(name, namespace_of(pod)) if (name := group_name(pod)) else None
        return group if group is not None and is_entry_of(group, entry) else None

    def is_valid_consumer(self, entry: Obj, namespace: str) -> bool:
        """Return whether the group of a `reservedFor` entry still exists, with the same uid (DRA-554, DRA-555)."""
        name, uid = str(entry.get("name")), entry.get("uid")
        group = self.get(name, namespace)
        # The informer may be stale; a live group must not lose its reservation.
        if group is None or uid_of(group) != uid:
            group = self._client.find(SCHEDULING_POD_GROUPS, name, namespace)
        return group is not None and uid_of(group) == uid

    def is_group(self, entry: Obj) -> bool:
        """Return whether a `reservedFor` entry names a PodGroup, of an API server that serves them."""
        return self.informer is not None and is_group(entry)

    def record(self, group: Obj, wanted: dict[str, str | None]) -> None:
        """Write `status.resourceClaimStatuses` of the group by server-side apply (DRA-548)."""
        several = dict(sorted(wanted.items()))
        recorded_claims.record(self._client, SCHEDULING_POD_GROUPS, group, several, field_manager=self._field_manager)
