"""The fields that an existing cluster's BindRequest CRD lacks: a CRD of another release of KAI.

An API server drops fields that a CRD does not have, without an error. Components then fail for reasons that do not name
the CRD.
"""

from __future__ import annotations

from collections.abc import Iterator

from dra_api.client import ApiError, InvalidAnswer, KubeClient
from dra_api.objects import BIND_REQUESTS, Obj

_SPEC = (
    *("podName", "selectedNode", "receivedResourceType", "receivedGPU", "selectedGPUGroups"),
    *("resourceClaimAllocations", "backoffLimit"),
)
EXTENDED_CLAIM = "spec.extendedResourceClaimAllocation"
SINCE_0_17 = (EXTENDED_CLAIM, "spec.predictedNUMAZones")
_STATUS = ("phase", "reason", "failedAttempts")


def lacking_fields(client: KubeClient, revision: str) -> tuple[str, ...]:
    """Return the fields of a revision of the protocol that the served BindRequests lack.

    Returns none if the API server does not serve BindRequests, or does not show their schema to this user.
    """
    try:
        document = client.raw("GET", f"/openapi/v3/apis/{BIND_REQUESTS.api_version}")
    except (ApiError, InvalidAnswer):
        return ()
    for schema in ((document.get("components") or {}).get("schemas") or {}).values():
        kinds = schema.get("x-kubernetes-group-version-kind") or ()
        if any((kind.get("group"), kind.get("kind")) == (BIND_REQUESTS.group, BIND_REQUESTS.kind) for kind in kinds):
            return tuple(_lacking(schema, revision))
    return ()


def _lacking(schema: Obj, revision: str) -> Iterator[str]:
    newer = [name.removeprefix("spec.") for name in SINCE_0_17 if revision == "kai-0.17"]
    wanted = {"spec": (*_SPEC, *newer), "status": _STATUS}
    for part, names in wanted.items():
        found = (schema.get("properties") or {}).get(part) or {}
        if found.get("x-kubernetes-preserve-unknown-fields"):
            continue
        yield from (f"{part}.{name}" for name in names if name not in (found.get("properties") or {}))
