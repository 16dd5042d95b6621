"""Admission by ResourceQuotas: a write that uses more is charged to each quota of its namespace, or refused with 403.

The status of a quota decides, not its spec: before the quota controller has calculated `status.hard` and `status.used`,
a quota limits nothing. A charge is written before the object is stored. If the object is not stored after all, for
example because its name is taken, the charge stays until the controller calculates the quota again, as it does in a
cluster.

Source: k8s.io/apiserver pkg/admission/plugin/resourcequota/controller.go, release 1.37. Not emulated: resources that
need a quota (`limitedResources`) and scopes of pods; no object matches a quota with scopes here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from apiserver_emulator.core import Core
from apiserver_emulator.quotas.usage import CLAIMS, Amounts, QuotaUsage
from apiserver_emulator.registry.update import update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record, TypeKey
from apiserver_emulator.strategy import RequestContext
from dra_api.quantity import Quantity
from dra_api.request import Request, RequestInfo, User
from dra_api.status import StatusError, conflict, forbidden

Obj = dict[str, Any]

QUOTAS: TypeKey = ("", "resourcequotas")
_ATTEMPTS = 4  # the first one and upstream's three retries
_SELF = User("system:apiserver", groups=("system:masters", "system:authenticated"))
_MANAGER = "kube-apiserver"


class QuotaAdmission:
    """Charges new objects, and updates of claims. One request at a time, as upstream does for each namespace."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._usage = QuotaUsage(core)
        self._lock = threading.Lock()

    def interested(self, resource: ResourceType, operation: str, info: RequestInfo) -> bool:
        """Return whether a write can use more of a quota of its namespace."""
        charged = operation == "CREATE" or (operation == "UPDATE" and resource.key == CLAIMS)
        if not charged or info.subresource or not info.namespace:
            return False
        return bool(self._core.store.snapshot(QUOTAS, info.namespace)[0])

    def review(
        self,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
        options: Obj,
    ) -> None:
        """Charge the quotas of the namespace. Raises 403 if one of them is exceeded, which then charges none."""
        if obj is None:
            return
        more = self._usage.of(resource, obj)
        if old is not None:
            more = _difference(more, self._usage.of(resource, old))
        more = {name: amount for name, amount in more.items() if amount}
        if not more:
            return
        with self._lock:
            quotas = self._core.store.snapshot(QUOTAS, info.namespace)[0]
            self._charge(quotas, resource, obj["metadata"].get("name", ""), more, dry_run=ctx.dry_run)

    def _charge(self, quotas: list[Record], resource: ResourceType, name: str, more: Amounts, *, dry_run: bool) -> None:
        stale: list[str] = []
        for _ in range(_ATTEMPTS):
            charges = [(quota, used) for quota in quotas if (used := self._used_then(quota, resource, name, more))]
            if dry_run:
                return
            stale = [quota.obj["metadata"]["name"] for quota, used in charges if not self._write(quota, used)]
            if not stale:
                return
            # Only those that the controller changed meanwhile: the others are charged.
            namespace = quotas[0].obj["metadata"]["namespace"]
            current = self._core.store.snapshot(QUOTAS, namespace)[0]
            quotas = [quota for quota in current if quota.obj["metadata"]["name"] in stale]
        raise conflict("", "resourcequotas", stale[0])

    def _used_then(self, quota: Record, resource: ResourceType, name: str, more: Amounts) -> Obj:
        """Return `status.used` after the charge; empty if the quota does not limit what is used. Raises 403."""
        spec, status = quota.obj.get("spec") or {}, quota.obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        limited = self._usage.names(resource, hard)
        if not limited or has_scopes(spec):
            return {}
        quota_name = quota.obj["metadata"]["name"]
        if any(one not in used for one in limited):
            detail = f"status unknown for quota: {quota_name}, resources: {','.join(sorted(limited))}"
            raise forbidden(resource.group, resource.plural, name, detail)
        charged = {one: amount for one, amount in more.items() if one in hard}
        after = {one: _parsed(used.get(one, "0")) + amount for one, amount in charged.items()}
        exceeded = sorted(one for one, amount in after.items() if amount > _parsed(hard[one]))
        if exceeded:
            requested = _listed(exceeded, {one: str(amount) for one, amount in charged.items()})
            detail = f"exceeded quota: {quota_name}, requested: {requested}, used: {_listed(exceeded, used)}"
            detail += f", limited: {_listed(exceeded, hard)}"
            raise forbidden(resource.group, resource.plural, name, detail)
        return {**used, **{one: str(amount) for one, amount in after.items()}} if charged else {}

    def _write(self, quota: Record, used: Obj) -> bool:
        """Write `status.used`; return whether the quota was still the one that was read."""
        resource = self._core.resources.find(*QUOTAS)
        if resource is None:
            raise LookupError("ResourceQuotas are not served")
        meta = quota.obj["metadata"]
        info = RequestInfo("update", "", "", "v1", meta["namespace"], "resourcequotas", meta["name"], "status")
        ctx = self._core.context(Request("PUT", "", headers={}, user=_SELF), info)

        def produce(_: Record) -> Obj:
            changed = quota.copy()  # with its resourceVersion, so that a newer one is a conflict
            changed["status"] = {**changed["status"], "used": used}
            return changed

        try:
            update_object(self._core, resource, info, ctx, produce, manager=_MANAGER, attempts=1)
        except StatusError as error:
            if error.reason not in ("Conflict", "NotFound"):
                raise
            return False
        return True


def has_scopes(spec: Obj) -> bool:
    """Return whether a quota limits objects of some scopes only."""
    return bool(spec.get("scopes") or (spec.get("scopeSelector") or {}).get("matchExpressions"))


def _difference(new: Amounts, old: Amounts) -> Amounts:
    """Return what is used in addition; an update never gives anything back."""
    zero = Quantity(0)
    return {name: max(amount - old.get(name, zero), zero) for name, amount in new.items()}


def _parsed(text: object) -> Quantity:
    return Quantity.parse(str(text))


def _listed(names: Iterable[str], amounts: Obj) -> str:
    return ",".join(f"{name}={amounts.get(name, '0')}" for name in names)
