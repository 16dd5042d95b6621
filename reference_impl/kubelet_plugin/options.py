"""Options of a kubelet plugin: names, folders and feature gates. Values only; nothing is opened here.

Source: the flags and gates of cmd/gpu-kubelet-plugin at 95932046; rules NV-004 to NV-011.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from dra_api.feature_gates import FeatureGateError, parse_gates
from reference_impl.errors import ComponentError

GPU_DRIVER = "gpu.nvidia.com"


class OptionError(ComponentError):
    """The plugin was started with options that cannot work; the message names them and the solution."""


def read_gates(text: str, *, known: Collection[str]) -> dict[str, bool]:
    """Parse `Gate=true,Other=false`. Raises OptionError for a gate that is not `known`, and for other values."""
    try:
        return parse_gates(text, known=known)
    except FeatureGateError as error:
        raise OptionError(f"--driver-feature-gates: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureGates:
    """The gates that this reference knows, by their upstream names.

    `NVMLDeviceHealthCheck` is alpha and off upstream. Here it is on, because the health scenarios need a driver that
    reports health; switch it off for upstream's default.
    """

    NVMLDeviceHealthCheck: bool = True
    TimeSlicingSettings: bool = False
    MPSSupport: bool = False
    DynamicMIG: bool = False
    PassthroughSupport: bool = False
    ConsumableShares: bool = False
    DRAListTypeAttributes: bool = False
    FabricManagerPartitioning: bool = False
    DeviceMetadata: bool = False

    @classmethod
    def parse(cls, text: str) -> FeatureGates:
        """Read `Gate=true,Other=false`.

        Raises OptionError for an unknown gate or value, and for gates that exclude or need each other (rules NV-004 to
        NV-009).
        """
        gates = cls(**read_gates(text, known={f.name for f in fields(cls)}))
        gates.check()
        return gates

    def check(self) -> None:
        """Raise OptionError for gates that cannot be on together, or not alone (rules NV-004 to NV-007)."""
        for one, other in EXCLUSIVE:
            if getattr(self, one) and getattr(self, other):
                raise OptionError(
                    f"feature gates {one} and {other} are mutually exclusive: switch one off ({other}=false)"
                )
        if self.DeviceMetadata and not self.PassthroughSupport:
            raise OptionError("feature gate DeviceMetadata needs PassthroughSupport: add PassthroughSupport=true")


EXCLUSIVE = (
    ("DynamicMIG", "PassthroughSupport"),
    ("DynamicMIG", "NVMLDeviceHealthCheck"),
    ("DynamicMIG", "MPSSupport"),
    ("PassthroughSupport", "NVMLDeviceHealthCheck"),
)
"""Gates that exclude each other, as upstream has them: health and sharing assume devices that do not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletPluginOptions:
    """Names and paths of a plugin on its node.

    Arguments:
        node_name: the Node object's name; pool and slices are named after it.
        plugins_dir: the kubelet's plugins folder; the plugin keeps `dra.sock`, `checkpoint.json` and `pu.lock` in
            `<plugins_dir>/<driver_name>`, mode 0700.
        registrar_dir: the kubelet's registration folder, for `<driver_name>-reg.sock`.
        cdi_root: folder of the CDI specs.
        driver_root: folder that holds the NVIDIA driver's files (`usr/lib64`, `usr/bin`, `dev`, `proc`, `sys`).
            Absent folders are taken from the machine itself (`/dev`, `/proc`, `/sys`).
        driver_name: the DRA driver's name.
        gates: feature gates.
        ignored_xids: XIDs that do not harm a device, beside the built-in ones.
        lock_timeout: seconds to wait for another plugin process of this node (rule NV-069).
        cleanup_interval: seconds between sweeps of claims that were never completed (10 minutes upstream).
        pod_uid: uid of the plugin's pod; used in the names of its sockets, so that two can run on one node during a
            rolling update.
        consumable_shares: see `reference_impl.kubelet_plugin.shares`.
        limiter_path: the host's folder with HAMi-core, for the mode memory-and-cores.
        healthcheck_port: TCP port for liveness probes; None for none.
        resync_delay: seconds until a slice that others changed is restored. Upstream waits 30 s (DRA-290),
            which is the maximum; sooner is allowed.
        annotations: annotations of the slices.
    """

    node_name: str
    plugins_dir: Path
    registrar_dir: Path
    cdi_root: Path
    driver_root: Path = Path("/")
    driver_name: str = GPU_DRIVER
    gates: FeatureGates = field(default_factory=FeatureGates)
    ignored_xids: frozenset[int] = frozenset()
    consumable_shares: str = "disabled"
    limiter_path: Path = Path("/usr/local/vgpu")
    pod_uid: str = ""
    lock_timeout: float = 10.0
    cleanup_interval: float = 600.0
    resync_delay: float = 1.0
    healthcheck_port: int | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def data_dir(self) -> Path:
        """Return the plugin's own folder."""
        return self.plugins_dir / self.driver_name

    def make_data_dir(self) -> None:
        """Create the plugin's own folder if it does not exist."""
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def plugin_socket(self) -> Path:
        """Return the DRA service socket."""
        return self.data_dir / (f"dra-{self.pod_uid}.sock" if self.pod_uid else "dra.sock")

    @property
    def registration_socket(self) -> Path:
        """Return the registration socket."""
        own = f"-{self.pod_uid}" if self.pod_uid else ""
        return self.registrar_dir / f"{self.driver_name}{own}-reg.sock"
