"""Values that a kubelet and a DRA driver exchange over two Unix sockets.

Frozen; `dra_api.rpc.codec` converts them to and from protobuf messages. Names follow the published services
(k8s.io/kubelet v0.37.2: pkg/apis/dra/v1 and v1beta1, pkg/apis/dra-health/v1 and v1alpha1,
pkg/apis/pluginregistration/v1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, runtime_checkable

DRA_PLUGIN_TYPE: Final = "DRAPlugin"
"""The plugin type with which a DRA driver registers."""
DEVICE_PLUGIN_TYPE: Final = "DevicePlugin"
"""The plugin type of a device plugin that has a socket in the folder of registrations."""

V1: Final = "v1.DRAPlugin"
V1BETA1: Final = "v1beta1.DRAPlugin"
HEALTH_V1: Final = "v1.DRAResourceHealth"
HEALTH_V1ALPHA1: Final = "v1alpha1.DRAResourceHealth"
"""Entries of a registration's `supported_versions`, as a driver spells them."""

DRA_VERSIONS: Final = (V1, V1BETA1)
HEALTH_VERSIONS: Final = (HEALTH_V1, HEALTH_V1ALPHA1)
"""The versions of the health service, the newest first. Kubelets up to 1.36 know only v1alpha1."""


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """The reference to a ResourceClaim in a kubelet's request (rule DRA-263)."""

    namespace: str
    uid: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (uid {self.uid})"


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of a prepared claim: its requests, pool and name, and the CDI ids for containers.

    Empty `request_names` means every request of the claim (rule DRA-272). `share_id` exists in v1 only; v1beta1 drops
    it (rule DRA-282).
    """

    request_names: tuple[str, ...]
    pool_name: str
    device_name: str
    cdi_device_ids: tuple[str, ...]
    share_id: str | None = None


@dataclass(frozen=True, slots=True)
class PrepareResult:
    """The result of one claim: its devices, or an `error`, with which devices are ignored."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


class HealthStatus(IntEnum):
    """The health of a device, with the numbers of the protobuf enum."""

    UNKNOWN = 0
    HEALTHY = 1
    UNHEALTHY = 2


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """One device of a health message.

    `last_updated` is Unix time in seconds. `timeout_seconds` is how long the status is valid; zero or less means the
    kubelet's default of 30 s. A kubelet truncates `message` to 1024 characters.
    """

    pool_name: str
    device_name: str
    health: HealthStatus
    last_updated: int = 0
    timeout_seconds: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A plugin's response to GetInfo."""

    type: str
    name: str
    endpoint: str
    supported_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegistrationStatus:
    """A kubelet's NotifyRegistrationStatus request."""

    registered: bool
    error: str = ""


class DRADriver(Protocol):
    """The methods of a driver; `dra_api.rpc.PluginServer` serves them on a socket.

    An exception from a method becomes the gRPC status UNKNOWN with the exception's text, which fails the whole call.
    Failures of one claim belong in its result. Every requested claim needs an entry: for a kubelet a missing one is a
    failure (rule DRA-266).
    """

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare the claims; return results by claim UID. Must be idempotent (rule DRA-270)."""
        ...

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare the claims; return error texts by claim UID, empty on success. Unknown claims succeed (DRA-279)."""
        ...


class HealthNotSupported(Exception):
    """Raised by a driver that announces a health service and has no health to report: UNIMPLEMENTED for the kubelet."""


@runtime_checkable
class HealthReporter(Protocol):
    """A driver that also reports device health; `dra_api.rpc.HealthFeed` implements it."""

    def watch_health(self) -> Iterator[Sequence[DeviceHealth]]:
        """Yield complete lists of all devices, one after each change, until the caller closes the stream.

        Raises HealthNotSupported if the driver has no health to report.

        An iterator with a thread-safe `close()` ends at once when the kubelet disconnects. A generator blocks its
        thread until its next item.
        """
        ...
