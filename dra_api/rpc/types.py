"""What crosses the two Unix sockets between a kubelet and a DRA driver, as plain frozen values.

The values are made by `dra_api.rpc.codec` from protobuf messages, or by a driver, and belong to whoever holds them.
Names follow the published services (k8s.io/kubelet v0.36.2: pkg/apis/dra/v1 and v1beta1, pkg/apis/dra-health/v1alpha1,
pkg/apis/pluginregistration/v1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, runtime_checkable

DRA_PLUGIN_TYPE: Final = "DRAPlugin"
"""The plugin type that a DRA driver registers with."""

V1: Final = "v1.DRAPlugin"
V1BETA1: Final = "v1beta1.DRAPlugin"
HEALTH_V1ALPHA1: Final = "v1alpha1.DRAResourceHealth"
"""Entries of a registration's `supported_versions`, as a driver spells them."""

DRA_VERSIONS: Final = (V1, V1BETA1)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """All that a kubelet tells a driver about a ResourceClaim (rule DRA-263)."""

    namespace: str
    uid: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (uid {self.uid})"


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of a prepared claim: where it came from and the CDI ids that give it to containers.

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
    """The answer for one claim: its devices, or why it failed (`error`; devices are ignored then)."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


class HealthStatus(IntEnum):
    """The health of a device, by its number on the wire."""

    UNKNOWN = 0
    HEALTHY = 1
    UNHEALTHY = 2


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """One device of a health message.

    `last_updated` is Unix time in seconds. `timeout_seconds` is how long the statement holds; zero or less means the
    kubelet's own 30 s. A kubelet cuts `message` at 1024 characters.
    """

    pool_name: str
    device_name: str
    health: HealthStatus
    last_updated: int = 0
    timeout_seconds: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What a plugin answers to GetInfo."""

    type: str
    name: str
    endpoint: str
    supported_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegistrationStatus:
    """What a kubelet tells a plugin in NotifyRegistrationStatus."""

    registered: bool
    error: str = ""


class DRADriver(Protocol):
    """What a driver does; `dra_api.rpc.PluginServer` puts it on a socket.

    An exception from a method becomes the gRPC status UNKNOWN with the exception's text, which fails the whole call.
    Failures of one claim belong in its result. Every requested claim needs an entry: a kubelet takes a missing one as
    a failure (rule DRA-266).
    """

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare the claims; by claim uid. Must be idempotent (rule DRA-270)."""
        ...

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Undo it; claim uid to error text, empty when done. Unknown claims succeed (rule DRA-279)."""
        ...


@runtime_checkable
class HealthReporter(Protocol):
    """A driver that also reports device health; `dra_api.rpc.HealthFeed` is a ready implementation."""

    def watch_health(self) -> Iterator[Sequence[DeviceHealth]]:
        """Complete lists of all devices, one after each change, until the caller goes.

        An iterator with a `close()` method that may be called from another thread ends at once when the kubelet hangs
        up; a generator holds its thread until its next item.
        """
        ...
