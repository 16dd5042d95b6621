"""Configuration of an allocation as a release lists it.

Pure functions. Deviations: repeated-claim-config, class-config-lists-all.

Source: result assembly of k8s.io/dynamic-resource-allocation v0.36.6.
"""

from __future__ import annotations

from dra_api.objects import Obj
from reference_impl.scheduler.allocator.model import Claim, Classes
from reference_impl.scheduler.allocator.results import Chosen


def configs(claim: Claim, chosen: Chosen, classes: Classes) -> list[Obj]:
    """Return class configurations, each with all its requests, then the claim's, once for every request."""
    users: dict[str, list[str]] = {}
    for request, _ in chosen:
        users.setdefault(request.class_name, []).append(request.name)
    found: list[Obj] = [
        {"source": "FromClass", **config, "requests": list(requests)}
        for name, requests in users.items()
        for config in classes[name].configs
    ]
    for config in claim.configs:
        named = config.get("requests")
        meant = [request for request, _ in chosen if named and (request.parent in named or request.name in named)]
        found += [{"source": "FromClaim", **config}] * (len(meant) if named else 1)
    return found
