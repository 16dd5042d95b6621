"""Run the ComputeDomain controller, and on request simulated IMEX daemons."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.compute_domain.daemon import SimulatedImexDaemons
from reference_impl.compute_domain.objects import DRIVER_NAMESPACE
from reference_impl.compute_domain.options import FabricGates, add_imex_arguments, imex_options
from reference_impl.kubelet_plugin.options import OptionError


class Fabric:
    """The controller and, without NVLink hardware, the simulated daemons; they start and stop together."""

    def __init__(self, controller: ComputeDomainController, daemons: SimulatedImexDaemons | None) -> None:
        self._components: list[Component] = [controller, *([daemons] if daemons else [])]
        self.name = " with ".join(component.name for component in self._components)

    def start(self) -> None:
        """Start the controller, then the daemons."""
        for component in self._components:
            component.start()

    def stop(self) -> None:
        """Stop the daemons, then the controller. Idempotent."""
        for component in reversed(self._components):
            component.stop()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    parser.add_argument("--namespace", default=DRIVER_NAMESPACE, help="the driver's namespace (default: %(default)s)")
    parser.add_argument(
        "--simulate-imex-daemons",
        action="store_true",
        help="stand in for DaemonSet pods and nvidia-imex: daemons become ready without any NVLink",
    )
    add_imex_arguments(
        parser, gates="the driver's own gates: HostManagedIMEXDaemon (false) allows --imex-mode hostManaged"
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    imex = imex_options(args, FabricGates.parse(args.driver_feature_gates))
    if args.simulate_imex_daemons and imex.host_managed:
        raise OptionError("--simulate-imex-daemons: with --imex-mode hostManaged no ComputeDomain has daemons")
    daemons = None
    if args.simulate_imex_daemons:
        daemons = SimulatedImexDaemons(client, clock=clock, namespace=args.namespace)
    controller = ComputeDomainController(client, clock=clock, namespace=args.namespace, host_managed=imex.host_managed)
    return Fabric(controller, daemons)
