"""Options of the device plugin: folders, the MIG strategy, what an answer of Allocate has, and shared devices.

Names and values are those of NVIDIA's k8s-device-plugin v0.19.0 (cmd/nvidia-device-plugin/main.go, api/config/v1). The
defaults differ in one point: an answer has everything that this plugin can give, so that scenarios can judge all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import msgspec
import yaml

from dra_api import plain_yaml, regular_file
from reference_impl.errors import ComponentError

MigStrategy: TypeAlias = Literal["none", "single", "mixed"]
ListStrategy: TypeAlias = Literal["envvar", "volume-mounts", "cdi-cri"]

PLUGINS_DIR: Final = Path("/var/lib/kubelet/device-plugins")
"""The folder of device plugins of a real kubelet, which no option of the kubelet moves."""

_FEWEST_REPLICAS = 2


class _Shared(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    replicas: int


class _TimeSlicing(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    resources: list[_Shared]
    rename_by_default: bool = False
    fail_requests_greater_than_one: bool = False


class _Sharing(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    time_slicing: _TimeSlicing | None = None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal["v1"] = "v1"
    sharing: _Sharing = msgspec.field(default_factory=_Sharing)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSlicing:
    """How devices are shared: `replicas` by resource name.

    `rename`: a shared resource has the suffix `.shared`. `one_at_most`: a container may have one replica only.
    """

    replicas: Mapping[str, int] = field(default_factory=dict)
    rename: bool = False
    one_at_most: bool = False

    @classmethod
    def load(cls, path: Path) -> TimeSlicing:
        """Read a configuration file. Raises ComponentError with the reason if it cannot be used."""
        try:
            document = msgspec.convert(plain_yaml.load(regular_file.read(path)), _Document)
        except (OSError, ValueError, msgspec.ValidationError, yaml.YAMLError) as error:
            raise ComponentError(f"--config-file {path}: {error}") from error
        found = document.sharing.time_slicing
        if found is None:
            return cls()
        if not found.resources:
            raise ComponentError(f"--config-file {path}: no resources specified")
        if few := [one for one in found.resources if one.replicas < _FEWEST_REPLICAS]:
            raise ComponentError(f"--config-file {path}: {few[0].name}: number of replicas must be >= 2")
        return cls(
            replicas={one.name: one.replicas for one in found.resources},
            rename=found.rename_by_default,
            one_at_most=found.fail_requests_greater_than_one,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePluginOptions:
    """Names and paths of a plugin on its node.

    Arguments:
        plugins_dir: the kubelet's folder of device plugins, with `kubelet.sock`.
        cdi_root: folder of the CDI specification that the plugin writes.
        driver_root: folder that holds the NVIDIA driver's files.
        mig_strategy: how GPUs with MIG devices are offered.
        list_strategies: how a container gets its devices.
        pass_device_specs: whether answers have the device files.
        time_slicing: which devices are shared.
    """

    plugins_dir: Path
    cdi_root: Path
    driver_root: Path
    mig_strategy: MigStrategy
    list_strategies: tuple[ListStrategy, ...]
    pass_device_specs: bool
    time_slicing: TimeSlicing


def list_strategies(text: str) -> tuple[ListStrategy, ...]:
    """Parse `envvar,cdi-cri`. Raises ComponentError for an unknown strategy."""
    known: Mapping[str, ListStrategy] = {one: one for one in get_args(ListStrategy)}
    words = [word.strip() for word in text.split(",")]
    if bad := [word for word in words if word not in known]:
        raise ComponentError(f"--device-list-strategy: unknown {bad[0]!r} (choose from {', '.join(known)})")
    return tuple(known[word] for word in words)
