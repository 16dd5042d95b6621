"""The claim controller as a program: claims from templates, clean-up of consumers, end of generated claims."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.claim_controller.controller import ClaimController, ClaimControllerOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the claim controller's options."""
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="objects worked on at a time (default: 4)")


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the claim controller that the options describe."""
    return ClaimController(client, clock=clock, options=ClaimControllerOptions(workers=args.workers))
