"""gRPC between a kubelet and a device plugin, API v1beta1, with typed values.

`DevicePluginServer` and `register` are the plugin's side, `RegistrationServer` and `DevicePluginClient` the kubelet's.
"""

from dra_api.rpc.device_plugin.client import DevicePluginClient, register
from dra_api.rpc.device_plugin.server import DevicePlugin, DevicePluginServer, RegistrationServer
from dra_api.rpc.device_plugin.types import (
    HEALTHY,
    KUBELET_SOCKET,
    UNHEALTHY,
    VERSION,
    ContainerAllocation,
    DeviceSpec,
    Mount,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
)

__all__ = [
    "HEALTHY",
    "KUBELET_SOCKET",
    "UNHEALTHY",
    "VERSION",
    "ContainerAllocation",
    "DevicePlugin",
    "DevicePluginClient",
    "DevicePluginServer",
    "DeviceSpec",
    "Mount",
    "PluginDevice",
    "PluginOptions",
    "PreferenceRequest",
    "Registration",
    "RegistrationServer",
    "register",
]
