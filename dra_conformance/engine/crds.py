"""Installs the CustomResourceDefinitions of fixtures/crds on a control plane that the run started."""

from __future__ import annotations

import threading

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.objects import CRDS, Obj, Resource, name_of
from dra_conformance.core import assets, documents
from dra_conformance.core.errors import TargetUnreachable

_TIMEOUT = 20.0


def install(client: KubeClient, clock: Clock) -> None:
    """Create every CRD of the suite and wait until it is served. Raises TargetUnreachable."""
    for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
        for crd in documents.load_all(path.read_text(), where=path.name):
            try:
                client.create(CRDS, crd)
            except ApiError as error:
                raise TargetUnreachable(f"the CRD {name_of(crd)} was rejected: {error.message}") from None
            _wait_served(client, clock, crd)


def _wait_served(client: KubeClient, clock: Clock, crd: Obj) -> None:
    """Wait until a CRD is served; a real API server takes a moment to establish it."""
    spec = crd["spec"]
    kind = Resource(spec["group"], spec["versions"][0]["name"], spec["names"]["plural"], spec["names"]["kind"])
    deadline = clock.monotonic() + _TIMEOUT
    never = threading.Event()
    while not client.serves(kind):
        if clock.monotonic() > deadline:
            raise TargetUnreachable(f"the CRD {name_of(crd)} was not served within {_TIMEOUT:.0f} s")
        clock.wait(never, 0.02)
