"""Configuration of an allocation as a release lists it.

Pure functions. Deviations until 1.36: repeated-claim-config, class-config-lists-all.

Source: result assembly of k8s.io/dynamic-resource-allocation v0.36.6 and v0.37.2.
"""

from __future__ import annotations

from dra_api.objects import Obj
from reference_impl.scheduler.allocator.model import Claim, Classes
from reference_impl.scheduler.allocator.results import Chosen
from reference_impl.scheduler.bug_compatible.deviations import Release


def configs(claim: Claim, chosen: Chosen, classes: Classes, release: Release) -> list[Obj]:
    """Return class configurations, each with all its requests, then the claim's, once for every request.

    Since 1.37, each is listed once, and without requests if it is for all of them.
    """
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
        times = len(meant) if named and release.has("repeated-claim-config") else 1
        found += [{"source": "FromClaim", **config}] * (times if meant or not named else 0)
    if release.has("class-config-lists-all"):
        return found
    return [_without_list_of_all(config, chosen) for config in found]


def _without_list_of_all(config: Obj, chosen: Chosen) -> Obj:
    named = config.get("requests") or ()
    if not all(request.parent in named or request.name in named for request, _ in chosen):
        return config
    return {key: value for key, value in config.items() if key != "requests"}
