"""The strategy of ResourcePoolStatusRequests (v1alpha3, since 1.36). Stateless.

Source: pkg/registry/resource/resourcepoolstatusrequest/strategy.go, the validation markers of
k8s.io/api/resource/v1alpha3 types.go, release 1.37; rule DRA-305. The controller that writes the status is
controllers/pool_statuses.py.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import POOL_NAME_MAX, conditions, each, fully_qualified_name, size, subdomain
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.metadata import SUBDOMAIN, SUBDOMAIN_TEXT
from apiserver_emulator.strategy import BaseStrategy, RequestContext, keep_all_but_status
from dra_api.status import FieldError, duplicate, invalid, required, too_long, too_many

Obj = dict[str, Any]

LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
POOLS_MAX = 1000
CONDITIONS_MAX = 10
VALIDATION_ERROR_MAX = 256
SUMMARIES_MAX = 32
_TYPE_GATE = "DRAPartitionableDevicesType"
_DEFAULT_TYPE = "defaultPartitionTypeAttribute"
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

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """No status, and no default type of partitions without its gate."""
        super().prepare_create(obj, ctx)
        if not ctx.feature_gates.get(_TYPE_GATE, False):
            obj["spec"].pop(_DEFAULT_TYPE, None)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Driver, pool, limit and default type of partitions."""
        return _spec(obj["spec"])

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore status or spec."""
        if ctx.subresource == "status":
            keep_all_but_status(new, old)
        elif old.get("status") is not None:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
        if not ctx.feature_gates.get(_TYPE_GATE, False) and _DEFAULT_TYPE not in old["spec"]:
            new["spec"].pop(_DEFAULT_TYPE, None)

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
    found += _range(spec["limit"], "spec.limit", 1, LIMIT_MAX)
    if spec.get(_DEFAULT_TYPE) is not None:
        found += fully_qualified_name(spec[_DEFAULT_TYPE], f"spec.{_DEFAULT_TYPE}")
    return found


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
    found += _partitions(pool.get("partitionSummary") or [], f"{path}.partitionSummary")
    if pool.get("shareableSummary") is not None:
        found += _shareable(pool["shareableSummary"], f"{path}.shareableSummary")
    return found


def _partitions(entries: list[Obj], path: str) -> list[FieldError]:
    found = each(entries, path, SUMMARIES_MAX, _partition)
    seen: set[tuple[str, str]] = set()
    for at, entry in enumerate(entries):
        key = (entry.get("attribute") or "", entry.get("type") or "")
        if key in seen:
            found.append(duplicate(f"{path}[{at}]", {"attribute": key[0], "type": key[1]}))
        seen.add(key)
    return found


def _partition(entry: Obj, path: str) -> list[FieldError]:
    found = [required(f"{path}.{name}") for name in ("attribute", "type") if not entry.get(name)]
    return found + _counts(entry, path, "total", "allocatable")


def _shareable(summary: Obj, path: str) -> list[FieldError]:
    found = _counts(summary, path, "fullyAvailableDevices", "partiallyAvailableDevices")
    return found + each(summary.get("capacity") or [], f"{path}.capacity", SUMMARIES_MAX, _capacity)


def _capacity(entry: Obj, path: str) -> list[FieldError]:
    found = [] if entry.get("name") else [required(f"{path}.name")]
    return found + [required(f"{path}.{key}") for key in ("total", "consumed", "available") if entry.get(key) is None]


def _counts(entry: Obj, path: str, *names: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in names:
        field = f"{path}.{name}"
        found += [required(field)] if entry.get(name) is None else _range(entry[name], field, 0)
    return found
