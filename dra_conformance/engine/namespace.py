"""The namespace of one scenario."""

from __future__ import annotations

from dra_api.client import KubeClient, NotFound
from dra_api.objects import (
    COMPUTE_DOMAINS,
    NAMESPACES,
    PODS,
    RESOURCE_CLAIMS,
    SERVICE_ACCOUNTS,
    Obj,
    Resource,
    key_of,
)
from dra_conformance.core.errors import Untestable
from dra_conformance.core.events.observer import Observer
from dra_conformance.core.labels import RUN_LABEL

_CONTROLLERS_BACK = 60
"""Seconds: client-go lists again up to 30 s after an API server that was restarted answers."""


def create(client: KubeClient, name: str, *, run_id: str) -> None:
    """Create a namespace with the run's label."""
    labels = {RUN_LABEL: run_id}
    client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def wait_service_account(client: KubeClient, name: str, *, patience: float) -> None:
    """Wait for the namespace's default service account; before that, a cluster rejects every pod.

    Raises Untestable after `patience` seconds, but not before controllers are back that a restart of the API server in
    the scenario before has disconnected.
    """
    seconds = max(int(patience), _CONTROLLERS_BACK)
    with client.watch(
        SERVICE_ACCOUNTS, name, field_selector="metadata.name=default", timeout_seconds=seconds
    ) as events:
        if not any(event.type == "ADDED" for event in events):
            raise Untestable(f"namespace {name} got no default service account within {seconds} s")


def delete(client: KubeClient, name: str, observer: Observer) -> None:
    """Delete a namespace, and first its objects with finalizers, whose controllers may be stopped already."""
    for resource in (PODS, RESOURCE_CLAIMS, COMPUTE_DOMAINS):
        if observer.watches(resource):
            for obj in client.list(resource, name).items:
                _force_delete(client, resource, obj)
    client.delete_if_there(NAMESPACES, name)


def _force_delete(client: KubeClient, resource: Resource, obj: Obj) -> None:
    namespace, name = key_of(obj)
    try:
        client.delete(resource, name, namespace, grace_period_seconds=0)
        if (obj.get("metadata") or {}).get("finalizers"):
            if resource == RESOURCE_CLAIMS and (obj.get("status") or {}).get("reservedFor"):
                client.patch(resource, name, {"status": {"reservedFor": None}}, namespace, subresource="status")
            client.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)
    except NotFound:
        return
