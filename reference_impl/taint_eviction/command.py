"""Taint eviction as a program: deletes pods whose devices have a NoExecute taint that they do not tolerate."""

from __future__ import annotations

import argparse

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.taint_eviction.controller import TaintEviction, TaintEvictionOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the taint eviction's options."""
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="pods worked on at a time (default: 2)")
    parser.add_argument(
        "--rule-status-period",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="least time between two status updates of a DeviceTaintRule (default: 10)",
    )
    parser.add_argument(
        "--eviction-rate",
        type=float,
        default=0.0,
        metavar="N",
        help="evict N pods a second at most; 0 is no limit (default: 0)",
    )
    parser.add_argument(
        "--eviction-burst",
        type=int,
        default=1,
        metavar="N",
        help="with --eviction-rate, evict the first N pods at once (default: 1)",
    )


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the taint eviction that the options describe."""
    options = TaintEvictionOptions(
        workers=args.workers,
        device_taint_rules=args.feature_gates.get("DRADeviceTaintRules", True),
        rule_status_period=args.rule_status_period,
        eviction_rate=args.eviction_rate,
        eviction_burst=args.eviction_burst,
    )
    return TaintEviction(client, clock=clock, options=options)
