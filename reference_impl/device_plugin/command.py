"""Run the device plugin for NVIDIA GPUs on a node.

The options have the names of NVIDIA's k8s-device-plugin if it has them. It needs no API server, so it takes no
kubeconfig.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.device_plugin.options import (
    PLUGINS_DIR,
    DevicePluginOptions,
    MigStrategy,
    TimeSlicing,
    list_strategies,
)
from reference_impl.device_plugin.plugin import GpuDevicePlugin
from reference_impl.kubelet_plugin.nvml_library import pynvml_with

_TRUTH = {"true": True, "false": False}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the plugin's options."""
    meaning = "the kubelet's folder of device plugins (default: %(default)s)"
    parser.add_argument("--device-plugin-path", type=Path, metavar="DIR", default=PLUGINS_DIR, help=meaning)
    meaning = "where the plugin writes its CDI specification, such as /var/run/cdi"
    parser.add_argument("--cdi-root", type=Path, metavar="DIR", required=True, help=meaning)
    meaning = "the NVIDIA driver's files as this process sees them (default: %(default)s)"
    parser.add_argument("--container-driver-root", type=Path, metavar="DIR", default=Path("/"), help=meaning)
    meaning = "how GPUs with MIG devices are offered (default: %(default)s)"
    parser.add_argument("--mig-strategy", choices=get_args(MigStrategy), default="none", help=meaning)
    meaning = "what an answer names devices by: envvar, volume-mounts and cdi-cri (default: %(default)s)"
    parser.add_argument("--device-list-strategy", default="envvar,cdi-cri", metavar="NAME,…", help=meaning)
    meaning = "whether answers have the device files (default: %(default)s)"
    parser.add_argument("--pass-device-specs", choices=_TRUTH, default="true", nargs="?", const="true", help=meaning)
    meaning = "YAML file with sharing.timeSlicing, as NVIDIA's plugin reads it"
    parser.add_argument("--config-file", type=Path, metavar="FILE", help=meaning)


def plugin_options(args: argparse.Namespace) -> DevicePluginOptions:
    """Return the options that `add_arguments` read. Raises ComponentError if they cannot work."""
    return DevicePluginOptions(
        plugins_dir=args.device_plugin_path,
        cdi_root=args.cdi_root,
        driver_root=args.container_driver_root,
        mig_strategy=args.mig_strategy,
        list_strategies=list_strategies(args.device_list_strategy),
        pass_device_specs=_TRUTH[args.pass_device_specs],
        time_slicing=TimeSlicing.load(args.config_file) if args.config_file else TimeSlicing(),
    )


def build_alone(args: argparse.Namespace, clock: Clock) -> Component:
    """Return the plugin that the options describe, not yet started."""
    options = plugin_options(args)
    return GpuDevicePlugin(clock=clock, nvml=pynvml_with(args.container_driver_root), options=options)
