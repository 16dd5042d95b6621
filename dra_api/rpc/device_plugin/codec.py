"""Converts between protobuf messages and the values of `dra_api.rpc.device_plugin.types`.

Pure functions over the generated messages. Decoding raises google.protobuf.message.DecodeError for other data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dra_api.rpc._generated.device_plugin_v1beta1 import api_pb2 as api
from dra_api.rpc.device_plugin.types import (
    ContainerAllocation,
    DeviceSpec,
    Mount,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
)

PLUGIN_SERVICE = "v1beta1.DevicePlugin"
REGISTRATION_SERVICE = "v1beta1.Registration"


def _to_options(message: api.DevicePluginOptions) -> PluginOptions:
    return PluginOptions(
        pre_start_required=message.pre_start_required,
        get_preferred_allocation_available=message.get_preferred_allocation_available,
    )


def _from_options(options: PluginOptions) -> api.DevicePluginOptions:
    return api.DevicePluginOptions(
        pre_start_required=options.pre_start_required,
        get_preferred_allocation_available=options.get_preferred_allocation_available,
    )


def encode_options(options: PluginOptions) -> bytes:
    """Return the response of GetDevicePluginOptions."""
    return _from_options(options).SerializeToString()


def decode_options(data: bytes) -> PluginOptions:
    """Return the content of a response of GetDevicePluginOptions."""
    return _to_options(api.DevicePluginOptions.FromString(data))


def encode_registration(registration: Registration) -> bytes:
    """Return the request of Register."""
    return api.RegisterRequest(
        version=registration.version,
        endpoint=registration.endpoint,
        resource_name=registration.resource_name,
        options=_from_options(registration.options),
    ).SerializeToString()


def decode_registration(data: bytes) -> Registration:
    """Return the content of a request of Register."""
    message = api.RegisterRequest.FromString(data)
    return Registration(
        version=message.version,
        endpoint=message.endpoint,
        resource_name=message.resource_name,
        options=_to_options(message.options),
    )


def encode_devices(devices: Iterable[PluginDevice]) -> bytes:
    """Return one message of ListAndWatch."""
    response = api.ListAndWatchResponse()
    for device in devices:
        added = response.devices.add(ID=device.id, health=device.health)
        if device.numa_nodes is not None:
            added.topology.nodes.extend(api.NUMANode(ID=node) for node in device.numa_nodes)
    return response.SerializeToString()


def decode_devices(data: bytes) -> tuple[PluginDevice, ...]:
    """Return the devices of a message of ListAndWatch."""
    return tuple(
        PluginDevice(d.ID, d.health, tuple(n.ID for n in d.topology.nodes) if d.HasField("topology") else None)
        for d in api.ListAndWatchResponse.FromString(data).devices
    )


def encode_allocate(containers: Iterable[Sequence[str]]) -> bytes:
    """Return the request of Allocate for the device ids of each container."""
    requests = [api.ContainerAllocateRequest(devices_ids=ids) for ids in containers]
    return api.AllocateRequest(container_requests=requests).SerializeToString()


def decode_allocate(data: bytes) -> tuple[tuple[str, ...], ...]:
    """Return the device ids of each container of a request of Allocate."""
    return tuple(tuple(one.devices_ids) for one in api.AllocateRequest.FromString(data).container_requests)


def encode_allocated(containers: Iterable[ContainerAllocation]) -> bytes:
    """Return the response of Allocate."""
    response = api.AllocateResponse()
    for one in containers:
        response.container_responses.add(
            envs=dict(one.envs),
            mounts=[
                api.Mount(container_path=m.container_path, host_path=m.host_path, read_only=m.read_only)
                for m in one.mounts
            ],
            devices=[
                api.DeviceSpec(container_path=d.container_path, host_path=d.host_path, permissions=d.permissions)
                for d in one.devices
            ],
            annotations=dict(one.annotations),
            cdi_devices=[api.CDIDevice(name=name) for name in one.cdi_devices],
        )
    return response.SerializeToString()


def decode_allocated(data: bytes) -> tuple[ContainerAllocation, ...]:
    """Return what each container gets by a response of Allocate."""
    return tuple(
        ContainerAllocation(
            envs=dict(one.envs),
            mounts=tuple(Mount(m.container_path, m.host_path, m.read_only) for m in one.mounts),
            devices=tuple(DeviceSpec(d.container_path, d.host_path, d.permissions) for d in one.devices),
            annotations=dict(one.annotations),
            cdi_devices=tuple(device.name for device in one.cdi_devices),
        )
        for one in api.AllocateResponse.FromString(data).container_responses
    )


def encode_preference(containers: Iterable[PreferenceRequest]) -> bytes:
    """Return the request of GetPreferredAllocation."""
    requests = [
        api.ContainerPreferredAllocationRequest(
            available_deviceIDs=one.available, must_include_deviceIDs=one.must_include, allocation_size=one.size
        )
        for one in containers
    ]
    return api.PreferredAllocationRequest(container_requests=requests).SerializeToString()


def decode_preference(data: bytes) -> tuple[PreferenceRequest, ...]:
    """Return the content of a request of GetPreferredAllocation."""
    return tuple(
        PreferenceRequest(
            available=tuple(one.available_deviceIDs),
            must_include=tuple(one.must_include_deviceIDs),
            size=one.allocation_size,
        )
        for one in api.PreferredAllocationRequest.FromString(data).container_requests
    )


def encode_preferred(containers: Iterable[Sequence[str]]) -> bytes:
    """Return the response of GetPreferredAllocation."""
    responses = [api.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in containers]
    return api.PreferredAllocationResponse(container_responses=responses).SerializeToString()


def decode_preferred(data: bytes) -> tuple[tuple[str, ...], ...]:
    """Return the preferred device ids of each container."""
    return tuple(tuple(one.deviceIDs) for one in api.PreferredAllocationResponse.FromString(data).container_responses)


def encode_pre_start(ids: Sequence[str]) -> bytes:
    """Return the request of PreStartContainer."""
    return api.PreStartContainerRequest(devices_ids=ids).SerializeToString()


def decode_pre_start(data: bytes) -> tuple[str, ...]:
    """Return the device ids of a request of PreStartContainer."""
    return tuple(api.PreStartContainerRequest.FromString(data).devices_ids)


def decode_nothing(data: bytes) -> bytes:
    """Accept any well-formed message; only its arrival matters."""
    api.Empty.FromString(data)
    return data
