"""Watches the objects of a run and tells the log about each change.

The observer owns one informer a resource between `start` and `stop`; steps read its stores instead of asking the API
server again and again, and are woken by the log when something changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import Obj, Resource, name_of, namespace_of
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events.log import EventLog

# The harness must see before anybody is judged: where scenarios kill API servers, it is back at once.
_MAX_BACKOFF_S = 0.2


class Observer:
    """Stores of all objects that the run may look at. Objects are shared: never change them."""

    def __init__(self, client: KubeClient, resources: Iterable[Resource], *, clock: Clock, log: EventLog) -> None:
        self._log = log
        self._informers: dict[tuple[str, str], Informer] = {}
        for resource in resources:
            informer = Informer(
                client.as_agent("dra-conformance-observer"), resource, clock=clock, max_backoff=_MAX_BACKOFF_S
            )
            informer.on_change(self._told(resource))
            self._informers[resource.group, resource.plural] = informer

    def start(self, timeout: float = 30.0) -> None:
        """Begin to watch; returns when every store is complete. Raises TargetUnreachable after `timeout` seconds."""
        for informer in self._informers.values():
            informer.start()
        for informer in self._informers.values():
            if trouble := informer.wait_served(timeout):
                raise TargetUnreachable(
                    f"the harness {trouble}",
                    hint="`dra-conformance doctor` tells which rights lack, `dra-conformance rbac` prints them.",
                )

    def stop(self) -> None:
        """End all watches."""
        for informer in self._informers.values():
            informer.stop()

    def get(self, resource: Resource, name: str, namespace: str = "") -> Obj | None:
        """One object as last seen."""
        return self._informers[resource.group, resource.plural].get(name, namespace)

    def list(self, resource: Resource, namespace: str | None = None) -> list[Obj]:
        """All objects as last seen, of one namespace or of all."""
        return self._informers[resource.group, resource.plural].list(namespace)

    def watches(self, resource: Resource) -> bool:
        """Whether the observer watches this resource."""
        return (resource.group, resource.plural) in self._informers

    def reached(self, resource: Resource) -> int:
        """The version up to which a resource has been seen; 0 where versions are no numbers."""
        text = self._informers[resource.group, resource.plural].resource_version
        return int(text) if text.isdecimal() else 0

    def _told(self, resource: Resource) -> Any:
        def tell(change: Change) -> None:
            namespace = namespace_of(change.object)
            name = name_of(change.object)
            self._log.emit(
                "object",
                type=change.type,
                resource=resource.plural,
                name=f"{namespace}/{name}" if namespace else name,
                version=(change.object.get("metadata") or {}).get("resourceVersion"),
                summary=summary(resource, change.object),
            )

        return tell


def summary(resource: Resource, obj: Obj) -> Mapping[str, Any]:
    """The few fields of an object that a reader of a timeline wants to see."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    told: dict[str, Any] = {}
    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        told["deleting"] = True
    match resource.plural:
        case "pods":
            told |= {"node": spec.get("nodeName"), "phase": status.get("phase")}
        case "resourceclaims":
            results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
            told["devices"] = ",".join(str(result.get("device")) for result in results)
            told["reservedFor"] = ",".join(str(user.get("name")) for user in status.get("reservedFor") or ())
        case "resourceslices":
            told |= {
                "node": spec.get("nodeName"),
                "generation": (spec.get("pool") or {}).get("generation"),
                "devices": len(spec.get("devices") or ()),
                "taints": sum(len(d.get("taints") or ()) for d in spec.get("devices") or ()),
            }
        case "bindrequests":
            told |= {"pod": spec.get("podName"), "node": spec.get("selectedNode")}
            told |= {"phase": status.get("phase"), "reason": status.get("reason")}
        case "events":
            told |= {"reason": obj.get("reason"), "message": obj.get("message") or obj.get("note")}
        case "computedomains":
            told |= {"status": status.get("status")}
    return {key: value for key, value in told.items() if value not in (None, "")}
