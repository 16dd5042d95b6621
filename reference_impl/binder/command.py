"""The binder as a program: carries out BindRequests against one API server."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.binder.options import BinderOptions
from reference_impl.binder.reconcile import Binder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the binder's options."""
    parser.add_argument(
        "--workers",
        type=int,
        default=BinderOptions().workers,
        metavar="N",
        help="pods bound at a time (default: %(default)s)",
    )
    parser.add_argument(
        "--binding-timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="give up an allocation whose devices are not ready by then (default: %(default)g)",
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the binder that the options describe."""
    options = BinderOptions(
        workers=args.workers,
        dynamic_resource_allocation=args.feature_gates.get("DynamicResourceAllocation"),
        binding_timeout=args.binding_timeout,
    )
    return Binder(client, clock=clock, options=options)
