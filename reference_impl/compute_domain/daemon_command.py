"""Simulate the IMEX daemons of ComputeDomains, in a cluster without a DaemonSet controller and without NVLink."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.compute_domain.daemon import SimulatedImexDaemons
from reference_impl.compute_domain.objects import DRIVER_NAMESPACE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    parser.add_argument("--namespace", default=DRIVER_NAMESPACE, help="the driver's namespace (default: %(default)s)")


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    return SimulatedImexDaemons(client, clock=clock, namespace=args.namespace)
