"""The webhook as a program: validates opaque device configurations over HTTPS."""

from __future__ import annotations

import argparse
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.part import Part
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.runtime import PartError
from reference_impl.webhook.server import Webhook, WebhookOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the webhook's options."""
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on (default: all)")  # noqa: S104
    parser.add_argument("--port", type=int, default=443, help="port to listen on (default: 443)")
    parser.add_argument("--tls-cert-file", type=Path, required=True, metavar="FILE", help="PEM certificate chain")
    parser.add_argument("--tls-private-key-file", type=Path, required=True, metavar="FILE", help="PEM key")
    parser.add_argument("--time-slicing", action="store_true", help="admit TimeSlicing (gate TimeSlicingSettings)")
    parser.add_argument("--mps", action="store_true", help="admit MPS (gate MPSSupport)")


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Part:
    """Make the webhook that the options ask for; it needs neither API server nor clock."""
    del client, clock
    for file in (args.tls_cert_file, args.tls_private_key_file):
        if not file.is_file():
            raise PartError(f"there is no file {file}; give a PEM certificate and its key")
    options = WebhookOptions(
        host=args.host,
        port=args.port,
        certificate=args.tls_cert_file,
        key=args.tls_private_key_file,
        gates=EnabledSharing(time_slicing=args.time_slicing, mps=args.mps),
    )
    return Webhook(options=options)
