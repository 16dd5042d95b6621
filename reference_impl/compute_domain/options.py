"""Options of the ComputeDomain components: feature gates and the owner of the IMEX daemons.

Source: pkg/featuregates and pkg/imex of kubernetes-sigs/dra-driver-nvidia-gpu at 95932046; rules NV-017, NV-018.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

from reference_impl.kubelet_plugin.options import OptionError, read_gates

DRIVER_MANAGED = "driverManaged"
HOST_MANAGED = "hostManaged"
_ISOLATIONS = ("domain", "channel")
HOST_SOCKET = "/etc/nvidia-imex/imex_ctrl.sock"


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricGates:
    """The gates of the ComputeDomain driver that this reference knows, by their upstream names and defaults."""

    CrashOnNVLinkFabricErrors: bool = True
    HostManagedIMEXDaemon: bool = False

    @classmethod
    def parse(cls, text: str) -> FabricGates:
        """Read `Gate=true,Other=false`. Raises OptionError for an unknown gate or value."""
        return cls(**read_gates(text, known={f.name for f in fields(cls)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImexOptions:
    """Owner of the IMEX daemons, and isolation of workloads."""

    mode: str
    isolation: str

    @property
    def host_managed(self) -> bool:
        """Return whether the host's administrator runs one nvidia-imex a node, and the driver none."""
        return self.mode == HOST_MANAGED

    def check(self, gates: FabricGates) -> None:
        """Raise OptionError for settings that cannot work (rule NV-018)."""
        if self.mode not in (DRIVER_MANAGED, HOST_MANAGED):
            raise OptionError(f"--imex-mode {self.mode!r}: choose {DRIVER_MANAGED} or {HOST_MANAGED}")
        if self.host_managed and not gates.HostManagedIMEXDaemon:
            raise OptionError(f"--imex-mode {HOST_MANAGED} needs the feature gate HostManagedIMEXDaemon=true")
        if self.isolation not in _ISOLATIONS:
            raise OptionError(f"--imex-isolation {self.isolation!r}: choose {' or '.join(_ISOLATIONS)}")
        if self.isolation == "channel":
            raise OptionError("--imex-isolation channel: a channel for each workload is not supported yet; use domain")


def add_imex_arguments(parser: argparse.ArgumentParser, *, gates: str) -> None:
    """Add the options that controller and kubelet plugin share; `gates` lists the gates that the component uses."""
    parser.add_argument("--driver-feature-gates", default="", metavar="NAME=BOOL,…", help=gates)
    parser.add_argument(
        "--imex-mode",
        default=DRIVER_MANAGED,
        metavar="MODE",
        help=f"who runs nvidia-imex: {DRIVER_MANAGED}, a daemon for each ComputeDomain, or {HOST_MANAGED}, one "
        "that the administrator runs on each node; needs the gate HostManagedIMEXDaemon (default: %(default)s)",
    )
    parser.add_argument(
        "--imex-isolation",
        default="domain",
        metavar="KIND",
        help="domain: the workloads of an IMEX domain share channel 0; channel is not supported yet "
        "(default: %(default)s)",
    )


def imex_options(args: argparse.Namespace, gates: FabricGates) -> ImexOptions:
    """Return the options that `add_imex_arguments` read. Raises OptionError when they cannot work."""
    options = ImexOptions(mode=args.imex_mode, isolation=args.imex_isolation)
    options.check(gates)
    return options
