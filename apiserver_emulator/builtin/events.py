"""Events of core/v1 and of events.k8s.io/v1: one collection, two shapes. Source: pkg/registry/core/event."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj
from dra_api.status import FieldError, invalid, required

_EVENT_NAMES = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)


class EventStrategy(BaseStrategy):
    """Core events: the involved object must live in the event's namespace."""

    def default(self, obj: Obj) -> None:
        """Add the empty structs that Go always serializes."""
        for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
            obj.setdefault(name, None)
        for name in ("reportingComponent", "reportingInstance"):
            obj.setdefault(name, "")

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The legacy rules (validateEventUpdate is not enforced for core/v1)."""
        namespace = obj["metadata"].get("namespace", "")
        involved = (obj.get("involvedObject") or {}).get("namespace", "")
        if involved and involved != namespace:
            return [invalid("involvedObject.namespace", involved, "does not match event.namespace")]
        # The object is cluster-scoped: its events are in one of these namespaces.
        if not involved and namespace not in ("default", "kube-system", ""):
            return [invalid("involvedObject.namespace", "", "does not match event.namespace")]
        return []


class NewEventStrategy(EventStrategy):
    """Events of events.k8s.io: stored as core events, but with more required fields."""

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The strict rules of events.k8s.io/v1."""
        problems = super().validate_create(obj, ctx)
        for field, name in (
            ("reportingComponent", "reportingController"),
            ("reportingInstance", "reportingInstance"),
            ("action", "action"),
            ("reason", "reason"),
        ):
            if not obj.get(field):
                problems.append(required(name))
        if not obj.get("eventTime"):
            problems.append(required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            problems.append(invalid("type", obj.get("type", ""), "has invalid value: " + str(obj.get("type", ""))))
        return problems


def event_to_core(obj: Obj) -> Obj:
    """events.k8s.io/v1 to core/v1."""
    for new, core in _EVENT_NAMES:
        if new in obj:
            obj[core] = obj.pop(new)
    obj["apiVersion"] = "v1"
    return obj


def event_from_core(obj: Obj) -> Obj:
    """core/v1 to events.k8s.io/v1."""
    for new, core in _EVENT_NAMES:
        if core in obj:
            obj[new] = obj.pop(core)
    # Unlike in core/v1, all fields but these two are omitted if they are empty.
    for name in ("reportingController", "reportingInstance"):
        if not obj.get(name):
            obj.pop(name, None)
    obj["apiVersion"] = "events.k8s.io/v1"
    return obj


class NewEventConversion:
    """events.k8s.io/v1 is the core event under other names; both are one collection."""

    def to_storage(self, obj: Obj, version: str) -> Obj:
        """To the core shape."""
        return event_to_core(obj)

    def from_storage(self, obj: Obj, version: str) -> Obj:
        """To the events.k8s.io shape."""
        return event_from_core(obj)


def event_object(obj: Obj) -> object:
    """The column Object."""
    involved = obj.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def event_fields(obj: Obj) -> Mapping[str, str]:
    """By which fields events can be selected, under the names of both APIs."""
    involved = obj.get("involvedObject") or {}
    source = (obj.get("source") or {}).get("component", "") or obj.get("reportingComponent", "")
    fields = {
        f"{prefix}.{name}": str(involved.get(name, ""))
        for prefix in ("involvedObject", "regarding")
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    }
    fields.update(
        {
            "reason": obj.get("reason", ""),
            "reportingComponent": obj.get("reportingComponent", ""),
            "reportingController": obj.get("reportingComponent", ""),
            "source": source,
            "type": obj.get("type", ""),
        }
    )
    return fields


EVENT_FIELD_NAMES = tuple(event_fields({}))
