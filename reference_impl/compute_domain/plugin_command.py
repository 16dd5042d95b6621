"""Run the kubelet plugin for compute-domain.nvidia.com (IMEX channels) on a node."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.compute_domain.objects import DRIVER, DRIVER_NAMESPACE
from reference_impl.compute_domain.options import HOST_SOCKET, FabricGates, add_imex_arguments, imex_options
from reference_impl.compute_domain.plugin import ComputeDomainPlugin, ComputeDomainPluginOptions
from reference_impl.kubelet_plugin.command import add_node_arguments, node_options
from reference_impl.kubelet_plugin.nvml_library import pynvml_with
from reference_impl.kubelet_plugin.options import FeatureGates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    add_node_arguments(parser, driver=DRIVER)
    parser.add_argument("--namespace", default=DRIVER_NAMESPACE, help="the driver's namespace (default: %(default)s)")
    parser.add_argument(
        "--clique-id",
        metavar="ID",
        help="simulate this NVLink clique, <cluster uuid>.<number>, instead of asking NVML; '' for none",
    )
    parser.add_argument(
        "--gpu-clique-label-enabled",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show the NVLink clique in the node's label nvidia.com/gpu.clique (default: %(default)s)",
    )
    add_imex_arguments(
        parser,
        gates="the driver's own gates: CrashOnNVLinkFabricErrors (true) ends it at start where a GPU's NVLink fabric "
        "is not up, with false it starts without one; HostManagedIMEXDaemon (false) allows --imex-mode hostManaged",
    )
    parser.add_argument(
        "--imex-host-socket-path",
        default=HOST_SOCKET,
        metavar="PATH",
        help="control socket of the host's nvidia-imex, below the driver root; with --imex-mode hostManaged only "
        "(default: %(default)s)",
    )


def plugin_options(args: argparse.Namespace) -> ComputeDomainPluginOptions:
    """Return the options that `add_arguments` read. Raises ComponentError when they cannot work."""
    gates = FabricGates.parse(args.driver_feature_gates)
    return ComputeDomainPluginOptions(
        node=node_options(args, gates=FeatureGates()),
        gates=gates,
        imex=imex_options(args, gates),
        host_socket=args.imex_host_socket_path,
        driver_namespace=args.namespace,
        clique_id=args.clique_id,
        clique_label=args.gpu_clique_label_enabled,
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    options = plugin_options(args)
    nvml = pynvml_with(args.container_driver_root) if args.clique_id is None else None
    return ComputeDomainPlugin(client, clock=clock, nvml=nvml, options=options)
