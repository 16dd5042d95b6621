"""The strategy of ResourcePoolStatusRequests (v1alpha3, 1.36). Stateless.

Source: pkg/registry/resource/resourcepoolstatusrequest/strategy.go, the validation markers of
k8s.io/api/resource/v1alpha3 types.go, release 1.36; rules DRA-303 to DRA-306 (API half), DRA-305.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import POOL_NAME_MAX, conditions, each, size, subdomain
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.metadata import SUBDOMAIN, SUBDOMAIN_TEXT
from apiserver_emulator.strategy import BaseStrategy, RequestContext, keep_all_but_status
from dra_api.status import FieldError, invalid, required, too_long, too_many

Obj = dict[str, Any]

LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
POOLS_MAX = 1000
CONDITIONS_MAX = 10
VALIDATION_ERROR_MAX = 256
_COUNTS = (
    ("totalDevices", 0),
    ("allocatedDevices", 0),
    ("availableDevices", 0),
    ("unavailableDevices", 0),
    ("resourceSliceCount", 1),
)


class ResourcePoolStatusRequestStrategy(BaseStrategy):
    """A question that is answered once: spec never changes, status is written once."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """The limit."""
        spec = obj.setdefault("spec", {})
        canonical.prune(spec)
        spec.setdefault("limit", LIMIT_DEFAULT)
        if obj.get("status") is not None:
            canonical.prune(obj["status"])
            canonical.times(obj["status"].get("conditions") or (), "lastTransitionTime")

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Driver, pool and limit."""
        return _spec(obj["spec"])

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore status or spec."""
        if ctx.subresource == "status":
            keep_all_but_status(new, old)
        elif old.get("status") is not None:
            new["status"] = old["status"]
        else:
            new.pop("status", None)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """An immutable spec; a status that is set once."""
        if ctx.subresource != "status":
            return [] if same(new["spec"], old["spec"]) else [invalid("spec", None, "field is immutable")]
        status, before = new.get("status"), old.get("status")
        if before is not None:
            return [] if same(status, before) else [invalid("status", status, "field is immutable")]
        return [] if status is None else _status(status, Rules.of(ctx))


def _spec(spec: Obj) -> list[FieldError]:
    found = _driver(spec.get("driver", ""), "spec.driver")
    if spec.get("poolName") is not None:
        found += _pool_name(spec["poolName"], "spec.poolName")
    return found + _range(spec["limit"], "spec.limit", 1, LIMIT_MAX)


# This kind is validated by generated code, whose texts differ from the hand-written ones of the other kinds.
_CASELESS_TEXT = SUBDOMAIN_TEXT.replace("a lowercase RFC", "an RFC").replace("lower case ", "").replace("'e", "'E")


def _driver(value: str, path: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    found = [invalid(path, value, "must be no more than 253 bytes")] if size(value) > 253 else []
    if not SUBDOMAIN.fullmatch(value.lower()):
        found.append(invalid(path, value, _CASELESS_TEXT))
    return found


def _pool_name(value: str, path: str) -> list[FieldError]:
    found = [too_long(path, POOL_NAME_MAX)] if size(value) > POOL_NAME_MAX else []
    for at, segment in enumerate(value.split("/")):
        if not segment:
            found.append(invalid(path, value, f"segment {at}: must not be empty"))
        elif size(segment) > 253:
            found.append(invalid(path, segment, f"segment {at}: must be no more than 253 bytes"))
        elif not SUBDOMAIN.fullmatch(segment):
            found.append(invalid(path, segment, f"segment {at}: {SUBDOMAIN_TEXT}"))
    return found


def _range(value: int, path: str, low: int, high: int | None = None) -> list[FieldError]:
    if value < low:
        return [invalid(path, value, f"must be greater than or equal to {low}")]
    if high is not None and value > high:
        return [invalid(path, value, f"must be less than or equal to {high}")]
    return []


def _status(status: Obj, rules: Rules) -> list[FieldError]:
    entries = status.get("conditions") or []
    found = conditions(entries, "status.conditions", rules)
    if status.get("poolCount") is None:
        found.append(required("status.poolCount"))
    else:
        found += _range(status["poolCount"], "status.poolCount", 0)
    found += each(status.get("pools") or [], "status.pools", POOLS_MAX, _pool)
    if len(entries) > CONDITIONS_MAX:
        found.append(too_many("status.conditions", len(entries), CONDITIONS_MAX))
    return found


def _pool(pool: Obj, path: str) -> list[FieldError]:
    found = _driver(pool.get("driver", ""), f"{path}.driver")
    name = pool.get("poolName", "")
    found += _pool_name(name, f"{path}.poolName") if name else [required(f"{path}.poolName")]
    if not pool.get("generation"):
        found.append(required(f"{path}.generation"))
    else:
        found += _range(pool["generation"], f"{path}.generation", 0)
    for name, low in _COUNTS:
        if pool.get(name) is not None:
            found += _range(pool[name], f"{path}.{name}", low)
    if pool.get("nodeName") is not None:
        found += subdomain(pool["nodeName"], f"{path}.nodeName")
    if size(pool.get("validationError") or "") > VALIDATION_ERROR_MAX:
        found.append(too_long(f"{path}.validationError", VALIDATION_ERROR_MAX))
    return found
