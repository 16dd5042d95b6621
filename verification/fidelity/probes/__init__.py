"""All probes, area by area. Each module is a table; ids are unique over all of them."""

from __future__ import annotations

from collections.abc import Sequence

from verification.fidelity.probe import Probe
from verification.fidelity.probes import (
    access,
    builtins,
    collection,
    corners,
    custom,
    details,
    dra_statuses,
    endpoints,
    gates,
    go_clients,
    identities,
    lifecycle,
    lists,
    metadata,
    ownership,
    paging,
    patches,
    permissions,
    pod_fields,
    pod_groups,
    pods,
    quotas,
    resources,
    schemas,
    second_writes,
    verbs,
    webhooks,
)

_TABLES = (
    verbs,
    dra_statuses,
    details,
    identities,
    permissions,
    builtins,
    metadata,
    ownership,
    patches,
    pod_fields,
    lists,
    paging,
    lifecycle,
    collection,
    quotas,
    pods,
    pod_groups,
    custom,
    access,
    endpoints,
    webhooks,
    resources,
    schemas,
    gates,
    go_clients,
    corners,
    second_writes,
)


def all_probes() -> Sequence[Probe]:
    """Return all probes. Raises ValueError if two share an id or a slug."""
    found = [probe for table in _TABLES for probe in table.probes()]
    for kind in ("id", "slug"):
        seen: set[str] = set()
        for probe in found:
            key = getattr(probe, kind)
            if key in seen:
                raise ValueError(f"two probes have the {kind} {key}")
            seen.add(key)
    return found
