"""The DevicePlugin service of one resource: its list, its answers and its preferences.

A service keeps no record of allocations: the kubelet decides which device is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from dra_api.rpc.device_plugin import ContainerAllocation, PluginDevice, PluginOptions, PreferenceRequest
from dra_api.rpc.health_feed import Feed
from reference_impl.device_plugin.answers import Answers
from reference_impl.device_plugin.offers import Existing, Offer, Resource
from reference_impl.kubelet_plugin.devices import full_gpu


class RequestError(Exception):
    """A request that cannot be served; the message is the kubelet's error."""


class ResourceService:
    """One resource. `is_healthy` reports the present health of a device."""

    def __init__(self, resource: Resource, answers: Answers, is_healthy: Callable[[Existing], bool]) -> None:
        self.resource = resource
        self._offers = {offer.id: offer for offer in resource.offers}
        self._answers = answers
        self._is_healthy = is_healthy
        self._feed: Feed[PluginDevice] = Feed()
        self.refresh()

    def refresh(self) -> None:
        """Send the complete list, as it is now, to every kubelet that watches."""
        self._feed.publish([offer.listed(healthy=self._is_healthy(offer.device)) for offer in self.resource.offers])

    def close(self) -> None:
        """End all streams for good."""
        self._feed.close()

    # -- the calls of a kubelet ------------------------------------------------------------------------------------

    def options(self) -> PluginOptions:
        """Return what this plugin wants to be called for."""
        return PluginOptions(pre_start_required=True, get_preferred_allocation_available=True)

    def watch_devices(self) -> Iterator[Sequence[PluginDevice]]:
        """Yield the list now, and after every change."""
        return self._feed.watch()

    def allocate(self, containers: Sequence[Sequence[str]]) -> Sequence[ContainerAllocation]:
        """Return what each container gets. Raises RequestError for an id that this plugin cannot give."""
        return [self._answers.allocation([offer.device for offer in self._usable(ids)]) for ids in containers]

    def preferred_allocation(self, containers: Sequence[PreferenceRequest]) -> Sequence[Sequence[str]]:
        """Return the preferred ids for each container."""
        return [self._preferred(one) for one in containers]

    def pre_start(self, ids: Sequence[str]) -> None:
        """Check that a container does not start with a device that has broken since its admission."""
        self._usable(ids)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _usable(self, ids: Sequence[str]) -> list[Offer]:
        name = self.resource.name
        if self.resource.one_at_most and len(ids) > 1:
            raise RequestError(
                f"invalid allocation request for {name}: maximum request size for shared resources is 1; "
                f"found {len(ids)}"
            )
        offers = self._known(ids)
        if broken := [offer.id for offer in offers if not self._is_healthy(offer.device)]:
            raise RequestError(f"invalid allocation request for {name}: unhealthy device: {broken[0]}")
        return offers

    def _known(self, ids: Sequence[str]) -> list[Offer]:
        if unknown := [one for one in ids if one not in self._offers]:
            raise RequestError(f"invalid allocation request for {self.resource.name}: unknown device: {unknown[0]}")
        return [self._offers[one] for one in ids]

    def _preferred(self, request: PreferenceRequest) -> Sequence[str]:
        """Choose devices near to those that are chosen already; of equally near ones, those used least."""
        if request.size > len(request.available) or not set(request.must_include) <= set(request.available):
            raise RequestError("not enough available devices to satisfy allocation")
        free = Counter(offer.device.uuid for offer in self._known(request.available))
        chosen = self._known(request.must_include)
        rest = [offer for offer in self._known(request.available) if offer.id not in request.must_include]
        while len(chosen) < request.size:
            taken = {offer.device.uuid for offer in chosen}
            nodes = {full_gpu(offer.device).numa_node for offer in chosen}
            best = max(
                rest,
                key=lambda offer: (
                    # Two replicas of one device are no more than one.
                    offer.device.uuid not in taken,
                    full_gpu(offer.device).numa_node in nodes,
                    free[offer.device.uuid],
                ),
            )
            rest.remove(best)
            chosen.append(best)
        return [offer.id for offer in chosen]
