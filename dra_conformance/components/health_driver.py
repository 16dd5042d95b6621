"""A driver of the harness that prepares every claim and reports the device health that a scenario sets.

It tests kubelets: the scenario, unlike a real driver's hardware, decides when health changes. A scenario starts it on a
node with a kubelet and owns it.

Source: k8s.io/kubelet dra-health v1 and v1alpha1; rules DRA-295 to DRA-302, DRA-573 to DRA-578.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dra_api.allocations import results_of
from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.objects import RESOURCE_CLAIMS, uid_of
from dra_api.rpc import (
    DRA_VERSIONS,
    HEALTH_VERSIONS,
    ClaimRef,
    DeviceHealth,
    HealthFeed,
    HealthNotSupported,
    HealthStatus,
    HealthSubscription,
    PluginServer,
    PreparedDevice,
    PrepareResult,
)


class HealthDriver:
    """A driver called `name` with one pool.

    Arguments:
        client: reads the claims that the kubelet names.
        plugins_dir, registration_dir: the kubelet's folders.
        devices: the device names of the pool; all are Healthy at first.
        announced: the health services in the response to GetInfo, in this order. Those that the suite implements are
            served; if there is none, both are, and the kubelet does not know it.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        name: str,
        pool: str,
        devices: Sequence[str],
        plugins_dir: Path,
        registration_dir: Path,
        clock: Clock,
        announced: Sequence[str] = HEALTH_VERSIONS,
    ) -> None:
        self.name = name
        self.pool = pool
        self.cdi_ids: dict[str, tuple[str, ...]] = {}
        self.streams: list[str] = []
        """The health service of each stream that the kubelet has opened."""
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._feed = HealthFeed()
        self._declines = False
        self._health = {device: DeviceHealth(pool, device, HealthStatus.HEALTHY) for device in devices}
        self._elsewhere: list[DeviceHealth] = []
        self._repeats = 1
        folder = plugins_dir / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._server = PluginServer(
            self,
            name,
            folder / "dra.sock",
            registration_dir / f"{name}-reg.sock",
            health_versions=[one for one in HEALTH_VERSIONS if one in announced or not announced],
            clock=clock,
        )
        self._server.info = replace(self._server.info, supported_versions=(*DRA_VERSIONS, *announced))
        self._server.on_health_stream = self.streams.append

    def start(self) -> None:
        """Serve, report all devices as Healthy, and register."""
        self._report()
        self._server.start()

    def stop(self) -> None:
        """End all streams and unregister. Idempotent."""
        with self._lock:
            self._feed.close()
        self._server.stop(grace=0.2)

    # -- controls of scenarios ----------------------------------------------------------------------------------

    def say(self, device: str, health: HealthStatus, *, message: str = "", timeout_seconds: int = 0) -> None:
        """Set the health of a device and report all devices. `timeout_seconds` 0: the kubelet's default."""
        held = self._health[device]
        self._health[device] = replace(held, health=health, message=message, timeout_seconds=timeout_seconds)
        self._report()

    def add_pool(self, pool: str, health: HealthStatus) -> None:
        """Report devices with the names of the driver's own in another pool too, which keep this health."""
        self._elsewhere += [DeviceHealth(pool, device, health) for device in self._health]
        self._report()

    def add_entries(self, several: Sequence[DeviceHealth]) -> None:
        """Send these entries in front of the driver's own in every report. No entry is checked."""
        self._elsewhere += several
        self._report()

    def repeat(self, times: int) -> None:
        """Send every report so many times from now on."""
        with self._lock:
            self._repeats = times
        self._report()

    def report_none(self) -> None:
        """Send one report without devices."""
        with self._lock:
            self._feed.publish([])

    def end_streams(self) -> None:
        """End every health stream, and every new one at once, until `take_streams`."""
        with self._lock:
            self._feed.close()

    def decline_streams(self) -> None:
        """End every health stream, and every new one with UNIMPLEMENTED, until `take_streams`."""
        with self._lock:
            self._declines = True
            self._feed.close()

    def take_streams(self) -> None:
        """Accept streams again, with the same list as before."""
        with self._lock:
            self._declines = False
            # A closed feed ends every new stream, so a new feed is needed.
            self._feed = HealthFeed()
        self._report()

    def _report(self) -> None:
        now = int(self._clock.now().timestamp())
        with self._lock:
            several = [*self._elsewhere, *self._health.values()]
            self._feed.publish([replace(device, last_updated=now) for device in several])

    # -- the plugin's services -------------------------------------------------------------------------------------

    def watch_health(self) -> _Repeated:
        """Return a new stream of complete lists. Raises HealthNotSupported while the driver declines."""
        with self._lock:
            if self._declines:
                raise HealthNotSupported("this driver does not report health")
            return _Repeated(self._feed.watch_health(), lambda: self._repeats)

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Return the allocated devices of each claim, without any effect on them."""
        return {claim.uid: self._prepare(claim) for claim in claims}

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Succeed without any effect."""
        return {claim.uid: "" for claim in claims}

    def _prepare(self, ref: ClaimRef) -> PrepareResult:
        try:
            claim = self._client.get(RESOURCE_CLAIMS, ref.name, ref.namespace)
        except ApiError as error:
            return PrepareResult(error=str(error))
        if uid_of(claim) != ref.uid:
            return PrepareResult(error=f"claim {ref.namespace}/{ref.name} was replaced")
        return PrepareResult(
            tuple(
                PreparedDevice(
                    (result["request"],),
                    result["pool"],
                    result["device"],
                    self.cdi_ids.get(result["device"], ()),
                    result.get("shareID"),
                )
                for result in results_of(claim)
                if result["driver"] == self.name
            )
        )


class _Repeated:
    """A stream that sends each of its lists as many times as `times` returns; `close` ends it."""

    def __init__(self, lists: HealthSubscription, times: Callable[[], int]) -> None:
        self._lists = lists
        self._times = times
        self._left = 0
        self._list: Sequence[DeviceHealth] = ()

    def __iter__(self) -> Iterator[Sequence[DeviceHealth]]:
        return self

    def __next__(self) -> Sequence[DeviceHealth]:
        if self._left <= 0:
            self._list = next(self._lists)
            self._left = self._times()
        self._left -= 1
        return self._list

    def close(self) -> None:
        """End the stream; idempotent."""
        self._lists.close()
