"""The resources that the harness watches."""

from __future__ import annotations

from dra_api.objects import (
    BIND_REQUESTS,
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SCHEDULING_POD_GROUPS,
    Resource,
)

ALWAYS: tuple[Resource, ...] = (
    NODES,
    PODS,
    EVENTS,
    RESOURCE_CLAIMS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_SLICES,
    DEVICE_CLASSES,
)
OPTIONAL: tuple[Resource, ...] = (BIND_REQUESTS, POD_GROUPS, COMPUTE_DOMAINS, COMPUTE_DOMAIN_CLIQUES)
"""Watched if the control plane serves them."""
UNWATCHED: tuple[Resource, ...] = (QUEUES,)
"""Optional like these; scenarios write them, and no step reads them."""
GATED: tuple[Resource, ...] = (SCHEDULING_POD_GROUPS,)
"""Watched if the control plane serves them, which a feature gate decides."""
