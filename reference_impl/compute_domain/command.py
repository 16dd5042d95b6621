"""Run the ComputeDomain controller."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.compute_domain.controller import DAEMON_IMAGE, NAME, ComputeDomainController
from reference_impl.compute_domain.objects import DRIVER_NAMESPACE, DaemonSettings
from reference_impl.compute_domain.options import FabricGates, add_imex_arguments, imex_options
from reference_impl.election_options import add_election_arguments, election_options
from reference_impl.leader_election import LeaderElected


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    parser.add_argument("--namespace", default=DRIVER_NAMESPACE, help="the driver's namespace (default: %(default)s)")
    parser.add_argument(
        "--image-name",
        default=DAEMON_IMAGE,
        metavar="IMAGE",
        help="image of the daemon pods, with the program compute-domain-daemon (default: %(default)s)",
    )
    parser.add_argument(
        "--additional-namespaces",
        action="append",
        default=[],
        metavar="NAME",
        help="a namespace in which the DaemonSet of a ComputeDomain may be already; may be repeated (default: none)",
    )
    parser.add_argument(
        "--cd-daemon-image-pull-secret-names",
        default="",
        metavar="NAMES",
        help="imagePullSecrets of the daemon pods, separated by commas (default: none)",
    )
    parser.add_argument(
        "--log-verbosity-cd-daemon",
        type=int,
        metavar="LEVEL",
        help="LOG_VERBOSITY of the daemon pods; those that exist keep theirs (default: not set)",
    )
    add_imex_arguments(
        parser,
        gates="the driver's own gates, which the daemon pods get as FEATURE_GATES: HostManagedIMEXDaemon (false) "
        "allows --imex-mode hostManaged",
    )
    add_election_arguments(parser, name="nvidia-compute-domain-controller")


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started. With an election it works while it is the leader."""
    imex = imex_options(args, FabricGates.parse(args.driver_feature_gates))
    daemons = DaemonSettings(
        image=args.image_name,
        pull_secrets=tuple(filter(None, map(str.strip, args.cd_daemon_image_pull_secret_names.split(",")))),
        gates=args.driver_feature_gates,
        verbosity=args.log_verbosity_cd_daemon,
    )

    def make() -> Component:
        return ComputeDomainController(
            client,
            clock=clock,
            namespace=args.namespace,
            daemons=daemons,
            additional=args.additional_namespaces,
            host_managed=imex.host_managed,
        )

    election = election_options(args, replica=NAME.replace(" ", "-"))
    return make() if election is None else LeaderElected(NAME, client, make, clock=clock, options=election)
