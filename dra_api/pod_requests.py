"""What the containers of a pod request together, by resource.

Pure functions. Amounts are integers, in the caller's units.

Source: k8s.io/component-helpers resource.PodRequests (v0.36): containers and sidecars add up, an init container counts
if it needs more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def of_containers(
    spec: Mapping[str, Any], requests_of: Callable[[Mapping[str, Any]], Mapping[str, int]]
) -> dict[str, int]:
    """Return what the containers of a pod request at most at any time, without the pod's overhead.

    Ordinary init containers run one after the other, sidecars beside all later containers.
    """
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        own = requests_of(container)
        if container.get("restartPolicy") == "Always":
            running = added(running, own)
            peak = larger(peak, running)
        else:
            peak = larger(peak, added(running, own))
    for container in spec.get("containers") or ():
        running = added(running, requests_of(container))
    return larger(peak, running)


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of two, resource by resource."""
    return {**one, **{name: one.get(name, 0) + amount for name, amount in other.items()}}


def larger(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the larger of two, resource by resource."""
    return {**one, **{name: max(one.get(name, 0), amount) for name, amount in other.items()}}
