"""The gRPC service of a kubelet plugin: batches of claims in, a result for each of them out.

Called from gRPC's threads. Stateless: claims come from the API server, state is in the preparer.

Source: cmd/gpu-kubelet-plugin driver.go at 95932046 and kubeletplugin v0.36.0; rules DRA-263, DRA-266, DRA-284, NV-003,
NV-053 to NV-057.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from dra_api.clock import Clock
from dra_api.rpc import ClaimRef, DeviceHealth, HealthFeed, PluginServer, PreparedDevice, PrepareResult
from reference_impl.kubelet_plugin.claims import AllocatedClaim, ClaimReader
from reference_impl.kubelet_plugin.options import KubeletPluginOptions, OptionError

log = logging.getLogger(__name__)


class Preparer(Protocol):
    """Prepares claims one by one."""

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make a claim's devices usable, or raise."""
        ...

    def unprepare(self, uid: str) -> None:
        """Undo it, or raise."""
        ...


class DriverService:
    """Prepare and Unprepare for a kubelet.

    A claim that is missing in the API server, differs or is not allocated fails the whole call, as in upstream's
    helper; a later failure is reported for its claim alone.
    """

    def __init__(self, *, claims: ClaimReader, preparer: Preparer) -> None:
        self._claims = claims
        self._preparer = preparer

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare claims; raises ClaimRefusedError for the whole call (rules NV-053 to NV-055)."""
        # All claims are fetched first, so that a call that fails as a whole has prepared none of them.
        fetched = [self._claims.fetch(reference) for reference in claims]
        return {claim.uid: self.prepare_one(claim) for claim in fetched}

    def prepare_one(self, claim: AllocatedClaim) -> PrepareResult:
        """Return the result of one claim (rule NV-056)."""
        try:
            return PrepareResult(self._preparer.prepare(claim))
        except Exception as error:
            log.warning("claim %s: %s", claim, error, exc_info=log.isEnabledFor(logging.DEBUG))
            # Any exception concerns this claim only; the others of the call get their results.
            return PrepareResult(error=f"error preparing devices for claim {claim}: prepare devices failed: {error}")

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare claims; claim uid to error text, empty when done (rule NV-107)."""
        return {reference.uid: self.unprepare_one(reference) for reference in claims}

    def unprepare_one(self, reference: ClaimRef) -> str:
        """Return the error text of one claim, empty if it is unprepared."""
        try:
            self._preparer.unprepare(reference.uid)
        except Exception as error:
            log.warning("claim %s: %s", reference, error, exc_info=log.isEnabledFor(logging.DEBUG))
            return f"error unpreparing devices for claim {reference}: {error}"
        return ""


def sockets(service: DriverService, options: KubeletPluginOptions, *, clock: Clock) -> PluginServer:
    """Return a service on the two sockets that the options name, not yet started.

    Calls are not serialized, as upstream: the node lock orders the claims, and an Unprepare must get through while a
    Prepare waits for it. Raises OptionError if the paths of the sockets are too long.
    """
    try:
        return PluginServer(
            service,
            options.driver_name,
            options.plugin_socket,
            options.registration_socket,
            serialize=False,
            clock=clock,
        )
    except ValueError as error:
        raise OptionError(str(error)) from error


class HealthyDriverService(DriverService):
    """A driver service that also reports device health from a feed."""

    def __init__(self, *, claims: ClaimReader, preparer: Preparer, feed: HealthFeed) -> None:
        super().__init__(claims=claims, preparer=preparer)
        self._feed = feed

    def watch_health(self) -> Iterator[Sequence[DeviceHealth]]:
        """Return complete lists of device health, newest first."""
        return self._feed.watch_health()
