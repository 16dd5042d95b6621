"""Objects of one scenario: created from manifests, read, changed, and deleted when the scenario ends."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable

from dra_api.client import Conflict, KubeClient
from dra_api.objects import NODES, PODS, Obj, Resource, name_of, namespace_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.core.events import EventLog
from dra_conformance.core.events.observer import Observer
from dra_conformance.engine.names import Names

_ATTEMPTS = 20  # of an update that meets conflicts


class ScenarioObjects:
    """Creates, reads and changes objects in the scenario's namespace and in the cluster.

    Read with `get` from the API server, with `seen` and `all_seen` from the observer, which is behind the API server by
    some milliseconds. `patience` is in seconds.
    """

    def __init__(
        self, client: KubeClient, observer: Observer, log: EventLog, names: Names, *, namespace: str, patience: float
    ) -> None:
        self._client = client
        self._observer = observer
        self._log = log
        self._names = names
        self._namespace = namespace
        self._patience = patience
        self._created: list[tuple[Resource, str, str]] = []
        # Steps write on the scenario's thread, faults that act on components' threads.
        self._lock = threading.Lock()
        self._newest: dict[Resource, int] = {}  # resource versions that the observer may not have reached yet
        self.writes = 0
        """The number of writes of the scenario so far, without those of pods."""

    def manifest(self, name: str) -> Obj:
        """Return the only object of a manifest under fixtures/, with names and namespace filled in."""
        objects = self.manifests(name)
        if len(objects) != 1:
            raise Untestable(f"fixtures/{name} has {len(objects)} objects; one is expected")
        return objects[0]

    def manifests(self, name: str) -> list[Obj]:
        """Return all objects of a manifest under fixtures/, with names and namespace filled in."""
        return [self.place(obj) for obj in manifests.load(name, self._names.fill)]

    def place(self, obj: Obj) -> Obj:
        """Set the scenario's namespace in a namespaced object that names none, and return the object."""
        if manifests.resource_of(obj).namespaced:
            obj.setdefault("metadata", {}).setdefault("namespace", self._namespace)
        return obj

    def create(self, obj: Obj) -> Obj:
        """Create an object; it is deleted when the scenario ends."""
        resource = manifests.resource_of(obj)
        created = self._client.create(resource, obj)
        self.track(resource, name_of(created), namespace_of(created))
        self._wrote(resource, created)
        return created

    @property
    def created(self) -> int:
        """The number of objects that the scenario has created or tracks so far."""
        return len(self._created)

    def has_created(self, resource: Resource) -> bool:
        """Return whether the scenario has created or tracks an object of this resource, in any version."""
        return any((made.group, made.plural) == (resource.group, resource.plural) for made, _, _ in self._created)

    def track(self, resource: Resource, name: str, namespace: str = "") -> None:
        """Delete this object when the scenario ends, even if another component creates it."""
        self._created.append((resource, name, namespace))

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Obj:
        """Read an object from the API server. Raises NotFound."""
        return self._client.get(resource, name, namespace or self._namespace)

    def seen(self, resource: Resource, name: str) -> Obj | None:
        """Return an object as last observed, in the scenario's namespace or in the cluster."""
        return self._observer.get(resource, name, self._namespace if resource.namespaced else "")

    def all_seen(self, resource: Resource) -> list[Obj]:
        """Return all objects as last observed, in the scenario's namespace or in the cluster."""
        return self._observer.list(resource, self._namespace if resource.namespaced else None)

    def update(self, resource: Resource, name: str, change: Callable[[Obj], None], *, subresource: str = "") -> Obj:
        """Read, change and write an object, and repeat on conflicts. Raises Conflict after 20 attempts."""
        for attempt in range(_ATTEMPTS):
            obj = copy.deepcopy(self._client.get(resource, name, self._namespace))
            change(obj)
            try:
                updated = self._client.update(resource, obj, subresource=subresource or None)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                self._wrote(resource, updated)
                return updated
        raise AssertionError("unreachable")

    def catch_up(self) -> None:
        """Wait until the observer has received what the scenario wrote; before that, its stores prove nothing.

        The observer is late if its watches reconnect, such as after a killed API server in the scenario before. Raises
        Untestable if it does not catch up within the run's patience.
        """
        with self._lock:
            newest, self._newest = self._newest, {}

        def behind() -> list[str]:
            return [
                resource.plural
                for resource, version in newest.items()
                if self._observer.watches(resource) and self._observer.reached(resource) < version
            ]

        if newest and not self._log.wait_for(lambda: not behind(), self._patience):
            raise Untestable(f"the harness has not received the scenario's own writes of {', '.join(behind())}")

    def delete(self, resource: Resource, name: str, namespace: str) -> Obj:
        """Delete an object as a step of the scenario; return the response. Raises NotFound and other API errors."""
        deleted = self._client.delete(resource, name, namespace)
        self._count(resource)
        return deleted

    def delete_tracked(self) -> None:
        """Delete the tracked cluster objects, newest first. Namespaced ones are deleted with their namespace."""
        for resource, name, namespace in reversed(self._created):
            if resource is NODES or not resource.namespaced:
                self._client.delete_if_there(resource, name, namespace or None)

    def _count(self, resource: Resource) -> None:
        if resource != PODS:
            with self._lock:
                self.writes += 1

    def _wrote(self, resource: Resource, obj: Obj) -> None:
        self._count(resource)
        version = str((obj.get("metadata") or {}).get("resourceVersion") or "")
        # Other versions cannot be compared; `catch_up` does not wait for them.
        if version.isdecimal():
            with self._lock:
                self._newest[resource] = max(int(version), self._newest.get(resource, 0))
