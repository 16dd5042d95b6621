"""Run a kubelet plugin for devices of any kind, listed in a file, under any driver name.

Example: python -m reference_impl inventory-plugin --kubeconfig FILE --node-name n1 --driver-name nic.example.com \
    --inventory nic
"""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.inventory_plugin.inventory import Inventory
from reference_impl.inventory_plugin.plugin import InventoryPlugin
from reference_impl.kubelet_plugin.command import add_node_arguments, node_options
from reference_impl.kubelet_plugin.options import FeatureGates

DRIVER = "devices.example.com"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    add_node_arguments(parser, driver=DRIVER)
    parser.add_argument(
        "--inventory",
        required=True,
        metavar="NAME|FILE",
        help="the node's devices: a YAML file (devices as in a ResourceSlice, each with its CDI containerEdits), or "
        "one that comes with this component: nic, fpga",
    )
    parser.add_argument(
        "--device-metadata",
        action="store_true",
        help="describe the devices of a claim to its containers in files (KEP-5304)",
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    options = node_options(args, gates=FeatureGates(DeviceMetadata=args.device_metadata))
    return InventoryPlugin(client, clock=clock, inventory=Inventory.load(args.inventory), options=options)
