"""Installs the CustomResourceDefinitions of fixtures/crds on a control plane that the run started."""

from __future__ import annotations

import contextlib

from dra_api.client import AlreadyExists, ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.objects import CRDS, name_of
from dra_conformance.components.crds import wait_served
from dra_conformance.core import assets, documents
from dra_conformance.core.errors import TargetUnreachable


def install(client: KubeClient, clock: Clock) -> None:
    """Create every CRD of the suite that is not there, and wait until it is served. Raises TargetUnreachable."""
    for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
        for crd in documents.load_all(path.read_text(encoding="utf-8"), where=path.name):
            try:
                # Manifests of the user (--kind-apply) may have brought the definition of their own components.
                with contextlib.suppress(AlreadyExists):
                    client.create(CRDS, crd)
            except ApiError as error:
                raise TargetUnreachable(f"the CRD {name_of(crd)} was rejected: {error.message}") from None
            wait_served(client, crd, clock)
