"""The quota controller: `status` of ResourceQuotas, calculated from the stored objects.

It runs for a new quota, for one with other limits, and after the deletion of an object in its namespace; also when a
pod ends. Unlike kube-controller-manager it has no periodic resynchronization.

Source: pkg/controller/resourcequota/resource_quota_controller.go, k8s.io/apiserver pkg/quota/v1/resources.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.quotas.admission import QUOTAS, has_scopes
from apiserver_emulator.quotas.usage import ENDED, PODS, QuotaUsage
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Event, Key, Record, TypeKey
from dra_api.quantity import Quantity

Obj = dict[str, Any]


class QuotaController:
    """Keeps the status of the quotas of all namespaces. Keeps nothing between calls."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._usage = QuotaUsage(core)
        self._writes = ControllerWrites(core, account="resourcequota-controller", agent="resourcequota-controller")

    def affected(self, kind: TypeKey, event: Event) -> list[Key]:
        """Return the quotas to calculate again after a commit."""
        if kind == QUOTAS:
            return [event.key] if event.type != "DELETED" and _limits_changed(event) else []
        if not event.key[0] or not (event.type == "DELETED" or (kind == PODS and _ended(event))):
            return []
        quotas = self._core.store.snapshot(QUOTAS, event.key[0])[0]
        return [(event.key[0], record.obj["metadata"]["name"]) for record in quotas]

    def calculate(self, key: Key) -> None:
        """Write the status of a quota. Raises StatusError."""
        if self._core.store.get(QUOTAS, key) is not None:
            self._writes.replace_status(QUOTAS, key, self._status)

    def _status(self, quota: Record) -> Obj:
        spec, namespace = quota.obj.get("spec") or {}, quota.obj["metadata"]["namespace"]
        hard = spec.get("hard") or {}
        used: dict[str, Quantity] = {}
        for resource in self._core.resources.all():
            names = self._usage.names(resource, hard)
            used |= {name: used.get(name, Quantity(0)) for name in names}
            if names and not has_scopes(spec):
                for amounts in self._amounts(resource, namespace):
                    used |= {name: used[name] + amounts[name] for name in names if name in amounts}
        return {"hard": hard, "used": {name: str(amount) for name, amount in used.items()}}

    def _amounts(self, resource: ResourceType, namespace: str) -> list[dict[str, Quantity]]:
        records = self._core.store.snapshot(resource.storage_key, namespace)[0]
        return [self._usage.of(resource, record.obj) for record in records]


def _limits_changed(event: Event) -> bool:
    """Return whether a quota is new or has other limits."""
    before = (event.old.obj.get("spec") or {}).get("hard") if event.old is not None else None
    after = (event.record.obj.get("spec") or {}).get("hard")
    return event.type == "ADDED" or before != after


def _ended(event: Event) -> bool:
    """Return whether a pod has ended with this event."""
    before = (event.old.obj.get("status") or {}).get("phase") if event.old is not None else None
    return before not in ENDED and (event.record.obj.get("status") or {}).get("phase") in ENDED
