"""Events of core/v1 and of events.k8s.io/v1: one collection, two shapes. Source: pkg/registry/core/event."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_emulator.metadata import qualified_name_problems
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

_NAME_MAX, _NOTE_MAX = 128, 1024


class EventStrategy(BaseStrategy):
    """Core events: the involved object must live in the event's namespace."""

    def default(self, obj: Obj) -> None:
        """Add the empty structs that Go always serializes."""
        for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
            obj.setdefault(name, None)
        for name in ("reportingComponent", "reportingInstance"):
            obj.setdefault(name, "")
        obj.setdefault("source", {})

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The legacy rules (legacyValidateEvent); an event with a time needs more fields."""
        return _legacy_errors(obj, "reportingComponent")


class NewEventStrategy(EventStrategy):
    """Events of events.k8s.io: stored as core events, but with more required fields."""

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The strict rules of events.k8s.io/v1."""
        problems = _legacy_errors(obj, "reportingController")
        if not obj.get("eventTime"):
            problems.append(required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            problems.append(invalid("type", "", "has invalid value: " + str(obj.get("type", ""))))
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Only the series changes."""
        return _legacy_errors(new, "reportingController") + [
            invalid(_REPORTED.get(name, name), new.get(name), "field is immutable")
            for name in _FIXED
            if new.get(name) != old.get(name)
        ]


_REPORTED = {"reportingComponent": "reportingController"}
_FIXED = (
    "involvedObject",
    "reason",
    "reason",  # twice, as upstream
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def _legacy_errors(obj: Obj, controller: str) -> list[FieldError]:
    """Return the errors of events of both groups; `controller` is the name of the field of the reporting component."""
    namespace = obj["metadata"].get("namespace", "")
    involved = (obj.get("involvedObject") or {}).get("namespace", "")
    wrong = invalid("involvedObject.namespace", involved, "does not match event.namespace")
    # The object is cluster-scoped: its events are in one of these namespaces.
    apart = not involved and namespace not in ("default", "kube-system", "")
    if not obj.get("eventTime"):
        return [wrong] if apart or (involved and involved != namespace) else []
    problems = [wrong] if apart else []
    reporter = obj.get("reportingComponent") or ""
    if not reporter:
        problems.append(required(controller))
    problems += [invalid(controller, reporter, text) for text in qualified_name_problems(reporter)]
    for field in ("reportingInstance", "action", "reason"):
        value = obj.get(field) or ""
        if not value:
            problems.append(required(field))
        if len(value) > _NAME_MAX:
            problems.append(invalid(field, "", f"can have at most {_NAME_MAX} characters"))
    if len(obj.get("message") or "") > _NOTE_MAX:
        problems.append(invalid("message", "", f"can have at most {_NOTE_MAX} characters"))
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
