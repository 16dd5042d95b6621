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
        "--bind-timeout", type=float, default=120.0, metavar="SECONDS", help="for the claim writes of one attempt"
    )
    parser.add_argument(
        "--binding-timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="give up an allocation whose devices are not ready by then (default: %(default)g)",
    )
    parser.add_argument(
        "--existing-allocation",
        choices=("refuse", "keep"),
        default="refuse",
        help="what to do if a claim has another allocation than requested (KAI 0.17 keeps it; default: refuse)",
    )
    parser.add_argument(
        "--uncovered-claims",
        choices=("refuse", "bind"),
        default="refuse",
        help="pods with a claim that is neither in the BindRequest nor allocated (KAI 0.17 binds; default: refuse)",
    )
    parser.add_argument(
        "--no-rollback", action="store_true", help="leave reservations of a failed request in place, as KAI 0.17 does"
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the binder that the options describe."""
    options = BinderOptions(
        workers=args.workers,
        dynamic_resource_allocation=args.feature_gates.get("DynamicResourceAllocation"),
        bind_timeout=args.bind_timeout,
        binding_timeout=args.binding_timeout,
        existing_allocation=args.existing_allocation,
        uncovered_claims=args.uncovered_claims,
        rollback=not args.no_rollback,
    )
    return Binder(client, clock=clock, options=options)
