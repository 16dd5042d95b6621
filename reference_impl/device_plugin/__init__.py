"""The reference device plugin: GPUs of a node as extended resources, by the device plugin API v1beta1.

Needs NVML and the folder of the kubelet, and no API server.
"""

from reference_impl.device_plugin.options import DevicePluginOptions
from reference_impl.device_plugin.plugin import GpuDevicePlugin

__all__ = ["DevicePluginOptions", "GpuDevicePlugin"]
