"""Watches the objects of a run and logs each change.

The observer owns one informer for each resource between `start` and `stop`. Steps read its stores instead of polling
the API server, and the log wakes them after a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dra_api.allocations import results_of
from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import Obj, Resource, name_of, namespace_of
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events.kinds import ObjectChanged
from dra_conformance.core.events.log import EventLog

# The harness must observe a change before it judges a component, so it reconnects quickly after an outage.
_MAX_BACKOFF_S = 0.2
_VERSIONS = 8
"""Attributes of a slice with a version, and values of each, at most."""


class Observer:
    """Stores of all watched objects. The objects are shared; do not change them."""

    def __init__(self, client: KubeClient, resources: Iterable[Resource], *, clock: Clock, log: EventLog) -> None:
        self._log = log
        self.concerns: Callable[[Resource, Obj], bool] = _any_object
        """Whether a change of an object shows work of the system under test; on an existing cluster not all do."""
        self._informers: dict[tuple[str, str], Informer] = {}
        for resource in resources:
            informer = Informer(
                client.as_agent("dra-conformance-observer"), resource, clock=clock, max_backoff=_MAX_BACKOFF_S
            )
            informer.on_change(self._on_change(resource))
            self._informers[resource.group, resource.plural] = informer

    def start(self, timeout: float = 30.0) -> None:
        """Start all watches and wait until every store is complete.

        Raises TargetUnreachable after `timeout` seconds.
        """
        # All start before the first wait, so that they list at the same time.
        for informer in self._informers.values():
            informer.start()
        for informer in self._informers.values():
            if trouble := informer.wait_served(timeout):
                raise TargetUnreachable(
                    f"the harness {trouble}",
                    hint="`dra-conformance doctor` lists missing permissions, `dra-conformance rbac` prints all.",
                )

    def stop(self) -> None:
        """End all watches."""
        for informer in self._informers.values():
            informer.stop()

    def get(self, resource: Resource, name: str, namespace: str = "") -> Obj | None:
        """Return one object in its last observed state."""
        return self._informers[resource.group, resource.plural].get(name, namespace)

    def list(self, resource: Resource, namespace: str | None = None) -> list[Obj]:
        """Return all objects in their last observed state, of one namespace or of all."""
        return self._informers[resource.group, resource.plural].list(namespace)

    def watches(self, resource: Resource) -> bool:
        """Whether the observer watches this resource."""
        return (resource.group, resource.plural) in self._informers

    def reached(self, resource: Resource) -> int:
        """Return the resource version that the watch has reached, 0 if versions are not numbers."""
        text = self._informers[resource.group, resource.plural].resource_version
        return int(text) if text.isdecimal() else 0

    def _on_change(self, resource: Resource) -> Callable[[Change], None]:
        def emit(change: Change) -> None:
            namespace = namespace_of(change.object)
            name = name_of(change.object)
            self._log.emit(
                ObjectChanged(
                    type=change.type,
                    resource=resource.plural,
                    name=f"{namespace}/{name}" if namespace else name,
                    version=str((change.object.get("metadata") or {}).get("resourceVersion") or ""),
                    summary=summary(resource, change.object),
                ),
                shows_work=self.concerns(resource, change.object),
            )

        return emit


def _any_object(_resource: Resource, _obj: Obj) -> bool:
    return True


def summary(resource: Resource, obj: Obj) -> dict[str, Any]:
    """Return the fields of an object that a timeline shows."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    found: dict[str, Any] = {}
    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        found["deleting"] = True
    match resource.plural:
        case "pods":
            found |= {"node": spec.get("nodeName"), "phase": status.get("phase"), "gpuGroups": _gpu_groups(obj)}
        case "resourceclaims":
            found["devices"] = ",".join(str(result.get("device")) for result in results_of(obj))
            found["reservedFor"] = ",".join(str(user.get("name")) for user in status.get("reservedFor") or ())
        case "resourceslices":
            found |= {
                "driver": spec.get("driver"),
                "node": spec.get("nodeName"),
                "generation": (spec.get("pool") or {}).get("generation"),
                "devices": len(spec.get("devices") or ()),
                "taints": sum(len(d.get("taints") or ()) for d in spec.get("devices") or ()),
                "versions": _versions(spec.get("devices") or ()) or None,
            }
        case "bindrequests":
            found |= {"pod": spec.get("podName"), "node": spec.get("selectedNode")}
            found |= {"phase": status.get("phase"), "reason": status.get("reason")}
        case "events":
            found |= {"reason": obj.get("reason"), "message": obj.get("message") or obj.get("note")}
        case "computedomains":
            found |= {"status": status.get("status")}
    return {key: value for key, value in found.items() if value not in (None, "")}


def _gpu_groups(pod: Obj) -> str:
    """Return the GPU groups that a pod's labels name, as KAI's binder writes them."""
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return ",".join(sorted(str(value) for key, value in labels.items() if key.partition("/")[0] == "runai-gpu-group"))


def _versions(devices: Iterable[Obj]) -> dict[str, list[str]]:
    """Return the attributes of type version with the values that devices have, a few of each."""
    found: dict[str, list[str]] = {}
    for device in devices:
        for name, attribute in (device.get("attributes") or {}).items():
            value = attribute.get("version") if isinstance(attribute, dict) else None
            if isinstance(value, str) and (name in found or len(found) < _VERSIONS):
                values = found.setdefault(name, [])
                if value not in values and len(values) < _VERSIONS:
                    values.append(value)
    return found
