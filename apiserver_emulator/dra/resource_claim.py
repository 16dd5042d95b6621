"""The strategy of ResourceClaims and their status. Stateless.

Source: pkg/registry/resource/resourceclaim/strategy.go, release 1.36; rules DRA-001 to DRA-038, DRA-083 to DRA-099.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.authorization import (
    authorized_for_admin,
    authorized_for_admin_status,
    authorized_for_binding,
    authorized_for_devices,
)
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.claim_status import (
    default_status,
    drop_deallocated_devices,
    drop_disabled_status,
    validate_status_update,
)
from apiserver_emulator.dra.requests import default_spec, drop_disabled, validate_spec
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.strategy import BaseStrategy, RequestContext, keep_all_but_status
from dra_api.status import FieldError, invalid

Obj = dict[str, Any]


class ResourceClaimStrategy(BaseStrategy):
    """The rules of ResourceClaims: an immutable spec, and a status subresource with authorization by field."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """Defaults and canonical form of spec and status."""
        default_spec(obj.setdefault("spec", {}))
        default_status(obj.setdefault("status", {}))

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Status is wiped (DRA-034); disabled fields go."""
        obj["status"] = {}
        drop_disabled(obj["spec"], None, Rules.of(ctx))

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Admin access first, as upstream orders it, then the spec."""
        return authorized_for_admin(obj["spec"], ctx) + validate_spec(obj["spec"], "spec", Rules.of(ctx))

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore the status (DRA-035), or everything else for the subresource status (DRA-036)."""
        rules = Rules.of(ctx)
        if ctx.subresource == "status":
            keep_all_but_status(new, old)
            new.setdefault("status", {})
            drop_disabled_status(new, old, rules)
            drop_deallocated_devices(new["status"], old.get("status") or {}, rules)
            return
        new["status"] = old.get("status") or {}
        drop_disabled(new["spec"], old["spec"], rules)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """An immutable spec (DRA-033), or the rules of the status."""
        rules = Rules.of(ctx)
        if ctx.subresource == "status":
            return _authorized(new, old, ctx, rules) + validate_status_update(new, old, rules)
        found: list[FieldError] = []
        if not same(new["spec"], old["spec"]):
            found.append(invalid("spec", new["spec"], "field is immutable"))
        if rules.minor < 35:
            # 1.34 also validates the spec, with its expressions as stored ones.
            found += validate_spec(new["spec"], "spec", rules.as_stored(True))
        return found


def _authorized(new: Obj, old: Obj, ctx: RequestContext, rules: Rules) -> list[FieldError]:
    status, before = new["status"], old.get("status") or {}
    found = authorized_for_admin_status(status, before, ctx)
    if rules.on("DRAResourceClaimGranularStatusAuthorization"):
        found += authorized_for_binding(status, before, ctx)
        if rules.on("DRAResourceClaimDeviceStatus") and status.get("allocation") is not None:
            found += authorized_for_devices(status, before, ctx)
    return found
