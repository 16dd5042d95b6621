"""What a container gets of its devices, and the CDI specification behind it.

The specification is written once, before the plugin registers, so that it is there before any answer names it.

Source: NVIDIA k8s-device-plugin v0.19.0, internal/plugin/server.go and internal/cdi.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dra_api.objects import Obj
from dra_api.rpc.device_plugin import ContainerAllocation, DeviceSpec, Mount
from reference_impl.device_plugin.offers import Existing
from reference_impl.device_plugin.options import DevicePluginOptions
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.driver_root import DriverRoot, DriverRootError

VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
VOLUME_FOLDER = "/var/run/nvidia-container-devices"
_VENDOR, _CLASS = "k8s.device-plugin.nvidia.com", "gpu"
_SPEC = "devices"
_READ_WRITE = "rw"


class Answers:
    """Builds the answers of one plugin."""

    def __init__(self, options: DevicePluginOptions, root: DriverRoot) -> None:
        self._options = options
        self._root = root
        self._cdi = CdiFolder(options.cdi_root, vendor=_VENDOR, cdi_class=_CLASS)

    def write_spec(self, devices: Iterable[Existing], driver_version: str) -> None:
        """Write the CDI specification of all devices, if answers name CDI devices. Raises ComponentError."""
        if "cdi-cri" not in self._options.list_strategies:
            return
        try:
            entries: list[Obj] = [
                {"name": device.uuid, "containerEdits": {"deviceNodes": self._root.device_nodes(device)}}
                for device in devices
            ]
            common = {"deviceNodes": self._root.control_nodes(), "mounts": self._root.mounts(driver_version)}
        except DriverRootError as error:
            raise ComponentError(str(error)) from error
        self._cdi.write(_SPEC, entries, common)

    def allocation(self, devices: Sequence[Existing]) -> ContainerAllocation:
        """Return what a container gets; replicas of one device count once."""
        once = list({device.uuid: device for device in devices}.values())
        ids = [device.uuid for device in once]
        strategies = self._options.list_strategies
        envs: dict[str, str] = {}
        mounts: tuple[Mount, ...] = ()
        if "volume-mounts" in strategies:
            envs = {VISIBLE_DEVICES: VOLUME_FOLDER}
            mounts = tuple(Mount(f"{VOLUME_FOLDER}/{one}", "/dev/null") for one in ids)
        elif "envvar" in strategies:
            envs = {VISIBLE_DEVICES: ",".join(ids)}
        by_cdi = "cdi-cri" in strategies
        return ContainerAllocation(
            envs=envs,
            mounts=mounts,
            # With CDI alone the runtime adds the device files.
            devices=self._device_files(once)
            if self._options.pass_device_specs and set(strategies) != {"cdi-cri"}
            else (),
            cdi_devices=tuple(f"{self._cdi.kind}={one}" for one in ids) if by_cdi else (),
        )

    def _device_files(self, devices: Sequence[Existing]) -> tuple[DeviceSpec, ...]:
        nodes = [*self._root.control_nodes(), *(node for device in devices for node in self._root.device_nodes(device))]
        by_path = {node["path"]: node for node in nodes}
        return tuple(DeviceSpec(path, node.get("hostPath", path), _READ_WRITE) for path, node in by_path.items())
