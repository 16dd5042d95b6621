"""Run the kubelet plugin for gpu.nvidia.com on a node.

The options have the names of upstream's gpu-kubelet-plugin if it has them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from fake_nvml import marker
from reference_impl.kubelet_plugin.nvml_library import pynvml_with
from reference_impl.kubelet_plugin.options import GPU_DRIVER, FeatureGates, KubeletPluginOptions, OptionError
from reference_impl.kubelet_plugin.plugin import KubeletPlugin
from reference_impl.kubelet_plugin.shares import ShareMode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    add_node_arguments(parser, driver=GPU_DRIVER)
    for option, default, meaning in (
        (
            "--driver-feature-gates",
            "",
            "the driver's own gates: NVMLDeviceHealthCheck (true here, false upstream); off are DynamicMIG, "
            "TimeSlicingSettings, MPSSupport, PassthroughSupport, ConsumableShares, DRAListTypeAttributes, "
            "FabricManagerPartitioning, DeviceMetadata",
        ),
        (
            "--additional-xids-to-ignore",
            "",
            "XIDs that do not harm a device, separated by commas; entries that are no number are ignored",
        ),
        ("--pod-uid", "", "name the sockets after this pod, so that two plugins can run during a rolling update"),
        (
            "--consumable-shares",
            "disabled",
            "let several claims have one device: disabled, unlimited, memory, memory-and-cores or a number of shares; "
            "needs the gate ConsumableShares (default: %(default)s)",
        ),
    ):
        parser.add_argument(option, default=default, help=meaning)
    meaning = (
        "with --consumable-shares=memory-and-cores: the host's folder with HAMi-core's libvgpu.so and ld.so.preload, "
        "which containers get; the plugin keeps its files for HAMi-core there (default: %(default)s)"
    )
    parser.add_argument("--limiter-path", type=Path, metavar="DIR", default=Path("/usr/local/vgpu"), help=meaning)


def add_node_arguments(parser: argparse.ArgumentParser, *, driver: str) -> None:
    """Add the options of any kubelet plugin."""
    parser.add_argument("--node-name", required=True, help="name of the Node")
    for option, meaning in (
        ("--kubelet-plugins-directory-path", "the plugin's sockets and checkpoint go to DIR/<driver name>"),
        ("--kubelet-registrar-directory-path", "where the kubelet looks for plugins"),
        ("--cdi-root", "where the plugin writes CDI specifications, such as /etc/cdi"),
    ):
        parser.add_argument(option, type=Path, required=True, help=meaning)
    meaning = "the NVIDIA driver's files as this process sees them (default: %(default)s)"
    parser.add_argument("--container-driver-root", type=Path, default=Path("/"), help=meaning)
    parser.add_argument("--driver-name", default=driver, help="default: %(default)s")
    meaning = "answer grpc.health.v1 on this TCP port, for liveness probes: SERVING while both sockets answer"
    parser.add_argument("--healthcheck-port", type=int, help=meaning)


def node_options(
    args: argparse.Namespace, *, gates: FeatureGates, ignored_xids: frozenset[int] = frozenset()
) -> KubeletPluginOptions:
    """Return the options that `add_node_arguments` read."""
    return KubeletPluginOptions(
        node_name=args.node_name,
        plugins_dir=args.kubelet_plugins_directory_path,
        registrar_dir=args.kubelet_registrar_directory_path,
        cdi_root=args.cdi_root,
        driver_root=args.container_driver_root,
        driver_name=args.driver_name,
        gates=gates,
        ignored_xids=ignored_xids,
        healthcheck_port=args.healthcheck_port,
    )


def plugin_options(args: argparse.Namespace) -> KubeletPluginOptions:
    """Return the options that `add_arguments` read. Raises ComponentError when they cannot work."""
    ignored = frozenset(int(xid) for xid in args.additional_xids_to_ignore.split(",") if xid.strip().isdecimal())
    gates = FeatureGates.parse(args.driver_feature_gates)
    shares = ShareMode.parse(args.consumable_shares)
    if shares.enabled and not gates.ConsumableShares:
        raise OptionError(f"--consumable-shares {args.consumable_shares} needs the feature gate ConsumableShares=true")
    options = node_options(args, gates=gates, ignored_xids=ignored)
    return replace(
        options, consumable_shares=args.consumable_shares, limiter_path=args.limiter_path, pod_uid=args.pod_uid
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    options = plugin_options(args)
    nvml = pynvml_with(args.container_driver_root)
    if marker.is_loaded():
        options = replace(options, annotations={marker.ANNOTATION: marker.GPUS})
    return KubeletPlugin(client, clock=clock, nvml=nvml, options=options)
