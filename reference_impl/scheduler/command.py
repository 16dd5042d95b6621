"""The reference scheduler as a program: `python -m reference_impl scheduler`."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.scheduler.bug_compatible import RELEASES, release
from reference_impl.scheduler.options import STEPS_A_SECOND, SchedulerOptions, features_of
from reference_impl.scheduler.scheduler import Scheduler


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the scheduler's own options."""
    defaults = SchedulerOptions()
    parser.add_argument(
        "--publish",
        choices=("bind-request", "direct"),
        default=defaults.publish,
        help="write a BindRequest for a binder, or bind pods directly (default: %(default)s)",
    )
    parser.add_argument(
        "--revision",
        choices=("kai-0.17", "documented"),
        default=defaults.revision,
        help="revision of the BindRequest protocol (default: %(default)s); with `documented`, dynamic resource "
        "allocation is off unless --feature-gates=DynamicResourceAllocation=true",
    )
    parser.add_argument(
        "--scheduler-name",
        action="append",
        metavar="NAME",
        help=f"schedule pods that name this scheduler; may be repeated "
        f"(default: {', '.join(sorted(defaults.scheduler_names))})",
    )
    parser.add_argument(
        "--binding-timeout",
        type=float,
        metavar="SECONDS",
        help="with --publish=direct: give up an allocation whose binding conditions are not met by then "
        f"(default: {defaults.ready_within:g}; at least 1)",
    )
    parser.add_argument(
        "--filter-timeout",
        type=float,
        default=defaults.filter_timeout,
        metavar="SECONDS",
        help=f"give up the search for devices on a node after so long, counted in steps, {STEPS_A_SECOND} a second; "
        "0: never (default: %(default)g)",
    )
    parser.add_argument(
        "--bug-compatible",
        choices=RELEASES,
        help="allocate with the known deviations of this Kubernetes release (default: with those of none)",
    )
    parser.add_argument("--seed", type=int, help="order equally loaded nodes by this seed instead of by name")


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Make the scheduler."""
    names = frozenset(args.scheduler_name) if args.scheduler_name else SchedulerOptions().scheduler_names
    options = SchedulerOptions(
        publish=args.publish,
        revision=args.revision,
        dynamic_resource_allocation=args.feature_gates.get("DynamicResourceAllocation"),
        scheduler_names=names,
        seed=args.seed,
        binding_timeout=args.binding_timeout,
        filter_timeout=args.filter_timeout,
        features=features_of(args.feature_gates),
        bug_compatible=release(args.bug_compatible) if args.bug_compatible else None,
    )
    return Scheduler(client, clock=clock, options=options)
