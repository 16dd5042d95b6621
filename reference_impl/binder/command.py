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
    parser.add_argument(
        "--volume-timeout",
        type=float,
        default=BinderOptions().volume_timeout,
        metavar="SECONDS",
        help="give up volumes that are not bound by then (default: %(default)g)",
    )
    parser.add_argument(
        "--claim-timeout",
        type=float,
        default=BinderOptions().claim_timeout,
        metavar="SECONDS",
        help="give up an attempt whose requests for claims get no response by then (default: %(default)g)",
    )
    parser.add_argument(
        "--reservation-namespace",
        default="",
        metavar="NAMESPACE",
        help="bind pods to shares of GPUs, with reservation pods in this namespace",
    )
    parser.add_argument(
        "--reservation-service-account",
        default=BinderOptions().reservation_service_account,
        metavar="NAME",
        help="service account of the reservation pods (default: %(default)s)",
    )
    parser.add_argument(
        "--reservation-timeout",
        type=float,
        default=BinderOptions().reservation_timeout,
        metavar="SECONDS",
        help="give up a reservation pod that has not reported its GPU by then (default: %(default)g)",
    )
    parser.add_argument(
        "--scale-adjust-namespace",
        default="",
        metavar="NAMESPACE",
        help="reserve no GPU while a pod of this namespace is unschedulable",
    )
    parser.add_argument(
        "--cdi-enabled",
        action="store_true",
        help="write the GPUs of a share as CDI devices of the device plugin",
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the binder that the options describe."""
    options = BinderOptions(
        workers=args.workers,
        dynamic_resource_allocation=args.feature_gates.get("DynamicResourceAllocation"),
        binding_timeout=args.binding_timeout,
        volume_timeout=args.volume_timeout,
        claim_timeout=args.claim_timeout,
        reservation_namespace=args.reservation_namespace,
        reservation_service_account=args.reservation_service_account,
        reservation_timeout=args.reservation_timeout,
        scale_adjust_namespace=args.scale_adjust_namespace,
        cdi_enabled=args.cdi_enabled,
    )
    return Binder(client, clock=clock, options=options)
