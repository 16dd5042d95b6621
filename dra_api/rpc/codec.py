"""Converts between protobuf messages and the values of `dra_api.rpc.types`, for every served version.

Pure functions over the generated messages in `dra_api.rpc._generated` (see tools/gen_rpc.py); no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dra_api.rpc._generated.dra_v1 import api_pb2 as dra_v1
from dra_api.rpc._generated.dra_v1beta1 import api_pb2 as dra_v1beta1
from dra_api.rpc._generated.health_v1 import api_pb2 as health_v1
from dra_api.rpc._generated.health_v1alpha1 import api_pb2 as health_v1alpha1
from dra_api.rpc._generated.registration_v1 import api_pb2 as registration_v1
from dra_api.rpc.types import (
    HEALTH_V1,
    HEALTH_V1ALPHA1,
    V1,
    V1BETA1,
    ClaimRef,
    DeviceHealth,
    HealthStatus,
    PluginInfo,
    PreparedDevice,
    PrepareResult,
    RegistrationStatus,
)

REGISTRATION_SERVICE = "pluginregistration.Registration"


@dataclass(frozen=True, slots=True)
class DRACodec:
    """One version of the DRAPlugin service: its name, and encoding and decoding of its messages."""

    version: str
    service: str
    messages: Any
    has_share_id: bool

    def encode_claims(self, claims: Iterable[ClaimRef], *, unprepare: bool) -> bytes:
        """Return a Prepare or Unprepare request."""
        kind = self.messages.NodeUnprepareResourcesRequest if unprepare else self.messages.NodePrepareResourcesRequest
        request = kind(claims=[self.messages.Claim(namespace=c.namespace, uid=c.uid, name=c.name) for c in claims])
        return bytes(request.SerializeToString())

    def decode_claims(self, data: bytes, *, unprepare: bool) -> tuple[ClaimRef, ...]:
        """Return the claims of a request. Raises google.protobuf.message.DecodeError for an invalid one."""
        kind = self.messages.NodeUnprepareResourcesRequest if unprepare else self.messages.NodePrepareResourcesRequest
        return tuple(ClaimRef(c.namespace, c.uid, c.name) for c in kind.FromString(data).claims)

    def encode_prepared(self, results: Mapping[str, PrepareResult]) -> bytes:
        """Return a Prepare response, without `share_id` if the version has no such field."""
        response = self.messages.NodePrepareResourcesResponse()
        for uid, result in results.items():
            entry = response.claims[uid]
            entry.error = result.error
            for device in result.devices:
                added = entry.devices.add(
                    request_names=device.request_names,
                    pool_name=device.pool_name,
                    device_name=device.device_name,
                    cdi_device_ids=device.cdi_device_ids,
                )
                if self.has_share_id and device.share_id is not None:
                    added.share_id = device.share_id
        return bytes(response.SerializeToString())

    def decode_prepared(self, data: bytes) -> dict[str, PrepareResult]:
        """Return the results of a Prepare response, by claim UID."""
        response = self.messages.NodePrepareResourcesResponse.FromString(data)
        return {
            uid: PrepareResult(
                devices=tuple(
                    PreparedDevice(
                        request_names=tuple(d.request_names),
                        pool_name=d.pool_name,
                        device_name=d.device_name,
                        cdi_device_ids=tuple(d.cdi_device_ids),
                        # An absent share_id is not the same as an empty one.
                        share_id=d.share_id if self.has_share_id and d.HasField("share_id") else None,
                    )
                    for d in entry.devices
                ),
                error=entry.error,
            )
            for uid, entry in response.claims.items()
        }

    def encode_unprepared(self, results: Mapping[str, str]) -> bytes:
        """Return an Unprepare response for error texts by claim UID."""
        response = self.messages.NodeUnprepareResourcesResponse()
        for uid, error in results.items():
            response.claims[uid].error = error
        return bytes(response.SerializeToString())

    def decode_unprepared(self, data: bytes) -> dict[str, str]:
        """Return the error texts of an Unprepare response, by claim UID."""
        response = self.messages.NodeUnprepareResourcesResponse.FromString(data)
        return {uid: entry.error for uid, entry in response.claims.items()}


DRA_CODECS: Mapping[str, DRACodec] = {
    V1: DRACodec(V1, "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin", dra_v1, True),
    V1BETA1: DRACodec(V1BETA1, "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin", dra_v1beta1, False),
}


@dataclass(frozen=True, slots=True)
class HealthCodec:
    """One version of the DRAResourceHealth service, which has the same name on the wire as in a registration."""

    service: str
    messages: Any

    def encode(self, devices: Sequence[DeviceHealth]) -> bytes:
        """Return one message of the health stream."""
        response = self.messages.NodeWatchResourcesResponse(
            devices=[
                self.messages.DeviceHealth(
                    device=self.messages.DeviceIdentifier(pool_name=d.pool_name, device_name=d.device_name),
                    health=self.messages.HealthStatus.Name(int(d.health)),
                    last_updated_time=d.last_updated,
                    health_check_timeout_seconds=d.timeout_seconds,
                    message=d.message,
                )
                for d in devices
            ]
        )
        return bytes(response.SerializeToString())

    def decode(self, data: bytes) -> tuple[DeviceHealth, ...]:
        """Return the devices of a health message; an unknown health number becomes UNKNOWN."""
        known = {int(status) for status in HealthStatus}
        return tuple(
            DeviceHealth(
                pool_name=d.device.pool_name,
                device_name=d.device.device_name,
                health=HealthStatus(d.health) if d.health in known else HealthStatus.UNKNOWN,
                last_updated=d.last_updated_time,
                timeout_seconds=d.health_check_timeout_seconds,
                message=d.message,
            )
            for d in self.messages.NodeWatchResourcesResponse.FromString(data).devices
        )


HEALTH_CODECS: Mapping[str, HealthCodec] = {
    HEALTH_V1: HealthCodec(HEALTH_V1, health_v1),
    HEALTH_V1ALPHA1: HealthCodec(HEALTH_V1ALPHA1, health_v1alpha1),
}


def encode_info(info: PluginInfo) -> bytes:
    """Return a GetInfo response."""
    message = registration_v1.PluginInfo(
        type=info.type, name=info.name, endpoint=info.endpoint, supported_versions=info.supported_versions
    )
    return bytes(message.SerializeToString())


def decode_info(data: bytes) -> PluginInfo:
    """Return the contents of a GetInfo response."""
    message = registration_v1.PluginInfo.FromString(data)
    return PluginInfo(message.type, message.name, message.endpoint, tuple(message.supported_versions))


def encode_status(status: RegistrationStatus) -> bytes:
    """Return a NotifyRegistrationStatus request."""
    message = registration_v1.RegistrationStatus(plugin_registered=status.registered, error=status.error)
    return bytes(message.SerializeToString())


def decode_status(data: bytes) -> RegistrationStatus:
    """Return the contents of a NotifyRegistrationStatus request."""
    message = registration_v1.RegistrationStatus.FromString(data)
    return RegistrationStatus(message.plugin_registered, message.error)


def decode_nothing(data: bytes) -> bytes:
    """Accept any well-formed message; only its arrival matters. Raises DecodeError for other data."""
    registration_v1.InfoRequest.FromString(data)
    return data
