"""Suitability of a device for a request: selectors first, then its node.

Deviation: selector-on-other-nodes-device.

Source: isSelectable of k8s.io/dynamic-resource-allocation v0.36.6 and v0.37.2.
"""

from __future__ import annotations

from dataclasses import replace

from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import pools, selectors
from reference_impl.scheduler.allocator.model import Claim, Device, DeviceClass, Features, SubRequest
from reference_impl.scheduler.bug_compatible import shares
from reference_impl.scheduler.bug_compatible.deviations import Release
from reference_impl.scheduler.bug_compatible.shares import Arithmetic


class Selecting:
    """Verdicts for one attempt on one node, each computed once."""

    def __init__(self, node: NodeFacts, features: Features, release: Release) -> None:
        self._node = node
        # Without DRAListTypeAttributes, 1.36 fails on every device with a list (DRA-487).
        self._features = replace(features, readable_lists=release.minor >= 37)
        self._arithmetic = Arithmetic.of(release, features)
        self._known: dict[tuple[int, int], bool] = {}

    def suits(
        self,
        device: Device,
        request: SubRequest,
        device_class: DeviceClass,
        claim: Claim,
        *,
        under: SubRequest | None = None,
    ) -> bool:
        """Return whether class, request and node admit the device; `under` is the request that the answer is kept for.

        Raises SelectorError, also about another node's device.
        """
        if device.binding_conditions and not self._features.binding_conditions:
            return False
        key = (id(device), id(under or request))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = selectors.matches(
                device, request, device_class, claim, self._features
            ) and pools.device_offered_to(device, self._node)
        return known

    def large_enough(self, device: Device, request: SubRequest) -> bool:
        """Return whether the device's capacities can serve the request if it is not in use. Raises AllocationError."""
        if not self._features.consumable_capacity:
            return True
        return shares.acceptable(device, request, self._arithmetic)
