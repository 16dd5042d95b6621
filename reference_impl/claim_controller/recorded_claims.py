"""The record of an object's claims in its status, for pods and PodGroups alike."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from dra_api.client import KubeClient, NotFound
from dra_api.objects import Obj, Resource, name_of, namespace_of, uid_of


def record(
    client: KubeClient, resource: Resource, obj: Obj, claims: Mapping[str, str | None], *, field_manager: str
) -> None:
    """Write `status.resourceClaimStatuses` by server-side apply (DRA-101, DRA-548); None means that no claim is needed.

    An object that is gone is no error: the garbage collector takes its claims.
    """
    statuses = [
        {"name": name, **({"resourceClaimName": claim} if claim is not None else {})} for name, claim in claims.items()
    ]
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name_of(obj), "namespace": namespace_of(obj), "uid": uid_of(obj)},
        "status": {"resourceClaimStatuses": statuses},
    }
    with contextlib.suppress(NotFound):
        client.patch(
            resource,
            name_of(obj),
            body,
            namespace_of(obj),
            kind="apply",
            subresource="status",
            field_manager=field_manager,
            force=True,
        )
