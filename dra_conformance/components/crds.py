"""CustomResourceDefinitions that the run creates: the kind that one defines, and when the API server serves it."""

from __future__ import annotations

import threading

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.objects import Obj, Resource, name_of
from dra_conformance.core.errors import TargetUnreachable

_TIMEOUT = 20.0


def kind_of(crd: Obj) -> Resource:
    """Return the kind that a definition defines, in its first version."""
    spec = crd["spec"]
    return Resource(
        spec["group"],
        spec["versions"][0]["name"],
        spec["names"]["plural"],
        spec["names"]["kind"],
        namespaced=spec.get("scope") != "Cluster",
    )


def wait_served(client: KubeClient, crd: Obj, clock: Clock) -> None:
    """Wait until the API server serves the kind of a definition. Raises TargetUnreachable after 20 s."""
    kind, never = kind_of(crd), threading.Event()
    deadline = clock.monotonic() + _TIMEOUT
    # A real API server takes a moment to establish a definition, and reports no event for it.
    while not client.serves(kind):
        if clock.monotonic() > deadline:
            raise TargetUnreachable(f"the CRD {name_of(crd)} was not served within {_TIMEOUT:.0f} s")
        clock.wait(never, 0.02)
