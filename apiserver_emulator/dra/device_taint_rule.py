"""The strategy of DeviceTaintRules and their status. Stateless.

Source: pkg/registry/resource/devicetaintrule/strategy.go, pkg/apis/resource/validation/validation.go, release 1.36;
rules DRA-227, DRA-230.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import conditions, driver_name, label, pool_name, subdomain
from apiserver_emulator.dra.generation import follow
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.dra.selectors import validate_selectors
from apiserver_emulator.dra.taints import default_taint, validate_taint
from apiserver_emulator.strategy import BaseStrategy, RequestContext, keep_all_but_status
from dra_api.clock import timestamp
from dra_api.status import FieldError, too_many

Obj = dict[str, Any]

CONDITIONS_MAX = 8


class DeviceTaintRuleStrategy(BaseStrategy):
    """The rules of DeviceTaintRules: a changed effect resets timeAdded; a status subresource since 1.35."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """Canonical form."""
        spec = obj.setdefault("spec", {})
        canonical.prune(spec)
        canonical.time(spec.setdefault("taint", {}), "timeAdded")
        status = obj.setdefault("status", {})
        canonical.prune(status)
        canonical.times(status.get("conditions") or (), "lastTransitionTime")

    def default_time(self, obj: Obj, now: str) -> None:
        """Set timeAdded (SetDefaults_DeviceTaint); as a default, it is owned by the client that creates the rule."""
        obj["spec"]["taint"].setdefault("timeAdded", now)

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Status is wiped, generation is 1."""
        default_taint(obj["spec"]["taint"], Rules.of(ctx))
        obj["metadata"]["generation"] = 1
        obj["status"] = {}

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The spec, all of it new."""
        return _spec(obj["spec"], None, Rules.of(ctx))

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore status or spec; reset timeAdded if the effect changes (DRA-227)."""
        rules = Rules.of(ctx)
        if ctx.subresource == "status":
            keep_all_but_status(new, old)
            new.setdefault("status", {})
            return
        new["status"] = old.get("status") or {}
        taint, before = new["spec"]["taint"], old["spec"]["taint"]
        default_taint(taint, rules)
        changed = taint.get("effect") != before.get("effect")
        # Only if the client sent the old time back: a time of its own is kept.
        if rules.minor >= 36 and changed and taint["timeAdded"] == before.get("timeAdded"):
            taint["timeAdded"] = timestamp(rules.now())
        follow(new, old)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The spec beside the stored one, or the conditions."""
        if ctx.subresource == "status":
            entries = new["status"].get("conditions") or []
            found = conditions(entries, "status.conditions", Rules.of(ctx))
            if len(entries) > CONDITIONS_MAX:
                found.append(too_many("status.conditions", len(entries), CONDITIONS_MAX))
            return found
        return _spec(new["spec"], old["spec"], Rules.of(ctx))


def _spec(spec: Obj, old: Obj | None, rules: Rules) -> list[FieldError]:
    found: list[FieldError] = []
    selector = spec.get("deviceSelector")
    if selector is not None:
        found += _selector(selector, (old or {}).get("deviceSelector"), rules)
    return found + validate_taint(spec["taint"], "spec.taint", old=old["taint"] if old else None, rules=rules)


def _selector(selector: Obj, old: Obj | None, rules: Rules) -> list[FieldError]:
    path = "spec.deviceSelector"
    found: list[FieldError] = []
    if rules.minor < 35 and selector.get("deviceClassName") is not None:
        found += subdomain(selector["deviceClassName"], f"{path}.deviceClassName")
    for name, check in (("driver", driver_name), ("pool", pool_name), ("device", label)):
        if selector.get(name) is not None:
            found += check(selector[name], f"{path}.{name}")
    if rules.minor < 35:
        selectors = selector.get("selectors") or []
        stored = old is not None and same(selectors, old.get("selectors") or [])
        found += validate_selectors(selectors, f"{path}.selectors", rules.as_stored(stored))
    return found
