"""The webhook as a program: validates opaque device configurations over HTTPS.

It sends no requests to an API server, so it takes no kubeconfig.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.kubelet_plugin.options import read_gates
from reference_impl.webhook.server import Webhook, WebhookOptions

_GATES = {"TimeSlicingSettings": "time_slicing", "MPSSupport": "mps"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the webhook's options."""
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on (default: all)")  # noqa: S104
    parser.add_argument("--port", type=int, default=443, help="port to listen on (default: 443)")
    parser.add_argument("--tls-cert-file", type=Path, required=True, metavar="FILE", help="PEM certificate chain")
    parser.add_argument("--tls-private-key-file", type=Path, required=True, metavar="FILE", help="PEM key")
    parser.add_argument(
        "--driver-feature-gates",
        default="",
        metavar="NAME=BOOL,…",
        help=f"the driver's own gates: {', '.join(_GATES)} (all false)",
    )


def gates_of(text: str) -> EnabledSharing:
    """Parse `TimeSlicingSettings=true,MPSSupport=false`. Raises ComponentError for an unknown gate or value."""
    enabled = dict.fromkeys(_GATES.values(), False)
    return EnabledSharing(**enabled | {_GATES[name]: value for name, value in read_gates(text, known=_GATES).items()})


def build_alone(args: argparse.Namespace, clock: Clock) -> Component:
    """Return the webhook that the options describe; it does nothing by the clock."""
    del clock
    for file in (args.tls_cert_file, args.tls_private_key_file):
        if not file.is_file():
            raise ComponentError(f"there is no file {file}; give a PEM certificate and its key")
    if not 0 <= args.port < 65536:
        raise ComponentError(f"--port {args.port}: ports are 0 to 65535")
    options = WebhookOptions(
        host=args.host,
        port=args.port,
        certificate=args.tls_cert_file,
        key=args.tls_private_key_file,
        gates=gates_of(args.driver_feature_gates),
    )
    return Webhook(options=options)
