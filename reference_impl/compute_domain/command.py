"""Run the ComputeDomain controller."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.compute_domain.objects import DRIVER_NAMESPACE
from reference_impl.compute_domain.options import FabricGates, add_imex_arguments, imex_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    parser.add_argument("--namespace", default=DRIVER_NAMESPACE, help="the driver's namespace (default: %(default)s)")
    add_imex_arguments(
        parser, gates="the driver's own gates: HostManagedIMEXDaemon (false) allows --imex-mode hostManaged"
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    imex = imex_options(args, FabricGates.parse(args.driver_feature_gates))
    return ComputeDomainController(client, clock=clock, namespace=args.namespace, host_managed=imex.host_managed)
